"""Defines arguments that several tools take, with their published sentences, and finds the item that they name."""

from typing import Annotated, Final
from uuid import UUID

from pydantic import BeforeValidator, Field

from connector.tools.answer import refusal
from schemas import texts
from schemas.market_names import market_named
from schemas.normalise import Unfit
from warehouse.sessions import Connection
from warehouse.skus import queries as skus

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 200


def _clamped(low: int, high: int | None) -> BeforeValidator:
    def clamp(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        return max(low, value if high is None else min(value, high))

    return BeforeValidator(clamp, json_schema_input_type=int)


Limit = Annotated[int, _clamped(1, MAX_LIMIT), Field(description="1 to 200.")]
FittingLimit = Annotated[
    int | None, _clamped(1, MAX_LIMIT), Field(description="1 to 200; without it as many as fit a short answer.")
]
Offset = Annotated[int, _clamped(0, None), Field(description="From `next_offset`.")]
SkuCode = Annotated[str | None, Field(description="The item's code; or give `id`.", max_length=255)]
ItemId = Annotated[str | None, Field(description="The item's UUID.")]
UNKNOWN_ITEM: Final = (
    "The company has no such packaging item. list_packaging_items shows those there are; send `sku_code` exactly as "
    "listed, or `id`."
)


def require_one(id: str | None, sku_code: str | None) -> None:  # noqa: A002  (the argument's published name)
    """Refuse a call that names no item, or names it twice."""
    if (id is None) == (sku_code is None):
        raise refusal("invalid_body", "Name one packaging item: send either sku_code or id.")


def market_code(text: str) -> str:
    """Return the code of the market that a call names. Raises the tool's refusal, with the nearest known names."""
    try:
        return market_named(text)
    except Unfit as unfit:
        raise refusal(unfit.code, f"market: {unfit.message}") from None


def uuid_of(text: str) -> UUID | None:
    """Return a text as an id; None where it is no UUID and so names no record."""
    try:
        return UUID(text)
    except ValueError:
        return None


def item_id(conn: Connection, id: str | None, sku_code: str | None) -> UUID:  # noqa: A002
    """Return the id of the company's item that a call names. Raises the tool's refusal where there is none."""
    require_one(id, sku_code)
    named = uuid_of(id) if id is not None else skus.id_of(conn, texts.code(str(sku_code)))
    if named is None or skus.code_of(conn, named) is None:
        raise refusal("not_found", UNKNOWN_ITEM)
    return named
