"""Gives each vocabulary one name in the document, so that a generated client has one type for it wherever it stands."""

from typing import Any, Final

from api.openapi.schemas import Schema, of_document
from schemas.errors import ERROR_CODES
from schemas.issues import ISSUE_CODES
from schemas.vocabularies import VOCABULARIES

_CODES: Final = {"error_code": tuple(ERROR_CODES), "issue_code": tuple(ISSUE_CODES), **VOCABULARIES}


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


_NAMES: Final = {codes: _camel(name) for name, codes in _CODES.items() if len(codes) > 1}


def name(document: dict[str, Any]) -> None:
    """Replace every enumeration that is a whole vocabulary by a reference to the vocabulary's schema."""
    schemas = document["components"]["schemas"]
    used: dict[str, Schema] = {}
    for schema in of_document(document):
        named = _NAMES.get(tuple(schema.get("enum", ())))
        if named is None:
            continue
        used[named] = {"type": "string", "enum": schema.pop("enum")}
        schema.pop("type", None)
        schema["$ref"] = f"#/components/schemas/{named}"
    document["components"]["schemas"] = dict(sorted((schemas | used).items()))
