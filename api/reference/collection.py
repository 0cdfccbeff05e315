"""The collection for API clients (Postman, Bruno, Insomnia): a request for each operation, in Postman's format 2.1.

It is made from the same document, with the same examples, as the reference. Small enough to be written here: the
library for it brings 85 packages of npm.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from api.reference.operations import COMPONENT, Document, Operation, operations
from schemas.json_values import JsonObject

_SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_IN_PATH: Final = re.compile(r"\{(\w{1,40})\}")
_VARIABLES: Final = {
    "BASE": ("http://127.0.0.1:8000", "The address of the service."),
    "KEY": ("", "Your key, which begins with svc_."),
    "CLIENT_ID": ("", "The id of your key."),
    "ID": ("", "The id that an answer before gave you."),
    "TOKEN": ("", "What a supplier's link ends with."),
    "COMPONENT_ID": ("", "A part that the link asks about."),
}


def collection(document: Document) -> JsonObject:
    """Return the collection; its folders are the document's tags."""
    info = document["info"]
    return {
        "info": {
            "name": info["title"],
            "description": info["description"],
            "version": info["version"],
            "schema": _SCHEMA,
        },
        "auth": _pairs("apikey", {"key": "X-API-Key", "value": "{{KEY}}", "in": "header"}),
        "variable": [
            {"key": name, "value": value, "description": meaning} for name, (value, meaning) in _VARIABLES.items()
        ],
        "item": [
            {"name": tag, "item": [_item(operation) for operation in group]}
            for tag, group in operations(document).items()
        ],
    }


def _item(operation: Operation) -> JsonObject:
    path = _IN_PATH.sub(lambda name: f"{{{{{name[1].upper()}}}}}", operation.path)
    query = list(_parameters(operation, "query"))
    request = {
        "method": operation.method,
        "description": operation.published["description"],
        "header": [*_type(operation), *_parameters(operation, "header")],
        "url": {
            "raw": f"{{{{BASE}}}}{path}",
            "host": ["{{BASE}}"],
            "path": path.strip("/").split("/"),
            **({"query": query} if query else {}),
        },
        **({"auth": auth} if (auth := _auth(operation)) else {}),
        **({"body": _body(operation)} if operation.media_type else {}),
    }
    return {"name": operation.published["summary"], "request": request}


def _auth(operation: Operation) -> JsonObject | None:
    """Return the credential where it is not the collection's."""
    if operation.takes_key:
        return None
    if operation.takes_client:
        return _pairs("basic", {"username": "{{CLIENT_ID}}", "password": "{{KEY}}"})
    return {"type": "noauth"}


def _pairs(kind: str, values: dict[str, str]) -> JsonObject:
    return {"type": kind, kind: [{"key": key, "value": value, "type": "string"} for key, value in values.items()]}


def _parameters(operation: Operation, place: str) -> Iterator[JsonObject]:
    """Yield its optional parameters, switched off: each can be switched on by a click."""
    for parameter in operation.published.get("parameters", ()):
        if parameter["in"] == place:
            value = "{{$guid}}" if parameter["name"] == "Idempotency-Key" else ""
            yield {
                "key": parameter["name"],
                "value": value,
                "description": parameter["description"],
                "disabled": not parameter.get("required", False),
            }


def _type(operation: Operation) -> Iterator[JsonObject]:
    if operation.media_type == "application/json":
        yield {"key": "Content-Type", "value": "application/json"}


def _body(operation: Operation) -> JsonObject:
    if operation.media_type == "multipart/form-data":
        fields = [{"key": name, "value": value, "type": "text"} for name, value in operation.example.items()]
        return {"mode": "formdata", "formdata": [{"key": "file", "type": "file", "src": []}, *fields]}
    text = json.dumps(operation.example, indent=2, ensure_ascii=False).replace(COMPONENT, "{{COMPONENT_ID}}")
    return {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
