"""Ends credentials after a restore: people sign in again, and credentials that may have been revoked since are revoked.

What belongs here: which credentials end, in the transaction that restores them. What does not: their entries in the
companies' ledgers, which need the tables of this release (`services.audit.restored`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from psycopg import sql

from warehouse.backup import tables
from warehouse.backup.held import OURS
from warehouse.sessions import Connection

_DELETED: Final = (
    "authorization_codes",
    "bearer_tokens",
    "confirmations",
    "connection_tokens",
    "password_links",
    "recovery_codes",
    "staff_sessions",
    "user_sessions",
)
_REVOKED: Final = {
    "api_keys": "UPDATE api_keys SET revoked_at = %s WHERE revoked_at IS NULL RETURNING company_id, id",
    "connections": "UPDATE connections SET revoked_at = %s WHERE revoked_at IS NULL RETURNING company_id, id",
    # An answer that waits for review can still be decided; no existing token has the new digest.
    "supplier_requests": "UPDATE supplier_requests SET token_hash = "
    "sha256(convert_to(gen_random_uuid()::text, 'UTF8')), "
    "state = CASE state WHEN 'open' THEN 'closed' ELSE state END, updated_at = %s WHERE state <> 'closed' "
    "RETURNING company_id, id",
    "supplier_enquiries": "UPDATE supplier_enquiries SET token_hash = "
    "sha256(convert_to(gen_random_uuid()::text, 'UTF8')), withdrawn_at = %s WHERE withdrawn_at IS NULL "
    "RETURNING company_id, id",
    # Its receiver was told what the backup does not have, and must not be sent changes by a copy of the service.
    "webhooks": "UPDATE webhooks SET state = 'disabled', disabled_reason = 'restored', updated_at = %s "
    "WHERE state IN ('active', 'paused') RETURNING company_id, id",
}


class Ended(NamedTuple):
    """The revoked credentials: company and id of each, and when."""

    at: datetime
    api_keys: Sequence[tuple[UUID, UUID]] = ()
    connections: Sequence[tuple[UUID, UUID]] = ()
    supplier_requests: Sequence[tuple[UUID, UUID]] = ()
    supplier_enquiries: Sequence[tuple[UUID, UUID]] = ()
    webhooks: Sequence[tuple[UUID, UUID]] = ()


def end_all(owner: Connection, at: datetime, *, keep_keys: bool) -> Ended:
    """End every session, token, code and password link; keys, connections, links and webhooks unless `keep_keys`.

    Skips a table that the backup's release did not have. Call it where every row is visible, as inside
    `load.open_tables`.
    """
    found = tables.columns_of(owner, OURS)
    for table in _DELETED:
        if table in found:
            owner.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(OURS, table)))
    if keep_keys:
        return Ended(at)
    revoked = {table: owner.execute(query, (at,)).fetchall() for table, query in _REVOKED.items() if table in found}
    return Ended(at, **revoked)
