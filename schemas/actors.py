"""Says who asks for an operation: the origin that the audit keeps, and the actor that an operation is called with."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Self
from uuid import UUID

from schemas.messages import ORIGINAL


@dataclass(frozen=True, slots=True)
class Origin:
    """The actor of a transaction and the request that it came with.

    `actor_type` is one of the audit's (api_key, user, connection, supplier, import, operator, system); `ip` and
    `user_agent` are anonymised after 12 months and are in no digest.
    """

    actor_type: str
    actor_id: str | None
    actor_name: str | None
    correlation_id: str
    ip: str | None = None
    user_agent: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """Whose company an operation works in, who asked for it, at which instant, and in which language it is answered.

    A door makes it once, after it has checked the credential and its rights; an operation takes it as a whole:
    `operation(conn, actor, …) -> record`.
    """

    company_id: UUID
    origin: Origin
    now: datetime
    lang: str = ORIGINAL

    @property
    def today(self) -> date:
        """Return the UTC day of the instant."""
        return self.now.date()

    def with_reason(self, reason: str | None) -> Self:
        """Return the actor with the reason that the audit keeps."""
        return replace(self, origin=replace(self.origin, reason=reason))
