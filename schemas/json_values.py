"""JSON that no type declares: a body before its model reads it, an answer that the database wrote, a document.

`Any` is named here once for all of them. What has fields of ours has a type of its own (`schemas/skus/inputs.py`,
the answers of `schemas`, `warehouse/<subject>/`), and a function that judges such a value returns that type.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias  # Any: members are of any JSON type until a model has read them

import orjson
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

Json: TypeAlias = Any
"""A value of any JSON type."""

JsonObject: TypeAlias = dict[str, Any]
"""An object that its function makes or may change."""

JsonMapping: TypeAlias = Mapping[str, Any]
"""An object that is only read."""


def json_number(value: object) -> orjson.Fragment:
    """Return a decimal as a JSON number with every digit: the `default` of `orjson.dumps`."""
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(type(value).__name__)


def instant_text(at: datetime) -> str:
    """Return an instant of UTC as RFC 3339 with `Z`, as answers have it."""
    return at.isoformat().replace("+00:00", "Z")


class Published(GenerateJsonSchema):
    """Publishes an optional field without a default of null: here omitted means untouched and null means cleared.

    Client generators send such a default, and would clear fields that their caller never named.
    """

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """Return the schema of a field with a default, without a default that is null."""
        published = super().default_schema(schema)
        if published.get("default", ...) is None:
            del published["default"]
        return published
