"""Runs every write of the REST API: admits the caller, runs one transaction of the company, renders the answer.

A write handler reads downwards: its parameters, `caller_and_body`, `answer`. What a write does in its transaction and
how its result is shown belong to the handler: this module knows no field and no record. With an Idempotency-Key the
answer is stored in the same transaction, and a repeat gets it instead of a second write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from api import repeats
from api.auth import Credential, admitted, admitted_in_thread, presented
from api.bodies import MAX_JSON_BYTES, announced, json_body
from api.errors import KeyReused, OverPlan
from api.languages import spoken
from api.service import service_of
from pipelines.writing import once
from pipelines.writing.once import Once
from pipelines.writing.plans import PlanLimitReached
from pipelines.writing.quota import StorageFull
from warehouse.access.keys import Key
from warehouse.sessions import Connection

T = TypeVar("T")


_SMALL_BYTES: Final = 64 * 2**10
"""Size of a body that is read before its caller is admitted: the server buffers as many bytes of any request."""


@dataclass(frozen=True, slots=True)
class Received:
    """The parsed JSON of a write; `key` is the caller of a large body, admitted before it was read."""

    credential: Credential
    key: Key | None
    body: Any


async def _received(request: Request) -> Received:
    credential = await presented(request)
    large = (announced(request) or MAX_JSON_BYTES) > _SMALL_BYTES
    key = await admitted(request, credential, "write") if large else None
    return Received(credential, key, await json_body(request))


JsonWrite = Annotated[Received, Depends(_received)]
"""A write's caller and body, for `caller_and_body`. A fault in it is answered once its caller is admitted.

It is no Pydantic model of the framework's: the contract has the Idempotency-Key judged before the body's fields, a
batch's rows refused one by one, and any content type taken (decision 0049).
"""


def caller_and_body(request: Request, received: Received) -> tuple[Key, Any]:
    """Return the caller's key and the body; the caller of a small body is admitted in this thread (decision 0021)."""
    return received.key or admitted_in_thread(request, received.credential, "write"), received.body


def answer(
    request: Request,
    company_id: UUID,
    fingerprint: bytes,
    write: Callable[[Connection], T],
    show: Callable[[T], Response],
    *,
    dry_run: bool = False,
    pipelined: bool = False,
) -> Response:
    """Return what `show` renders of the result of `write`, which runs in one transaction of the company.

    `write` raises refusals, and is called again where writers collide or a connection is lost. `show` does not query
    the database: it runs during the commit, unless the answer is stored in the transaction.

    `fingerprint` is `api.bodies.fingerprint` of the whole meaning of the request beside its path. An equal request with
    the same Idempotency-Key gets the first one's answer; only success answers are stored. A `dry_run` stores none and
    gets none. With `pipelined` the statements of `write` travel together (`Pool.company`).
    """
    service, known = service_of(request), repeats.known(request, company_id, fingerprint, dry_run=dry_run)
    response: Response

    def shown(result: T) -> None:
        nonlocal response
        response = spoken(request, show(result))

    def write_once(conn: Connection, known: Once) -> Response:
        if kept := known.recall(conn, service.clock.now()):
            return repeats.replayed(kept)
        fresh = spoken(request, show(write(conn)))
        repeats.keep(conn, known, fresh, service.clock.now())
        return fresh

    try:
        if known is not None:
            repeatable = partial(write_once, known=known)
            return service.writes.run(company_id, repeatable, pipelined=pipelined, repeatable=True)
        service.writes.run(company_id, write, then=shown, pipelined=pipelined)
    except StorageFull as full:
        raise OverPlan(limit=full.limit, held=full.held, new=full.new, message=str(full)) from None
    except PlanLimitReached as reached:
        raise OverPlan(limit=reached.limit, held=reached.held, new=reached.new) from None
    except once.ReusedKey:
        raise KeyReused from None
    return response


def answered(request: Request, company_id: UUID, fingerprint: bytes, *, dry_run: bool) -> Response | None:
    """Return the answer that an equal request already had, for a handler whose work begins before its transaction."""
    service, known = service_of(request), repeats.known(request, company_id, fingerprint, dry_run=dry_run)
    if known is None:
        return None
    try:
        kept = service.writes.run(
            company_id, lambda conn: known.recall(conn, service.clock.now()), pipelined=True, repeatable=True
        )
    except once.ReusedKey:
        raise KeyReused from None
    return repeats.replayed(kept) if kept else None
