"""Examples of bodies and answers in the OpenAPI document: recorded from a real service, stored in `examples/`.

`python -m tools.record_examples` records them; a test checks each against its schema, and that none is missing.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Final, get_args

from schemas.changes import CHANGE_TYPES, CHANGED_RECORDS, FAULTS, REASONS
from schemas.filings import FORMATS
from schemas.issues import ISSUE_CODES, QuestionKind
from schemas.json_values import JsonObject
from schemas.messages import supplier_languages
from schemas.refusals import ERROR_CODES
from schemas.vocabularies import VOCABULARIES

Schema = JsonObject
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties", "not")


def below(schema: Schema) -> Iterator[Schema]:
    """Yield the schema itself and every schema inside it; references are not followed."""
    yield schema
    inner = [*schema.get("properties", {}).values()]
    inner += [part for keyword in _LISTS for part in schema.get(keyword, ())]
    inner += [schema[keyword] for keyword in _SINGLE if isinstance(schema.get(keyword), dict)]
    for part in inner:
        yield from below(part)


def of_document(document: JsonObject) -> Iterator[Schema]:
    """Yield every schema of the components, parameters, headers and bodies."""
    for schema in document["components"]["schemas"].values():
        yield from below(schema)
    for operation in operations(document):
        for parameter in operation.get("parameters", ()):
            yield from below(parameter["schema"])
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for holder in (*bodies, *operation["responses"].values()):
            for content in holder.get("content", {}).values():
                if "schema" in content:
                    yield from below(content["schema"])


def operations(document: JsonObject) -> Iterator[JsonObject]:
    """Yield every operation of the document."""
    for methods in document["paths"].values():
        yield from methods.values()


def add(document: JsonObject) -> None:
    """Add the examples beside their schemas."""
    examples = {
        path.name.removesuffix(".json"): json.loads(path.read_text(encoding="utf-8"))
        for path in (files("api.openapi") / "examples").iterdir()
    }
    for operation in operations(document):
        kept = examples.get(operation["operationId"], {"answers": {}})
        for content in operation.get("requestBody", {}).get("content", {}).values():
            _beside(content, kept.get("body"))
        for name, answers in (("example", kept["answers"]), ("dry_run", kept.get("dry_run", {}))):
            for status, answer in answers.items():
                _beside(operation["responses"][status]["content"]["application/json"], answer, name)


def _beside(content: JsonObject, value: object, name: str = "example") -> None:
    if value is not None and content["schema"].get("format") != "binary":
        content.setdefault("examples", {})[name] = {"value": value}


_CODES: Final = {
    "error_code": tuple(ERROR_CODES),
    "issue_code": tuple(ISSUE_CODES),
    "change_type": CHANGE_TYPES,
    "change_resource_type": CHANGED_RECORDS,
    "webhook_fault": tuple(FAULTS),
    "webhook_disabled_reason": tuple(REASONS),
    "question_kind": get_args(QuestionKind),
    "declaration_format": FORMATS,
    "supplier_language": tuple(supplier_languages()),
    **VOCABULARIES,
}

_OPEN: Final = frozenset(
    {
        "error_code",
        "issue_code",
        "audit_action",
        "audit_resource_type",
        "audit_actor_type",
        "component_type",
        "technical_file_type",
        "packaging_format_key",
        "adhesive_type",
        "ink_type",
        "coating_type",
        "additive",
        "change_type",
        "change_resource_type",
        "webhook_fault",
        "webhook_disabled_reason",
        "question_kind",
        "declaration_format",
        "supplier_language",
        "import_status",
        "sorting_label_scheme",
        "substances_source",
        "use_context",
    }
)
"""Vocabularies that grow within v1, with the law and the guidelines; `x-open` in the document tells readers to expect
it.
"""


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


_NAMES: Final = {codes: name for name, codes in _CODES.items() if len(codes) > 1}


def name(document: JsonObject) -> None:
    """Replace every enumeration that is a whole vocabulary by a reference to the vocabulary's schema."""
    schemas = document["components"]["schemas"]
    used: dict[str, Schema] = {}
    for schema in of_document(document):
        vocabulary = _NAMES.get(tuple(schema.get("enum", ())))
        if vocabulary is None:
            continue
        used[_camel(vocabulary)] = _published(vocabulary, schema.pop("enum"))
        schema.pop("type", None)
        schema["$ref"] = f"#/components/schemas/{_camel(vocabulary)}"
    document["components"]["schemas"] = dict(sorted((schemas | used).items()))


def _published(vocabulary: str, codes: list[str]) -> Schema:
    if vocabulary in _OPEN:
        about = "May gain codes within v1: take one that you do not know as text."
        return {"type": "string", "enum": codes, "x-open": True, "description": about}
    return {"type": "string", "enum": codes}
