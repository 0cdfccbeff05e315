"""Runs every write of the REST API: authenticates, runs one transaction of the key's company, renders the answer.

With an Idempotency-Key the answer is rendered and stored in the same transaction, and a repeat gets it instead of a
second write. The work in the transaction belongs to the handler: this module knows no field and no record.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api import repeats
from api.auth import admitted, presented
from api.bodies import MAX_JSON_BYTES, announced, json_bytes, parsed
from api.errors import KeyReused, OverPlan
from api.languages import spoken
from api.service import service_of
from api.several import Write, WriteSeveral, let_in_each, let_in_one
from pipelines.writing import once
from pipelines.writing.plans import PlanLimitReached
from pipelines.writing.quota import StorageFull
from warehouse.access.keys import Key
from warehouse.sessions import Connection

Work: TypeAlias = Callable[[Connection], Callable[[], Response]]
"""Writes in the given transaction, and returns a function that renders the answer; refusals are raised.

It may be called again. The rendering does not query the database: it runs during the commit, unless the answer is
stored in the transaction.
"""

_IN_ONE_PIECE: Final = 64 * 2**10
"""Bytes of a body that is read before its caller is admitted: the server buffers as many of any request."""


async def written(request: Request, write: Write, several: WriteSeveral | None = None) -> Response:
    """Return the answer of `write` to a request with a JSON body; its caller is admitted before the body is parsed.

    This module authenticates and not the framework, whose dependency handling costs as much as a step of the write.
    `write` runs in a thread, because it waits for the database. A small body is read first, so that the same thread can
    authenticate. With `several`, calls of one caller that arrive while others are running are done together (decision
    0027), unless they have parameters; calls with an Idempotency-Key only with each other.
    """
    credential = await presented(request)
    if (announced(request) or MAX_JSON_BYTES) > _IN_ONE_PIECE:
        key = await admitted(request, credential, "write")
        return await run_in_threadpool(write, request, key, parsed(await json_bytes(request)))
    call = (request, await json_bytes(request))
    if several is None or request.scope["query_string"]:
        return await run_in_threadpool(let_in_one, credential, write, call)
    do = partial(let_in_each, credential, write, several)
    like = (credential, several, "idempotency-key" in request.headers)
    return await service_of(request).together.join(like, call, do)


def answer(
    request: Request, key: Key, fingerprint: bytes, work: Work, *, dry_run: bool, pipelined: bool = False
) -> Response:
    """Return the answer of `work`, run in one transaction; repeat it where writers collide or a connection is lost.

    `fingerprint` is `api.bodies.fingerprint` of the whole meaning of the request beside its path. An equal request with
    the same Idempotency-Key gets the first one's answer; only success answers are stored. A `dry_run` stores none and
    gets none. With `pipelined` the statements of `work` travel together (`Pool.company`).
    """
    return answer_for(request, key.company_id, fingerprint, work, dry_run=dry_run, pipelined=pipelined)


def answer_for(
    request: Request,
    company_id: UUID,
    fingerprint: bytes,
    work: Work,
    *,
    dry_run: bool = False,
    pipelined: bool = False,
) -> Response:
    """Return the same for a request of the company without a key: a supplier's answer."""
    service, known = service_of(request), repeats.known(request, company_id, fingerprint, dry_run=dry_run)

    def done(conn: Connection) -> Callable[[], Response]:
        if known is None:
            rendering = work(conn)
            return cache(lambda: spoken(request, rendering()))
        if kept := known.recall(conn, service.clock.now()):
            return partial(repeats.replayed, kept)
        response = spoken(request, work(conn)())
        repeats.keep(conn, known, response, service.clock.now())
        return lambda: response

    try:
        rendered = service.writes.run(company_id, done, then=_render, pipelined=pipelined, repeatable=known is not None)
    except StorageFull as full:
        raise OverPlan(limit=full.limit, held=full.held, new=full.new, message=str(full)) from None
    except PlanLimitReached as reached:
        raise OverPlan(limit=reached.limit, held=reached.held, new=reached.new) from None
    except once.ReusedKey:
        raise KeyReused from None
    return rendered()


def answered(request: Request, key: Key, fingerprint: bytes, *, dry_run: bool) -> Response | None:
    """Return the answer that an equal request already had, for a handler whose work begins before its transaction."""
    service, known = service_of(request), repeats.known(request, key.company_id, fingerprint, dry_run=dry_run)
    if known is None:
        return None
    try:
        kept = service.writes.run(
            key.company_id, lambda conn: known.recall(conn, service.clock.now()), pipelined=True, repeatable=True
        )
    except once.ReusedKey:
        raise KeyReused from None
    return repeats.replayed(kept) if kept else None


def _render(rendering: Callable[[], Response]) -> None:
    rendering()
