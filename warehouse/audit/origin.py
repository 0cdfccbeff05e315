"""Defines the origin of a write: the actor and the request that the audit ledger records."""

from dataclasses import dataclass


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
