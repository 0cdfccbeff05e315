"""Models of the bodies of webhooks, and the codes that say how sending goes."""

import re
from typing import Annotated, Any, Final, Literal  # Any: pydantic's annotations
from urllib.parse import urlsplit

from pydantic import AfterValidator
from pydantic import Field as PydanticField

from schemas import normalise
from schemas.changes import CHANGE_TYPES
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.models import Strict, validator

FAULTS: Final[dict[str, str]] = {
    "no_public_address": "An address of the host is not of the public internet; nothing was sent.",
    "no_connection": "The host is unknown, takes no connection, or has no valid certificate.",
    "no_answer": "No answer within ten seconds.",
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
    AfterValidator(_optional(lambda given: [name for name in CHANGE_TYPES if name in given])),
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
    ] = 24


class WebhookReplayInput(Strict):
    """The place in the feed from which changes are sent again."""

    after: Annotated[
        str, PydanticField(description="A cursor of the feed of changes, or of a message: changes behind it are sent.")
    ]
