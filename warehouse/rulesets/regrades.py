"""Records how far a company's regrade is: requested, taken for one block at a time, and summed over companies.

The row is locked while a block is done. So an interrupted regrade continues where it stopped, and two workers on one
company take turns.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, TypedDict
from uuid import UUID

from psycopg.types.json import Json

from warehouse.sessions import Connection, Pool

EXAMPLES: Final = 50
"""How many changes are kept as examples."""

_REQUEST: Final = """
INSERT INTO regrades (company_id, version, matrix, examples, begun_at)
VALUES (%(company_id)s, %(version)s, '{}', '[]', %(now)s)
ON CONFLICT (company_id) DO UPDATE
SET version = excluded.version, position = NULL, skus = 0, changed = 0, matrix = '{}', examples = '[]',
    begun_at = excluded.begun_at, finished_at = NULL
WHERE regrades.version <> excluded.version OR regrades.finished_at IS NOT NULL
"""
_LACKS: Final = """
SELECT NOT EXISTS (SELECT FROM regrades WHERE version = %(version)s)
       AND EXISTS (SELECT FROM skus WHERE ruleset_version <> %(version)s)
"""
_OLDER: Final = """
SELECT EXISTS (SELECT FROM pg_stat_activity
               WHERE datname = current_database() AND usename IN (session_user, 'pcds_app') AND xact_start < %s)
"""
"""A process of the release before may still sign in by the plain name."""
_COUNTS: Final = "version, skus, changed, matrix, examples"
_TAKE: Final = f"SELECT position, {_COUNTS} FROM regrades WHERE finished_at IS NULL FOR UPDATE"
_ADVANCE: Final = """
UPDATE regrades
SET position = %(position)s, skus = %(skus)s, changed = %(changed)s, matrix = %(matrix)s, examples = %(examples)s,
    finished_at = %(finished_at)s
"""


@dataclass(slots=True)
class Regraded:
    """The progress of a regrade of one company, or of several: SKUs looked at, and those of them that changed.

    `matrix` counts SKUs by grade before and after as `A→B`, unchanged ones too; `examples` are the first changes:
    sku_code, grade before, grade after. Where only the trace changed the two are the same.
    """

    version: str
    skus: int = 0
    changed: int = 0
    matrix: Counter[str] = field(default_factory=Counter)
    examples: list[list[str]] = field(default_factory=list)

    def count(self, sku_code: str, before: str, after: str | None) -> None:
        """Add one SKU; `after` is None where nothing changed."""
        self.skus += 1
        self.matrix[f"{before}→{after or before}"] += 1
        if after is not None:
            self.changed += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append([sku_code, before, after])

    def add(self, other: "Regraded") -> None:
        """Add the progress of another company."""
        self.skus += other.skus
        self.changed += other.changed
        self.matrix += other.matrix
        self.examples = (self.examples + other.examples)[:EXAMPLES]


class Regrade(TypedDict):
    """What `pcds regrade --json` publishes (decisions §10)."""

    companies: int
    skus: int
    changed: int
    matrix: dict[str, int]
    ruleset_version: str


class Totals(NamedTuple):
    """The progress of several companies."""

    companies: int
    regraded: Regraded

    def as_dict(self) -> Regrade:
        """Return the published shape of `pcds regrade --json` (decisions §10)."""
        done = self.regraded
        return {
            "companies": self.companies,
            "skus": done.skus,
            "changed": done.changed,
            "matrix": dict(sorted(done.matrix.items())),
            "ruleset_version": done.version,
        }


def request(conn: Connection, company_id: UUID, version: str, now: datetime) -> None:
    """Request the regrade of the company's SKUs by a version; a regrade by it that is under way continues."""
    conn.execute(_REQUEST, {"company_id": company_id, "version": version, "now": now})


def request_lacking(pool: Pool, company_ids: Iterable[UUID], version: str, now: datetime) -> int:
    """Request a regrade by this version for each company with SKUs of others and no such request; return how many.

    An activation requests regrades itself. A release with a newer version is not activated.
    """
    asked = 0
    for company_id in company_ids:
        with pool.company(company_id) as conn:
            if conn.execute(_LACKS, {"version": version}).fetchone() == (True,):
                request(conn, company_id, version, now)
                asked += 1
    return asked


class Asked(NamedTuple):
    """A company's unfinished regrade: its version, and when it was requested."""

    company_id: UUID
    version: str
    at: datetime


def asked_of(conn: Connection) -> list[Asked]:
    """Return every company's unfinished regrade, the oldest first, in a session of no company."""
    return [Asked(*row) for row in conn.execute("SELECT company_id, version, begun_at FROM pcds_asked_regrades()")]


def open_regrades(pool: Pool) -> list[UUID]:
    """Return the companies with an unfinished regrade, the oldest first."""
    with pool.system() as conn:
        return [row[0] for row in conn.execute("SELECT pcds_open_regrades()")]


def open_request(conn: Connection) -> tuple[str, datetime] | None:
    """Return version and time of request of the session's company's open regrade; None where none is open."""
    return conn.execute("SELECT version, begun_at FROM regrades WHERE finished_at IS NULL").fetchone()


def take(conn: Connection) -> tuple[str | None, Regraded] | None:
    """Lock and return the session's company's open regrade: the last finished sku_code, and the progress so far."""
    row = conn.execute(_TAKE).fetchone()
    return None if row is None else (row[0], _of(*row[1:]))


def advance(conn: Connection, position: str | None, done: Regraded, finished_at: datetime | None) -> None:
    """Store the progress of the regrade that this transaction has taken."""
    conn.execute(
        _ADVANCE,
        {
            "position": position,
            "skus": done.skus,
            "changed": done.changed,
            "matrix": Json(done.matrix),
            "examples": Json(done.examples),
            "finished_at": finished_at,
        },
    )


def total(pool: Pool, company_ids: Iterable[UUID], version: str) -> Totals:
    """Sum the progress of these companies' regrades by this version."""
    reached, whole = 0, Regraded(version)
    for company_id in company_ids:
        with pool.company(company_id) as conn:
            row = conn.execute(f"SELECT {_COUNTS} FROM regrades WHERE version = %s", (version,)).fetchone()
        if row is not None:
            reached += 1
            whole.add(_of(*row))
    return Totals(reached, whole)


def database_now(conn: Connection) -> datetime:
    """Return the instant at which the transaction began, by the database's own clock."""
    row = conn.execute("SELECT now()").fetchone()
    assert row is not None, "a function answers one row"
    return row[0]  # type: ignore[no-any-return]


def writes_since_before(conn: Connection, instant: datetime) -> bool:
    """Return whether a transaction of the application is open that began before the database's `instant`."""
    return conn.execute(_OLDER, (instant,)).fetchone() == (True,)


def _of(version: str, skus: int, changed: int, matrix: dict[str, int], examples: list[list[str]]) -> Regraded:
    return Regraded(version, skus, changed, Counter(matrix), examples)
