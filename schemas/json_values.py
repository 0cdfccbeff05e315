"""JSON that no type declares: a body before its model reads it, an answer that the database wrote, a document.

`Any` is named here once for all of them. What has fields of ours has a type of its own (`schemas/models.py`,
`schemas/responses/`, `warehouse/<subject>/`), and a function that judges such a value returns that type.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias  # Any: members are of any JSON type until a model has read them

Json: TypeAlias = Any
"""A value of any JSON type."""

JsonObject: TypeAlias = dict[str, Any]
"""An object that its function makes or may change."""

JsonMapping: TypeAlias = Mapping[str, Any]
"""An object that is only read."""
