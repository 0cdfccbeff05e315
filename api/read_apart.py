"""Reads files in a reader process on behalf of a handler, without blocking the event loop."""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal, TypeVar
from uuid import UUID

from starlette.requests import Request

from api.errors import RateLimited
from api.service import service_of
from pipelines.reading import ReadingRefused
from pipelines.sandbox.pool import QueueFull
from pipelines.sandbox.requests import ReadRequest
from schemas.issues import Issue
from schemas.refusals import Refused
from schemas.report import ImportSource

T = TypeVar("T")

_COME_AGAIN_SECONDS: Final = 10


class UnknownColumns(Refused):
    """A table lacks a column that it needs; `outline` describes those that it has, for a page that asks which it is."""

    def __init__(self, issues: Sequence[Issue], outline: ImportSource) -> None:
        """`issues` is never empty."""
        super().__init__(issues)
        self.outline = outline


Sender = Literal["company", "supplier"]
"""The sender: the company itself, or a supplier to whom it sent a link. Within a company the two take turns."""


async def read_apart(
    request: Request, company_id: UUID, sender: Sender, order: ReadRequest[T], *, field: str | None = None
) -> T:
    """Return the result of the order, when it is the file's turn.

    Raise `Refused`, whose issues are of the part `field`, where the file is refused; `schemas.normalise.Unfit`
    where a document is of no accepted kind; `RateLimited` where too many files of the company wait.
    """
    try:
        future = service_of(request).readers.submit(company_id, sender, order)
    except QueueFull:
        raise RateLimited(_COME_AGAIN_SECONDS) from None
    try:
        return await asyncio.wrap_future(future)
    except ReadingRefused as refused:
        issues, outline = refused.of_field(field), refused.outline
        raise (Refused(issues) if outline is None else UnknownColumns(issues, outline)) from None
