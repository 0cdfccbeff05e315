"""Describes JSON Schemas in words: the type of a field, its limits, and the fields of a body or an answer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.json_values import JsonObject

Schema = JsonObject


@dataclass(frozen=True, slots=True)
class Type:
    """A type in words, and the name of the schema that it refers to, where it has one."""

    words: str
    schema: str | None


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One row of a field table."""

    name: str
    type: Type
    required: bool
    deprecated: bool
    limits: str
    meaning: str


def rows(schema: Schema) -> list[FieldRow]:
    """Return the fields of an object, in their order."""
    required = schema.get("required", ())
    return [
        FieldRow(
            name=name,
            type=type_of(field),
            required=name in required,
            deprecated=bool(field.get("deprecated")),
            limits=limits(field),
            meaning=field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]


def type_of(schema: Schema) -> Type:
    """Return the type in words: `array of SkuComponent`, `string or null`, `number`."""
    named = next(_references(schema), None)
    return Type(_words(schema), named)


def _references(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        yield _name(schema)
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _references(part)


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _words(schema: Schema) -> str:
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_words(part) for part in schema["anyOf"]))
    if "const" in schema:
        return json.dumps(schema["const"]).strip('"')
    if "enum" in schema:
        return " | ".join(str(code) for code in schema["enum"])
    kinds = schema.get("type", "any value")
    words = [_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(words)


def _kind(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"array of {_words(schema['items'])}"
    if kind == "string" and schema.get("format"):
        return {"date-time": "instant", "date": "date", "uuid": "uuid", "binary": "file"}.get(schema["format"], kind)
    return kind


def limits(schema: Schema) -> str:
    """Return the limits in words: `0 to 100`, `at most 255 characters`; empty where there are none."""
    if found := next((limits(part) for part in schema.get("anyOf", ()) if limits(part)), ""):
        return found
    texts = [
        _between(schema.get("minimum"), schema.get("maximum"), ""),
        _between(schema.get("minLength"), schema.get("maxLength"), " characters"),
        _between(schema.get("minItems"), schema.get("maxItems"), " entries"),
    ]
    if "default" in schema and schema["default"] is not None:
        texts.append(f"default {str(schema['default']).lower()}")
    return ", ".join(filter(None, texts))


def _between(least: float | None, most: float | None, unit: str) -> str:
    if least is None and most is None:
        return ""
    if most is None:
        return f"at least {_number(least)}{unit}"
    if least is None:
        return f"at most {_number(most)}{unit}"
    return f"{_number(least)} to {_number(most)}{unit}"


def _number(value: float | None) -> str:
    return f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")
