"""The door of every write: one transaction of the key's company around it, its answer rendered behind.

With an Idempotency-Key the answer is rendered and kept in that same transaction, and a repeat is given it instead of
writing again. What a handler does in the transaction is its own: this module knows no field and no record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.auth import Credential, admitted, let_in, presented
from api.bodies import MAX_JSON_BYTES, announced, fingerprint, json_bytes, parsed
from api.errors import KeyReused, OverPlan
from api.languages import spoken
from api.parameters import idempotency_key
from api.service import service_of
from api.together import caught
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

Write: TypeAlias = Callable[[Request, Key, Any], Response]
"""What answers one request of a key with a parsed body; refusals are raised."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that was let in, with its parsed body."""

    request: Request
    key: Key
    body: Any


WriteSeveral: TypeAlias = Callable[[Connection, Mapping[int, Sent]], Mapping[int, Callable[[], Response] | Exception]]
"""Writes several requests of one key, by their places, in the transaction that it is given; as `Work` for each.

It returns a refusal in place of what renders, and leaves out what it cannot do together with the rest. What it raises
undoes all: each is then done by itself.
"""

_Call: TypeAlias = tuple[Request, bytes]

_IN_ONE_PIECE: Final = 64 * 2**10
"""Bytes of a body that is read before its caller is let in: the server holds as many of any request."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("pcds.writes")
_REPLAYED: Final = {"Idempotent-Replayed": "true"}


async def written(request: Request, write: Write, several: WriteSeveral | None = None) -> Response:
    """The answer of `write` to a request with a JSON body: who calls is asked first, then the body is looked at.

    Asked here and not by the framework, whose way from one dependency to the next costs as much as a step of the write.
    `write` runs in a thread, as it waits for the database. A small body is taken along, so that the thread asks, too.
    With `several`, those of one caller that come while others are under way are done together (decision 0027), unless
    they have parameters; with an Idempotency-Key among their like.
    """
    credential = await presented(request)
    if (announced(request) or MAX_JSON_BYTES) > _IN_ONE_PIECE:
        key = await admitted(request, credential, "write")
        return await run_in_threadpool(write, request, key, parsed(await json_bytes(request)))
    call = (request, await json_bytes(request))
    if several is None or request.scope["query_string"]:
        return await run_in_threadpool(_let_in, credential, write, call)
    do = partial(_let_in_together, credential, write, several)
    like = (credential, several, "idempotency-key" in request.headers)
    return await service_of(request).together.join(like, call, do)


def _let_in(credential: Credential, write: Write, call: _Call) -> Response:
    request, body = call
    [key] = let_in([request], credential, "write")
    if isinstance(key, Exception):
        raise key
    return write(request, key, parsed(body))


def _let_in_together(
    credential: Credential, write: Write, several: WriteSeveral, calls: Sequence[_Call]
) -> list[Response | Exception]:  # fmt: skip
    """What becomes of each call. One that cannot be done with the others is done by itself, and holds back none."""
    if len(calls) == 1:
        return [caught(_let_in, credential, write, calls[0])]
    keys = let_in([request for request, _ in calls], credential, "write")
    done: dict[int, Response | Exception] = {}
    sent: dict[int, Sent] = {}
    for place, ((request, body), key) in enumerate(zip(calls, keys, strict=True)):
        value = key if isinstance(key, Exception) else caught(parsed, body)
        if isinstance(key, Exception) or isinstance(value, Exception):
            done[place] = value
        else:
            sent[place] = Sent(request, key, value)
    done |= _done_together(several, sent)
    alone = {place: one for place, one in sent.items() if place not in done}
    done |= {place: caught(write, one.request, one.key, one.body) for place, one in alone.items()}
    return [done[place] for place in range(len(calls))]


def _done_together(several: WriteSeveral, sent: Mapping[int, Sent]) -> Mapping[int, Response | Exception]:
    """The answers of those that one transaction could do. Of equal requests it takes the first."""
    onces = {place: caught(_once, one) for place, one in sent.items()}
    first = {once.request: place for place, once in reversed(onces.items()) if isinstance(once, Once)}
    known = {place: once for place, once in onces.items() if isinstance(once, Once) and first[once.request] == place}
    todo = {place: one for place, one in sent.items() if onces[place] is None or place in known}
    if len(todo) < 2:
        return {}
    try:
        return _in_one_transaction(several, todo, known)
    except psycopg.OperationalError:
        raise  # the database is away, or whether it has done it is in doubt: nobody's is done once more
    except Exception as error:
        _log.info("not_together", writes=len(todo), reason=type(error).__name__)
        return {}


def _once(one: Sent) -> Once | None:
    if "idempotency-key" not in one.request.headers:
        return None
    return _known(one.request, one.key.company_id, fingerprint(one.body), dry_run=False)


def _in_one_transaction(
    several: WriteSeveral, todo: Mapping[int, Sent], known: Mapping[int, Once]
) -> Mapping[int, Response | Exception]:  # fmt: skip
    one = next(iter(todo.values()))
    service, company_id = service_of(one.request), one.key.company_id
    answers: dict[int, Response | Exception] = {}

    def rendered(place: int, rendering: Callable[[], Response] | Exception) -> Response | Exception:
        return rendering if isinstance(rendering, Exception) else spoken(todo[place].request, rendering())

    def work(conn: Connection) -> Mapping[int, Callable[[], Response] | Exception]:
        now, recalled = service.clock.now(), Once.recall_each(conn, known, service.clock.now())
        kept = {place: _replayed(found) for place, found in recalled.items() if isinstance(found, Answer)}
        reused = {place: KeyReused() for place, found in recalled.items() if isinstance(found, once.KeyReused)}
        answers.clear()
        answers.update({**kept, **reused})
        renderings = several(conn, {place: each for place, each in todo.items() if place not in answers})
        for place in known.keys() & renderings.keys():
            answers[place] = response = rendered(place, renderings[place])
            if isinstance(response, Response):
                _keep(conn, known[place], response, now)
        return {place: rendering for place, rendering in renderings.items() if place not in known}

    def render(renderings: Mapping[int, Callable[[], Response] | Exception]) -> None:
        answers.update({place: rendered(place, rendering) for place, rendering in renderings.items()})

    repeatable = len(known) == len(todo)
    service.writes.run(company_id, work, then=render, pipelined=True, repeatable=repeatable)
    return answers


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
        _keep(conn, known, response, service.clock.now())
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


def _keep(conn: Connection, known: Once, response: Response, now: datetime) -> None:
    if response.status_code < 300:
        known.keep(conn, Answer(response.status_code, str(response.media_type), bytes(response.body)), now)


def _replayed(kept: Answer) -> Response:
    return Response(kept.body, kept.status, _REPLAYED, media_type=kept.media_type)
