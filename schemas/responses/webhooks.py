"""Models of the answers about webhooks."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.changes import CHANGE_TYPES
from schemas.responses.base import Answer, Identifier, Instant, Pagination
from schemas.webhooks import FAULTS, REASONS

Fault = Literal[tuple(FAULTS)]  # type: ignore[valid-type]


class Webhook(Answer):
    """A webhook, never with its secret."""

    id: Identifier
    url: str
    description: str | None
    types: list[Literal[CHANGE_TYPES]] | None  # type: ignore[valid-type]
    state: Annotated[
        Literal["active", "paused", "disabled"],
        PydanticField(description="`disabled` by the service, see `disabled_reason`; PATCH makes it active again."),
    ]
    disabled_reason: Literal[tuple(REASONS)] | None  # type: ignore[valid-type]
    fault: Annotated[Fault | None, PydanticField(description="Why the last attempt failed; null where none has.")]  # type: ignore[valid-type]
    failing_since: Annotated[Instant | None, PydanticField(description="Time since which no attempt has succeeded.")]
    next_at: Annotated[
        Instant | None, PydanticField(description="Time of the next attempt while it fails; nothing is sent before.")
    ]
    delivered_at: Annotated[Instant | None, PydanticField(description="When a change was last delivered.")]
    waiting: Annotated[
        int,
        PydanticField(description="Changes that wait to be sent or sent again; those of a replay from its answer on."),
    ]
    old_secret_until: Annotated[
        Instant | None, PydanticField(description="Time until which the earlier secret signs, too.")
    ]
    created_at: Instant
    updated_at: Instant


class WebhookListResponse(Answer):
    """A page of webhooks, newest first."""

    data: list[Webhook]
    pagination: Pagination


class WebhookResponse(Answer):
    """One webhook."""

    data: Webhook


class WebhookWriteResult(Answer):
    """A webhook after a write, with the outcome."""

    outcome: Literal["created", "updated", "unchanged"]
    dry_run: bool
    data: Annotated[Webhook | None, PydanticField(description="The webhook; null for one that is not stored.")]
    secret: Annotated[
        str | None,
        PydanticField(
            description="The secret that signs, `whsec_…`, in the first answer of a creation or a roll only: a repeat "
            "with the same Idempotency-Key has null."
        ),
    ]


class WebhookTestResult(Answer):
    """The result of a test message."""

    delivered: bool
    status: Annotated[int | None, PydanticField(description="HTTP status of the answer; null without one.")]
    fault: Annotated[
        Fault | None,  # type: ignore[valid-type]
        PydanticField(description="Why it counts as not delivered; null where it was delivered."),
    ]


class WebhookDelivery(Answer):
    """One change that is or was sent."""

    id: Annotated[
        str, PydanticField(description="Id of the change, which each attempt has in the header `webhook-id`.")
    ]
    type: Literal[CHANGE_TYPES]  # type: ignore[valid-type]
    sku_code: str | None
    state: Annotated[
        Literal["waiting", "delivered", "failed"],
        PydanticField(description="`failed` after some three days without a 2xx answer: later changes are sent then."),
    ]
    tries: Annotated[int, PydanticField(description="Number of attempts that were answered.")]
    status: Annotated[int | None, PydanticField(description="HTTP status of the last answer.")]
    fault: Annotated[Fault | None, PydanticField(description="Why the last attempt failed.")]  # type: ignore[valid-type]
    created_at: Instant
    due_at: Annotated[Instant, PydanticField(description="When the change is sent, or tried again.")]
    ended_at: Annotated[Instant | None, PydanticField(description="When it was delivered or given up.")]


class WebhookDeliveryListResponse(Answer):
    """A page of deliveries of the last 30 days, the newest change first."""

    data: list[WebhookDelivery]
    pagination: Pagination
