"""Models of the feed of changes."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.audit import ACTORS
from schemas.changes import CHANGE_TYPES, CHANGED_RECORDS
from schemas.responses.base import Answer, Identifier, Instant
from schemas.responses.skus import SkuDetail


class Change(Answer):
    """One change of one record."""

    id: Annotated[str, PydanticField(description="The same wherever this change is told: whoever has seen it knows.")]
    cursor: Annotated[str, PydanticField(description="The place behind this change.")]
    at: Instant
    type: Literal[CHANGE_TYPES]  # type: ignore[valid-type]
    resource_type: Literal[CHANGED_RECORDS]  # type: ignore[valid-type]
    resource_id: Annotated[str, PydanticField(description="The record; of `sku_volumes` the SKU.")]
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that changed, or that the document or file belongs to.")
    ]
    sku_code: str | None
    version: Annotated[int | None, PydanticField(description="The version that this change made of the SKU.")]
    actor_type: Annotated[Literal[tuple(ACTORS)], PydanticField(description="Who made it: the kind, never the name.")]  # type: ignore[valid-type]
    record: Annotated[
        SkuDetail | None,  # type: ignore[valid-type]
        PydanticField(
            description="With `include=records`: the SKU of `sku_id` as it is now, which may be newer than this "
            "change. Null where the change is about no SKU."
        ),
    ] = None


class ChangeListResponse(Answer):
    """Some changes, the first first."""

    data: list[Change]
    next_cursor: Annotated[str, PydanticField(description="The `after` of the next request; stays valid.")]
    has_more: Annotated[bool, PydanticField(description="Whether more changes were there already.")]
