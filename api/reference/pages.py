"""Text of the reference pages: the part of the OpenAPI document on each. `templates/` has the layout."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from api.openapi.errors import example
from api.reference import shapes
from compliance.rule_sources import by_kind
from compliance.ruleset import load, versions
from schemas.errors import ERROR_CODES
from schemas.issues import ISSUE_CODES
from schemas.labels import LANGUAGES
from schemas.messages import Message, translate

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its context in the document."""

    method: str
    path: str
    published: dict[str, Any]

    @property
    def anchor(self) -> str:
        """Its anchor on the page."""
        return str(self.published["operationId"])

    @property
    def bodies(self) -> list[tuple[list[str], dict[str, object]]]:
        """Its accepted bodies: the media types of a schema, and that schema; empty where it accepts none."""
        grouped: list[tuple[list[str], dict[str, object]]] = []
        for media_type, content in self.published.get("requestBody", {}).get("content", {}).items():
            same = next((types for types, body in grouped if body["schema"] == content["schema"]), None)
            if same is None:
                grouped.append(([media_type], content))
            else:
                same.append(media_type)
        return grouped

    @property
    def codes(self) -> list[str]:
        """Its error codes."""
        return [code for answer in self.published["responses"].values() for code in answer.get("x-error-codes", ())]

    @property
    def curl(self) -> str:
        """A request that can be sent unchanged, once BASE, KEY and the names in capitals are set."""
        is_implied = self.method == ("POST" if self.bodies else "GET")
        parts = ["curl" if is_implied else f"curl -X {self.method}", *self._credential()]
        for types, content in self.bodies[:1]:
            parts += _sent(types[0], content)
        return " \\\n  ".join([*parts, f'"$BASE{_IN_PATH.sub(_variable, self.path)}"'])

    def _credential(self) -> list[str]:
        if "x-scope" in self.published:
            return ['-H "X-API-Key: $KEY"']
        return ['-u "$CLIENT_ID:$KEY"'] if self.published["security"] else []


_IN_PATH: Final = re.compile(r"\{(\w{1,40})\}")
_OF_A_LINK: Final = re.compile(r'(?<="response": \{"components": \[\{"component_id": ")[0-9a-f-]{36}')
_PUT_IN: Final = "'\"$COMPONENT_ID\"'"
"""The component in a supplier's answer: the only id in a body that differs for every request."""


def _variable(name: re.Match[str]) -> str:
    return f"${name[1].upper()}"


def _sent(media_type: str, content: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments that send a body: its first example, or its required parts."""
    example: dict[str, Any] = next(iter(content.get("examples", {}).values()), {"value": {}})["value"]
    match media_type:
        case "application/json":
            yield "-H 'Content-Type: application/json'"
            text = shlex.quote(json.dumps(example, ensure_ascii=False))
            yield f"-d {_OF_A_LINK.sub(_PUT_IN, text)}"
        case "application/x-www-form-urlencoded":
            yield from (f"-d {name}={value}" for name, value in example.items())
        case "multipart/form-data":
            yield from (
                f'-F {name}=@"${name.upper()}"' if name == "file" else f"-F {name}={value}"
                for name, value in ({"file": ""} | example).items()
            )


def operations(document: Document) -> dict[str, list[Operation]]:
    """Return operations by tag, both in the document's order."""
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, published in methods.items():
            by_tag[published["tags"][0]].append(Operation(method.upper(), path, published))
    return {tag: found for tag, found in by_tag.items() if found}


def _inline(text: str) -> Markup:
    """Return a sentence, with `code` in backticks marked up."""
    parts = enumerate(text.split("`"))
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in parts)


def _prose(text: str) -> Markup:
    """Return the paragraphs of a description."""
    return Markup().join(Markup("<p>{}</p>").format(_inline(paragraph)) for paragraph in text.split("\n\n"))


def _resolved(document: Document, schema: dict[str, Any]) -> dict[str, object]:
    """Return the schema itself, or the one that it refers to."""
    if "$ref" not in schema:
        return schema
    found: dict[str, object] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


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
    "rows": shapes.rows,
    "type": shapes.type_of,
    "limits": shapes.limits,
    "json": partial(json.dumps, indent=2, ensure_ascii=False),
}


def render(document: Document, lang: str = LANGUAGES[0]) -> dict[str, str]:
    """Return the pages of a language by their path after /reference: those in `TOLD`, or in English all of them."""
    schemas = document["components"]["schemas"]
    by_tag = operations(document)
    given: dict[str, object] = {
        "operations": by_tag,
        "answered_by": {
            code: [found for group in by_tag.values() for found in group if code in found.codes] for code in ERROR_CODES
        },
        "resolved": partial(_resolved, document),
        "objects": {name: schema for name, schema in schemas.items() if "properties" in schema},
        "vocabularies": {name: schema for name, schema in schemas.items() if "enum" in schema},
        "errors": {code: (error, _example(code, lang)) for code, error in ERROR_CODES.items()},
        "issues": ISSUE_CODES,
        "sources": {version: by_kind(load(version)) for version in versions()},
    }
    names = PAGES if lang == LANGUAGES[0] else TOLD
    return {name: framed(document, f"{name or 'operations'}.html", {**given, "page": name}, lang) for name in names}


def framed(document: Document, template: str, given: Mapping[str, object], lang: str = LANGUAGES[0]) -> str:
    """Return a page of a template in the frame that all pages here have."""
    return _TEMPLATES.get_template(template).render(
        given,
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
PAGES: Final = ("", "errors", "fields", "rules")
"""The pages: operations, error codes, field tables, sources of the design rules."""
