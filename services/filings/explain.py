"""Traces a declared figure back to its SKUs with units, parts and weights, and to the uploaded line.

The rows of a figure add up to it exactly; a test checks that. docs/figures.md explains how a part comes to its
category.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final  # Any: a row of a frame, whose columns the query names

import polars as pl

from compliance.filings.uk.rows import IDENTITY, Statements
from compliance.rollup.categories import NUMBER, Standings
from compliance.rollup.exact import times_units, written_tonnes
from compliance.rollup.lines import categories, lines_of, prepare_lines
from compliance.rollup.parts import SKU_COLUMNS, Portfolio
from compliance.scopes import judge_scope
from pipelines.filings import Inputs, portfolios, uk_lines
from warehouse.operate.sessions import Connection
from warehouse.skus import earlier as earlier_skus
from warehouse.skus.earlier import ValueOrigin

COLUMNS: Final = (
    "sku_code",
    "units",
    "unit_grams",
    "tonnes",
    "components",
    "version",
    "import_id",
    "filename",
    "import_sheet",
    "import_line",
    "earlier_versions",
)
_FOUND: Final = ("sku_code", "units", "unit_grams", "grams", "parts")
_PART: Final = ("position", "component_type", "material_family", "polymer_or_grade", "weight_g")
SCOPED: Final = ("scope", "scope_why")
"""The last columns where a category is explained: in, ask or out, and the facts that are missing or that decide."""
_UK_COLUMNS: Final = {
    "type": "packaging_type",
    "class": "packaging_class",
    "material": "packaging_material",
    "subtype": "packaging_material_subtype",
    "rating": "ram_rag_rating",
}
"""The key of a row of the UK file, by the names of its columns."""


def uk_figure(inputs: Inputs, statements: Statements, material: str) -> pl.DataFrame:
    """Return the SKUs of the UK file's rows of a `packaging_material`: the row's key, then the columns of `figure`."""
    found = [
        lines.lines.filter(pl.col("material") == material).join(_components(portfolio), on="sku_code", how="left")
        for portfolio, lines in uk_lines(inputs, statements)
    ]
    if not found:
        return pl.DataFrame(schema={"sku_code": pl.String})
    return pl.concat(found).sort(*IDENTITY, "sku_code").select(*IDENTITY, *_FOUND).rename(_UK_COLUMNS)


def figure(inputs: Inputs, market: str, year: int, half: int, category_code: str) -> pl.DataFrame:
    """Return the SKUs of a figure by code: `units`, exact `unit_grams` in the category, `grams`, `parts`.

    `scope` says whether the category covers it (in, out, ask), `scope_why` which fact excludes it or is missing.
    """
    of_period = (pl.col("year") == year) & (pl.col("half") == half)
    found = []
    for portfolio in portfolios(inputs, market, year, SKU_COLUMNS):
        ready = prepare_lines(portfolio, inputs.catalogue.entries, inputs.rules)
        if market not in ready.volumes["market"]:
            continue
        rolled = lines_of(market, ready)
        of_category = categories(inputs.jurisdictions[market]).filter(pl.col("category_code") == category_code)
        per_unit = (
            rolled.lines.join(of_category.select("path"), on="path", how="semi")
            .group_by("sku")
            .agg(pl.col("grams").sum().alias("unit_grams"))
        )
        counted = rolled.counting.filter(of_period).join(per_unit, on="sku", how="inner")
        named = counted.join(ready.skus.select("sku", "sku_code"), on="sku", how="inner")
        weighed = named.with_columns(times_units("unit_grams").alias("grams"))
        scoped = weighed.join(_scoped(ready.standings, of_category["scope_key"][0]), on="sku", how="left")
        found.append(scoped.join(_components(portfolio), on="sku_code", how="left").select(*_FOUND, *SCOPED))
    return pl.concat(found).sort("sku_code") if found else pl.DataFrame(schema={"sku_code": pl.String})


def with_origins(connection: Connection, found: pl.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the rows of a figure with `COLUMNS` behind the row's key: tonnes as they are written, and the origin.

    A version has all values of a SKU, also those that its own file did not name; these came with an earlier one.
    """
    behind = [name for name in found.columns if name in SCOPED]
    names = [*(name for name in found.columns if name not in {*_FOUND, *SCOPED}), *COLUMNS, *behind]
    for row in traced(connection, found):
        words = {
            "components": "; ".join(map(_part, row["parts"])),
            "earlier_versions": "; ".join(map(_version, row["earlier_versions"])),
        }
        yield {name: (row | words)[name] for name in names}


def traced(connection: Connection, found: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of a figure, each with `tonnes`, its origin, and `earlier_versions` with their origins."""
    codes = found["sku_code"].unique().to_list()
    latest, earlier = earlier_skus.of(connection, codes), earlier_skus.earlier(connection, codes)
    for row in found.iter_rows(named=True):
        code = row["sku_code"]
        known = {"tonnes": written_tonnes(row["grams"]), "earlier_versions": earlier.get(code, ())}
        yield row | latest[code]._asdict() | known


def _part(part: Mapping[str, object]) -> str:
    """Return a part in words, `0 body plastic PET 25.0 g`; without a position where it is the SKU itself."""
    return " ".join(str(part[name]) for name in _PART if part[name] is not None) + " g"


def _version(origin: ValueOrigin) -> str:
    """Return a version in words: `1 portfolio.xlsx Items line 7`, or `2 single write`."""
    if origin.filename is None:
        return f"{origin.version} single write"
    sheet = "" if origin.import_sheet is None else f" {origin.import_sheet}"
    return f"{origin.version} {origin.filename}{sheet} line {origin.import_line}"


def _scoped(standings: Standings, scope_key: str) -> pl.DataFrame:
    """Return the verdict of a scope on each SKU: `sku`, and `SCOPED`."""
    verdicts = [judge_scope(scope_key, standing) for standing in standings.known]
    rows = [(number, each.verdict, each.fact or "; ".join(each.fields)) for number, each in enumerate(verdicts)]
    judgement = pl.DataFrame(
        rows, schema={"standing": NUMBER, "scope": pl.String, "scope_why": pl.String}, orient="row"
    )
    return standings.of_sku.join(judgement, on="standing", how="left").drop("standing")


def _components(portfolio: Portfolio) -> pl.DataFrame:
    """Return each SKU's `parts`; its own material is its one part where it has no components."""
    components = portfolio.components.sort("sku_code", "position").select("sku_code", pl.struct(_PART).alias("part"))
    itself = pl.struct(
        pl.lit(None, portfolio.components.schema["position"]).alias("position"),
        pl.lit(None, pl.String).alias("component_type"),
        pl.col("material").alias("material_family"),
        pl.col("material_subtype").alias("polymer_or_grade"),
        pl.col("weight_grams").alias("weight_g"),
    ).alias("part")
    whole = portfolio.skus.join(components, on="sku_code", how="anti").select("sku_code", itself)
    every = pl.concat([components, whole], how="vertical_relaxed")
    return every.group_by("sku_code", maintain_order=True).agg(pl.col("part").alias("parts"))
