"""Examples of bodies and answers in the OpenAPI document: recorded from a real service, stored in `examples/`.

`python -m tools.record_examples` records them; a test checks each against its schema, and that none is missing.
"""

import json
from importlib.resources import files

from api.openapi.schemas import operations
from schemas.json_values import JsonObject


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
