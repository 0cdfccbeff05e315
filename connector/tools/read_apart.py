"""How a tool has a file read: in a reader process, and the event loop waits for it without holding up others."""

import asyncio
from typing import Final, TypeVar
from uuid import UUID

from connector.service import Service
from connector.tools.answer import refused
from pipelines.reading import ReadingRefused
from pipelines.sandbox.orders import Order
from pipelines.sandbox.pool import Crowded

T = TypeVar("T")

_DOOR: Final = "assistant"


async def read_apart(service: Service, company_id: UUID, order: Order[T]) -> T:
    """What the order asks for, when the file's turn has come; raises the tool's refusal of a file, and `Unfit`."""
    try:
        return await asyncio.wrap_future(service.readers.submit(company_id, _DOOR, order))
    except Crowded as crowded:
        raise refused(crowded.code, str(crowded)) from None
    except ReadingRefused as unreadable:
        raise refused(unreadable.issues[0].code, str(unreadable)) from None
