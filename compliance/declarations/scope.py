"""Selects the part of a portfolio for a declaration: one market, one year, and the SKUs with units there."""

from collections.abc import Mapping

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.rollup.periods import market_of
from compliance.rollup.portfolio import Portfolio


def of_market(portfolio: Portfolio, market: str, year: int, jurisdictions: Mapping[str, Jurisdiction]) -> Portfolio:
    """Return the volumes that count for a market and year in any of its halves, with their SKUs and components."""
    written = [code for code in portfolio.volumes["market"].unique() if market_of(code, jurisdictions) == market]
    volumes = portfolio.volumes.filter(pl.col("market").is_in(written) & (pl.col("year") == year))
    skus = portfolio.skus.join(volumes.select("sku_code").unique(), on="sku_code", how="semi")
    return Portfolio(skus, portfolio.components.join(skus.select("sku_code"), on="sku_code", how="semi"), volumes)
