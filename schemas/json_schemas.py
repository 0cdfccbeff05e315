"""Generates the JSON Schema of the models for every document: REST, the tools, the supplier's answer.

Which values a model accepts is not decided here.
"""

from typing import Any  # Any: pydantic's own signature

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


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
