"""Writes several requests in one transaction: admits them by one statement, and answers each as if it were alone.

See decision 0027. `api.together` decides which requests are grouped, and when; `api.writing` handles a single write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
import structlog
from starlette.requests import Request
from starlette.responses import Response

from api import repeats
from api.auth import Credential, let_in
from api.bodies import fingerprint, parsed
from api.errors import KeyReused
from api.languages import spoken
from api.service import service_of
from api.together import caught
from pipelines.writing import once
from pipelines.writing.once import Answer, Once
from warehouse.access.keys import Key
from warehouse.sessions import Connection

Write: TypeAlias = Callable[[Request, Key, Any], Response]
"""Answers one request of a key with a parsed body; refusals are raised."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An admitted request, with its parsed body."""

    request: Request
    key: Key
    body: Any


WriteSeveral: TypeAlias = Callable[[Connection, Mapping[int, Sent]], Mapping[int, Callable[[], Response] | Exception]]
"""Writes several requests of one key, by their places, in the given transaction; for each as `Work`.

It returns a refusal in place of a renderer, and leaves out the requests that it cannot write with the others. An
exception undoes all: each is then done by itself.
"""

Call: TypeAlias = tuple[Request, bytes]
"""A request that is not admitted yet, with its body."""

_log: structlog.stdlib.BoundLogger = structlog.get_logger("pcds.writes")


def let_in_one(credential: Credential, write: Write, call: Call) -> Response:
    """Return the answer to a single call: admit its caller, then read its body."""
    request, body = call
    [key] = let_in([request], credential, "write")
    if isinstance(key, Exception):
        raise key
    return write(request, key, parsed(body))


def let_in_each(
    credential: Credential, write: Write, several: WriteSeveral, calls: Sequence[Call]
) -> list[Response | Exception]:
    """Return the result of each call of one caller. Calls that cannot be done with the others are done singly."""
    if len(calls) == 1:
        return [caught(let_in_one, credential, write, calls[0])]
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
    """Return the answers of the requests that one transaction could write. Of equal requests it takes the first."""
    onces = {place: caught(_once, one) for place, one in sent.items()}
    first = {once.request: place for place, once in reversed(onces.items()) if isinstance(once, Once)}
    known = {place: once for place, once in onces.items() if isinstance(once, Once) and first[once.request] == place}
    todo = {place: one for place, one in sent.items() if onces[place] is None or place in known}
    if len(todo) < 2:
        return {}
    try:
        return _in_one_transaction(several, todo, known)
    except psycopg.OperationalError:
        raise  # the database is away, or the commit is in doubt: no request is repeated
    except Exception as error:
        _log.info("not_together", writes=len(todo), reason=type(error).__name__)
        return {}


def _once(one: Sent) -> Once | None:
    if "idempotency-key" not in one.request.headers:
        return None
    return repeats.known(one.request, one.key.company_id, fingerprint(one.body), dry_run=False)


def _in_one_transaction(
    several: WriteSeveral, todo: Mapping[int, Sent], known: Mapping[int, Once]
) -> Mapping[int, Response | Exception]:
    one = next(iter(todo.values()))
    service, company_id = service_of(one.request), one.key.company_id
    answers: dict[int, Response | Exception] = {}

    def rendered(place: int, rendering: Callable[[], Response] | Exception) -> Response | Exception:
        return rendering if isinstance(rendering, Exception) else spoken(todo[place].request, rendering())

    def work(conn: Connection) -> Mapping[int, Callable[[], Response] | Exception]:
        now, recalled = service.clock.now(), Once.recall_each(conn, known, service.clock.now())
        kept = {place: repeats.replayed(found) for place, found in recalled.items() if isinstance(found, Answer)}
        reused = {place: KeyReused() for place, found in recalled.items() if isinstance(found, once.ReusedKey)}
        answers.clear()
        answers.update({**kept, **reused})
        renderings = several(conn, {place: each for place, each in todo.items() if place not in answers})
        for place in [place for place in renderings if place in known]:
            answers[place] = response = rendered(place, renderings[place])
            if isinstance(response, Response):
                repeats.keep(conn, known[place], response, now)
        return {place: rendering for place, rendering in renderings.items() if place not in known}

    def render(renderings: Mapping[int, Callable[[], Response] | Exception]) -> None:
        answers.update({place: rendered(place, rendering) for place, rendering in renderings.items()})

    repeatable = len(known) == len(todo)
    service.writes.run(company_id, work, then=render, pipelined=True, repeatable=repeatable)
    return answers
