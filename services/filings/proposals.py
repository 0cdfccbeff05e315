"""Proposes ratings for the parts that a market is declared with: a file that a person checks and hands in.

OUT has one row for each SKU and component type, in the columns that `statements.ratings` reads, and behind them reason
and certainty. A file beside it lists what is open. `compliance.schemes` decides the ratings.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from compliance.rollup.parts import SKU_COLUMNS
from compliance.schemes import rating, settling
from compliance.schemes.rating import Scheme
from compliance.schemes.settling import PartRating
from pipelines import filings
from pipelines.filings import Inputs, NotDeclarable
from schemas.skus.types import Sku
from services.filings import files as files_filings
from services.filings.files import Bundle, companion_path
from services.skus import detail
from warehouse.operate.sessions import Connection
from warehouse.skus import portfolio as stored_skus

OPEN: Final = "open.csv"
RATING_COLUMNS: Final = ("sku_code", "component_type", "rating", "scheme", "why", "rules", "confidence")
OPEN_COLUMNS: Final = ("sku_code", "component_type", "field", "could_become", "ask")


def propose_ratings(inputs: Inputs, market: str, year: int, out: Path, connection: Connection) -> Bundle:
    """Return both files, and a record of how many parts have a rating. Raises `NotDeclarable` where no scheme rates."""
    scheme = rating.of_market(market, year)
    if scheme is None:
        rated = ", ".join(f"{each.market} from {each.years.start}" for each in rating.versions())
        raise NotDeclarable(f"No scheme rates the packaging of {market} in {year}; schemes: {rated}.")
    ratings: list[Mapping[str, object]] = []
    still_open: list[Mapping[str, object]] = []
    unrated = 0
    for record in _records_placed(inputs, market, year, connection):
        for part in settling.part_ratings(record, scheme, inputs.rules):
            if part.code is None:
                unrated += 1
            else:
                ratings.append(_rating(record, part, scheme))
        still_open += _open(record, scheme, inputs)
    files = {
        companion_path(out, OPEN): files_filings.table_csv(OPEN_COLUMNS, still_open),
        out: files_filings.table_csv(RATING_COLUMNS, ratings),
    }
    summary = {
        "files": [str(path) for path in reversed(list(files))],
        "market": market,
        "year": year,
        "scheme": scheme.key,
        "version": scheme.version,
        "rated": len(ratings),
        "unrated": unrated,
        "open": len(still_open),
    }
    return Bundle(files, summary, ())


def _records_placed(inputs: Inputs, market: str, year: int, connection: Connection) -> Iterator[Sku]:
    """Yield the SKUs with units on the market in the year, as `compliance` takes them."""
    codes = [
        code
        for portfolio in filings.portfolios(inputs, market, year, SKU_COLUMNS)
        for code in sorted(portfolio.skus["sku_code"])
    ]
    for row in stored_skus.of_codes(connection, codes):
        yield detail.record(row)


def _rating(record: Sku, part: PartRating, scheme: Scheme) -> Mapping[str, object]:
    return {
        "sku_code": record["sku_code"],
        "component_type": part.component_type,
        "rating": part.code,
        "scheme": f"{scheme.key} {scheme.version}",
        "why": "; ".join(dict.fromkeys(row.rule.feature for row in part.standing)),
        "rules": "; ".join(row.rule.rule_id for row in part.standing),
        "confidence": "; ".join(sorted({row.confidence for row in part.standing})),
    }


def _open(record: Sku, scheme: Scheme, inputs: Inputs) -> Iterator[Mapping[str, object]]:
    types = {line.get("id"): line["component_type"] for line in record["components"]}
    for fact in settling.published_open_facts(record, scheme, inputs.rules):
        yield {
            **fact,
            "sku_code": record["sku_code"],
            "component_type": types.get(fact["component_id"]),
            "could_become": "; ".join(fact["could_become"]),
        }
