"""Makes the lines that count in each market, and lists what is not counted (steps 1 to 5).

Markets are computed one after the other, each over the SKUs with units there. `compliance.rollup.tonnes` adds up the
tonnes of lines.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.material_path import (
    COMPOSITE,
    composite_path,
    material_paths,
    predominant_path,
    same_material,
    shape_of,
)
from compliance.rollup.categories import BASES, Standings, category, standings, takes, years_of_change
from compliance.rollup.exact import GRAMS, MOST, beyond_reach, exceeds, times_units
from compliance.rollup.parts import PATH, Parts, Portfolio, field_of, parts_of
from compliance.rollup.periods import PERIOD_COLUMNS, units_placed, volume_rows
from compliance.ruleset import RuleSet

_NO_YEAR: Final = 10_000
"""After the last calendar year that a record can have."""
BODY: Final = "body"
CONSTITUENTS: Final = "constituents"
UNSPLIT: Final = "composite/unsplit"
"""The path of an undivided composite where constituents are counted."""
LINE_COLUMNS: Final = ("sku", "line", "first", "path", "grams", "has_body")
"""A line: the position of the part that names it, the first position among its parts, path, grams, whether it contains
a body.
"""
_MATERIAL: Final = (
    "sku",
    "same_material",
    "position",
    "first",
    "path",
    "grams",
    "has_body",
    "unit_type",
    "packaging_format",
    "main_position",
    "main_path",
    "main_material",
    "main_grams",
    "next_grams",
    "total_grams",
)


def plain_and_judged(parts: Parts, rules: RuleSet) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines of units of one material, equal in every market, and the materials of the other units.

    The layers of a body are one unit, every other part is one. Materials have a row per SKU, unit and material, with
    the facts of the whole unit that decide in a market, and its composite paths.
    """
    bodies = _bodies(parts.layers)
    is_plain = (pl.col("materials") == 1) & (pl.col("main_material") != COMPOSITE)
    is_composite = pl.col("path").is_in(pl.Series(_composite_paths(), dtype=PATH).implode())
    judged = [bodies.filter(~is_plain).select(_MATERIAL), _others(parts.units.filter(is_composite))]
    lines = [bodies.filter(is_plain), parts.units.filter(~is_composite)]
    return pl.concat(map(_plain_lines, lines)), _with_composite_paths(pl.concat(judged), rules)


