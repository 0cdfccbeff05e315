"""The door of every write: one transaction of the key's company around it, its answer rendered behind.

With an Idempotency-Key the answer is rendered and kept in that same transaction, and a repeat is given it instead of
writing again. What a handler does in the transaction is its own: this module knows no field and no record.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.auth import Credential, admitted, let_in, presented
from api.bodies import MAX_JSON_BYTES, announced, json_bytes, parsed
from api.errors import KeyReused, OverPlan
from api.languages import spoken
from api.parameters import idempotency_key
from api.service import service_of
from pipelines.steps import once
from pipelines.steps.once import Answer, Once
from pipelines.steps.plans import PlanLimitReached
from warehouse.queries.keys import Key
from warehouse.sessions import Connection

Work: TypeAlias = Callable[[Connection], Callable[[], Response]]
"""Writes in the transaction that it is given, and returns what renders the answer; refusals are raised.

It may be called again. The rendering asks the database nothing: it is done while the commit travels, unless the answer
is kept in the transaction.
"""

_IN_ONE_PIECE: Final = 64 * 2**10
"""Bytes of a body that is read before its caller is let in: the server holds as many of any request."""

_REPLAYED: Final = {"Idempotent-Replayed": "true"}


async def written(request: Request, write: Callable[[Request, Key, Any], Response]) -> Response:
    """The answer of `write` to a request with a JSON body: who calls is asked first, then the body is looked at.

    Asked here and not by the framework, whose way from one dependency to the next costs as much as a step of the write.
    `write` runs in a thread, as it waits for the database. A small body is taken along, so that the thread asks, too.
    """
    credential = await presented(request)
    if (announced(request) or MAX_JSON_BYTES) > _IN_ONE_PIECE:
        key = await admitted(request, credential, "write")
        return await run_in_threadpool(write, request, key, parsed(await json_bytes(request)))
    return await run_in_threadpool(_let_in, request, credential, write, await json_bytes(request))


def _let_in(
    request: Request, credential: Credential, write: Callable[[Request, Key, Any], Response], body: bytes
) -> Response:
    return write(request, let_in(request, credential, "write"), parsed(body))


def answer(
    request: Request, key: Key, fingerprint: bytes, work: Work, *, dry_run: bool, pipelined: bool = False
) -> Response:  # fmt: skip
    """The answer of `work`, done in one transaction, which is repeated where writers collide or a connection is lost.

    `fingerprint` is what `api.bodies.fingerprint` makes of everything that the request means beside its path. An
    equal request with the same Idempotency-Key gets the first one's answer; only answers of success are kept. A
    `dry_run` keeps none and is given none. With `pipelined` the statements of `work` travel together (`Pool.company`).
    """
    return answer_for(request, key.company_id, fingerprint, work, dry_run=dry_run, pipelined=pipelined)


def answer_for(
    request: Request, company_id: UUID, fingerprint: bytes, work: Work, *, dry_run: bool = False,
    pipelined: bool = False,
) -> Response:  # fmt: skip
    """The same for a request that shows no key and is known to be the company's: a supplier's answer."""
    service, known = service_of(request), _known(request, company_id, fingerprint, dry_run=dry_run)

    def done(conn: Connection) -> Callable[[], Response]:
        if known is None:
            rendering = work(conn)
            return cache(lambda: spoken(request, rendering()))
        if kept := known.recall(conn, service.clock.now()):
            return partial(_replayed, kept)
        response = spoken(request, work(conn)())
        if response.status_code < 300:
            kept = Answer(response.status_code, str(response.media_type), bytes(response.body))
            known.keep(conn, kept, service.clock.now())
        return lambda: response

    try:
        rendered = service.writes.run(company_id, done, then=_render, pipelined=pipelined, repeatable=known is not None)
    except PlanLimitReached as reached:
        raise OverPlan(limit=reached.limit, held=reached.held, new=reached.new) from None
    except once.KeyReused:
        raise KeyReused from None
    return rendered()


def answered(request: Request, key: Key, fingerprint: bytes, *, dry_run: bool) -> Response | None:
    """The answer that an equal request has had already, for a handler whose work begins before its transaction."""
    service, known = service_of(request), _known(request, key.company_id, fingerprint, dry_run=dry_run)
    if known is None:
        return None
    try:
        kept = service.writes.run(
            key.company_id, lambda conn: known.recall(conn, service.clock.now()), pipelined=True, repeatable=True
        )
    except once.KeyReused:
        raise KeyReused from None
    return _replayed(kept) if kept else None


def _render(rendering: Callable[[], Response]) -> None:
    rendering()


def _known(request: Request, company_id: UUID, fingerprint: bytes, *, dry_run: bool) -> Once | None:
    """What repeats of the request are known by; None where it carries no Idempotency-Key or would write nothing."""
    header = idempotency_key(request)
    if header is None or dry_run:
        return None
    return Once.of(
        company_id, method=request.method, path=request.scope["path"], key=header, fingerprint=fingerprint
    )  # fmt: skip


def _replayed(kept: Answer) -> Response:
    return Response(kept.body, kept.status, _REPLAYED, media_type=kept.media_type)
