"""Runs every write of the REST API: admits the caller, runs one transaction of the company, renders the answer.

A write handler reads downwards: its parameters, `received.admitted()`, `write.answer`. What a write does in its
transaction and how its result is shown belong to the handler: this module knows no field and no record. With an
Idempotency-Key the answer is stored in the same transaction, and a repeat gets it instead of a second write
(`warehouse.answers` defines what is stored, how long, and which request waits for which).
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Final, Generic, Self, TypeVar
from uuid import UUID

import orjson
import psycopg
from fastapi import Depends, Header
from pydantic import BeforeValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import JsonAnswer, accepted_language, in_language, json_of
from api.http.auth import Credential, admit, admit_each_in_thread, admit_in_thread, credential_of, scope_of
from api.http.errors import VersionConflict
from api.http.parameters import idempotency_key
from api.http.requests import MAX_JSON_BYTES, content_length, fingerprint, json_body, origin_of_actor
from api.http.service import Service, service_of
from api.http.together import caught
from api.openapi.document import V1
from schemas.actors import Actor
from schemas.json_values import Json
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.skus.inputs import ReasonInput, parse_body, validator
from services.run import run
from warehouse.accounts.keys import Key
from warehouse.answers import Answer, RepeatableRequest, ReusedKey
from warehouse.operate.sessions import Connection, telling_whether_done

T = TypeVar("T")
R = TypeVar("R")

_SMALL_BYTES: Final = 64 * 2**10
"""Size of a body that is read before its caller is admitted: the server buffers as many bytes of any request."""
_MADE: Final = {"issue": "docs", "renew": "doc-drafts"}
"""What an operation makes whose path does not end in it."""
_WITHOUT_ADDRESS: Final = ("files", "supplier-requests")
"""Records that have no address of their own: a list has them."""
_REPLAYED: Final = {"Idempotent-Replayed": "true"}


@dataclass(frozen=True, slots=True)
class _Once(Generic[R]):
    """A request with an Idempotency-Key, as `services.run` answers it once."""

    request: RepeatableRequest
    now: Callable[[], datetime]
    replay: Callable[[Answer], R]
    stored: Callable[[R], Answer | None]
    """The form in which an answer is kept; None of one that is not."""

    def recall(self, conn: Connection) -> R | None:
        """Return the answer that an equal request had."""
        stored = self.request.recall(conn, self.now())
        return None if stored is None else self.replay(stored)

    def keep(self, conn: Connection, answer: R) -> None:
        """Store the answer where it is one to keep."""
        if (stored := self.stored(answer)) is not None:
            self.request.keep(conn, stored, self.now())


@dataclass(frozen=True, slots=True)
class _OnceEach:
    """Several requests with Idempotency-Keys, by their places; `answers` has those that were answered before."""

    requests: Mapping[int, _Once[Response]]
    answers: dict[int, Response | Exception]

    def recall(self, conn: Connection) -> None:
        """Find the answers that equal requests had, in one order: groups wait for each other, and never for ever."""
        self.answers.clear()
        for place, once in sorted(self.requests.items(), key=lambda item: item[1].request.request):
            try:
                earlier: Response | Exception | None = once.recall(conn)
            except ReusedKey as reused:
                earlier = reused
            if earlier is not None:
                self.answers[place] = earlier

    def keep(self, conn: Connection, answers: dict[int, Response | Exception]) -> None:
        """Store the other answers."""
        for place, answer in answers.items():
            if isinstance(answer, Response):
                self.requests[place].keep(conn, answer)


def _replay(stored: Answer) -> Response:
    return Response(stored.body, stored.status, _REPLAYED, media_type=stored.media_type)


def _success(answer: Response) -> Answer | None:
    if answer.status_code >= 300:
        return None
    return Answer(answer.status_code, str(answer.media_type), bytes(answer.body))


def _id_of(stored: Answer) -> UUID:
    return UUID(stored.body.decode())


def _stored_id(record_id: UUID) -> Answer:
    return Answer(HTTPStatus.OK, "text/plain", str(record_id).encode())


def _itself(result: T) -> T:
    return result


@dataclass(frozen=True, slots=True)
class Write:
    """One write of an admitted caller, by its actor."""

    request: Request
    service: Service
    actor: Actor
    form_key: str | None = None
    """What a form has in place of an Idempotency-Key, so that it does nothing twice when it is sent twice."""

    @classmethod
    def by(
        cls,
        request: Request,
        company_id: UUID,
        actor_type: str,
        actor_id: str,
        name: str | None = None,
        *,
        lang: str | None = None,
        form_key: str | None = None,
    ) -> Self:
        """Return the write of an actor of any type, which begins now."""
        service, origin = service_of(request), origin_of_actor(request, actor_type, actor_id, name)
        actor = Actor(company_id, origin, service.clock.now(), lang or accepted_language(request))
        return cls(request, service, actor, form_key)

    @classmethod
    def by_key(cls, request: Request, key: Key) -> Self:
        """Return the write of a key's caller."""
        return cls.by(request, key.company_id, "api_key", str(key.client_id), key.name)

    def answer(
        self,
        fingerprint: bytes,
        operation: Callable[[Connection], T],
        render: Callable[[T], Response],
        *,
        dry_run: bool = False,
        pipelined: bool = False,
    ) -> Response:
        """Return what `render` makes of the result of `operation`; see `services.run`.

        `fingerprint` is `api.http.requests.fingerprint` of the whole meaning of the request beside its path. An equal
        request with the same Idempotency-Key gets the first one's answer; only success answers are stored. A `dry_run`
        stores none and gets none.
        """
        answer = run(
            self.service.writes,
            self.actor,
            operation,
            lambda result: in_language(render(result), self.actor.lang),
            once=self._once(fingerprint, _replay, _success, dry_run=dry_run),
            pipelined=pipelined,
        )
        return self._located(answer)

    def do(self, operation: Callable[[Connection], T]) -> T:
        """Return the result of `operation`, done in one transaction; see `services.run`."""
        return run(self.service.writes, self.actor, operation, _itself)

    def answer_with_secret(
        self,
        fingerprint: bytes,
        operation: Callable[[Connection], T],
        render: Callable[[T], JsonAnswer],
        secret: Sequence[str],
        *,
        dry_run: bool,
    ) -> Response:
        """Return as `answer` does, but store null for the members `secret`: a repeat does not get them."""
        whole: JsonAnswer | None = None

        def render_stored(result: T) -> Response:
            nonlocal whole
            whole = render(result)
            return json_of(whole.value | dict.fromkeys(secret), whole.status_code)

        answer = self.answer(fingerprint, operation, render_stored, dry_run=dry_run)
        is_first = whole and isinstance(answer, JsonAnswer)
        return self._located(in_language(whole, self.actor.lang)) if whole and is_first else answer

    def made_once(self, fingerprint: bytes, operation: Callable[[Connection], UUID]) -> UUID:
        """Return the id of what `operation` made for a form, or of what it made when the form was sent before."""
        once = self._once(fingerprint, _id_of, _stored_id)
        return run(self.service.writes, self.actor, operation, _itself, once=once)

    def made_before(self, fingerprint: bytes) -> UUID | None:
        """Return the id of what the form made when it was sent before, for a page that works before its transaction."""
        return self._earlier(self._once(fingerprint, _id_of, _stored_id))

    def answer_in(self, conn: Connection, fingerprint: bytes, render: Callable[[], Response]) -> Response:
        """Return what `render` makes, kept in the caller's own transaction of this write's company, or the kept answer.

        For a handler whose work no transaction of the application's role can do.
        """
        once = self._once(fingerprint, _replay, _success)
        if once is not None and (earlier := once.recall(conn)) is not None:
            return earlier
        answer = in_language(render(), self.actor.lang)
        if once is not None:
            once.keep(conn, answer)
        return answer

    def answered(self, fingerprint: bytes, *, dry_run: bool) -> Response | None:
        """Return the answer that an equal request already had, for a handler that works before its transaction."""
        earlier = self._earlier(self._once(fingerprint, _replay, _success, dry_run=dry_run))
        return earlier and self._located(earlier)

    def _located(self, answer: Response) -> Response:
        """Return an answer to what was made or accepted with the address of the record (RFC 9110, section 15.3.2)."""
        is_made = answer.status_code in (HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
        if is_made and answer.media_type == "application/json":
            value = answer.value if isinstance(answer, JsonAnswer) else orjson.loads(answer.body)
            path, record_id = self.request.url.path, value.get("data", value).get("id")
            kind = path.rpartition("/")[2]
            made = path if kind in _WITHOUT_ADDRESS else f"{V1}/{_MADE.get(kind, kind)}/{record_id}"
            if record_id is not None:
                answer.headers["Location"] = value.get("poll_url") or made
        return answer

    def _earlier(self, once: _Once[R] | None) -> R | None:
        if once is None:
            return None
        return self.service.writes.run(self.actor.company_id, once.recall, pipelined=True, repeatable=True)

    def _once(
        self,
        fingerprint: bytes,
        replay: Callable[[Answer], R],
        stored: Callable[[R], Answer | None],
        *,
        dry_run: bool = False,
    ) -> _Once[R] | None:
        """Return a repeatable request with the form of its answer; None without an Idempotency-Key or in a dry run."""
        request, key = self.request, self.form_key or idempotency_key(self.request)
        if key is None or dry_run:
            return None
        repeatable = RepeatableRequest.from_key(
            self.actor.company_id,
            method=request.method,
            path=request.scope["path"],
            key=key,
            fingerprint=fingerprint,
        )
        return _Once(repeatable, self.service.clock.now, replay, stored)


@dataclass(frozen=True, slots=True)
class Received:
    """The parsed JSON of a write; `key` is the caller of a large body, admitted before it was read."""

    request: Request
    credential: Credential
    key: Key | None
    body: Json
    """What `json_body` parsed: any JSON value, which the handler validates."""

    def admitted(self) -> tuple[Write, Json]:
        """Return the caller's write and the body; the caller of a small body is admitted here (decision 0112)."""
        key = self.key or admit_in_thread(self.request, self.credential, scope_of(self.request))
        return Write.by_key(self.request, key), self.body


def admitted_each(received: Sequence[Received]) -> list[Write | Exception]:
    """Return the write of each request of one caller, with small bodies, or the refusal with which it is answered."""
    requests, first = [each.request for each in received], received[0]
    keys = admit_each_in_thread(requests, first.credential, scope_of(first.request))
    return [
        key if isinstance(key, Exception) else Write.by_key(request, key)
        for request, key in zip(requests, keys, strict=True)
    ]


def answer_each(
    writes: Mapping[int, tuple[Write, bytes]],
    operation: Callable[[Connection, Collection[int]], Mapping[int, T | Exception]],
    render: Callable[[Write, T], Response],
) -> dict[int, Response | Exception]:
    """Return the answers to several writes of one caller, with their fingerprints by their places; see `Write.answer`.

    All have an Idempotency-Key, or none. `operation` does in one transaction those at the given places, which no equal
    request did before, and leaves out what is to be done alone. Where it fails, nothing is stored and the result is
    empty: each is then done alone, and the one at fault hears of it. Raise the failure where the database is away, or
    where the commit may be stored.
    """
    onces = {place: caught(write._once, meaning, _replay, _success) for place, (write, meaning) in writes.items()}
    keyed = _OnceEach(_first_of_equals(onces), {})
    todo = [place for place, once in onces.items() if once is None or place in keyed.requests]
    (first, _), *_ = writes.values()
    is_done: Callable[[], bool] | None = None

    def do_all(conn: Connection) -> Mapping[int, T | Exception]:
        nonlocal is_done
        is_done = None
        done = operation(conn, [place for place in todo if place not in keyed.answers])
        if not keyed.requests:
            is_done = telling_whether_done(conn)  # travels with the commit
        return done

    def render_each(done: Mapping[int, T | Exception]) -> dict[int, Response | Exception]:
        return {
            place: result if isinstance(result, Exception) else caught(_rendered, writes[place][0], render, result)
            for place, result in done.items()
        }

    once = keyed if keyed.requests else None
    try:
        answers = run(first.service.writes, first.actor, do_all, render_each, once=once, pipelined=True)
    except Exception as error:
        is_away = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
        if is_away or (is_done is not None and is_done()):
            raise
        return {}
    answers |= keyed.answers
    return {
        place: writes[place][0]._located(answer) if isinstance(answer, Response) else answer
        for place, answer in answers.items()
    }


def _first_of_equals(onces: Mapping[int, _Once[Response] | Exception | None]) -> dict[int, _Once[Response]]:
    """Return those with an Idempotency-Key, and of several with the same one the first alone."""
    first: dict[bytes, int] = {}
    return {
        place: once
        for place, once in onces.items()
        if isinstance(once, _Once) and first.setdefault(once.request.request, place) == place
    }


def _rendered(write: Write, render: Callable[[Write, T], Response], result: T) -> Response:
    return in_language(render(write, result), write.actor.lang)


async def _received(request: Request) -> Received:
    credential = await credential_of(request)
    large = (content_length(request) or MAX_JSON_BYTES) > _SMALL_BYTES
    key = await admit(request, credential, scope_of(request)) if large else None
    return Received(request, credential, key, await json_body(request))


JsonWrite = Annotated[Received, Depends(_received)]
"""A write's caller and body. A fault in it is answered once its caller is admitted.

It is no Pydantic model of the framework's: the contract has the Idempotency-Key judged before the body's fields, a
batch's rows refused one by one, and any content type taken (decision 0049).
"""


ETAG: Final = {"ETag": "The version of the SKU; send it back as If-Match."}
"""The header of an answer that shows a SKU, with its meaning."""
_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e]*"'
_TAGS: Final = re.compile(rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG})*", re.ASCII)
_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Precondition:
    """The entity tags of an If-Match; `*` is met by any stored SKU, a weak tag by none (RFC 9110, section 13.1.1)."""

    tags: frozenset[str]

    @classmethod
    def of_version(cls, version: int | None) -> Self:
        """Return the precondition of one version, which none meets where it is None."""
        return cls(frozenset() if version is None else frozenset({_tag(version)}))

    def check(self, version: int | None) -> None:
        """Raise `VersionConflict` where the stored version is another; None where the SKU is not stored."""
        if version is None or not self.tags & {_ANY, _tag(version)}:
            is_weak = version is not None and f"W/{_tag(version)}" in self.tags
            raise VersionConflict(version, is_weak=is_weak)