def judged_lines(materials: pl.DataFrame, jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the lines of units that may be composites in a market; `materials` are all rows of each unit."""
    is_main = pl.col("position") == pl.col("main_position")
    together = pl.col("total_grams") - pl.col("main_grams")
    by_constituent = jurisdiction.composite_rule == CONSTITUENTS
    one, heaviest = (pl.col("grams"), pl.col("next_grams")) if by_constituent else (together, together)
    whole = [path for path in _composite_paths() if takes(path, jurisdiction)]
    judged = materials.with_columns(
        (~is_main & _significant(one, jurisdiction)).alias("significant"),
        (_significant(heaviest, jurisdiction) | (pl.col("main_material") == COMPOSITE)).alias("is_composite"),
        pl.col("composite_path").is_in(pl.Series(whole, dtype=PATH).implode()).alias("is_taken_whole"),
    )
    split = pl.col("is_composite") & ~pl.col("is_taken_whole") & pl.lit(by_constituent)
    stands_alone = split & pl.col("significant")
    of_whole = {CONSTITUENTS: "main_path", "predominant": "predominant_path", "own_category": "composite_path"}
    path = (
        pl.when(stands_alone)
        .then(_unsplit("path", "same_material"))
        .when(split)
        .then(_unsplit("main_path", "main_material"))
        .when(pl.col("is_composite") & pl.col("is_taken_whole"))
        .then(pl.col("composite_path"))
        .when(pl.col("is_composite"))
        .then(pl.col(of_whole[jurisdiction.composite_rule]))
        .otherwise(pl.col("main_path"))
    )
    line = pl.when(stands_alone).then(pl.col("position")).otherwise(pl.col("main_position"))
    return (
        judged.select("sku", line.alias("line"), "first", path.alias("path"), "grams", "has_body")
        .group_by("sku", "line")
        .agg(pl.col("first").min(), pl.col("path").first(), pl.col("grams").sum(), pl.col("has_body").any())
    )


def with_riders(lines: pl.DataFrame, riders: pl.DataFrame) -> pl.DataFrame:
    """Return the lines, and the riders' weight as one more row of the line that carries it.

    It is the heaviest line that contains a body, else the heaviest; the first of equals. Pass only lines that count:
    where nothing of a SKU counts, its riders do not either.
    """
    carrying = lines.join(riders.select("sku"), on="sku", how="semi").sort(
        "sku", "has_body", "grams", "first", descending=[False, True, True, False]
    )
    carrier = carrying.unique("sku", keep="first", maintain_order=True).drop("grams")
    return pl.concat([lines, carrier.join(riders, on="sku", how="inner").select(lines.columns)])


def _plain_lines(units: pl.DataFrame) -> pl.DataFrame:
    """Return a line for each unit of one material: rows of `_bodies`, or parts."""
    first = pl.col("first") if "first" in units.columns else pl.col("position").alias("first")
    has_body = pl.col("has_body") if "has_body" in units.columns else pl.lit(value=False).alias("has_body")
    return units.select("sku", pl.col("position").alias("line"), first, "path", "grams", has_body)


def _bodies(layers: pl.DataFrame) -> pl.DataFrame:
    """Return a row per body and material; `position` and `path` are those of its heaviest layer, the first of equals.

    `main_…` are those of the body's heaviest material, of equals the first in the order of the components; `next_grams`
    are those of the heaviest of the others.
    """
    ranked = layers.with_columns(_same_material().alias("same_material")).sort(
        "sku", "same_material", "grams", "position", descending=[False, False, True, False]
    )
    materials = ranked.group_by("sku", "same_material", maintain_order=True).agg(
        pl.col("position").first(),
        pl.col("position").min().alias("first"),
        pl.col("path").first(),
        pl.col("grams").sum(),
        (pl.col("component_type") == BODY).any().alias("has_body"),
        pl.col("packaging_format").first(),
    )
    heaviest_first = materials.sort("sku", "grams", "first", descending=[False, True, False])
    units = heaviest_first.group_by("sku", maintain_order=True).agg(
        pl.col("position").first().alias("main_position"),
        pl.col("path").first().alias("main_path"),
        pl.col("same_material").first().alias("main_material"),
        pl.col("grams").first().alias("main_grams"),
        pl.col("grams").get(1, null_on_oob=True).fill_null(0).alias("next_grams"),
        pl.col("grams").sum().alias("total_grams"),
        pl.len().alias("materials"),
    )
    return materials.join(units, on="sku", how="inner").with_columns(pl.lit(BODY).alias("unit_type"))


def _others(units: pl.DataFrame) -> pl.DataFrame:
    """Return each other part as a unit with one layer, its main one. No two units of a SKU have one `main_position`."""
    return units.with_columns(
        *(_same_material().alias(name) for name in ("same_material", "main_material")),
        pl.col("path").alias("main_path"),
        *(pl.col("position").alias(name) for name in ("first", "main_position")),
        *(pl.col("grams").alias(name) for name in ("main_grams", "total_grams")),
        pl.lit(0, GRAMS).alias("next_grams"),
        pl.lit(value=False).alias("has_body"),
        pl.col("component_type").alias("unit_type"),
    ).select(_MATERIAL)


def _significant(grams: pl.Expr, jurisdiction: Jurisdiction) -> pl.Expr:
    return exceeds(grams, pl.col("total_grams"), jurisdiction.composite_threshold_percent)


def _unsplit(path: str, material: str) -> pl.Expr:
    return pl.when(pl.col(material) == COMPOSITE).then(pl.lit(UNSPLIT, PATH)).otherwise(pl.col(path))


def _with_composite_paths(materials: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the rows with `composite_path` and `predominant_path`, computed once for each distinct face of a unit."""
    deciding = ["main_path", "unit_type", "packaging_format"]
    faces = materials.select(deciding).unique()
    rows = list(faces.iter_rows())
    faces = faces.with_columns(
        pl.Series("composite_path", [composite_path(main, text, rules) for main, _, text in rows], dtype=PATH),
        pl.Series(
            "predominant_path",
            [predominant_path(main, shape_of(kind, text, rules)) for main, kind, text in rows],
            dtype=PATH,
        ),
    )
    return materials.join(faces, on=deciding, how="left", nulls_equal=True)


def _composite_paths() -> list[str]:
    return [path for path, row in material_paths().items() if row.family == COMPOSITE]


def _same_material() -> pl.Expr:
    """Look up by the place of the path in its table, which is several times quicker than by its text."""
    return pl.lit(pl.Series(list(same_material().values()))).gather(pl.col("path").to_physical())


BASIS: Final = pl.Enum(BASES)
UNCOUNTED_SCHEMA: Final = pl.Schema(
    {
        **PERIOD_COLUMNS,
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "reason": pl.String(),
        "fields": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)
LISTED_SCHEMA: Final = pl.Schema({**UNCOUNTED_SCHEMA, "grams": GRAMS})
"""With the grams that have a weight and no category, once for a SKU and period; null where they are not known."""
_CATEGORY_SCHEMA: Final = pl.Schema(
    {
        "path": PATH,
        "category_code": pl.String(),
        "category_name": pl.String(),
        "basis": BASIS,
        "scope_key": pl.String(),
        "confidence": pl.String(),
    }
)
BIT: Final = pl.UInt64()
"""The bit of one category of a jurisdiction: the categories of a SKU are one number."""


class Prepared(NamedTuple):
    """The prepared portfolio from which each market is computed: SKUs, normalised volumes, parts.

    A SKU's number is its row in `skus`, so that its facts are gathered by index: a join costs five times as much.
    `lines` are those that are the same in every market, `materials` those of the units that each market judges,
    `standings` the SKUs' answers to the facts that decide a scope.
    """

    skus: pl.DataFrame
    volumes: pl.DataFrame
    parts: Parts
    lines: pl.DataFrame
    materials: pl.DataFrame
    standings: Standings
    jurisdictions: Mapping[str, Jurisdiction]


class MarketLines(NamedTuple):
    """The lines of one market that count, and what does not count.

    `lines` are `LINE_COLUMNS` of one unit, a rider's weight as a row of its own; `counting` has `sku`, `year`, `half`,
    `units` (more than 0); `uncounted` has `LISTED_SCHEMA`: its grams and those of the lines are all that was placed.
    """

    lines: pl.DataFrame
    counting: pl.DataFrame
    uncounted: pl.DataFrame


def prepare_lines(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet) -> Prepared:
    """Compute once what does not depend on the market."""
    by_code = {entry.code: entry for entry in jurisdictions}
    archived = pl.col("archived").fill_null(value=False)
    skus = portfolio.skus.sort("sku_code").with_row_index("sku").with_columns(archived)
    numbered = portfolio.volumes.join(skus.select("sku_code", "sku"), on="sku_code", how="inner")
    volumes = volume_rows(numbered, by_code)
    parts = parts_of(portfolio, skus, rules)
    lines, materials = plain_and_judged(parts, rules)
    stand = standings(skus, rules)
    return Prepared(skus, volumes, parts, lines.select(LINE_COLUMNS), materials, stand, by_code)


def spans_of(market: str, ready: Prepared) -> Iterator[Prepared]:
    """Yield the portfolio once for each span of years in which a market has the same categories, the earliest first."""
    jurisdiction = ready.jurisdictions.get(market)
    starts = years_of_change(jurisdiction) if jurisdiction else ()
    if jurisdiction is None or not starts:
        yield ready
        return
    for first, after in pairwise((0, *starts, _NO_YEAR)):
        within = pl.col("year").is_between(first, after, closed="left")
        volumes = ready.volumes.filter((pl.col("market") == market) & within)
        if not volumes.is_empty():
            of_span = {**ready.jurisdictions, market: replace(jurisdiction, year=first)}
            yield ready._replace(volumes=volumes, jurisdictions=of_span)


def lines_of(market: str, ready: Prepared) -> MarketLines:
    """Return one market's lines of all its years and halves."""
    jurisdiction = ready.jurisdictions[market]
    periods = units_placed(ready.volumes.filter(pl.col("market") == market), market)
    counting = periods.filter(pl.col("units") > 0).drop("reason", "fields")
    is_there = pl.repeat(value=False, n=ready.skus.height, eager=True).scatter(counting["sku"], values=True)
    every = (ready.lines, ready.materials, ready.parts.riders, ready.parts.gaps, ready.parts.own)
    same, materials, riders, gaps, own = (frame.filter(is_there.gather(frame["sku"])) for frame in every)
    lines = pl.concat([judged_lines(materials, jurisdiction).select(LINE_COLUMNS), same])
    has_category = bit_of_path(jurisdiction) > 0
    without = lines.filter(~has_category)
    unspecified = _unspecified(without, own)
    counted = with_riders(lines.filter(has_category), riders)
    beyond = beyond_reach(counted, counting)
    idle = riders.join(counted, on="sku", how="anti")  # nothing is there that carries them
    left = pl.concat([frame.select("sku", "grams") for frame in (gaps, without, idle)])
    listed = pl.concat([_listed(pl.concat([gaps.drop("grams"), unspecified]), periods, left), _impossible(beyond)])
    with_codes = listed.with_columns(ready.skus[name].gather(listed["sku"]) for name in ("sku_code", "archived"))
    return MarketLines(
        lines=counted,
        counting=counting if beyond.is_empty() else counting.join(beyond, on=["sku", "year", "half"], how="anti"),
        uncounted=with_codes.select(pl.lit(market).alias("market"), *list(LISTED_SCHEMA)[1:]),
    )


def placed_nowhere(market: str, ready: Prepared) -> pl.DataFrame:
    """Return what was placed on a market of which the catalogue has no row, so that it has no category: all of it."""
    periods = units_placed(ready.volumes.filter(pl.col("market") == market), market)
    every = (ready.lines, ready.materials, ready.parts.riders, ready.parts.gaps)
    left = pl.concat([frame.select("sku", "grams") for frame in every])
    gaps = (
        periods.select("sku")
        .unique()
        .with_columns(
            pl.lit("unknown_market").alias("reason"),
            pl.lit(0, pl.UInt32).alias("position"),
            pl.lit("volumes").alias("field"),
        )
    )
    listed = _listed(gaps, periods, left)
    with_codes = listed.with_columns(ready.skus[name].gather(listed["sku"]) for name in ("sku_code", "archived"))
    return with_codes.select(pl.lit(market).alias("market"), *list(LISTED_SCHEMA)[1:]).cast(LISTED_SCHEMA)


@lru_cache(maxsize=1024)
def categories(jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the category (`_CATEGORY_SCHEMA` and its `bit`) of every path that has one in the jurisdiction."""
    rows = [(path, *entry) for path in material_paths() if (entry := category(path, jurisdiction))]
    bits = {code: 1 << place for place, code in enumerate(sorted({code for _, code, *_ in rows}))}
    return pl.DataFrame(rows, schema=_CATEGORY_SCHEMA, orient="row").with_columns(
        pl.col("category_code").replace_strict(bits, return_dtype=BIT).alias("bit")
    )


@lru_cache(maxsize=1024)
def codes(jurisdiction: Jurisdiction) -> pl.DataFrame:
    """Return the categories of a jurisdiction by code: `category_code` and `bit`, then the cells of its surest path."""
    surest = categories(jurisdiction).sort("basis").unique("category_code", keep="first", maintain_order=True)
    return surest.select("category_code", "bit", "category_name", "scope_key", "confidence").sort("category_code")


def bit_of_path(jurisdiction: Jurisdiction) -> pl.Expr:
    """Return the bit of the category of a column `path`, or 0: gathered by the path's place in its table."""
    bits = dict(categories(jurisdiction).select("path", "bit").iter_rows())
    return pl.lit(pl.Series([bits.get(path, 0) for path in material_paths()], dtype=BIT)).gather(
        pl.col("path").to_physical()
    )


def _unspecified(lines: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Return the facts that would give these lines a category: those that their path's row names."""
    missing = pl.DataFrame(
        [(path, name) for path, row in material_paths().items() for name in row.fields_missing],
        schema={"path": PATH, "name": pl.String},
        orient="row",
    )
    with_names = lines.join(missing, on="path", how="inner").join(
        own.with_columns(pl.lit(value=True).alias("is_own")), on="sku", how="left"
    )
    return with_names.with_columns(pl.col("is_own").fill_null(value=False), pl.col("line").alias("position")).select(
        "sku",
        pl.lit("material_unspecified").alias("reason"),
        "position",
        pl.when(pl.col("name") == "packaging_format")
        .then(pl.col("name"))
        .otherwise(field_of("polymer_or_grade", "material_subtype"))
        .alias("field"),
    )


def _impossible(beyond: pl.DataFrame) -> pl.DataFrame:
    """Return entries of SKUs whose weight times units exceeds any company's: one of the two is wrong; none counts."""
    return beyond.select(
        "sku",
        "year",
        "half",
        "units",
        pl.lit("weight_missing").alias("reason"),
        pl.concat_list(pl.lit("volumes")).alias("fields"),
        pl.lit(None, GRAMS).alias("grams"),
    )


def _listed(gaps: pl.DataFrame, periods: pl.DataFrame, left: pl.DataFrame) -> pl.DataFrame:
    """Return one row per SKU, period and reason: gaps of placed SKUs, and faults of the periods themselves.

    `left` are the grams of one unit that have no category; they stand at the first reason of their SKU.
    """
    by_reason = (
        gaps.sort("sku", "reason", "position", "field")
        .group_by("sku", "reason", maintain_order=True)
        .agg(pl.col("field").unique(maintain_order=True).alias("fields"))
        .join(left.group_by("sku").agg(pl.col("grams").sum()), on="sku", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("sku").is_first_distinct()).then("grams").otherwise(0).alias("grams"))
    )
    counting = periods.filter(pl.col("units") > 0).drop("reason", "fields")
    of_gaps = counting.join(by_reason, on="sku", how="inner")
    beyond = pl.col("grams").cast(pl.Float64) * pl.col("units") > MOST
    of_gaps = of_gaps.with_columns(pl.when(~beyond).then("grams").alias("grams")).with_columns(times_units("grams"))
    of_periods = periods.filter(pl.col("reason").is_not_null())
    nothing = pl.when(pl.col("units").is_not_null()).then(pl.lit(0, GRAMS)).alias("grams")  # what is there counts
    columns = ["sku", "year", "half", "units", "reason", "fields", "grams"]
    return pl.concat([of_gaps.select(columns), of_periods.with_columns(nothing).select(columns)])
