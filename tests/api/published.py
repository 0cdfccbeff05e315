"""Holds what the service really answers against what its document says of it, field by field and code by code.

Open objects are closed here: a field that no schema names is a fault of the document, though clients must ignore it.
"""

import copy
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
from pydantic import create_model

from schemas.answers import Answer

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS = ("OpenApiDocument", "JsonSchemaDocument")  # what may stand in these is another specification's to say


def published(shape: Any, value: Any) -> None:
    """Hold an answer against the type that it is published from: strictly, and with nothing that it does not name."""
    create_model("Answering", __base__=Answer, value=(shape, ...)).model_validate({"value": value}, extra="forbid")


class Published:
    """One document, asked about many answers."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        closed = {name: _closed(name, schema) for name, schema in copy.deepcopy(self._schemas()).items()}
        self._closed = {"$schema": DIALECT, "components": {"schemas": closed}}
        self._of_schema = cache(self._validator)
        self._patterns = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in document["paths"]}

    def _schemas(self) -> dict[str, Any]:
        return self.document["components"]["schemas"]

    def _validator(self, reference: str) -> Any:
        return jsonschema_rs.Draft202012Validator({**self._closed, "$ref": reference}, validate_formats=True)

    def template_of(self, path: str) -> str | None:
        """The path of the document that a request's path is of."""
        if path in self.document["paths"]:
            return path
        return next((template for template, pattern in self._patterns.items() if pattern.fullmatch(path)), None)

    def faults(self, method: str, path: str, status: int, headers: Any, body: Any) -> Iterator[str]:
        """What of an answer the document does not say; `body` is its parsed JSON, or None."""
        template = self.template_of(path)
        operation = self.document["paths"].get(template, {}).get(method.lower())
        if operation is None:
            return
        answer = operation["responses"].get(str(status))
        if answer is None:
            yield f"{method} {template} answers {status}, which is not published."
            return
        for name, header in answer["headers"].items():
            published = self.document["components"]["headers"][name] if "$ref" in header else header
            if published.get("required") and name not in headers:
                yield f"{method} {template} {status} lacks {name}."
        codes = answer.get("x-error-codes")
        if codes is not None and body["error"] not in codes:
            yield f"{method} {template} {status} has the code {body['error']}, which is not published."
        contents = answer.get("content", {})
        media_type = headers.get("Content-Type", "").partition(";")[0]
        if media_type and contents and media_type not in contents:
            yield f"{method} {template} {status} is {media_type}, which is not published."
        for content in (each for each in contents.values() if "$ref" in each["schema"]):
            for error in self._of_schema(content["schema"]["$ref"]).iter_errors(body):
                yield f"{method} {template} {status}: {error.message} at {error.instance_path}."


def _closed(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without room for what it does not name."""
    if name not in DOCUMENTS and schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)
    return schema
