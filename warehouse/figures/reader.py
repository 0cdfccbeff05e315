"""Opens a DuckDB connection that can read three views of one snapshot and nothing else.

DuckDB isolates it: access to files other than those named here is off, and the configuration is locked before the first
query. A path in a query, a link or a setting cannot circumvent that (tests/warehouse/test_reader.py).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar  # Any: a row of DuckDB, whose columns the query names

import duckdb

from compliance import catalogue, ruleset
from compliance.catalogue import Jurisdiction
from compliance.readiness import Finding, findings
from compliance.rollup.parts import WEIGHTLESS
from compliance.rollup.periods import HALF_YEARLY
from compliance.scopes import is_in_union
from compliance.weights import TOLERANCE
from compliance.words import resolve_material
from schemas.figures import Head
from warehouse.catalogue import every
from warehouse.companies import queries as companies
from warehouse.figures.snapshots import TABLES, Snapshot
from warehouse.figures.source import ARCHIVED
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection

Row: TypeAlias = tuple[Any, ...]
"""A row of any query: which values it has is known by the query alone."""
Record = TypeVar("Record")

THREADS: Final = 2
MEMORY: Final = "1GiB"
"""Memory of one answer; one that needs more fails rather than take the memory of requests."""


class Reader:
    """Queries over the views `skus`, `components` and `volumes`; `every_…` have the rows of archived SKUs too."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, query: str, **parameters: object) -> list[Row]:
        """Return all rows of a query; values are always parameters, named `$name` in it."""
        return self._connection.execute(query, parameters).fetchall()

    def records(self, kind: type[Record], query: str, **parameters: object) -> list[Record]:
        """Return all rows by the names of their columns, which are those of the TypedDict `kind`."""
        result = self._connection.execute(query, parameters)
        names = [column[0] for column in result.description or ()]
        return [kind(**dict(zip(names, row, strict=True))) for row in result.fetchall()]


@contextmanager
def reader(snapshot: Snapshot) -> Iterator[Reader]:
    """Open a reader of this snapshot for the block."""
    files = {name: snapshot.files(name) for name in TABLES}
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": THREADS,
        "memory_limit": MEMORY,
        "temp_directory": "",
        "preserve_insertion_order": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_paths = {_listed(path for paths in files.values() for path in paths)}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        for name, paths in files.items():  # in lists, gaps and counts no archived SKU is there, only in what was placed
            rows = f"SELECT * FROM read_parquet({_listed(paths)}) WHERE NOT {ARCHIVED}"
            connection.execute(f"CREATE VIEW {name} AS {rows}")
            connection.execute(f"CREATE VIEW every_{name} AS SELECT * FROM read_parquet({_listed(paths)})")
        yield Reader(connection)


def _listed(paths: Iterable[Path]) -> str:
    """Return the paths as a DuckDB list."""
    texts = (str(path).replace("'", "''") for path in paths)
    quoted = ", ".join(f"'{text}'" for text in texts)
    return f"[{quoted}]"


_HALF_YEARLY: Final = ", ".join(f"'{market}'" for market in sorted(HALF_YEARLY))


def in_market(code: str) -> str:
    """Return the condition that a code, an SQL expression, is the market asked for or a subdivision of it."""
    return f"({code} = $market OR starts_with({code}, $market || '-'))"


PLACED: Final = f"""
of_years AS (
    SELECT sku_code, market, year, coalesce(
        max(units_placed) FILTER (half = 0), sum(units_placed) FILTER (half > 0 AND market IN ({_HALF_YEARLY}))
    ) AS units
    FROM volumes WHERE $market IS NULL OR {in_market("market")} GROUP BY ALL
), period AS (
    SELECT max(year) AS year FROM of_years WHERE units > 0 AND year <= year($today::DATE)
), placed AS (
    SELECT sku_code, sum(units) FILTER (year = (SELECT year FROM period)) AS units, true AS has_volumes
    FROM of_years GROUP BY sku_code
)"""
"""`placed` has a row per SKU with units of any period there; its `units` are of `period`, null where it has none."""
_PERIOD: Final = f"WITH {PLACED} SELECT year FROM period"


def period(answers: Reader, market: str | None, today: date) -> int | None:
    """Return the calendar year whose units an answer names; None where the company has no units there."""
    [(year,)] = answers.rows(_PERIOD, market=market, today=today)
    return None if year is None else int(year)


_TONNES: Final = """
coalesce(units * CASE WHEN composed.parts IS NULL THEN weight_grams ELSE composed.grams END, 0)::DOUBLE / 1e6
    AS tonnes"""
