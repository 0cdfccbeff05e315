"""Builds a page of the audit ledger (decisions §2); `warehouse.audit.ledger` has the query.

Entries about a SKU contain no values. Their changes are the difference of two row versions, in the fields of
SkuDetailResponse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast  # Any: a page with what its statement answers beside it
from uuid import UUID

from schemas.actors import Actor, Origin
from schemas.audit import AuditEntry
from schemas.pages import Page
from services.companies import load_ledger, read
from services.review.compare import leaves_beside
from services.skus import detail
from warehouse import library
from warehouse.audit import chain as chain_audit
from warehouse.audit import ledger
from warehouse.audit.ledger import Entry, ImportLine
from warehouse.companies import removal
from warehouse.companies.removal import Removed
from warehouse.operate.sessions import Connection, Pool
from warehouse.skus.queries import COLUMNS, StoredSku, names_of

if TYPE_CHECKING:
    from warehouse.operate.backup.restore import Ended  # it migrates, with libraries that an API process does without


class Difference(NamedTuple):
    """The fields that differ, before and after; of a new SKU those that have a value, and None before."""

    before: dict[str, object] | None
    after: dict[str, object]


def page_of(page: Any) -> Page[AuditEntry] | None:  # a page of `ledger.page`
    """Return a page of the ledger as it is shown; None where the company's plan has no audit log."""
    if not page["included"]:
        return None
    return {"data": [_entry(entry) for entry in page["data"]], "pagination": page["pagination"]}


def _entry(entry: Entry) -> AuditEntry:
    before, after = _before_and_after(entry)
    return {
        "id": str(entry["id"]),
        "at": entry["at"],
        "actor": {"type": entry["actor_type"], "id": entry["actor_id"], "name": entry["actor_name"]},
        "action": entry["action"],
        "resource_type": entry["action"].partition(".")[0],
        "resource_id": entry["resource_id"],
        "before": before,
        "after": after,
        "reason": entry["reason"],
        "ip": entry["ip"],
        "user_agent": entry["user_agent"],
        "correlation_id": entry["correlation_id"],
    }


def _before_and_after(entry: Entry) -> tuple[Any, Any]:
    """Return the changed fields of an entry before and after: of a SKU those in which its two versions differ."""
    if entry["version_after"] is None:
        return entry["before"], entry["after"]
    return difference(entry["version_before"], entry["version_after"])


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
    actor_id: str | None
    actor_name: str | None
    reason: str | None
    action: str | None
    before: dict[str, object] | None
    after: dict[str, object]


def history_of_sku(conn: Connection, sku_id: UUID, *, limit: int) -> list[Version] | None:
    """Return its versions in a session of its company, the newest first; None where the plan has no audit log."""
    if not ledger.is_included(conn):
        return None
    return [
        Version(*row[:7], *difference(row.version_before, row.version_after))
        for row in ledger.versions(conn, sku_id, limit=limit)
    ]


class Changed(NamedTuple):
    """A field, and its value before and after."""

    field: str
    before: object
    after: object


class Record(NamedTuple):
    """What a change is of: its type, and its code and name where it has them."""

    type: str
    code: str | None = None
    name: str | None = None


class Change(NamedTuple):
    """One change of a record, or what an import wrote: who, when and why.

    `person` is who is behind an application or a file. An import has its id and its entries by action in `counts`.
    """

    at: datetime
    who: str | None
    action: str
    record: Record
    reason: str | None = None
    fields: Sequence[Changed] = ()
    actor_id: str | None = None
    person: str | None = None
    counts: Mapping[str, int] | None = None


class Wanted(NamedTuple):
    """Which changes are asked for; None is no condition. `field` is a part of a field's name.

    `actor` is a name, an id or a type of the ledger's; both instants are inclusive.
    """

    since: datetime | None = None
    until: datetime | None = None
    actor: str | None = None
    field: str | None = None

    def filters(self) -> dict[str, object]:
        """Return the conditions on transactions, as the ledger names them."""
        asked = {"since": self.since, "until": self.until, "actor": self.actor}
        return {name: value for name, value in asked.items() if value is not None}

    def has(self, version: Version) -> bool:
        """Return whether a version is one of them."""
        by = (version.actor_name, version.actor_id, version.actor_type)
        return (
            (self.since is None or version.at >= self.since)
            and (self.until is None or version.at <= self.until)
            and (self.actor is None or self.actor in by)
        )


