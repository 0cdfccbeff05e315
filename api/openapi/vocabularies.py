"""Gives each vocabulary one name in the OpenAPI document, so that a generated client has one type for it."""

from typing import Final

from api.openapi.schemas import Schema, of_document
from schemas.errors import ERROR_CODES
from schemas.issues import ISSUE_CODES
from schemas.json_values import JsonObject
from schemas.vocabularies import VOCABULARIES

_CODES: Final = {"error_code": tuple(ERROR_CODES), "issue_code": tuple(ISSUE_CODES), **VOCABULARIES}

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
