"""Computes what a company declares: the figures of one market, year and half, from the company's snapshot.

Two declarations of one snapshot, rule-set and catalogue are equal to the byte. `forms` makes the bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.declarations.document import Source
from compliance.declarations.scope import of_market
from compliance.declarations.uk.lines import UK_SKU_COLUMNS, Lines, Statements, lines_of
from compliance.declarations.uk.producer import submission
from compliance.declarations.uk.rows import PackagingFile, packaging_file, sum_blocks
from compliance.declarations.uk.tables import MARKET
from compliance.rollup.periods import HALF_YEARLY, halves_of, market_of, recorded_halves, volume_rows
from compliance.rollup.portfolio import SKU_COLUMNS, Portfolio
from compliance.rollup.tonnes import Figures, combine_blocks, rollup
from compliance.ruleset import RuleSet
from pipelines.figures.compute import Catalogue
from pipelines.figures.portfolio import blocks
from warehouse.snapshots import Snapshot

YEAR: Final = 0
"""The value of half that means the calendar year."""


class NotDeclarable(ValueError):  # noqa: N818  (an answer, not a fault)
    """There is no such market or period to declare for; the text names a right one."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The snapshot and tables that a company declares from; `jurisdictions` by code."""

    snapshot: Snapshot
    catalogue: Catalogue
    rules: RuleSet

    @property
    def jurisdictions(self) -> dict[str, Jurisdiction]:
        """Return the catalogue by code."""
        return {entry.code: entry for entry in self.catalogue.entries}

    @property
    def source(self) -> Source:
        """Return the origin that the declaration names."""
        as_of = self.snapshot.as_of.isoformat().replace("+00:00", "Z")
        return Source(str(self.snapshot.company_id), self.snapshot.path, as_of, self.rules.version)


def declared_market(inputs: Inputs, market: str, half: int) -> str:
    """Return the market in the form in which it is declared. Raises `NotDeclarable`."""
    try:
        found = market_of(market, inputs.jurisdictions)
    except ValueError:
        raise NotDeclarable(
            f"unknown_market: there is no jurisdiction {market}; GET /api/v1/jurisdictions lists them."
        ) from None
    if half != YEAR and found not in HALF_YEARLY:
        raise NotDeclarable(f"{found} is declared by the year: leave --half out. Only GB has halves.")
    return found


def figures(inputs: Inputs, market: str, year: int) -> Figures:
    """Return the figures of a market and year, with its halves."""
    return combine_blocks(
        rollup(portfolio, inputs.catalogue.entries, inputs.rules)
        for portfolio in portfolios(inputs, market, year, SKU_COLUMNS)
    )


def halves(inputs: Inputs, market: str, year: int, half: int) -> list[int] | None:
    """Return the halves that are there, of a calendar year of a half-yearly market; else None."""
    if half != YEAR or market not in HALF_YEARLY:
        return None
    volumes = pl.scan_parquet(inputs.snapshot.volumes).filter(pl.col("year") == year).collect()
    rows = volume_rows(volumes.rename({"sku_code": "sku"}), inputs.jurisdictions).filter(pl.col("market") == market)
    found = halves_of(recorded_halves(rows, market), market, year)
    return list(found.there) if found else None


def uk_file(inputs: Inputs, statements: Statements) -> PackagingFile:
    """Return the packaging data file of a period. Raises `FileRefused` with the regulator's error numbers."""
    period = submission(statements.producer, statements.year, statements.half)
    lines = (found for _, found in uk_lines(inputs, statements))
    return packaging_file(sum_blocks(lines), statements.producer, period)


def uk_lines(inputs: Inputs, statements: Statements) -> Iterator[tuple[Portfolio, Lines]]:
    """Yield the lines that the UK file sums up, block by block, each with the portfolio that it was counted from."""
    for portfolio in portfolios(inputs, MARKET, statements.year, UK_SKU_COLUMNS):
        yield portfolio, lines_of(portfolio, inputs.catalogue.entries, inputs.rules, statements)


def portfolios(inputs: Inputs, market: str, year: int, sku_columns: pl.Schema) -> Iterator[Portfolio]:
    """Yield the parts of the snapshot that count for a market and year, block by block."""
    for portfolio in blocks(inputs.snapshot, sku_columns=sku_columns):
        yield of_market(portfolio, market, year, inputs.jurisdictions)
