"""Computes a company's declaration for a market and period from its current figures, and lists all such filings.

It uses the published figures, so it equals what `pcds declaration` writes at the same time. How it is filed, and what
the United Kingdom's file needs from the producer besides, is not here.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import polars as pl

from compliance.declarations import document
from compliance.rollup.periods import HALF_YEARLY, HALVES_SCHEMA
from compliance.rollup.scoped import QUESTION_SCHEMA, STANDING_SCHEMA
from compliance.rollup.tonnes import TONNES_SCHEMA, Figures
from pipelines.declarations.declare import YEAR, NotDeclarable
from pipelines.figures.compute import TONNES
from warehouse.figures import Basis, StoredFigures

_NAME: Final = re.compile(r"(?P<market>[A-Z]{2}(?:-[A-Z0-9]{1,3})?)-(?P<year>[0-9]{4})(?:-H(?P<half>[12]))?")
_PERIOD: Final = ("market", "year", "half")
_SHARE: Final = {f"{name}tonnes": TONNES for name in ("", "in_scope_", "undecided_", "out_of_scope_")}
FILING_SCHEMA: Final = pl.Schema({name: _SHARE.get(name) or TONNES_SCHEMA[name] for name in document.TONNES_COLUMNS})
"""The columns of a filing's tonnes."""


class Filing(NamedTuple):
    """A market and period; `half` is 1 or 2, or 0 for the calendar year."""

    market: str
    year: int
    half: int

    @property
    def name(self) -> str:
        """Return the name: `DE-2025`, `GB-2025-H1`."""
        return f"{self.market}-{self.year}" + (f"-H{self.half}" if self.half != YEAR else "")

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the filing of a name. Raises `NotDeclarable`."""
        if (found := _NAME.fullmatch(name)) is None:
            raise NotDeclarable(f"{name} names no filing; say market and year, such as DE-2025, or GB-2025-H1.")
        market, half = found["market"], int(found["half"] or YEAR)
        if half != YEAR and market not in HALF_YEARLY:
            raise NotDeclarable(f"{market} is declared by the year. Only GB has halves.")
        return cls(market, int(found["year"]), half)


@dataclass(frozen=True, slots=True)
class ComputedFiling:
    """A computed declaration: its rows, and the basis that the figures were computed from.

    `uncounted` are SKUs that no figure counts, by reason; `scope_missing` those that lack a fact that decides whether a
    category covers them.
    """

    filing: Filing
    origin: Basis
    tonnes: list[document.TonnesRow]
    totals: document.Totals
    halves: list[int] | None
    uncounted: list[document.UncountedRow]
    scope_missing: list[document.ScopeMissingRow]
    obligations: pl.DataFrame


def of_figures(tonnes: pl.DataFrame, uncounted: pl.DataFrame) -> list[Filing]:
    """Return the filings for which there are figures or uncounted SKUs, by market and period."""
    found = pl.concat([frame.select(_PERIOD) for frame in (tonnes, uncounted)]).unique().sort(_PERIOD)
    return [Filing(*row) for row in found.iter_rows()]


def compute_filings(figures: StoredFigures) -> list[ComputedFiling]:
    """Compute every declaration for which these figures have something, by market and period."""
    tonnes, uncounted = (pl.read_parquet(path, columns=[*_PERIOD]) for path in (figures.tonnes, figures.uncounted))
    return [compute_filing(figures, filing) for filing in of_figures(tonnes, uncounted)]


def compute_filing(figures: StoredFigures, filing: Filing) -> ComputedFiling:
    """Compute the declaration from these figures. Raises `NotDeclarable` where they have nothing for it."""
    market, year, half = filing
    of_filing = (pl.col("market") == market) & (pl.col("year") == year) & (pl.col("half") == half)
    tonnes, uncounted, missing = (
        pl.read_parquet(path).filter(of_filing) for path in (figures.tonnes, figures.uncounted, figures.scope_missing)
    )
    if tonnes.is_empty() and uncounted.is_empty():
        raise NotDeclarable(f"The company's figures of {figures.origin.as_of:%Y-%m-%d} hold nothing for {filing.name}.")
    not_stored = (pl.DataFrame(schema=schema) for schema in (STANDING_SCHEMA, QUESTION_SCHEMA, HALVES_SCHEMA))
    found = Figures(tonnes, uncounted, missing, *not_stored)
    verdicts = pl.read_parquet(figures.obligations)
    return ComputedFiling(
        filing,
        figures.origin,
        list(document.tonnes_rows(found, market, year, half)),
        document.totals(found, market, year, half),
        next(iter(pl.concat([tonnes.select("halves"), uncounted.select("halves")])["halves"].to_list()), None),
        list(document.uncounted_rows(uncounted)),
        list(document.missing_rows(missing)),
        verdicts.filter((pl.col("market") == market) & (pl.col("year") == year)),
    )
