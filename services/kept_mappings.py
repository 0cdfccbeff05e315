"""Removes a mapping that the company keeps under a name. An import that was read with it stays as it is."""

from datetime import datetime
from uuid import UUID

from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.imports import mappings
from warehouse.imports.mappings import KeptMapping
from warehouse.sessions import Connection


def remove_mapping(
    conn: Connection, company_id: UUID, mapping_id: UUID, *, origin: Origin, now: datetime, dry_run: bool = False
) -> KeptMapping | None:
    """Remove a mapping in the caller's transaction, and return it; None where the company keeps none of the id."""
    found = mappings.find(conn, mapping_id)
    if found is None or dry_run:
        return found
    mappings.remove(conn, mapping_id)
    before = {found.name: found.mapping}
    ledger.enter(
        conn, company_id, "import_mapping.removed", mapping_id, origin=origin, now=now, before=before, after={}
    )
    return found
