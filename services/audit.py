"""Builds a page of the audit ledger (decisions §2); `warehouse.audit.entries` has the query.

Entries about a SKU contain no values. Their changes are the difference of two row versions, in the fields of
SkuDetailResponse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, cast
from uuid import UUID

from schemas.actors import Actor, Origin
from services.companies import load_ledger, read
from services.review.compare import leaves
from services.skus import detail
from warehouse.audit import chain as chain_audit
from warehouse.audit import entries, ledger
from warehouse.audit.chain import Findings
from warehouse.audit.entries import Entry
from warehouse.companies import removal
from warehouse.companies.removal import Removed
from warehouse.operate.backup.restore import Ended
from warehouse.operate.sessions import Connection, Pool
from warehouse.skus.queries import COLUMNS, StoredSku

_COPIED: Final = ("reason", "ip", "user_agent", "correlation_id")


class Difference(NamedTuple):
    """The fields that differ, before and after; of a new SKU those that have a value, and None before."""

    before: dict[str, object] | None
    after: dict[str, object]


def audit_page(page: str, limit: int, offset: int) -> dict[str, object]:
    """Return AuditLogResponse of a page that a statement of `entries.page` found."""
    found = entries.read_page(page)
    return {
        "data": [_entry(entry) for entry in found.entries],
        "pagination": {"limit": limit, "offset": offset, "total": found.total},
    }


def _entry(entry: Entry) -> dict[str, object]:
    before, after = entry.before, entry.after
    if entry.version_after is not None:
        before, after = difference(entry.version_before, entry.version_after)
    return {
        "id": str(entry.id),
        "at": detail.instant(entry.at),
        "actor": {"type": entry.actor_type, "id": entry.actor_id, "name": entry.actor_name},
        "action": entry.action,
        "resource_type": entry.action.partition(".")[0],
        "resource_id": entry.resource_id,
        "before": before,
        "after": after,
        **{name: getattr(entry, name) for name in _COPIED},
    }


def difference(old: Sequence[object] | None, new: Sequence[object]) -> Difference:
    """Return the difference of two row versions, each a sequence of the values of `COLUMNS`."""
    new_fields = _fields(new)
    old_fields = _NOTHING if old is None else _fields(old)
    changed = [name for name in new_fields if new_fields[name] != old_fields[name]]
    before = None if old is None else {name: old_fields[name] for name in changed}
    return Difference(before, {name: new_fields[name] for name in changed})


def difference_of_rows(old: StoredSku, new: StoredSku) -> Difference:
    """Return the same of two rows by `COLUMNS`."""
    return difference([old[name] for name in COLUMNS], [new[name] for name in COLUMNS])  # type: ignore[literal-required]


def _fields(values: Sequence[object]) -> dict[str, object]:
    return detail.fields(cast(StoredSku, dict(zip(COLUMNS, values, strict=True))))


_NOTHING: Final = _fields([None] * len(COLUMNS))


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a SKU: author, time and reason, and the changed fields; `before` is None for the first."""

    version: int
    at: datetime
    actor_type: str
    actor_name: str | None
    reason: str | None
    before: dict[str, object] | None
    after: dict[str, object]


def history_of_sku(conn: Connection, sku_id: UUID, *, limit: int) -> list[Version] | None:
    """Return its versions in a session of its company, the newest first; None where the plan has no audit log."""
    if not entries.is_included(conn):
        return None
    return [_version(row) for row in entries.versions(conn, sku_id, limit=limit)]


def _version(row: entries.Version) -> Version:
    before, after = difference(row.version_before, row.version_after)
    return Version(row.version, row.at, row.actor_type, row.actor_name, row.reason, before, after)


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
    return Change(at, who, entry.action, code, entry.reason, list(_recent_fields(before, after or {})))


def _of_version(version: Version, sku_code: str) -> Change:
    action = "sku.created" if version.before is None else "sku.updated"
    at = version.at.isoformat().replace("+00:00", "Z")
    who = version.actor_name or version.actor_type
    return Change(at, who, action, sku_code, version.reason, list(_recent_fields(version.before, version.after)))


def _recent_fields(before: Mapping[str, object] | None, after: Mapping[str, object]) -> Iterator[Changed]:
    """Yield each value that differs; what a new record has besides its code and name is not listed."""
    if before is None:
        return
    old, new = dict(leaves(before)), dict(leaves(after))
    for field in [*new, *(field for field in old if field not in new)]:
        if old.get(field) != new.get(field):
            yield Changed(field, old.get(field), new.get(field))


def enter_revocations(pool: Pool, ended: Ended, origin: Origin) -> None:
    """Enter each key, connection, supplier's link and webhook that the restore ended, at the instant of the restore."""
    for company_id in sorted({company_id for company_id, *_ in _revocations(ended)}):
        with pool.company(company_id) as connection:
            _enter_of_company(connection, company_id, ended, origin)


