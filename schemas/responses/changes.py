"""Models of the feed of changes."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.audit import ACTORS
from schemas.changes import CHANGE_TYPES, CHANGED_RECORDS
from schemas.responses.base import Answer, Identifier, Instant
from schemas.responses.skus import SkuDetail


class Change(Answer):
    """One change of one record."""

    id: Annotated[
        str,
        PydanticField(
            description="Id of the change in the feed and in every delivery: a receiver recognises a repeat by it."
        ),
    ]
    cursor: Annotated[str, PydanticField(description="The cursor after this change.")]
    at: Instant
    type: Literal[CHANGE_TYPES]  # type: ignore[valid-type]
    resource_type: Literal[CHANGED_RECORDS]  # type: ignore[valid-type]
    resource_id: Annotated[str, PydanticField(description="The record; of `sku_volumes` the SKU.")]
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that changed, or that the document or file belongs to.")
    ]
    sku_code: str | None
    version: Annotated[int | None, PydanticField(description="Version of the SKU after this change.")]
    actor_type: Annotated[
        Literal[tuple(ACTORS)],  # type: ignore[valid-type]
        PydanticField(description="Kind of the actor who made it, never a name."),
    ]
    record: Annotated[
        SkuDetail | None,  # type: ignore[valid-type]
        PydanticField(
            description="With `include=records`: the SKU of `sku_id` as it is now, which may be newer than this "
            "change. Null where the change is about no SKU."
        ),
    ] = None


class ChangeListResponse(Answer):
    """A page of changes, the earliest first."""

    data: list[Change]
    next_cursor: Annotated[str, PydanticField(description="The `after` of the next request; it never expires.")]
    has_more: Annotated[bool, PydanticField(description="Whether there were more changes when the page was read.")]
