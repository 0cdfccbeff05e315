"""Computes the figures of a snapshot: tonnes, uncounted SKUs, and the verdicts of every market and calendar year."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict  # Any: rows of Parquet, as polars yields them
from uuid import UUID

import polars as pl

from compliance.catalogue import Jurisdiction, pinned
from compliance.filings.document import halves_there, obligation, scoped_tonnes
from compliance.obligations import obligations, quantities
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, VOLUME_COLUMNS, Portfolio
from compliance.rollup.periods import HALF_YEARLY, market_of
from compliance.rollup.tonnes import TONNES_SCHEMA, Figures, combine_blocks, rollup
from compliance.ruleset import RuleSet
from pipelines import catalogue
from schemas.json_values import instant_text
from warehouse import catalogue as catalogue_warehouse
from warehouse.companies.queries import counters
from warehouse.figures import snapshots, stored
from warehouse.figures.snapshots import Published, Snapshot
from warehouse.figures.source import PART_SKUS
from warehouse.figures.stored import Basis, StoredFigures
from warehouse.operate.sessions import Connection, Pool

TONNES: Final = pl.Decimal(38, 6)
OBLIGATION_SCHEMA: Final = pl.Schema(
    {
        "market": pl.String(),
        "year": pl.Int32(),
        "halves": pl.List(pl.Int8()),
        "obligation": pl.String(),
        "material": pl.String(),
        "operator": pl.String(),
        "threshold_tonnes": TONNES,
        "tonnes": TONNES,
        "tonnes_upper": TONNES,
        "verdict": pl.String(),
        "reason": pl.String(),
        "fields": pl.List(pl.String()),
        "group": pl.String(),
        "group_verdict": pl.String(),
        "source_url": pl.String(),
        "confidence": pl.String(),
        "scope_key": pl.String(),
        "scope_confidence": pl.String(),
    }
)


class Catalogue(NamedTuple):
    """The jurisdictions that count, and the hash of the file that they were loaded from."""

    entries: tuple[Jurisdiction, ...]
    source_hash: str


def loaded_catalogue(conn: Connection) -> Catalogue:
    """Return the loaded catalogue; a jurisdiction that it lacks is the release's, so that its volumes still count."""
    entries = {entry.code: entry for entry in (*pinned(), *catalogue_warehouse.every(conn))}
    load = catalogue_warehouse.last_load(conn)
    return Catalogue(tuple(entries.values()), load.source_hash if load else catalogue.read(None).source_hash)


def compute_figures(
    portfolios: Iterable[Portfolio], entries: Sequence[Jurisdiction], rules: RuleSet, proceed: Callable[[], None]
) -> Figures:
    """Compute the figures of all blocks; `proceed` is called before each, and raises where the process has to end."""

    def compute_blocks() -> Iterable[Figures]:
        for portfolio in portfolios:
            proceed()
            yield rollup(portfolio, entries, rules)

    return combine_blocks(compute_blocks())


def compute_obligations(figures: Figures) -> pl.DataFrame:
    """Return the verdicts of every market and calendar year that has counted or listed SKUs, in the table's order."""
    counted_or_listed = (figures.tonnes, figures.uncounted)
    of_year = pl.concat([frame.filter(pl.col("half") == 0).select("market", "year") for frame in counted_or_listed])
    rows = [
        {"market": market, "year": year, "halves": halves_there(figures, market, year, 0), **obligation(answer)}
        for market, year in of_year.unique().sort("market", "year").iter_rows()
        for answer in obligations(market, quantities(figures, market, year), year)
    ]
    return pl.DataFrame(rows, schema=OBLIGATION_SCHEMA, orient="row")


PERIOD: Final = ("market", "year", "half")
FIGURE: Final = (*PERIOD, "category_code")
"""The key of a figure."""
SCOPED: Final = ("tonnes", "in_scope_tonnes", "undecided_tonnes", "out_of_scope_tonnes")
"""Tonnes of a figure in all, in scope, undecided, and out of scope."""
_GRAMS: Final = ("grams", "in_scope_grams", "undecided_grams")


