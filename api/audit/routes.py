"""Lists and filters the audit ledger (GET /audit-log).

`warehouse.audit.ledger` writes its entries.
"""

from datetime import datetime, time
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.http.answers import json_of
from api.http.auth import Presented, read_page
from api.http.errors import WithoutAuditLog
from api.http.parameters import INSTANT_OR_DAY, Limit, Offset, bound, one_of, plain_text
from api.openapi.document import READ_ERRORS, V1, operation
from schemas.audit import AuditLogResponse
from schemas.skus.inputs import validator
from schemas.vocabularies import ACTIONS, RESOURCE_TYPES, actions_of
from services import audit
from warehouse.audit import ledger

router = APIRouter(prefix=V1, tags=["Audit"])

Since = Annotated[
    datetime | None,
    BeforeValidator(validator(bound, time.min)),
    WithJsonSchema(INSTANT_OR_DAY),
    Query(
        description="Only entries at or after this: a whole UTC day (YYYY-MM-DD), or an RFC 3339 instant with Z or an "
        "offset."
    ),
]
Until = Annotated[
    datetime | None,
    BeforeValidator(validator(bound, time.max)),
    WithJsonSchema(INSTANT_OR_DAY),
    Query(description="Only entries at or before this: a whole UTC day, which is included, or an RFC 3339 instant."),
]
Action = Annotated[
    str | None,
    AfterValidator(validator(one_of, tuple(ACTIONS))),
    WithJsonSchema({"type": "string", "enum": list(ACTIONS)}),
    Query(description="Only this action."),
]
ResourceType = Annotated[
    str | None,
    AfterValidator(validator(one_of, RESOURCE_TYPES)),
    WithJsonSchema({"type": "string", "enum": list(RESOURCE_TYPES)}),
    Query(description="Only actions on this: the part of the action before the dot."),
]
Actor = Annotated[
    str | None,
    AfterValidator(validator(plain_text)),
    WithJsonSchema({"type": "string"}),
    Query(description="Only entries whose actor has exactly this type, id or name."),
]


@router.get(
    "/audit-log",
    **operation(
        "Workspace audit log (Enterprise)", answers={200: AuditLogResponse}, errors=(*READ_ERRORS, "plan_limit_reached")
    ),
)
async def list_audit_entries(
    request: Request,
    presented: Presented,
    *,
    limit: Limit = 50,
    offset: Offset = 0,
    since: Since = None,
    until: Until = None,
    action: Action = None,
    resource_type: ResourceType = None,
    actor: Actor = None,
) -> Response:
    """A page of state changes, newest first: who did what to which record, the values before and after, and why.

    Only companies whose plan includes the audit log have it; others get `plan_limit_reached`.
    """
    actions: list[str] | None = None
    if action is not None or resource_type is not None:
        of_type = ACTIONS if resource_type is None else actions_of(resource_type)
        actions = [name for name in ACTIONS if action in (None, name) and name in of_type]
    values = {"since": since, "until": until, "actor": actor, "actions": actions}
    filters = {name: value for name, value in values.items() if value is not None}
    page = audit.page_of(await read_page(request, presented, ledger.page(limit, offset, filters)))
    if page is None:
        raise WithoutAuditLog
    return json_of(page)
