"""How our models are published as JSON Schema, in every document: REST, the tools, the supplier's answer.

What a model accepts is not decided here.
"""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


class Published(GenerateJsonSchema):
    """A field that may be left out has no default of null: here left out means untouched and null means cleared.

    Generators of clients take such a default for a value to send, and would clear what their caller never named.
    """

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        """The schema of a field with a default, without one that is null."""
        published = super().default_schema(schema)
        if published.get("default", ...) is None:
            del published["default"]
        return published
