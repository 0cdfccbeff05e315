"""Foresees what a dry run would do: to grades chunk by chunk, and at its end to tonnes, duties and due days.

Tonnes are of the SKUs that it would write, as the company's snapshot has them and as they would be. Verdicts and days
are of the whole snapshot with either. They come from the functions that publish and list them: `pipelines.figures`,
`pipelines.filings`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final, Literal, TypeAlias, cast

import polars as pl

from compliance.filings.document import scoped_tonnes
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, Portfolio
from compliance.rollup.tonnes import Figures, combine_blocks
from compliance.ruleset import RuleSet
from pipelines.figures import PERIOD, blocks, compute_figures, compute_obligations, loaded_catalogue
from pipelines.filings import dated_duties
from pipelines.writing.patch import Prepared
from schemas.imports.types import (
    ChangedGrade,
    Foreseen,
    ForeseenDuty,
    ForeseenFigures,
    ForeseenTonnes,
    GradeChange,
)
from schemas.json_values import instant_text
from warehouse.companies.queries import counters
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import ARCHIVED, components_of, volumes_of
from warehouse.operate.sessions import Connection
from warehouse.skus.tables import DTYPES, Table

_Change: TypeAlias = tuple[str | None, str | None]
"""A grade before and after; null before for a new SKU."""
MOST_NAMED: Final = 100
"""Items, and rows of figures, that are named; all items are counted."""
_CHUNKS: Final = 10
"""Chunks whose figures are computed together."""
_CATEGORY: Final = ("market", "year", "category_code", "category_name")
_SCOPED: Final[tuple[Literal["tonnes", "in_scope_tonnes", "undecided_tonnes"], ...]] = (
    *("tonnes", "in_scope_tonnes", "undecided_tonnes"),
)
_DUTY: Final = ("market", "year", "obligation", "material", "operator", "scope_key")


def foreseen(written: Prepared, unchanged: Mapping[str, int]) -> Foreseen:
    """Return what a dry run did to grades; `unchanged` counts by grade the rows that were not even written."""
    counts: Counter[_Change] = Counter({(grade, grade): number for grade, number in unchanged.items()})
    changed: list[ChangedGrade] = []
    for code, sku_id, after in written.merged.rows(("sku_code", "id", "recyclability_grade")):
        before = written.grades_before.get(code)
        counts[before, after] += 1
        if before not in (None, after) and len(changed) < MOST_NAMED:
            changed.append({"sku_id": str(sku_id), "sku_code": code, "before": before, "after": after})
    return {"grades": _listed(counts), "changed": changed}


def together(first: Foreseen | None, then: Foreseen) -> Foreseen:
    """Return the grades of two parts of one import as one; `first` is None before the first."""
    if first is None:
        return then
    counts: Counter[_Change] = Counter()
    for entry in (*first["grades"], *then["grades"]):
        counts[entry["before"], entry["after"]] += entry["skus"]
    return {"grades": _listed(counts), "changed": [*first["changed"], *then["changed"]][:MOST_NAMED]}


def _listed(counts: Counter[_Change]) -> list[GradeChange]:
    """Return the counts as they are published: new SKUs first, then by grade."""
    ordered = sorted(counts.items(), key=lambda pair: (pair[0][0] or "", pair[0][1] or ""))
    return [{"before": before, "after": after, "skus": skus} for (before, after), skus in ordered]


def portfolio_of(merged: Table) -> Portfolio:
    """Return SKUs, components and volumes of rows as they would be stored, with all their value columns."""
    names = [name for name in (*SKU_COLUMNS, "components", "volumes") if name != ARCHIVED]
    rows = merged.frame({name: DTYPES[name] for name in names}).with_columns(
        pl.lit(value=False).alias(ARCHIVED), pl.col("use_contexts").str.extract_all(r'[^{},"]+')
    )
    return Portfolio(
        rows.select(list(SKU_COLUMNS)), components_of(rows).select(list(COMPONENT_COLUMNS)), volumes_of(rows)
    )


def figures(
    conn: Connection, snapshot: Snapshot | None, written: Sequence[Portfolio], rules: RuleSet, today: date
) -> ForeseenFigures:
    """Return the figures of a preview for the SKUs that would be `written`, the chunks of an import.

    Nothing where the company has SKUs but no snapshot yet, and for tonnes beyond the reach of figures.
    """
    if snapshot is None and counters(conn).skus:
        return {}
    entries = loaded_catalogue(conn).entries
    chunks = [
        Portfolio(*map(pl.concat, zip(*written[first : first + _CHUNKS], strict=True)))
        for first in range(0, len(written), _CHUNKS)
    ]
    codes = pl.concat([part.skus.select("sku_code") for part in chunks])

    def computed(parts: Iterable[Portfolio]) -> Figures:
        return compute_figures(parts, entries, rules, lambda: None)

    def stored(how: Literal["semi", "anti"]) -> Figures:
        """Compute the figures of the snapshot's SKUs that are among the written ones, or of the others."""
        parts = blocks(snapshot) if snapshot else ()
        return computed(Portfolio(*(frame.join(codes, on="sku_code", how=how) for frame in part)) for part in parts)

    try:
        before, after = stored("semi"), computed(chunks)
        as_of, tonnes = instant_text(snapshot.as_of) if snapshot else None, _tonnes(before, after)
        if all(old.equals(new) for old, new in zip(before, after, strict=True)):
            return cast(ForeseenFigures, {"figures_as_of": as_of, "tonnes": tonnes, "duties": [], "days": []})
        others = stored("anti")
        now, then = combine_blocks([others, before]), combine_blocks([others, after])
    except OverflowError:
        return {}
    verdicts, verdicts_then = compute_obligations(now), compute_obligations(then)
    days, days_then = (
        dated_duties(conn, figures.tonnes.select(PERIOD).unique().rows(), rows, today)
        for figures, rows in ((now, verdicts), (then, verdicts_then))
    )
    changed = [(day, False) for day in days if day not in days_then] + [(d, True) for d in days_then if d not in days]
    listed = [
        {
            "market": day.market,
            "year": day.year,
            "half": day.half,
            "duty": day.stated.duty,
            "due_on": day.on.isoformat(),
            "begins": begins,
        }
        for day, begins in changed
    ]
    made = {"figures_as_of": as_of, "tonnes": tonnes, "duties": _duties(verdicts, verdicts_then), "days": listed}
    return cast(ForeseenFigures, made)


