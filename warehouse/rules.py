"""Stores rule-sets that operators added, and the active version. Versions never change; the last activation counts."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, TypedDict
from uuid import UUID

import orjson
from psycopg.types.json import Json
from sqlalchemy import JSON, BigInteger, Column, Identity, Integer, PrimaryKeyConstraint, Table, Text

from compliance import ruleset
from compliance.ruleset import RuleSet
from compliance.tables import TableError
from warehouse.base import company, instant, metadata
from warehouse.operate.sessions import Connection, Pool


class Added(NamedTuple):
    """An added version: its tables as CSV texts by file name."""

    content_hash: str
    rules: int
    tables: dict[str, str]


def active(conn: Connection) -> str | None:
    """Return the version that was activated last; None where none ever was, so that the release's newest grades."""
    row = conn.execute("SELECT version FROM ruleset_activations ORDER BY number DESC LIMIT 1").fetchone()
    return None if row is None else str(row[0])


def find_added(conn: Connection, version: str) -> Added | None:
    """Return an added version; None where there is none of that name."""
    row = conn.execute("SELECT content_hash, rules, tables FROM rulesets WHERE version = %s", [version]).fetchone()
    return None if row is None else Added(*row)


def sizes(conn: Connection) -> dict[str, int]:
    """Count the design rules of each added version."""
    return dict(conn.execute("SELECT version, rules FROM rulesets").fetchall())


def add(conn: Connection, version: str, tables: Mapping[str, str], *, rules: int, at: datetime) -> None:
    """Store a version for good. The connection is the owner's."""
    conn.execute(
        "INSERT INTO rulesets (version, content_hash, rules, tables, added_at) VALUES (%s, %s, %s, %s, %s)",
        [version, content_hash(tables), rules, Json(dict(tables)), at],
    )


def lock(conn: Connection) -> None:
    """Let no other transaction add a version before this one ends; all may read."""
    conn.execute("LOCK TABLE rulesets IN SHARE ROW EXCLUSIVE MODE")


def lock_activations(conn: Connection) -> None:
    """Let no other activation and no new company commit before this transaction ends; all may read."""
    conn.execute("LOCK TABLE ruleset_activations, companies IN SHARE ROW EXCLUSIVE MODE")


def activate(conn: Connection, version: str, at: datetime) -> None:
    """Make a version grade from the commit on. The connection is the owner's."""
    conn.execute("INSERT INTO ruleset_activations (version, activated_at) VALUES (%s, %s)", [version, at])


def content_hash(tables: Mapping[str, str]) -> str:
    """Return the SHA-256 over names and texts of the tables, as hexadecimal digits."""
    return hashlib.sha256(orjson.dumps(dict(tables), option=orjson.OPT_SORT_KEYS)).hexdigest()


FRESH_SECONDS: Final = 1.0


class Rulesets:
    """One process's cache of one database. Thread-safe: at worst two threads read the same version once each."""

    def __init__(self) -> None:
        self._known: dict[str, RuleSet] = {}
        self._active: tuple[RuleSet, float] | None = None

    def active(self, conn: Connection) -> RuleSet:
        """Return the rule-set to grade with in this transaction: the one activated last, else the release's newest."""
        rules, asked_at = self.lately(), time.monotonic()
        if rules is not None:
            return rules
        rules = self.load(conn, active(conn) or ruleset.versions()[-1])
        self._active = rules, asked_at
        return rules

    def lately(self) -> RuleSet | None:
        """Return the same without a query; None where the last answer is too old."""
        if self._active is None or time.monotonic() - self._active[1] >= FRESH_SECONDS:
            return None
        return self._active[0]

    def load(self, conn: Connection, version: str) -> RuleSet:
        """Return the rule-set of a version, read once. Raises `TableError` where neither has it."""
        rules = self.in_memory(version)
        if rules is None:
            rules = self._known[version] = _read(conn, version)
        return rules

    def in_memory(self, version: str) -> RuleSet | None:
        """Return the rule-set of a version that was read before, without a query."""
        return self._known.get(version)


def _read(conn: Connection, version: str) -> RuleSet:
    """Read an added version before a release's of the same name: the added one has graded already."""
    added = find_added(conn, version)
    if added is None:
        return ruleset.load(version)
    if content_hash(added.tables) != added.content_hash:
        raise TableError(f"Rule-set {version} is not as it was added; restore the table rulesets from a backup.")
    return ruleset.parse(version, added.tables)


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
SELECT EXISTS (SELECT FROM pg_stat_activity AS others
               WHERE datname = current_database() AND usename IN (session_user, 'pcds_app') AND xact_start < %s
                   AND NOT EXISTS (SELECT FROM pg_locks
                       WHERE pid = others.pid AND relation = 'regrades'::regclass AND mode = 'RowShareLock'))
"""
"""A process of the release before may still sign in by the plain name.

Another company's regrade, which locks its row of `regrades`, is no older writer: an activation waits for that row.
"""
_COUNTS: Final = "version, skus, changed, matrix, examples"
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
    count = 0
    for company_id in company_ids:
        with pool.company(company_id) as conn:
            if conn.execute(_LACKS, {"version": version}).fetchone() == (True,):
                request(conn, company_id, version, now)
                count += 1
    return count


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
    row = conn.execute(f"SELECT position, {_COUNTS} FROM regrades WHERE finished_at IS NULL FOR UPDATE").fetchone()
    return None if row is None else (row[0], _regrade(*row[1:]))


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
            whole.add(_regrade(*row))
    return Totals(reached, whole)


def database_now(conn: Connection) -> datetime:
    """Return the instant at which the transaction began, by the database's own clock."""
    row = conn.execute("SELECT now()").fetchone()
    assert row is not None, "a function answers one row"
    return row[0]  # type: ignore[no-any-return]


def writes_since_before(conn: Connection, instant: datetime) -> bool:
    """Return whether a transaction of the application is open that began before the database's `instant`."""
    return conn.execute(_OLDER, (instant,)).fetchone() == (True,)


def _regrade(version: str, skus: int, changed: int, matrix: dict[str, int], examples: list[list[str]]) -> Regraded:
    return Regraded(version, skus, changed, Counter(matrix), examples)


rulesets = Table(
    "rulesets",
    metadata,
    Column("version", Text, primary_key=True),
    Column("content_hash", Text, nullable=False, comment="SHA-256 over names and texts of the tables"),
    Column("rules", Integer, nullable=False, comment="how many design rules it has"),
    Column("tables", JSON, nullable=False, comment="file name of each table to its CSV text"),
    instant("added_at"),
)

ruleset_activations = Table(
    "ruleset_activations",
    metadata,
    Column(
        "number",
        BigInteger,
        Identity(always=True),
        primary_key=True,
        comment="the highest one is the version that grades",
    ),
    Column("version", Text, nullable=False),
    instant("activated_at"),
)

regrades = Table(
    "regrades",
    metadata,
    company(),
    Column("version", Text, nullable=False, comment="of the rule-set that the SKUs are graded with"),
    Column("position", Text, comment="the last sku_code that is done; null before the first block"),
    Column("skus", BigInteger, nullable=False, server_default="0", comment="looked at up to there"),
    Column(
        "changed",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="of those, written because grade or trace changed",
    ),
    Column("matrix", JSON, nullable=False, comment='{"A→B": SKUs}: the grade before and after, unchanged ones too'),
    Column("examples", JSON, nullable=False, comment="the first changes: sku_code, grade before, grade after"),
    instant("begun_at"),
    instant("finished_at", nullable=True),
    PrimaryKeyConstraint("company_id"),
)