"""Grams of the parts that have a weight, of the item where it has no parts, times its units of `period`, in tonnes."""
WEIGHED: Final = f"""
{PLACED},
composed AS (SELECT sku_code, count(*) AS parts, sum(weight_g) AS grams FROM components GROUP BY sku_code),
weighed AS (
    SELECT skus.*, {_TONNES} FROM skus LEFT JOIN composed USING (sku_code) LEFT JOIN placed USING (sku_code)
)"""
"""`weighed` has a row per SKU with its tonnes of `period`, 0 where it has no weight or no units."""


_RIDERS: Final = ", ".join(f"'{kind}'" for kind in (*WEIGHTLESS, "coating"))
_OPEN_POLYMER: Final = "coalesce(polymer_or_grade, '') = ''"
_FLAGGED: Final = "len(list_filter(flags, lambda flag: {})) > 0"
_CERTAIN: Final = "flag.certainty = 'certain'"
_OPEN: Final = "flag.certainty = 'depends'"

CONDITIONS: Final = {
    "pfas_food_contact": "food_contact AND (pfas_status = 'above_limit' OR pfas_in_part)",
    "heavy_metals": "heavy_metals_status = 'above_limit' OR heavy_metals_in_part",
    "banned_format": _FLAGGED.format(f"{_CERTAIN} AND flag.applies_from <= today"),
    "bpa_food_contact": "food_contact AND (bpa_status = 'above_limit' OR bpa_in_part)",
    "format_may_be_banned": _FLAGGED.format(f"{_OPEN} AND flag.applies_from <= today"),
    "banned_format_later": _FLAGGED.format(f"{_CERTAIN} AND flag.applies_from > today"),
    "format_may_be_banned_later": _FLAGGED.format(f"{_OPEN} AND flag.applies_from > today"),
    "not_recyclable": "recyclability_grade = 'not_recyclable'",
    "exempt_from_grades": "exempt",
    "doc_missing": "doc_status <> 'valid'",
    "pfas_undeclared": "food_contact AND coalesce(pfas_status, 'unknown') = 'unknown' AND NOT pfas_by_part",
    "food_contact_unknown": "food_contact IS NULL",
    "heavy_metals_undeclared": "coalesce(heavy_metals_status, 'unknown') = 'unknown' AND NOT heavy_metals_by_part",
    "composition_missing": "parts = 0 AND material IS NULL",
    "weight_missing": "unweighed OR (parts = 0 AND weight_grams IS NULL)",
    "weight_mismatch": f"abs(weight_grams - components_weight_g) > {TOLERANCE} * weight_grams",
    "volume_missing": "NOT has_volumes",
    "markets_missing": "len(markets_in_effect) = 0",
    "polymer_missing": "polymer_open OR (parts = 0 AND material = 'plastic' AND coalesce(material_subtype, '') = '')",
    "format_missing": "coalesce(packaging_format, '') = ''",
    "level_missing": "packaging_level IS NULL",
    "grade_provisional": "grade_provisional",
    "not_assessed": "recyclability_grade = 'not_assessed' AND NOT exempt",
    "text_not_understood": "text_unread OR (parts = 0 AND material_subtype IN (FROM unread))",
    "use_missing": "list_contains(annex_v_undecided, 'use_contexts')",
}
"""A finding's key and its condition, which counts as not met where it is null; `condition` adds where it applies."""
_OF_THE_UNION: Final = frozenset(finding.key for finding in findings() if finding.eu)


def condition(key: str) -> str:
    """Return SQL for a finding of a row of `facts`. Raises `KeyError` for what is none.

    Law of the Union asks nothing of what is sold outside of it alone (Article 4(1) of Regulation (EU) 2025/40).
    """
    return f"(({CONDITIONS[key]}) AND may_be_in_union)" if key in _OF_THE_UNION else f"({CONDITIONS[key]})"


MAY_BE_IN_UNION: Final = (
    "(len(markets_in_effect) = 0 OR list_has_any(markets_in_effect, (SELECT list(text) FROM inside)))"
)
"""A market of the SKU is in the Union, or none is given; `inside` is made by `keep_markets_inside`."""


