"""Verifies a removed company: the hashes that stayed of its chain, and the ledger of an export computed anew."""

from pathlib import Path
from typing import Final, NamedTuple

from services.audit.verify import verify
from services.company_export import load_ledger, read
from warehouse.companies import removed
from warehouse.companies.removed import Removed
from warehouse.sessions import Connection

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
    ok = removed.agrees(owner, left)
    return Examined(ok, None, None if ok else _HASHES_CHANGED)


def verify_export(owner: Connection, left: Removed, folder: Path) -> Examined:
    """Verify an export's ledger, and that it is the whole one whose hashes stayed. Raises `ExportError`.

    Until the commit the ledger's tables are those of the export.
    """
    at = read(folder, left.company)["at"]
    load_ledger(owner, folder)
    verdict, chain = verify(owner), removed.loaded(owner, left.company)
    if not verdict.ok:
        return Examined(False, verdict.first_bad, _ALTERED)
    if chain.differs is not None:
        return Examined(False, str(chain.differs), _ANOTHER.format(entry=chain.differs))
    if chain.links < left.links:
        older = _OLDER.format(at=at, has=verdict.entries, all=left.entries)
        return Examined(False, str(verdict.entries + 1), older)
    return Examined(True, None, None)