def publish_figures(
    data_dir: Path, company_id: UUID, origin: Basis, figures: Figures, verdicts: pl.DataFrame
) -> StoredFigures:
    """Make these the company's figures; those of a later snapshot stay where there are any."""
    tonnes = with_tonnes(figures.tonnes)
    changed = count_changed_rows(current_tonnes(data_dir, company_id), tonnes)
    frames = {
        **{
            name: with_halves(rows, figures)
            for name, rows in (
                ("tonnes", tonnes),
                ("uncounted", figures.uncounted),
                ("scope_missing", figures.scope_missing),
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


def with_halves(rows: pl.DataFrame, figures: Figures) -> pl.DataFrame:
    """Return rows of figures with `halves` behind `half`, as a declaration of the market and period names them."""
    periods = rows.select(PERIOD).unique()
    halves = [halves_there(figures, *period) for period in periods.iter_rows()]
    with_halves_of_rows = periods.with_columns(pl.Series("halves", halves, dtype=pl.List(pl.Int8)))
    columns = list(rows.columns)
    columns.insert(columns.index("half") + 1, "halves")
    return rows.join(with_halves_of_rows, on=PERIOD, how="left", maintain_order="left").select(columns)


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


def are_damaged(data_dir: Path, published: Published) -> bool:
    """Return whether a file of a company's published snapshot or of its figures is lost or cut off."""
    snapshot, stored_figures = (
        snapshots.current(data_dir, published.company_id),
        stored.current(data_dir, published.company_id),
    )
    return (published.name is not None and (snapshot is None or not snapshot.is_whole())) or (
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
        "as_of": instant_text(stored_figures.origin.as_of),
        "rows_written": stored_figures.rows_written,
        "figures": [_figure(row) for row in rows],
    }


def _figure(row: Mapping[str, Any]) -> dict[str, object]:  # a row of a Parquet file, untyped as polars yields it
    return {
        **{name: row[name] for name in (*PERIOD, "halves", "category_code")},
        "tonnes": float(row["tonnes"]),
        "units": int(row["units"]),
        **{name: float(row[name]) for name in SCOPED[1:]},
        "scope_key": row["scope_key"],
        "confidence": row["confidence"],
    }


BLOCK_SKUS: Final = 50_000
_PARTS: Final = BLOCK_SKUS // PART_SKUS


def up_to_date_snapshot(pool: Pool, data_dir: Path, company_id: UUID) -> Snapshot | None:
    """Return the company's current snapshot; None where there is none, or where figures have changed since.

    None, too, when a backup was restored and the company's ledger is another.
    """
    snapshot = snapshots.current(data_dir, company_id)
    if snapshot is None:
        return None
    with pool.company(company_id) as conn:
        is_newest = counters(conn).figure_writes == snapshot.writes and snapshots.is_of_ledger(conn, snapshot)
    return snapshot if is_newest else None


def blocks(
    snapshot: Snapshot, *, sku_columns: pl.Schema = SKU_COLUMNS, component_columns: pl.Schema = COMPONENT_COLUMNS
) -> Iterator[Portfolio]:
    """Yield the portfolio in blocks of about `BLOCK_SKUS` SKUs, each with all its components and volumes."""
    for first in range(0, len(snapshot.parts), _PARTS):
        parts = slice(first, first + _PARTS)
        yield Portfolio(
            _block(snapshot.skus[parts], sku_columns),
            _block(snapshot.components[parts], component_columns),
            _block(snapshot.volumes[parts], VOLUME_COLUMNS),
        )


def _block(files: list[Path], columns: pl.Schema) -> pl.DataFrame:
    return pl.read_parquet(files, columns=list(columns))


_TOLERANCE: Final = 1e-9
_YEAR: Final = 0
_OF_PERIODS: Final = ("half_missing", "half_year_conflict")
"""Reasons that are about the rows of a period: what is there counts."""


class FaultCounts(NamedTuple):
    """Faulty rows of a snapshot, by fault."""

    codes_twice: int
    components_of_no_sku: int
    volumes_of_no_sku: int
    below_zero: int


def count_faults(snapshot: Snapshot) -> FaultCounts:
    """Count the rows that no complete snapshot has; all counts should be 0."""
    codes = pl.scan_parquet(snapshot.skus).select("sku_code")
    components, volumes = pl.scan_parquet(snapshot.components), pl.scan_parquet(snapshot.volumes)
    counts = [
        codes.select(pl.len() - pl.col("sku_code").n_unique()),
        components.join(codes, on="sku_code", how="anti").select(pl.len()),
        volumes.join(codes, on="sku_code", how="anti").select(pl.len()),
        pl.concat(
            [
                components.select((pl.col("weight_g") < 0).sum()).select(pl.all().cast(pl.UInt32).alias("rows")),
                volumes.select((pl.col("units_placed") < 0).sum()).select(pl.all().cast(pl.UInt32).alias("rows")),
            ]
        ).sum(),
    ]
    return FaultCounts(*(int(frame.item()) for frame in pl.collect_all(counts)))


def unlike_sums(snapshot: Snapshot) -> pl.DataFrame:
    """Return the SKUs whose `components_weight_g` is not the sum of their components (`sum_g`), both in g."""
    parts = pl.scan_parquet(snapshot.components).filter(pl.col("weight_g").is_not_null())
    sums = parts.group_by("sku_code").agg(pl.col("weight_g").sum().alias("sum_g"))
    stored_g = pl.col("components_weight_g")
    is_near = (stored_g - pl.col("sum_g")).abs() <= _TOLERANCE * (1 + pl.col("sum_g"))
    both = pl.scan_parquet(snapshot.skus).select("sku_code", stored_g).join(sums, on="sku_code", how="left")
    is_sum = (stored_g.is_null() & pl.col("sum_g").is_null()) | is_near.fill_null(value=False)
    return both.filter(~is_sum).sort("sku_code").collect()


def impossible(tonnes: pl.DataFrame) -> pl.DataFrame:
    """Return the figures that cannot be: below 0, or less than single use, or than what is in scope and undecided."""
    scoped = pl.col("in_scope_grams") + pl.col("undecided_grams")
    return tonnes.filter(
        (pl.min_horizontal("single_use_grams", "in_scope_grams", "undecided_grams") < 0)
        | (pl.col("grams") < pl.max_horizontal(pl.col("single_use_grams"), scoped))
    )


def differences(snapshot: Snapshot, figures: Figures, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return the periods whose grams, with a category or without, are not the placed: `counted` beside `placed`.

    They may be less where a weight is beyond all bounds, and so not known.
    """
    not_of_periods = ~pl.col("reason").is_in(_OF_PERIODS)
    listed = figures.uncounted.filter(not_of_periods).select(*PERIOD, "grams")
    counted = pl.concat([figures.tonnes.select(*PERIOD, "grams"), listed]).group_by(PERIOD)
    sums = counted.agg(
        pl.col("grams").sum().cast(pl.Float64).alias("counted"), pl.col("grams").has_nulls().alias("open")
    )
    compared = sums.join(_placed(snapshot, jurisdictions), on=PERIOD, how="left")
    more = pl.col("counted") > pl.col("placed") * (1 + _TOLERANCE)
    less = pl.col("counted") < pl.col("placed") * (1 - _TOLERANCE)
    return compared.filter(pl.col("placed").is_null() | more | (less & ~pl.col("open"))).select(
        *PERIOD, "counted", "placed"
    )


def _placed(snapshot: Snapshot, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Sum the grams of everything placed, by period; in a half-yearly market a year is its own row, else its halves."""
    own = pl.scan_parquet(snapshot.skus).select("sku_code", pl.col("weight_grams").fill_null(0).alias("own"))
    parts = pl.scan_parquet(snapshot.components).group_by("sku_code").agg(pl.col("weight_g").sum().alias("parts"))
    grams = own.join(parts, on="sku_code", how="left").select("sku_code", pl.coalesce("parts", "own").alias("grams"))
    volumes = pl.scan_parquet(snapshot.volumes).filter(pl.col("units_placed").is_not_null())
    codes = volumes.select(pl.col("market").unique()).collect()["market"]
    markets = {code: market_of(code, jurisdictions) for code in codes}
    rows = volumes.with_columns(pl.col("market").replace(markets)).join(grams, on="sku_code", how="inner")
    placed = rows.with_columns((pl.col("grams") * pl.col("units_placed")).alias("placed"))
    has_year = (pl.col("half") == _YEAR).any().over("sku_code", "market", "year")
    years = placed.filter(pl.col("market").is_in(HALF_YEARLY)).filter(~has_year)
    every = pl.concat([placed, years.with_columns(pl.lit(_YEAR, pl.Int8).alias("half"))])
    return every.group_by(PERIOD).agg(pl.col("placed").sum()).collect()
