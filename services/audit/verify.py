"""Verifies the audit chain: counts a company's entries, and finds the first that is not as it was entered.

A verification finds entries, transactions and row versions that were removed, added or altered, also the last ones. It
does not find a chain that somebody with write access to every table has recomputed from a change on.
`warehouse.audit.verification` has the statement that recomputes digests and links.
"""

from dataclasses import dataclass

from warehouse.audit import verification
from warehouse.audit.verification import Findings
from warehouse.sessions import Connection


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
    """Verify the ledger of the session's company; `warehouse.audit.verification` says how long that takes."""
    found = verification.examine(conn)
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