FACTS: Final = f"""
{PLACED},
composed AS (
    SELECT sku_code, count(*) AS parts, sum(weight_g) AS grams,
           bool_or(weight_g IS NULL AND component_type NOT IN ({_RIDERS})) AS unweighed,
           bool_or(material_family = 'plastic' AND {_OPEN_POLYMER} AND component_type NOT IN ({_RIDERS}))
               AS polymer_open,
           coalesce(bool_or(polymer_or_grade IN (FROM unread)), false) AS text_unread,
           bool_or(pfas_status = 'above_limit') AS pfas_in_part, bool_or(bpa_status = 'above_limit') AS bpa_in_part,
           bool_or(heavy_metals_status = 'above_limit') AS heavy_metals_in_part,
           bool_and(coalesce(pfas_status, 'unknown') <> 'unknown') AS pfas_by_part,
           bool_and(coalesce(heavy_metals_status, 'unknown') <> 'unknown') AS heavy_metals_by_part
    FROM components GROUP BY sku_code
), facts AS (
    SELECT skus.*, coalesce(parts, 0) AS parts, coalesce(unweighed, false) AS unweighed,
           coalesce(polymer_open, false) AS polymer_open, coalesce(text_unread, false) AS text_unread,
           coalesce(pfas_in_part, false) AS pfas_in_part,
           coalesce(bpa_in_part, false) AS bpa_in_part, coalesce(heavy_metals_in_part, false) AS heavy_metals_in_part,
           coalesce(pfas_by_part, false) AS pfas_by_part, coalesce(heavy_metals_by_part, false) AS heavy_metals_by_part,
           units, coalesce(has_volumes, false) AS has_volumes, {_TONNES}, $today::DATE AS today,
           {MAY_BE_IN_UNION} AS may_be_in_union
    FROM skus LEFT JOIN composed USING (sku_code) LEFT JOIN placed USING (sku_code)
    WHERE $market IS NULL OR len(list_filter(markets_in_effect, lambda code: {in_market("code")})) > 0
)"""
"""One row per SKU of which the market is one in effect; of every SKU without a market. `units` are of one period."""


_TEXTS: Final = """
SELECT polymer_or_grade FROM every_components WHERE polymer_or_grade <> ''
UNION SELECT material_subtype FROM every_skus WHERE material_subtype <> ''
"""


_MARKETS: Final = "SELECT DISTINCT unnest(markets_in_effect) FROM skus"


def prepare(answers: Reader) -> None:
    """Make the tables that conditions use besides the snapshot's.

    `unread` has the texts of no material that was known to the rules by which the snapshot was made.
    """
    answers.rows("CREATE TEMPORARY TABLE unread AS SELECT DISTINCT unnest(texts_unread) AS text FROM every_skus")
    keep_markets_inside(answers)


def keep_markets_inside(answers: Reader) -> None:
    """Make the table `inside` of the markets of the Union that are one of some SKU."""
    keep(answers, "inside", [code for (code,) in answers.rows(_MARKETS) if is_in_union(code)])


def keep_texts(answers: Reader, is_meant: Callable[[str | None], bool]) -> None:
    """Make the table `meant` of the material texts whose canonical code is meant; None is that of an unknown text."""
    rules = ruleset.load()
    keep(answers, "meant", [text for (text,) in answers.rows(_TEXTS) if is_meant(resolve_material(text, rules))])


def keep(answers: Reader, table: str, texts: Sequence[str]) -> None:
    """Make a table of these texts."""
    answers.rows(f"CREATE TEMPORARY TABLE {table} AS SELECT unnest($texts::VARCHAR[]) AS text", texts=list(texts))


def mask(listed: Sequence[Finding]) -> str:
    """Return SQL for the findings of a row of `facts` as one number, a bit for each, to count equal rows together."""
    bits = (f"CASE WHEN {condition(finding.key)} THEN {1 << place} ELSE 0 END" for place, finding in enumerate(listed))
    return f"({' + '.join(bits)})::BIGINT"


def of_mask(listed: Sequence[Finding], number: int) -> list[Finding]:
    """Return the findings of a number."""
    return [finding for place, finding in enumerate(listed) if number >> place & 1]


def weight_sum_sql(listed: Sequence[Finding]) -> str:
    """Return SQL for the sum of the weights of a row's findings."""
    return " + ".join(f"CASE WHEN {condition(finding.key)} THEN {finding.weight:d} ELSE 0 END" for finding in listed)


def applicable_findings(listed: Sequence[Finding], *, in_union: bool, today: date) -> list[Finding]:
    """Return the findings that apply on a market, in the European Union or outside of it, as they count on a day."""
    return [finding.on(today) for finding in listed if in_union or not finding.eu]


@dataclass(frozen=True, slots=True)
class Now:
    """The UTC day, how many writes of the company changed figures, and the jurisdictions that the catalogue serves."""

    today: date
    figure_writes: int
    jurisdictions: dict[str, Jurisdiction]

    @classmethod
    def read(cls, conn: Connection, clock: Clock) -> Self:
        """Read them in this transaction of the company; the release's catalogue is used until one is loaded."""
        served = catalogue.served(every(conn) or catalogue.pinned())
        return cls(clock.today(), companies.counters(conn).figure_writes, {entry.code: entry for entry in served})

    def head(self, snapshot: Snapshot) -> Head:
        """Return the first members of every answer."""
        return {"as_of": snapshot.as_of, "newer_writes": max(self.figure_writes - snapshot.writes, 0)}
