"""Caches the rule-sets of a database in one process: the active version, and the tables of each.

A write takes its rule-set once, inside its own transaction, and keeps it to the end, so that nothing is ever graded
with a mixture. The active version is read from the database at most once in `FRESH_SECONDS`: every process of every
machine has switched that long after an activation, and a transaction that begins later grades with the new one.

What belongs here: finding and caching them. What does not: what the tables mean (`compliance.ruleset`), the statements
(`warehouse.rulesets.queries`), adding and activating (`pipelines.regrading.rulesets`).
"""

import time
from typing import Final

from compliance import ruleset
from compliance.ruleset import RuleSet
from compliance.tables import TableError
from warehouse.rulesets import queries as rulesets
from warehouse.sessions import Connection

FRESH_SECONDS: Final = 1.0


class Rulesets:
    """One process's cache of one database. Thread-safe: at worst two threads read the same version once each."""

    def __init__(self) -> None:
        self._known: dict[str, RuleSet] = {}
        self._active: tuple[RuleSet, float] | None = None

    def active(self, conn: Connection) -> RuleSet:
        """Return the rule-set to grade with in this transaction: the one activated last, else the release's newest."""
        found, asked_at = self.lately(), time.monotonic()
        if found is not None:
            return found
        found = self.of(conn, rulesets.active(conn) or ruleset.versions()[-1])
        self._active = found, asked_at
        return found

    def lately(self) -> RuleSet | None:
        """Return the same without a query; None where the last answer is too old."""
        if self._active is None or time.monotonic() - self._active[1] >= FRESH_SECONDS:
            return None
        return self._active[0]

    def of(self, conn: Connection, version: str) -> RuleSet:
        """Return the rule-set of a version, read once. Raises `TableError` where neither has it."""
        found = self.known(version)
        if found is None:
            found = self._known[version] = _read(conn, version)
        return found

    def known(self, version: str) -> RuleSet | None:
        """Return the rule-set of a version that was read before, without a query."""
        return self._known.get(version)


def _read(conn: Connection, version: str) -> RuleSet:
    """Read an added version before a release's of the same name: the added one has graded already."""
    added = rulesets.find_added(conn, version)
    if added is None:
        return ruleset.load(version)
    if rulesets.content_hash(added.tables) != added.content_hash:
        raise TableError(f"Rule-set {version} is not as it was added; restore the table rulesets from a backup.")
    return ruleset.parse(version, added.tables)
