"""Computes the figures of a snapshot: tonnes, uncounted SKUs, and the verdicts of every market and calendar year."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.declarations.document import halves_there, obligation
from compliance.obligations.verdicts import obligations, quantities
from compliance.rollup.portfolio import Portfolio
from compliance.rollup.tonnes import Figures, combine_blocks, rollup
from compliance.ruleset import RuleSet
from pipelines import catalogue
from warehouse.catalogue import queries as jurisdictions
from warehouse.sessions import Connection

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
    release = catalogue.read(None)
    entries = {entry.code: entry for entry in (*release.entries, *jurisdictions.every(conn))}
    load = jurisdictions.last_load(conn)
    return Catalogue(tuple(entries.values()), load.source_hash if load else release.source_hash)


def compute_figures(
    portfolios: Iterable[Portfolio], entries: Sequence[Jurisdiction], rules: RuleSet, proceed: Callable[[], None]
) -> Figures:
    """Compute the figures of all blocks; `proceed` is called before each, and raises where the process has to end."""

    def each() -> Iterable[Figures]:
        for portfolio in portfolios:
            proceed()
            yield rollup(portfolio, entries, rules)

    return combine_blocks(each())


def compute_obligations(figures: Figures) -> pl.DataFrame:
    """Return the verdicts of every market and calendar year that has counted or listed SKUs, in the table's order."""
    counted_or_listed = (figures.tonnes, figures.uncounted)
    of_year = pl.concat([frame.filter(pl.col("half") == 0).select("market", "year") for frame in counted_or_listed])
    rows = [
        {"market": market, "year": year, "halves": halves_there(figures, market, year, 0), **obligation(answer)}
        for market, year in of_year.unique().sort("market", "year").iter_rows()
        for answer in obligations(market, quantities(figures, market, year))
    ]
    return pl.DataFrame(rows, schema=OBLIGATION_SCHEMA, orient="row")
