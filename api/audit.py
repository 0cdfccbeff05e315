"""Lists and filters the audit ledger (GET /audit-log).

`warehouse.audit.ledger` writes its entries.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from api.answers import json_of
from api.auth import Presented
from api.document import READ_ERRORS, V1, operation
from api.errors import WithoutAuditLog
from api.operations import resource
from api.parameters import LIMIT, OFFSET, Parameter, instant
from api.reading import read
from schemas import texts
from schemas.audit import ACTIONS, RESOURCE_TYPES, actions_of
from schemas.messages import Message
from schemas.normalise import Unfit
from schemas.responses import AuditLogResponse
from services.audit import page
from warehouse.audit import entries

router = resource(prefix=V1, tags=["Audit"])

_INSTANT_OR_DAY: Final = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}


def _bound(of_day: time) -> Callable[[Sequence[str]], datetime]:
    """Return a parser of an instant, or of a UTC day as its first or last moment."""

    def parsed(values: Sequence[str]) -> datetime:
        if len(values[-1]) != len("2026-08-12"):
            return instant(values)
        try:
            return datetime.combine(date.fromisoformat(values[-1]), of_day, UTC)
        except ValueError:
            raise Unfit("invalid_format", Message("Send a day as YYYY-MM-DD, or an RFC 3339 instant.")) from None

    return parsed


def _one_of(codes: Sequence[str]) -> Callable[[Sequence[str]], str]:
    def parsed(values: Sequence[str]) -> str:
        if values[-1] not in codes:
            raise Unfit("not_in_vocabulary", Message("This parameter is one of: {codes}.", codes=", ".join(codes)))
        return values[-1]

    return parsed


def _text(values: Sequence[str]) -> str:
    if (sentence := texts.control_in(values[-1])) is not None:
        raise Unfit("invalid_format", sentence)
    return values[-1]


SINCE: Final[Parameter[datetime | None]] = Parameter(
    "since",
    _bound(time.min),
    None,
    _INSTANT_OR_DAY,
    "Only entries at or after this: a whole UTC day (YYYY-MM-DD), or an RFC 3339 instant with Z or an offset.",
)
UNTIL: Final[Parameter[datetime | None]] = Parameter(
    "until",
    _bound(time.max),
    None,
    _INSTANT_OR_DAY,
    "Only entries at or before this: a whole UTC day, which is included, or an RFC 3339 instant.",
)
ACTION: Final[Parameter[str | None]] = Parameter(
    "action", _one_of(tuple(ACTIONS)), None, {"type": "string", "enum": list(ACTIONS)}, "Only this action."
)
RESOURCE_TYPE: Final[Parameter[str | None]] = Parameter(
    "resource_type",
    _one_of(RESOURCE_TYPES),
    None,
    {"type": "string", "enum": list(RESOURCE_TYPES)},
    "Only actions on this: the part of the action before the dot.",
)
ACTOR: Final[Parameter[str | None]] = Parameter(
    "actor", _text, None, {"type": "string"}, "Only entries whose actor has exactly this type, id or name."
)


@router.get(
    "/audit-log",
    **operation(
        "Workspace audit log (Enterprise)",
        parameters=(LIMIT, OFFSET, SINCE, UNTIL, ACTION, RESOURCE_TYPE, ACTOR),
        answers={200: AuditLogResponse},
        errors=(*READ_ERRORS, "plan_limit_reached"),
    ),
)
async def list_audit_entries(request: Request, presented: Presented) -> Response:
    """A page of state changes, newest first: who did what to which record, the values before and after, and why.

    Only companies whose plan includes the audit log have it; others get `plan_limit_reached`.
    """
    limit, offset, filters = LIMIT.of(request), OFFSET.of(request), _filters(request)
    statement = entries.page(limit, offset, tuple(filters))
    included, found = await read(request, presented, statement, filters)
    if not included:
        raise WithoutAuditLog
    return json_of(page.shown(found, limit, offset))


def _filters(request: Request) -> dict[str, Any]:
    """Return the parameters of the request's filters. Raise `InvalidBody`."""
    action, resource_type = ACTION.of(request), RESOURCE_TYPE.of(request)
    actions = [known for known in ACTIONS if action in (None, known)]
    if resource_type is not None:
        actions = [known for known in actions if known in actions_of(resource_type)]
    given = {
        "since": SINCE.of(request),
        "until": UNTIL.of(request),
        "actor": ACTOR.of(request),
        "actions": None if action is None and resource_type is None else actions,
    }
    return {name: value for name, value in given.items() if value is not None}
