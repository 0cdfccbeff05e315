"""Who causes a write: what the audit ledger says of it, and nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """The actor of a transaction and the request that it came with.

    `actor_type` is one of the audit's (api_key, user, connection, supplier, import, operator, system); `ip` and
    `user_agent` are anonymised after 12 months and lie outside every digest.
    """

    actor_type: str
    actor_id: str | None
    actor_name: str | None
    correlation_id: str
    ip: str | None = None
    user_agent: str | None = None
    reason: str | None = None
