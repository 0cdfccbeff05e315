"""Verifies the audit chain: says how many entries a company has, and which is the first that is not as it was entered.

A verification finds entries and transactions that were removed, added or altered, also the last ones, and row versions
that were. It cannot see it when somebody who may write every table computes the whole chain anew from where they
changed it. The statement that computes digests and links anew is `warehouse.audit.verification`.
"""

from dataclasses import dataclass

from warehouse.audit import verification
from warehouse.audit.verification import Findings
from warehouse.sessions import Connection


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many entries there are, and the first from which on they are not what was entered; None where all are.

    An entry that was removed is named by the id that it had; a row version that no entry names, by its SKU's id.
    """

    entries: int
    first_bad: str | None

    @property
    def ok(self) -> bool:
        """Whether everything is as it was entered."""
        return self.first_bad is None


def verify(conn: Connection) -> Verdict:
    """Verify the ledger of the session's company; how long that takes is said in `warehouse.audit.verification`."""
    found = verification.examine(conn)
    bad = [found.altered, found.missing, _broken(found), _end(found)]
    first = min((number for number in bad if number is not None), default=found.unnamed)
    return Verdict(found.held, None if first is None else str(first))


def _broken(found: Findings) -> int | None:
    """The first entry of the first link that does not hold, unless it breaks by a later one that is missing."""
    first, until, missing = found.broken, found.broken_until, found.missing
    return missing if missing and first and until and first <= missing < until else first


def _end(found: Findings) -> int | None:
    """Where the ledger and the company's counters part: behind the last entry that both have, or at the last one."""
    if found.held != found.counted:
        return min(found.held, found.counted) + 1
    return None if found.whole else found.held
