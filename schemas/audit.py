"""Models of the audit ledger's answers."""

from typing import Annotated, Any  # Any: fields of any record

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Instant, code
from schemas.pages import ListAnswer

_CHANGED = "Only the fields that changed; those of a SKU have the names of SkuDetailResponse."
Before = Annotated[
    dict[str, Any] | None, PydanticField(description=f"{_CHANGED} Null where there was no value before.")
]
After = Annotated[
    dict[str, Any] | None, PydanticField(description=f"{_CHANGED} Null where there is no value afterwards.")
]


class AuditActor(TypedDict):
    """The actor of an action."""

    type: code("audit_actor_type")  # type: ignore[valid-type]
    id: Annotated[str | None, PydanticField(description="The client id of a key, the id of an import, …")]
    name: Annotated[str | None, PydanticField(description="Name of the key, of the file, …")]


class AuditEntry(TypedDict):
    """One state change of one record. Entries are never changed or removed; `pcds audit verify` proves it."""

    id: Annotated[str, PydanticField(description="The entry's number in the company's ledger, from 1, without gaps.")]
    at: Instant
    actor: AuditActor
    action: code("audit_action")  # type: ignore[valid-type]
    resource_type: code("audit_resource_type")  # type: ignore[valid-type]
    resource_id: str
    before: Before
    after: After
    reason: Annotated[str | None, PydanticField(description="The reason that was given; null without one.")]
    ip: Annotated[
        str | None, PydanticField(description="Address of the caller; null without a request, and after 12 months.")
    ]
    user_agent: Annotated[
        str | None, PydanticField(description="Program of the caller; null without a request, and after 12 months.")
    ]
    correlation_id: Annotated[
        str,
        PydanticField(
            description="Correlation id of the request; for an import, that of the request that sent the file."
        ),
    ]


class AuditLogResponse(ListAnswer[AuditEntry]):
    """A page of the ledger, newest first."""
