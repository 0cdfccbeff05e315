"""Stores figures: finds the changes since the figures before, and publishes the files under a new name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypedDict  # Any: rows of Parquet, as polars yields them
from uuid import UUID

import polars as pl

from compliance.declarations.document import halves_there, scoped_tonnes
from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines.figures.compute import TONNES
from warehouse import figures as stored
from warehouse import snapshots
from warehouse.figures import Basis, StoredFigures
from warehouse.snapshots.follow import Published

_PERIOD: Final = ("market", "year", "half")
FIGURE: Final = (*_PERIOD, "category_code")
"""The key of a figure."""
SCOPED: Final = ("tonnes", "in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes")
"""Tonnes of a figure in all, in scope, undecided, and out of scope."""
_GRAMS: Final = ("grams", "in_scope_grams", "undecided_grams")


def publish_figures(
    data_dir: Path, company_id: UUID, origin: Basis, found: Figures, verdicts: pl.DataFrame
) -> StoredFigures:
    """Make these the company's figures; those of a later snapshot stay where there are any."""
    tonnes = with_tonnes(found.tonnes)
    changed = count_changed_rows(current_tonnes(data_dir, company_id), tonnes)
    frames = {
        **{
            name: with_halves(rows, found)
            for name, rows in (
                ("tonnes", tonnes),
                ("uncounted", found.uncounted),
                ("scope_missing", found.scope_missing),
            )
        },
        "obligations": verdicts,
    }
    return stored.publish(data_dir, company_id, origin, frames, changed)


def with_tonnes(tonnes: pl.DataFrame) -> pl.DataFrame:
    """Return exact figures with tonnes beside the grams, by scope, as they are written."""
    rows = [scoped_tonnes(row) for row in tonnes.select(_GRAMS).iter_rows(named=True)]
    rounded = pl.DataFrame(rows, schema=dict.fromkeys(SCOPED, TONNES))
    return tonnes.with_columns(pl.col("basis").cast(pl.String), *rounded)


def with_halves(rows: pl.DataFrame, found: Figures) -> pl.DataFrame:
    """Return rows of figures with `halves` behind `half`, as a declaration of the market and period names them."""
    periods = rows.select(_PERIOD).unique()
    halves = [halves_there(found, *period) for period in periods.iter_rows()]
    named = periods.with_columns(pl.Series("halves", halves, dtype=pl.List(pl.Int8)))
    columns = list(rows.columns)
    columns.insert(columns.index("half") + 1, "halves")
    return rows.join(named, on=_PERIOD, how="left", maintain_order="left").select(columns)


def current_tonnes(data_dir: Path, company_id: UUID) -> pl.DataFrame:
    """Return the current figures; none where none were computed."""
    stored_figures = stored.current(data_dir, company_id)
    return (
        with_tonnes(pl.DataFrame(schema=TONNES_SCHEMA))
        if stored_figures is None or not stored_figures.is_whole()
        else pl.read_parquet(stored_figures.tonnes).drop("halves")
    )


def are_behind(data_dir: Path, company_id: UUID) -> bool:
    """Return whether the figures are not those of the current snapshot: a rollup failed, or was interrupted."""
    snapshot, stored_figures = snapshots.current(data_dir, company_id), stored.current(data_dir, company_id)
    return snapshot is not None and (stored_figures is None or stored_figures.origin.snapshot != snapshot.path)


def are_damaged(data_dir: Path, known: Published) -> bool:
    """Return whether a file of a company's published snapshot or of its figures is lost or cut off."""
    snapshot, stored_figures = snapshots.current(data_dir, known.company_id), stored.current(data_dir, known.company_id)
    return (known.name is not None and (snapshot is None or not snapshot.is_whole())) or (
        stored_figures is not None and not stored_figures.is_whole()
    )


def count_changed_rows(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """Count the figures that are new, changed or removed."""
    same = after.join(before, on=after.columns, how="inner", nulls_equal=True).height
    figures = pl.concat([before.select(FIGURE), after.select(FIGURE)]).unique().height
    return figures - same


class CompanyFigures(TypedDict):
    """What `pcds rollup --json` publishes of one company (decisions §10)."""

    company_id: str
    as_of: str
    rows_written: int
    figures: list[dict[str, object]]


def as_dict(stored_figures: StoredFigures) -> CompanyFigures:
    """Return the published shape of one company in `pcds rollup --json` (decisions §10)."""
    rows = pl.read_parquet(stored_figures.tonnes).iter_rows(named=True)
    return {
        "company_id": str(stored_figures.company_id),
        "as_of": stored_figures.origin.as_of.isoformat().replace("+00:00", "Z"),
        "rows_written": stored_figures.rows_written,
        "figures": [_figure(row) for row in rows],
    }


def _figure(row: Mapping[str, Any]) -> dict[str, object]:  # a row of a Parquet file, untyped as polars yields it
    return {
        **{name: row[name] for name in (*_PERIOD, "halves", "category_code")},
        "tonnes": float(row["tonnes"]),
        "units": int(row["units"]),
        **{name: float(row[name]) for name in SCOPED[1:]},
        "scope_key": row["scope_key"],
        "confidence": row["confidence"],
    }
