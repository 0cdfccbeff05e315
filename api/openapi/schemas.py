"""Walks the JSON Schemas of the OpenAPI document: every schema below a node, under any keyword."""

from collections.abc import Iterator
from typing import Final

from schemas.json_values import JsonObject

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
