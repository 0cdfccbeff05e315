"""Idempotency: recognises repeated requests and replays the stored answer.

This is the Idempotency-Key of interface v1 as HTTP has it. `pipelines.writing.once` defines what is stored, how long,
and which request waits for which.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from api.parameters import idempotency_key
from pipelines.writing.once import Answer, Once
from warehouse.sessions import Connection

_REPLAYED: Final = {"Idempotent-Replayed": "true"}


def known(request: Request, company_id: UUID, fingerprint: bytes, *, dry_run: bool) -> Once | None:
    """Return the identity of a repeatable request; None without an Idempotency-Key or if nothing would be written."""
    header = idempotency_key(request)
    if header is None or dry_run:
        return None
    return Once.of(company_id, method=request.method, path=request.scope["path"], key=header, fingerprint=fingerprint)


def keep(conn: Connection, known: Once, response: Response, now: datetime) -> None:
    """Store the answer of a successful write in the write's transaction."""
    if response.status_code < 300:
        known.keep(conn, Answer(response.status_code, str(response.media_type), bytes(response.body)), now)


def replayed(kept: Answer) -> Response:
    """Return the stored answer, with the header that marks a repeat."""
    return Response(kept.body, kept.status, _REPLAYED, media_type=kept.media_type)
