"""Text of the reference pages: the part of the OpenAPI document on each. `templates/` has the layout."""

import json
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from api.openapi.completion import example
from api.reference import operations as operations_reference
from api.reference.operations import Document, operations
from compliance.catalogue import listed_rows
from compliance.ruleset import by_kind, load, versions
from schemas.issues import ISSUE_CODES
from schemas.json_values import JsonObject
from schemas.messages import LANGUAGES, Message, translate
from schemas.refusals import ERROR_CODES

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
KEPT_SECONDS: Final = 300
"""Headers of every answer of the reference, and how long anyone may keep it."""


def _inline(text: str) -> Markup:
    """Return a sentence, with `code` in backticks marked up."""
    parts = enumerate(text.split("`"))
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in parts)


def _prose(text: str) -> Markup:
    """Return the paragraphs of a description."""
    return Markup().join(Markup("<p>{}</p>").format(_inline(paragraph)) for paragraph in text.split("\n\n"))


def _resolved(document: Document, schema: JsonObject) -> dict[str, object]:
    """Return the schema itself, or the one that it refers to."""
    if "$ref" not in schema:
        return schema
    resolved: dict[str, object] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return resolved


_TEMPLATES: Final = Environment(
    loader=PackageLoader("api.reference"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "inline": _inline,
    "prose": _prose,
    "rows": operations_reference.rows,
    "type": operations_reference.type_of,
    "limits": operations_reference.limits,
    "curl": operations_reference.curl,
    "python": operations_reference.python,
    "typescript": operations_reference.typescript,
    "json": partial(json.dumps, indent=2, ensure_ascii=False),
}


def render(document: Document, lang: str = LANGUAGES[0]) -> dict[str, str]:
    """Return the pages of a language by their path after /reference: those in `TOLD`, or in English all of them."""
    schemas = document["components"]["schemas"]
    by_tag = operations(document)
    values: dict[str, object] = {
        "operations": by_tag,
        "answered_by": {
            code: [operation for group in by_tag.values() for operation in group if code in operation.codes]
            for code in ERROR_CODES
        },
        "resolved": partial(_resolved, document),
        "objects": {name: schema for name, schema in schemas.items() if "properties" in schema},
        "vocabularies": {name: schema for name, schema in schemas.items() if "enum" in schema},
        "errors": {code: (error, _example(code, lang)) for code, error in ERROR_CODES.items()},
        "issues": ISSUE_CODES,
        "catalogue": listed_rows(),
        "newest": max(row.since for listed in listed_rows().values() for row in listed),
        "sources": {version: by_kind(load(version)) for version in versions()},
    }
    names = PAGES if lang == LANGUAGES[0] else TOLD
    return {name: framed(document, f"{name or 'operations'}.html", {**values, "page": name}, lang) for name in names}


def framed(document: Document, template: str, values: Mapping[str, object], lang: str = LANGUAGES[0]) -> str:
    """Return a page of a template in the frame that all pages here have."""
    return _TEMPLATES.get_template(template).render(
        values,
        document=document,
        release=version("packaging-compliance-data-service"),
        lang=lang,
        languages=LANGUAGES,
        say=partial(_say, lang),
    )


def _say(lang: str, text: str, **parameters: object) -> str:
    return translate(Message(text, **parameters) if parameters else text, lang)


def _example(code: str, lang: str) -> dict[str, object]:
    """Return the body of an error, its sentences in a language."""
    body = example(code)
    details = [{**detail, "message": translate(detail["message"], lang)} for detail in body.get("details", ())]
    return {**body, "message": translate(body["message"], lang), **({"details": details} if details else {})}


TOLD: Final = ("errors",)
"""Pages in every language; the others show the document, which is English."""
PAGES: Final = ("", "errors", "fields", "rules", "catalogue")
"""The pages: operations, error codes, field tables, sources of the design rules, rows of the catalogue."""
