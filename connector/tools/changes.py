"""Defines the arguments by which an item is changed: fields of the item, and fields of single components by line id."""

from dataclasses import replace
from typing import Annotated, Any  # Any: pydantic's annotations

from pydantic import BeforeValidator, Field, WithJsonSchema

from connector.tools.answer import refusal
from schemas.fields import COMPONENT_FIELDS, SKU_FIELDS
from schemas.fields import Field as FieldRow
from schemas.json_values import JsonObject
from schemas.market_names import market_named
from schemas.models import Strict, model_of, validator

_Fields: type[Strict] = model_of(
    "SkuChanges",
    tuple(replace(field, required=False) for field in SKU_FIELDS),
    "Fields of a SKU to change: an omitted field stays, null clears.",
)


def _with_market_codes(changes: object) -> object:
    """Return the changes with the codes of markets that are named; what names none is left to the field's own check."""
    if not isinstance(changes, dict) or not isinstance(markets := changes.get("markets"), list):
        return changes
    named = [market_named(each) if isinstance(each, str) else each for each in markets]
    return {**changes, "markets": named}


SkuChanges: Any = Annotated[_Fields, BeforeValidator(validator(_with_market_codes))]
"""Fields of a SKU that an assistant changes; markets by name, too (decisions §13)."""
_LINE = FieldRow("id", "uuid", "The line's id.", required=True, nullable=False)
ComponentChange: type[Strict] = model_of(
    "ComponentChange",
    (_LINE, *(replace(field, required=False) for field in COMPONENT_FIELDS if field.name != "component_type")),
    "Fields of one line to change: an omitted field stays, null clears.",
)
_AS_CHANGES: Any = WithJsonSchema({"type": ["object", "null"]})
_AS_LINES: Any = WithJsonSchema({"type": ["array", "null"], "items": {"type": "object"}})
MOST_LINES = 500

FreeChanges = Annotated[
    SkuChanges | None,
    _AS_CHANGES,
    Field(description="Fields of the item, as `changes` of propose_sku_update."),
]
ComponentChanges = Annotated[
    list[ComponentChange] | None,  # type: ignore[valid-type]
    _AS_LINES,
    Field(
        description="Parts: each its `id`, from get_packaging_item, and fields such as weight_g; the others stay.",
        max_length=MOST_LINES,
    ),
]


def given(changes: Strict | None) -> JsonObject:
    """Return the fields that a caller sent."""
    return changes.model_dump(mode="json", exclude_unset=True) if changes is not None else {}


def given_lines(changes: list[Strict] | None) -> list[JsonObject]:
    """Return the changes of lines that a caller sent. Raise the tool's refusal where one line is named twice."""
    found = [given(change) for change in changes or ()]
    if len({change["id"] for change in found}) < len(found):
        raise refusal("invalid_body", "component_changes names a line twice; send its fields in one entry.")
    if any(len(change) == 1 for change in found):
        raise refusal("invalid_body", "component_changes has an entry without a field to change.")
    return found


def check_together(changes: JsonObject, lines: list[JsonObject]) -> None:
    """Refuse a call that changes nothing, or that replaces the graph and changes lines of it."""
    if not changes and not lines:
        raise refusal("invalid_body", "Nothing is changed: send changes or component_changes with a field to change.")
    if lines and "components" in changes:
        raise refusal(
            "invalid_body", "changes.components replaces the whole graph; send it or component_changes, not both."
        )