def _enter_of_company(connection: Connection, company_id: UUID, ended: Ended, origin: Origin) -> None:
    at = ended.at.isoformat()
    for company, record_id, action, before, after in _revocations(ended):
        if company == company_id:
            ledger.enter(
                connection,
                Actor(company_id, origin, ended.at),
                action,
                record_id,
                before=before,
                after={name: at if value is None else value for name, value in after.items()},
            )


def _revocations(ended: Ended) -> list[tuple[UUID, UUID, str, dict[str, str | None], dict[str, str | None]]]:
    revoked: dict[str, str | None] = {"revoked_at": None}
    withdrawn: dict[str, str | None] = {"withdrawn_at": None}
    opened: dict[str, str | None] = {"link": "open"}
    closed: dict[str, str | None] = {"link": "closed"}
    enabled: dict[str, str | None] = {"state": "active"}
    restored: dict[str, str | None] = {"state": "disabled"}
    return [
        *((company, key, "api_key.revoked", revoked, revoked) for company, key in ended.api_keys),
        *((company, record_id, "connection.revoked", revoked, revoked) for company, record_id in ended.connections),
        *(
            (company, record_id, "supplier_request.closed", opened, closed)
            for company, record_id in ended.supplier_requests
        ),
        *(
            (company, record_id, "supplier_enquiry.withdrawn", withdrawn, withdrawn)
            for company, record_id in ended.supplier_enquiries
        ),
        *((company, record_id, "webhook.disabled", enabled, restored) for company, record_id in ended.webhooks),
    ]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The number of entries, and the first that is not as it was entered; None where all are.

    An entry that was removed is named by the id that it had; a row version that no entry names, by its SKU's id.
    """

    entries: int
    first_bad: str | None

    @property
    def ok(self) -> bool:
        """Return whether everything is as it was entered."""
        return self.first_bad is None


def verify(conn: Connection) -> Verdict:
    """Verify the ledger of the session's company; `warehouse.audit.chain` says how long that takes."""
    found = chain_audit.examine(conn)
    bad = [found.altered, found.missing, _first_broken(found), _end_difference(found)]
    first = min((number for number in bad if number is not None), default=found.unnamed)
    return Verdict(found.held, None if first is None else str(first))


def _first_broken(found: Findings) -> int | None:
    """Return the first entry of the first broken link, or the missing later entry that breaks it."""
    first, until, missing = found.broken, found.broken_until, found.missing
    return missing if missing and first and until and first <= missing < until else first


def _end_difference(found: Findings) -> int | None:
    """Return where ledger and counters differ: behind the last entry that both have, or at the last one."""
    if found.held != found.counted:
        return min(found.held, found.counted) + 1
    return None if found.whole else found.held


_HASHES_CHANGED: Final = (
    "The hashes that stayed of this company are not those that its removal noted: rows of removed_links were changed. "
    "The certificate has the right digest (sha256_of_hashes); restore the rows from a backup."
)
_ALTERED: Final = (
    "The export's ledger is not as it was entered: it was altered, and its list of files with it. Use another copy."
)
_ANOTHER: Final = (
    "The export's ledger is whole in itself, but from its entry {entry} on it is not the one that was removed: it was "
    "computed anew, or a backup was restored after the export. Use the export that was made for the removal."
)
_OLDER: Final = (
    "The export of {at} has the first {has} of {all} entries; they agree with the hashes that stayed. What was entered "
    "later is not in it, so that it does not prove the whole ledger: verify the newest export."
)


class Examined(NamedTuple):
    """The result of a verification: the first entry that is not as it was entered or not there, and why not `ok`."""

    ok: bool
    first_bad: str | None
    reason: str | None


def verify_hashes(owner: Connection, left: Removed) -> Examined:
    """Verify the hashes that stayed against what the removal noted."""
    ok = removal.agrees(owner, left)
    return Examined(ok, None, None if ok else _HASHES_CHANGED)


def verify_export(owner: Connection, left: Removed, folder: Path) -> Examined:
    """Verify an export's ledger, and that it is the whole one whose hashes stayed. Raises `ExportError`.

    Until the commit the ledger's tables are those of the export.
    """
    at = read(folder, left.company)["at"]
    load_ledger(owner, folder)
    verdict, chain = verify(owner), removal.loaded(owner, left.company)
    if not verdict.ok:
        return Examined(False, verdict.first_bad, _ALTERED)
    if chain.differs is not None:
        return Examined(False, str(chain.differs), _ANOTHER.format(entry=chain.differs))
    if chain.links < left.links:
        older = _OLDER.format(at=at, has=verdict.entries, all=left.entries)
        return Examined(False, str(verdict.entries + 1), older)
    return Examined(True, None, None)
