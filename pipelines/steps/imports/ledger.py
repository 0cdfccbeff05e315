"""The import's own audit entries: submitted, completed, failed. Those of the SKUs it changes are the write path's."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.steps.origin import Origin

_TRANSACTION = """
INSERT INTO audit_transactions
    (id, company_id, at, actor_type, actor_id, actor_name, reason, correlation_id, ip, user_agent)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_ENTRY = """
INSERT INTO audit_entries (company_id, transaction_id, action, resource_id, before, after)
VALUES (%s, %s, %s, %s, %s, %s)
"""


def enter(
    conn: psycopg.Connection[Any],
    company_id: UUID,
    import_id: UUID,
    *,
    action: str,
    origin: Origin,
    now: datetime,
    before: Mapping[str, object] | None,
    after: Mapping[str, object],
) -> None:
    """Add one entry about an import, in the caller's transaction; `before` and `after` hold what changed."""
    transaction = UUID(str(uuid7()))
    actor = (origin.actor_type, origin.actor_id, origin.actor_name, origin.reason)
    request = (origin.correlation_id, origin.ip, origin.user_agent)
    conn.execute(_TRANSACTION, (transaction, company_id, now, *actor, *request))
    held = None if before is None else Json(before)
    conn.execute(_ENTRY, (company_id, transaction, action, str(import_id), held, Json(after)))
