"""Reads a tool's file in a reader process, while the event loop serves other requests."""

import asyncio
from typing import Final, TypeVar
from uuid import UUID

import orjson

from connector.service import Service
from connector.tools.answer import refusal
from pipelines.reading import ReadingRefused
from pipelines.sandbox.pool import QueueFull
from pipelines.sandbox.requests import ReadRequest
from schemas.issues import Issue

T = TypeVar("T")

_DOOR: Final = "assistant"


async def read_apart(service: Service, company_id: UUID, order: ReadRequest[T]) -> T:
    """Return the answer to the order, once the file has been read; raises the tool's refusal of a file, and `Unfit`."""
    try:
        return await asyncio.wrap_future(service.readers.submit(company_id, _DOOR, order))
    except QueueFull as crowded:
        raise refusal(crowded.code, str(crowded)) from None
    except ReadingRefused as unreadable:
        sentence = "; ".join(map(_sentence, unreadable.issues))
        raise refusal(unreadable.issues[0].code, sentence) from None


def _sentence(issue: Issue) -> str:
    """Return what an issue says; of a question with the piece of mapping for each thing that it could be."""
    if issue.answer is None:
        return issue.message
    return f"{issue.message} Could be: {', '.join(issue.could_be)}; answer: {orjson.dumps(dict(issue.answer)).decode()}"
