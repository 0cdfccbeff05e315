"""Entries of the audit ledger that are about one record, with what changed of it.

What belongs here: what the doors, commands and schedules do to records other than SKUs. What does not: SKUs, whose
entries the write path stores with their row versions (`store`), and reading the ledger (`audit`).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from psycopg.types.json import Json
from uuid_utils import uuid7

from pipelines.steps.origin import Origin

_TRANSACTION: Final = """
INSERT INTO audit_transactions
    (id, company_id, at, actor_type, actor_id, actor_name, reason, correlation_id, ip, user_agent)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_ENTRY: Final = """
INSERT INTO audit_entries (company_id, transaction_id, action, resource_id, before, after)
VALUES (%s, %s, %s, %s, %s, %s)
"""


def enter(
    conn: psycopg.Connection[Any], company_id: UUID, action: str, resource_id: UUID | str, *,
    origin: Origin, now: datetime, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None,
) -> None:  # fmt: skip
    """Add one entry in the caller's transaction, whose session has the company set.

    `action` is `resource.verb`; `before` and `after` hold the fields that changed, as JSON takes them, and are null
    where there was nothing before or is nothing after.
    """
    transaction = UUID(str(uuid7()))
    actor = (origin.actor_type, origin.actor_id, origin.actor_name, origin.reason)
    request = (origin.correlation_id, origin.ip, origin.user_agent)
    conn.execute(_TRANSACTION, (transaction, company_id, now, *actor, *request))
    values = (None if value is None else Json(value, dumps=orjson.dumps) for value in (before, after))
    conn.execute(_ENTRY, (company_id, transaction, action, str(resource_id), *values))