def _precondition(value: str) -> Precondition:
    if value != _ANY and not _TAGS.fullmatch(value):
        raise Unfit("invalid_format", Message('If-Match is a version in quotes, such as "3", or *.'))
    return Precondition(frozenset(re.findall(_TAG, value)) or frozenset({_ANY}))


IfMatch = Annotated[
    Precondition | None,
    BeforeValidator(validator(_precondition)),
    WithJsonSchema({"type": "string"}),
    Header(
        alias="If-Match",
        description="The ETag of the SKU that the write was made for; refused with 412 where it has changed since.",
    ),
]


def _create_only(value: str) -> bool:
    if value != _ANY:
        raise Unfit("invalid_format", Message("If-None-Match of a write is *: the SKU must not exist yet."))
    return True


CreateOnly = Annotated[
    bool | None,
    BeforeValidator(validator(_create_only)),
    WithJsonSchema({"type": "string", "enum": [_ANY]}),
    Header(
        alias="If-None-Match",
        description="`*`: the SKU is created or nothing is written; refused with 412 where it exists, archived or not.",
    ),
]


def fingerprint_for(body: object, if_match: Precondition | None, *, create_only: bool = False) -> bytes:
    """Return the fingerprint of a write: its body, and the versions that it was made for where it names some."""
    if create_only:
        return fingerprint([body, sorted(if_match.tags) if if_match else None, _ANY])
    return fingerprint(body if if_match is None else [body, sorted(if_match.tags)])


def with_etag(answer: Response, version: int | None) -> Response:
    """Return the answer with the entity tag of the SKU that it shows; without one where nothing is stored."""
    if version is not None:
        answer.headers["ETag"] = _tag(version)
    return answer


def _tag(version: int) -> str:
    return f'"{version}"'


def with_reason(write: Write, body: Json) -> Write:
    """Return the write with the reason of its body, which the audit log keeps. Raise `Refused`."""
    sent = parse_body(ReasonInput, body)
    return replace(write, actor=write.actor.with_reason(sent.reason))
