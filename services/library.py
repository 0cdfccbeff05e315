"""Adds what SKUs refer to: a brand, a site, a shared component.

A record that is there with the same values is answered as it is. Nothing changes one: SKUs that were written with it
have taken its values over already.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from uuid_utils import uuid7

from schemas.issues import Issue
from schemas.json_values import JsonMapping, JsonObject
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.library import queries as library
from warehouse.sessions import Connection


class Added(NamedTuple):
    """The record as the API shows it; `outcome` is created, or unchanged where it was there."""

    outcome: str
    record: JsonObject


def add(
    conn: Connection,
    company_id: UUID,
    resource: str,
    values: JsonMapping,
    *,
    origin: Origin,
    now: datetime,
    dry_run: bool = False,
) -> Added:
    """Add a record in the caller's transaction, with an entry in the ledger; with `dry_run` nothing is stored.

    Raise `Refused` where the company has another one of its name or code, or where it names a supplier of nobody.
    """
    unique = library.unique_field(resource)
    if (supplier := values.get("supplier_id")) and not library.holds(conn, "supplier", UUID(supplier)):
        raise Refused([Issue("unknown_reference", Message("No supplier of the company has this id."), "supplier_id")])
    if (held := library.named(conn, resource, values[unique])) is not None:
        if all(_comparable(held[name]) == value for name, value in values.items()):
            return Added("unchanged", held)
        sentence = Message("{value} is there already, with other values; it keeps them.", value=shown(values[unique]))
        raise Refused([Issue("invalid_format", sentence, unique)])
    if dry_run:
        return Added("created", {"id": None, **values, "created_at": now, "updated_at": now})
    record_id = UUID(str(uuid7()))
    record = library.add(conn, resource, company_id, record_id, values=values, at=now)
    given = {name: value for name, value in values.items() if value is not None}
    ledger.enter(conn, company_id, f"{resource}.created", record_id, origin=origin, now=now, before=None, after=given)
    return Added("created", record)


def _comparable(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value