def _tonnes(before: Figures, after: Figures) -> list[ForeseenTonnes]:
    """Return the calendar years' categories of which some tonnes differ, those that change the most first."""
    sides = [
        {
            tuple(row[name] for name in _CATEGORY): [float(scoped[name]) for name in _SCOPED]
            for row in figures.tonnes.filter(pl.col("half") == 0).iter_rows(named=True)
            if (scoped := scoped_tonnes(row))
        }
        for figures in (before, after)
    ]
    none = [0.0 for _ in _SCOPED]
    pairs = [(key, sides[0].get(key, none), sides[1].get(key, none)) for key in sides[0] | sides[1]]
    pairs.sort(key=lambda pair: -max(abs(new - old) for old, new in zip(*pair[1:], strict=True)))
    rows = [
        {
            **dict(zip(_CATEGORY, key, strict=True)),
            "before": dict(zip(_SCOPED, old, strict=True)),
            "after": dict(zip(_SCOPED, new, strict=True)),
        }
        for key, old, new in pairs[:MOST_NAMED]
        if old != new
    ]
    return cast(list[ForeseenTonnes], rows)


def _duties(before: pl.DataFrame, after: pl.DataFrame) -> list[ForeseenDuty]:
    """Return the verdicts that differ, in the order of their table."""
    sides = [
        rows.select(*_DUTY, pl.col("threshold_tonnes").cast(pl.Float64), "verdict").unique() for rows in (before, after)
    ]
    key = (*_DUTY, "threshold_tonnes")
    both = sides[0].join(sides[1], on=key, how="full", coalesce=True, nulls_equal=True, suffix="_then")
    changed = both.filter(pl.col("verdict").ne_missing(pl.col("verdict_then"))).sort(key).head(MOST_NAMED)
    return cast(list[ForeseenDuty], changed.rename({"verdict": "before", "verdict_then": "after"}).to_dicts())
