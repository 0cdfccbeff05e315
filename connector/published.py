"""Shortens the JSON Schemas of the tools: a client sends all of them to its model before the first question.

A schema of arguments refuses nothing that it accepted before; a test holds the size of the whole list.
"""

from typing import Final

from schemas.fields import MAX_WEIGHT_G
from schemas.json_values import JsonObject

Schema = JsonObject
"""A JSON Schema, whose members are of every type."""

_MEMBERS: Final = ("properties", "$defs")
_UNSAID: Final = ("title", "maxLength", "minLength", "default")
"""A generated title says the name again, a default is what leaving out means, and a text that is too long is refused
with a sentence, which a model reads.
"""
_OF_EVERY_ANSWER: Final = ("as_of", "sources", "next_step", "notice")
"""Members of all answers, which the server's instructions name once."""
_FROM_MACHINES: Final = (2**31 - 1, -(2**31), MAX_WEIGHT_G)
"""Bounds of a stored integer, and of a weight, which no value meets by chance."""
_LONG: Final = 60
"""Characters from which a list of codes that several fields share is cheaper as a reference."""


def of_arguments(schema: Schema) -> Schema:
    """Return the schema of a tool's arguments: types, codes and bounds, and a sentence for each argument."""
    short: Schema = _by_reference(_shortened(schema))
    for part in short.get("$defs", {}).values():
        for field in part.get("properties", {}).values():
            if not _needs_words(field):
                field.pop("description", None)
            elif field.get("deprecated"):
                field["description"] = field["description"].partition(". ")[0] + "."
                del field["deprecated"]  # the sentence names what to send instead
        part.pop("description", None)
    return short


def of_answer(schema: Schema) -> Schema:
    """Return the schema of an answer by its members' types; what is inside of them has its own words in the answer.

    It is checked against the whole schema before it is sent.
    """
    own = {name: part for name, part in schema["properties"].items() if name not in _OF_EVERY_ANSWER}
    members = {name: _kind(part, schema.get("$defs", {})) for name, part in own.items()}
    return {"type": "object", "properties": members}


def _kind(part: Schema, known: Schema) -> Schema:
    if "$ref" in part:
        return {"type": known[str(part["$ref"]).rpartition("/")[2]].get("type", "object")}
    if "anyOf" in part:
        return {"type": [_kind(each, known)["type"] for each in part["anyOf"]]}
    return {"type": part.get("type", "string")}


def _needs_words(field: Schema) -> bool:
    """Return whether a field's name, type and codes leave something to say: texts, lists and replaced fields."""
    return field.get("deprecated", False) or field.get("type") in (["array", "null"], "array")


def _shortened(schema: Schema) -> Schema:
    """Return a schema without what no model needs, and with null beside a plain type."""
    short = {name: value for name, value in schema.items() if name not in _UNSAID and value not in _FROM_MACHINES}
    if short.get("minimum") == 0:
        del short["minimum"]  # what is below nothing no model sends
    for name in _MEMBERS:
        if name in short:
            short[name] = {member: _shortened(part) for member, part in short[name].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(short.get(name), dict):
            short[name] = _shortened(short[name])
    if "anyOf" in short:
        short["anyOf"] = [_shortened(part) for part in short["anyOf"]]
    return _nullable(short)


def _nullable(schema: Schema) -> Schema:
    """Return `type: [T, null]` for a choice of one plain type and null, which says the same in a third of the text."""
    match schema.get("anyOf"):
        case [dict() as own, {"type": "null"}] if "type" in own or "enum" in own:
            others = {name: value for name, value in schema.items() if name != "anyOf"}
            if "enum" in own:
                return {"enum": [*own["enum"], None], **others}
            return {**own, "type": [own["type"], "null"], **others}
    return {name: value for name, value in schema.items() if name != "type" or "enum" not in schema}


def _by_reference(schema: Schema) -> Schema:
    """Return a schema in which a list of codes that several fields have stands once, in `$defs`."""
    seen: dict[str, list[Schema]] = {}
    _collect(schema, seen)
    shared = [places for places in seen.values() if len(places) > 1]
    for number, places in enumerate(shared):
        name = f"Codes{number + 1}"
        schema.setdefault("$defs", {})[name] = {"enum": places[0]["enum"]}
        for place in places:
            del place["enum"]
            place["$ref"] = f"#/$defs/{name}"
    return schema


def _collect(schema: object, seen: dict[str, list[Schema]]) -> None:
    if isinstance(schema, list):
        for part in schema:
            _collect(part, seen)
    elif isinstance(schema, dict):
        if isinstance(schema.get("enum"), list) and len(str(schema["enum"])) > _LONG:
            seen.setdefault(str(schema["enum"]), []).append(schema)
        for name, part in schema.items():
            if name != "enum":
                _collect(part, seen)