LOOKED_AT: Final = 2_000
"""The most entries that a search by a field's name looks at, the newest: each is compared with the version before."""
_AT_ONCE: Final = 250
_MOST_VERSIONS: Final = 200
"""The most versions of one SKU that are looked at, the newest."""


class Changes(NamedTuple):
    """A page of changes, how many there are, and the instant back to which they were looked for.

    `back_to` is None where every change of the time was looked at; else there may be more than the `total`. `counts`
    are all entries of the time by action, where imports are one line.
    """

    page: list[Change]
    total: int
    back_to: datetime | None = None
    counts: Mapping[str, int] | None = None


def changes_of_sku(
    conn: Connection, sku_id: UUID, record: Record, wanted: Wanted, *, limit: int, offset: int
) -> Changes | None:
    """Return a page of the changes of one SKU, newest first, as `changes` does."""
    versions = history_of_sku(conn, sku_id, limit=_MOST_VERSIONS)
    if versions is None:
        return None
    all_changes = [
        Change(
            version.at,
            version.actor_name or version.actor_type,
            version.action or "sku.updated",
            record,
            version.reason,
            list(_recent_fields(version.before, version.after)),
            version.actor_id,
        )
        for version in versions
        if wanted.has(version)
    ]
    kept = _with_field(all_changes, wanted.field)
    return Changes(_with_persons(conn, kept[offset : offset + limit]), len(kept))


def changes(conn: Connection, wanted: Wanted, *, limit: int, offset: int) -> Changes | None:
    """Return a page of the changes, newest first; None where the plan has no audit log.

    An import is one line, unless its changes are asked for by `field` or `actor`. With `field` those of fields whose
    name contains it: each change has these fields alone, so that page and total are of the same list.
    """
    if wanted.field is not None:
        return _of_field(conn, wanted, limit, offset)
    if wanted.actor is not None:
        return _recent(conn, wanted, limit=limit, offset=offset)
    if not ledger.is_included(conn):
        return None
    lines = ledger.lines(conn, limit, offset, wanted.filters())
    page = [_imported(cast(ImportLine, line)) if "counts" in line else _change(conn, line) for line in lines.page]
    return Changes(_with_persons(conn, page), lines.total, counts=lines.counts)


def _of_field(conn: Connection, wanted: Wanted, limit: int, offset: int) -> Changes | None:
    kept: list[Change] = []
    back_to: datetime | None = None
    for looked_at in range(0, LOOKED_AT, _AT_ONCE):
        recent = _recent(conn, wanted, limit=_AT_ONCE, offset=looked_at)
        if recent is None:
            return None
        kept += _with_field(recent.page, wanted.field)
        if looked_at + len(recent.page) >= recent.total:
            return Changes(kept[offset : offset + limit], len(kept))
        back_to = recent.page[-1].at
    return Changes(kept[offset : offset + limit], len(kept), back_to)


def _with_field(changes: Sequence[Change], field: str | None) -> list[Change]:
    """Return the changes that have a field whose name contains a text, with these fields; all without a text."""
    if field is None:
        return list(changes)
    narrowed = (
        change._replace(fields=[changed for changed in change.fields if field.casefold() in changed.field])
        for change in changes
    )
    return [change for change in narrowed if change.fields]


def _with_persons(conn: Connection, page: Sequence[Change]) -> list[Change]:
    """Return the changes with the person behind an application or a file."""
    ids = {change.actor_id for change in page if change.actor_id is not None and _is_uuid(change.actor_id)}
    persons = ledger.persons(conn, ids) if ids else {}
    return [change._replace(person=persons.get(change.actor_id or "")) for change in page]


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _recent(conn: Connection, wanted: Wanted, *, limit: int, offset: int) -> Changes | None:
    page: Any = ledger.page(limit, offset, wanted.filters()).read(conn)
    if not page["included"]:
        return None
    changes = [_change(conn, entry) for entry in page["data"]]
    return Changes(_with_persons(conn, changes), page["pagination"]["total"])


