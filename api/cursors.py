"""Pages a SKU list by cursor: each page begins behind the last SKU of the one before, whatever was written meanwhile.

A cursor holds the order, and sort key and id of that SKU, none of which a write changes. So no SKU that the list had at
its first page comes twice or is left out, and a deep page costs no more than the first.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Self  # Any: values of the sorted column, of any type
from uuid import UUID

import orjson
from fastapi import Depends, Query
from pydantic import BeforeValidator, WithJsonSchema

from schemas import texts
from schemas.issues import Issue
from schemas.messages import Message
from schemas.models import validator
from schemas.normalise import Unfit
from schemas.refusals import Refused
from warehouse.skus.search import LASTING, NEWEST

START: Final = "start"
"""The cursor of the first page."""
_LONGEST: Final = 2_000
_UNREADABLE: Final = Message("Send cursor=start for the first page, then `next_cursor` as the answer has it.")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind a SKU in an order, or at the top where `key` and `sku_id` are None."""

    sort: str | None = None
    key: str | None = None
    sku_id: UUID | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the cursor of a parameter; raise `Unfit`."""
        if text == START:
            return cls()
        try:
            if len(text) > _LONGEST:
                raise ValueError
            sort, key, sku_id = orjson.loads(base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True))
            found = cls(sort, key, UUID(sku_id))
            _check_key(sort, key)
        except (ValueError, TypeError, AttributeError, KeyError, binascii.Error):
            raise Unfit("invalid_format", _UNREADABLE) from None
        return found

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the page's query."""
        return {"after_key": self.key, "after_id": self.sku_id}

    def check(self, *, sort: str, offset: int) -> None:
        """Raise `Refused` where the request asks for an offset, another order, or one that writes change."""
        if offset:
            raise Refused([Issue("out_of_range", Message("A cursor takes no offset; send one of the two."), "offset")])
        if sort.removeprefix("-") not in LASTING:
            lasting = ", ".join(sign + name for name in LASTING for sign in ("", "-"))
            sentence = Message("With a cursor the order is one that no write changes: {codes}.", codes=lasting)
            raise Refused([Issue("not_in_vocabulary", sentence, "sort")])
        if self.sort not in (None, sort):
            sentence = Message(
                "This cursor is of a list in the order {sort}; send that `sort` with it.", sort=self.sort
            )
            raise Refused([Issue("invalid_format", sentence, "cursor")])


def _check_key(sort: str, key: str) -> None:
    """Raise where a text that was not made here could not be a sort key."""
    name = sort.removeprefix("-")
    if name not in LASTING or texts.control_in(key) is not None:
        raise ValueError
    if name == "created_at" and datetime.fromisoformat(key).tzinfo is None:
        raise ValueError


def next_cursor(page: Mapping[str, Any], sort: str, limit: int) -> str | None:
    """Return the cursor of the page behind this one; None where this one has fewer SKUs than were asked for."""
    items = page["data"]
    if len(items) < limit:
        return None
    last = items[-1]
    return base64.urlsafe_b64encode(orjson.dumps([sort, last[sort.removeprefix("-")], last["id"]])).decode()


def sort_of(given: Mapping[str, Any]) -> str:
    """Return the order that a request's filters ask for."""
    return str(given.get("sort", NEWEST))


_Sent = Annotated[
    Any,
    BeforeValidator(validator(Cursor.read)),
    WithJsonSchema({"type": "string", "maxLength": _LONGEST, "x-stability": "preview"}),
    Query(
        alias="cursor",
        description="Pages that stay right while others write: `start`, then `next_cursor` of each answer until it is "
        "null. Not with `offset`; with `sort` only by `created_at` or `sku_code`.",
    ),
]


async def _cursor(sent: _Sent = None) -> Cursor | None:
    """Return the cursor of a request, which the framework itself takes for no type of a parameter."""
    cursor: Cursor | None = sent
    return cursor


AskedCursor = Annotated[Cursor | None, Depends(_cursor)]
