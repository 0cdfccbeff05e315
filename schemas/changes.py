"""Lists the changes that the feed of changes and webhooks tell: the actions of the ledger about a company's data.

Who signed in, who holds a key and what waits for review stay in the audit log.
"""

import re
from typing import (
    Annotated,
    Any,  # Any: pydantic's annotations
    Final,
    Literal,
    NotRequired,
)
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator
from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas import normalise
from schemas.answers import Answer, Identifier, Instant
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.pages import ListAnswer, OneAnswer
from schemas.skus.answers import SkuDetail
from schemas.skus.inputs import Strict, validator, whole
from schemas.vocabularies import ACTIONS, ACTORS, actions_of

CHANGED_RECORDS: Final = (
    "sku",
    "sku_volumes",
    "doc",
    "technical_file",
    "library_component",
    "brand",
    "site",
    "supplier",
    "import",
    "declaration",
)
"""The resource types of the audit log whose actions are changes of data."""

CHANGE_TYPES: Final = tuple(action for kind in CHANGED_RECORDS for action in actions_of(kind))
"""Every type of a change: an action of `schemas.vocabularies`, by its resource."""

assert set(CHANGE_TYPES) <= ACTIONS.keys()


_Record: Any = SkuDetail


class Change(TypedDict):
    """One change of one record."""

    id: Annotated[
        str,
        PydanticField(
            description="Id of the change in the feed and in every delivery: a receiver recognises a repeat by it."
        ),
    ]
    cursor: Annotated[str, PydanticField(description="The cursor after this change.")]
    at: Instant
    type: Literal[CHANGE_TYPES]  # type: ignore[valid-type]
    resource_type: Literal[CHANGED_RECORDS]  # type: ignore[valid-type]
    resource_id: Annotated[str, PydanticField(description="The record; of `sku_volumes` the SKU.")]
    sku_id: Annotated[
        Identifier | None, PydanticField(description="The SKU that changed, or that the document or file belongs to.")
    ]
    sku_code: str | None
    version: Annotated[int | None, PydanticField(description="Version of the SKU after this change.")]
    actor_type: Annotated[
        Literal[tuple(ACTORS)],  # type: ignore[valid-type]
        PydanticField(description="Kind of the actor who made it, never a name."),
    ]
    record: NotRequired[
        Annotated[
            _Record | None,
            PydanticField(
                json_schema_extra={"default": None},
                description="With `include=records`: the SKU of `sku_id` as it is now, which may be newer than this "
                "change. Null where the change is about no SKU.",
            ),
        ]
    ]


class ChangeListResponse(TypedDict):
    """A page of changes, the earliest first."""

    data: list[Change]
    next_cursor: Annotated[str, PydanticField(description="The `after` of the next request; it never expires.")]
    has_more: Annotated[bool, PydanticField(description="Whether there were more changes when the page was read.")]


FAULTS: Final[dict[str, str]] = {
    "no_public_address": "An address of the host is not of the public internet; nothing was sent.",
    "no_connection": "The host is unknown, takes no connection, or has no valid certificate.",
    "no_answer": "No answer within ten seconds, or the connection ended before one.",
    "not_taken": "An answer other than 2xx; redirects are not followed.",
}
"""Why an attempt failed."""
REASONS: Final[dict[str, str]] = {
    "not_delivered": "Nothing was taken for two days.",
    "gone": "The receiver answered 410.",
    "restored": "A backup of the service was restored.",
}
"""Why a webhook is disabled."""

_LONGEST_URL: Final = 2_000
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        fits = (
            parts.scheme in ("https", "http")
            and _HOST.fullmatch(parts.hostname or "") is not None
            and parts.port != 0
            and parts.username is None
            and not parts.fragment
        )
    except ValueError:
        fits = False
    if not (fits and value.isascii() and value.isprintable() and " " not in value):
        sentence = Message("Send an address such as https://erp.example/hooks/packaging, without a name and password.")
        raise normalise.Unfit("invalid_format", sentence)
    if len(value) > _LONGEST_URL:
        raise normalise.Unfit("too_long", Message("An address has at most {most} characters.", most=_LONGEST_URL))
    return value


def _optional(check: Any) -> Any:
    return lambda value: None if value is None else check(value)


_PUBLISHED_URL: Final[JsonObject] = {
    "json_schema_extra": {"format": "uri", "maxLength": _LONGEST_URL},
    "description": "Where changes are sent (POST): `https`, at a public address of the internet.",
}
_Description = Annotated[
    str | None,
    AfterValidator(_optional(validator(normalise.text, min_length=None, max_length=500))),
    PydanticField(json_schema_extra={"maxLength": 500}, description="What the webhook is for, in a person's words."),
]
_Types = Annotated[
    list[Literal[CHANGE_TYPES]] | None,  # type: ignore[valid-type]
    PydanticField(
        min_length=1,
        description="Types of the changes that are sent, as `GET /changes` has them; null for all, also those to come.",
    ),
    AfterValidator(_optional(lambda names: [name for name in CHANGE_TYPES if name in names])),
]


class WebhookInput(Strict):
    """A new webhook."""

    url: Annotated[str, AfterValidator(validator(_url)), PydanticField(**_PUBLISHED_URL)]
    description: _Description = None
    types: _Types = None


class WebhookPatch(Strict):
    """Changes to a webhook; an omitted field stays."""

    url: Annotated[str | None, AfterValidator(_optional(validator(_url))), PydanticField(**_PUBLISHED_URL)] = None
    description: _Description = None
    types: _Types = None
    state: Annotated[
        Literal["active", "paused"] | None,
        PydanticField(
            description="`paused`: nothing is sent, and nothing is lost. `active`: waiting changes are sent, also "
            "after the webhook was disabled."
        ),
    ] = None


class WebhookSecretInput(Strict):
    """How long the earlier secret signs beside the new one."""

    overlap_hours: Annotated[
        int,
        PydanticField(ge=0, le=168, description="Hours in which both secrets sign; 0 ends the earlier one at once."),
        BeforeValidator(whole),
    ] = 24


class WebhookReplayInput(Strict):
    """The place in the feed from which changes are sent again."""

    after: Annotated[
        str, PydanticField(description="A cursor of the feed of changes, or of a message: changes behind it are sent.")
    ]


Fault = Literal[tuple(FAULTS)]  # type: ignore[valid-type]


class Webhook(TypedDict):
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


class WebhookListResponse(ListAnswer[Webhook]):
    """A page of webhooks, newest first."""


class WebhookResponse(OneAnswer[Webhook]):
    """One webhook."""


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


class WebhookDelivery(TypedDict):
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


class WebhookDeliveryListResponse(ListAnswer[WebhookDelivery]):
    """A page of deliveries of the last 30 days, the newest change first."""
