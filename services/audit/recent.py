"""Lists what changed in a company's records since an instant, field by field, with who changed it and when.

The ledger has each change (`warehouse.audit.entries`); a plan without the audit log has the changed SKUs alone.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from services.audit.history import Version, history_of_sku
from services.audit.page import difference
from services.review.compare import leaves
from warehouse.audit import entries
from warehouse.sessions import Connection
from warehouse.skus.detail import COLUMNS


class Changed(NamedTuple):
    """A field, and its value before and after."""

    field: str
    before: object
    after: object


class Change(NamedTuple):
    """One change of a record: who, when and why; `sku_code` is None where the record is no SKU."""

    at: str
    who: str | None
    action: str
    sku_code: str | None
    reason: str | None
    fields: list[Changed]


LOOKED_AT: Final = 2_000
"""The most entries that a search by a field's name looks at, the newest: each is compared with the version before."""
_AT_ONCE: Final = 250


class Found(NamedTuple):
    """The changes of a search that are to be shown, how many were found, and the instant back to which it looked.

    `back_to` is None where every change of the time was looked at; else there may be more than the `total` found.
    """

    changes: list[Change]
    total: int
    back_to: str | None


def with_field(conn: Connection, since: datetime | None, field: str, *, limit: int, offset: int) -> Found | None:
    """Return a page of the changes of fields whose name contains a text; None where the plan has no audit log.

    Each change has these fields alone, so that page and total are of the same list.
    """
    found: list[Change] = []
    for looked_at in range(0, LOOKED_AT, _AT_ONCE):
        page = recent(conn, since, limit=_AT_ONCE, offset=looked_at)
        if page is None:
            return None
        changes, total = page
        found += [narrowed for change in changes if (narrowed := of_field(change, field))]
        if looked_at + len(changes) >= total:
            return Found(found[offset : offset + limit], len(found), None)
    return Found(found[offset : offset + limit], len(found), changes[-1].at)


def of_field(change: Change, field: str) -> Change | None:
    """Return the change with the fields whose name contains a text; None where there is none."""
    fields = [each for each in change.fields if field.casefold() in each.field]
    return change._replace(fields=fields) if fields else None


def recent(conn: Connection, since: datetime | None, *, limit: int, offset: int) -> tuple[list[Change], int] | None:
    """Return a page of the changes, newest first, and their number; None where the plan has no audit log."""
    filters = ("since",) if since is not None else ()
    row = conn.execute(entries.page(limit, offset, filters), {"since": since}).fetchone()
    if row is None or not row[0]:
        return None
    page = entries.read_page(row[1])
    return [_change(entry) for entry in page.entries], page.total


def of_sku(conn: Connection, sku_id: UUID, sku_code: str, *, limit: int) -> list[Change] | None:
    """Return the newest changes of one SKU; None where the plan has no audit log."""
    found = history_of_sku(conn, sku_id, limit=limit)
    return None if found is None else [_of_version(version, sku_code) for version in found]


def _change(entry: entries.Entry) -> Change:
    before, after, code = entry.before, entry.after, None
    if entry.version_after is not None:
        before, after = difference(entry.version_before, entry.version_after)
        code = str(dict(zip(COLUMNS, entry.version_after, strict=True))["sku_code"])
    who = entry.actor_name or entry.actor_type
    at = entry.at.replace("+00:00", "Z")
    return Change(at, who, entry.action, code, entry.reason, list(_fields(before, after or {})))


def _of_version(version: Version, sku_code: str) -> Change:
    action = "sku.created" if version.before is None else "sku.updated"
    at = version.at.isoformat().replace("+00:00", "Z")
    who = version.actor_name or version.actor_type
    return Change(at, who, action, sku_code, version.reason, list(_fields(version.before, version.after)))


def _fields(before: Mapping[str, object] | None, after: Mapping[str, object]) -> Iterator[Changed]:
    """Yield each value that differs; what a new record has besides its code and name is not listed."""
    if before is None:
        return
    old, new = dict(leaves(before)), dict(leaves(after))
    for field in [*new, *(field for field in old if field not in new)]:
        if old.get(field) != new.get(field):
            yield Changed(field, old.get(field), new.get(field))