def _imported(line: ImportLine) -> Change:
    record = Record("import", name=line["filename"])
    return Change(line["at"], line["filename"], "import", record, actor_id=line["import_id"], counts=line["counts"])


def _change(conn: Connection, entry: Entry) -> Change:
    before, after = _before_and_after(entry)
    who, fields = entry["actor_name"] or entry["actor_type"], list(_recent_fields(before, after or {}))
    return Change(entry["at"], who, entry["action"], _record(conn, entry), entry["reason"], fields, entry["actor_id"])


_CODES: Final = ("sku_code", "code", "reference")
_NAMES: Final = ("name", "filename", "supplier_name", "email")


def _record(conn: Connection, entry: Entry) -> Record:
    """Return what an entry is about, by the code and name that it holds, else by the record as it stands now."""
    kind = entry["action"].partition(".")[0]
    if (version := entry["version_after"]) is not None:
        held = dict(zip(COLUMNS, version, strict=True))
        return Record(kind, str(held["sku_code"]), str(held["name"]))
    values = {**(entry["before"] or {}), **(entry["after"] or {})}
    code = next((str(values[name]) for name in _CODES if values.get(name)), None)
    name = next((str(values[name]) for name in _NAMES if values.get(name)), None)
    if code is None and _is_uuid(sku_id := str(values.get("sku_id"))):
        code, of_sku = names_of(conn, [UUID(sku_id)]).get(sku_id, (None, None))
        name = name or of_sku
    if name is None and kind in library.TABLES:
        name = library.names(conn, kind, [UUID(entry["resource_id"])]).get(entry["resource_id"])
    return Record(kind, code, name)


def _recent_fields(before: Mapping[str, object] | None, after: Mapping[str, object]) -> Iterator[Changed]:
    """Yield each value that differs; what a new record has besides its code and name is not listed."""
    if before is None:
        return
    old, new = leaves_beside(before, after)
    for field in [*new, *(field for field in old if field not in new)]:
        if old.get(field) != new.get(field):
            yield Changed(field, old.get(field), new.get(field))


def enter_revocations(pool: Pool, ended: "Ended", origin: Origin) -> None:
    """Enter each key, connection, supplier's link and webhook that the restore ended, at the instant of the restore."""
    at = ended.at.isoformat()
    revoked: Mapping[str, str | None] = {"revoked_at": None}
    withdrawn: Mapping[str, str | None] = {"withdrawn_at": None}
    changed = (
        (ended.api_keys, "api_key.revoked", revoked, {"revoked_at": at}),
        (ended.connections, "connection.revoked", revoked, {"revoked_at": at}),
        (ended.supplier_requests, "supplier_request.closed", {"link": "open"}, {"link": "closed"}),
        (ended.supplier_enquiries, "supplier_enquiry.withdrawn", withdrawn, {"withdrawn_at": at}),
        (ended.webhooks, "webhook.disabled", {"state": "active"}, {"state": "disabled"}),
    )
    for company_id in sorted({company_id for records, *_ in changed for company_id, _ in records}):
        actor = Actor(company_id, origin, ended.at)
        with pool.company(company_id) as connection:
            for records, action, before, after in changed:
                for of_company, record_id in records:
                    if of_company == company_id:
                        ledger.enter(connection, actor, action, record_id, before=before, after=after)


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
    chain = chain_audit.examine(conn)
    broken = chain.broken
    if chain.missing and broken and chain.broken_until and broken <= chain.missing < chain.broken_until:
        broken = chain.missing  # the missing later entry breaks the link
    differing = None if chain.whole else chain.held
    if chain.held != chain.counted:  # where ledger and counters differ: behind the last entry that both have
        differing = min(chain.held, chain.counted) + 1
    bad = [number for number in (chain.altered, chain.missing, broken, differing) if number is not None]
    first = min(bad, default=chain.unnamed)
    return Verdict(chain.held, None if first is None else str(first))


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
