"""Finds records from before a rule whose codes collide with another, or change, in today's form of a code.

It reports and changes nothing: the company has to say which of two SKUs is meant.
"""

from collections import defaultdict
from dataclasses import dataclass

from schemas import texts
from warehouse import codes as stored
from warehouse.sessions import Connection


@dataclass(frozen=True, slots=True)
class Finding:
    """Codes of one company that are stored in another form than new ones.

    With several `codes`, they are one code now: they collide. With a single one, callers that send it send `form`, so
    that a new record is made.
    """

    record: str
    form: str
    codes: tuple[str, ...]

    @property
    def collides(self) -> bool:
        """Return whether several records have the code."""
        return len(self.codes) > 1


def find_codes(conn: Connection) -> list[Finding]:
    """Return the findings of the session's company."""
    found = []
    for record in stored.RECORDS:
        by_form: defaultdict[str, set[str]] = defaultdict(set)
        for code in stored.unusual(conn, record):
            if (form := texts.code(code)) != code:
                by_form[form].add(code)
        for code in stored.among(conn, record, list(by_form)):
            by_form[code].add(code)
        found += [Finding(record, form, tuple(sorted(stored_codes))) for form, stored_codes in sorted(by_form.items())]
    return found
