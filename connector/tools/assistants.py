"""Gets the user's own confirmation before anything is filed: through the assistant, else by a code that it shows.

An assistant that can ask does so in both protocol eras. One that cannot gets the would-be filing and a code bound to
these arguments and this connection for ten minutes; a first call files nothing (decisions §7). However often an answer
or a code is sent again, its filing is stored once: the question is part of the filing's key.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias  # Any: JSON; the SDK's type parameters
from uuid import uuid4

import orjson
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, Field

from connector.principal import Principal
from connector.service import Service
from connector.tools.kit import Answer, Values, instant, refusal
from schemas.actors import Actor
from schemas.texts import one_line
from services.run import run
from warehouse import assistants as confirmations
from warehouse.operate import objects
from warehouse.operate.sessions import Connection
from warehouse.review import Entry

Confirmation = Annotated[
    str | None,
    Field(description="Once the user agreed: the code of the first call."),
]
_MODERN: Final = "2026-07-28"
"""From this revision on a question is sent as an answer and needs no channel back."""
_SOURCE: Final = "The company's records and what this call brings; nothing was changed by it"
_sealed: ContextVar[str | None] = ContextVar("sealed question", default=None)


class Yes(BaseModel):
    """What the user is asked."""

    file: Annotated[bool, Field(description="File this in the review queue, where a person decides on it?")]


class Filed(Answer):
    """What became of a drafting call."""

    status: Annotated[
        Literal["filed", "confirmation_needed", "declined"],
        Field(description="filed: it waits in the review queue. confirmation_needed: nothing is filed yet."),
    ]
    would_file: Annotated[Values, Field(description="What is filed, or would be, for the user to see.")]
    entry_id: Annotated[str | None, Field(description="The entry of the review queue.")] = None
    entry_state: Annotated[str | None, Field(description="open, accepted, rejected or replaced.")] = None
    review_url: Annotated[str | None, Field(description="Where a person decides.")] = None
    confirmation: Annotated[str | None, Field(description="Show it to the user; send it back once they agree.")] = None
    confirmation_expires_at: str | None = None


ToolContext: TypeAlias = Context[Any, Any]
"""The library's context of a call; no state of our own is kept in it."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """The assistant cannot ask, or brings a confirmation instead."""


@dataclass(frozen=True, slots=True)
class Filing:
    """One call of a drafting tool, and the entry that it would file.

    `arguments` are the call's without its confirmation; `file` files under the given key, in a transaction of the
    company. `document` is the object that the entry names: its key and its bytes.
    """

    tool: str
    arguments: Mapping[str, object]
    would_file: Mapping[str, object]
    file: Callable[[Connection, bytes], Entry]
    document: tuple[str, bytes] | None = None

    @property
    def meaning(self) -> bytes:
        """Return the digest of the tool and its arguments."""
        return hashlib.sha256(orjson.dumps([self.tool, self.arguments], option=orjson.OPT_SORT_KEYS)).digest()


async def remember_question(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Record a question's sealed state before the library unseals it: each sealed state belongs to one question."""
    state = (ctx.params or {}).get("requestState")
    before = _sealed.set(state if isinstance(state, str) else None)
    try:
        return await call_next(ctx)
    finally:
        _sealed.reset(before)


def ask_user(ctx: ToolContext, question: str, confirmation: str | None) -> Elicit[Yes] | Unasked:
    """Return the question where the assistant can ask it, in its protocol era, else `Unasked`."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    form = elicitation is not None and (elicitation.form is not None or elicitation.url is None)
    channel = (ctx.protocol_version or "") >= _MODERN or ctx.session.can_send_request
    return Elicit(one_line(question), Yes) if form and channel and confirmation is None else Unasked()


def settled(
    service: Service, who: Principal, filing: Filing, answer: ElicitationResult[Yes], confirmation: str | None
) -> Filed:
    """File what the user agreed to, answer that they declined, or return a code for the agreement."""
    if not isinstance(answer, AcceptedElicitation):
        return _answer(service, filing, "declined", "The user declined: nothing was filed. Ask what to change.")
    if isinstance(answer.data, Unasked):
        if confirmation is None:
            return _coded(service, who, filing)
        return _filed(service, who, filing, confirmation, code=confirmation)
    if not answer.data.file:
        return _answer(service, filing, "declined", "The user declined: nothing was filed. Ask what to change.")
    return _filed(service, who, filing, _sealed.get() or str(uuid4()))


def _coded(service: Service, who: Principal, filing: Filing) -> Filed:
    now = service.clock.now()
    with service.writes.company(who.company_id) as conn:
        code, expires_at = confirmations.issue(conn, who.company_id, who.connection_id, filing.meaning, now)
    step = (
        "Nothing is filed yet. Show the user would_file; once they agree, call again with the same arguments and this "
        "confirmation, within ten minutes."
    )
    return _answer(
        service, filing, "confirmation_needed", step, confirmation=code, confirmation_expires_at=instant(expires_at)
    )


def _filed(service: Service, who: Principal, filing: Filing, question: str, *, code: str | None = None) -> Filed:
    """File under the key of this question; a code must have been given for the same call."""
    parts = (who.connection_id.bytes, filing.meaning, question.encode("utf-8", "surrogatepass"))
    key = hashlib.sha256(b"\x00".join(parts)).digest()
    now = service.clock.now()

    def file_entry(conn: Connection) -> Entry:
        if code is not None and not confirmations.holds(conn, code, who.connection_id, filing.meaning, now):
            sentence = (
                "The confirmation is unknown, older than ten minutes, or was given for other arguments. Call again "
                "without it, show the user what would be filed, and send the new one."
            )
            raise refusal("invalid_body", sentence)
        return filing.file(conn, key)

    entry = _stored(service, who, filing, file_entry)
    return _answer(
        service,
        filing,
        "filed",
        "Tell the user that it waits in the review queue, where a person decides on it.",
        entry_id=str(entry.id),
        entry_state=entry.state,
        review_url=f"{service.settings.base_url}/review/{entry.id}",
    )


def _stored(service: Service, who: Principal, filing: Filing, work: Callable[[Connection], Entry]) -> Entry:
    """Store the document, and then the entry that names it in one transaction.

    A document that is refused is removed; where the commit is in doubt housekeeping removes it, if nothing names it.
    """
    if filing.document is not None:
        try:
            service.objects.put(*filing.document)
        except ConnectionError:
            raise refusal("internal_error", f"{objects.AWAY} Nothing was filed.") from None
    try:
        actor = Actor(who.company_id, who.origin, service.clock.now())
        return run(service.writes, actor, work, lambda entry: entry, repeatable=True)
    except ToolError:
        if filing.document is not None:
            service.objects.remove(filing.document[0])
        raise


def _answer(
    service: Service,
    filing: Filing,
    status: Literal["filed", "confirmation_needed", "declined"],
    next_step: str,
    **more: str,
) -> Filed:
    return Filed(
        as_of=service.clock.now(),
        sources=[_SOURCE],
        next_step=next_step,
        status=status,
        would_file=dict(filing.would_file),
        **more,
    )
