"""What each part of a portfolio is in the file: type, class, material, subtype, rating, and exact grams (steps 1 to 7).

Frames in, frames out, set by set. A part that the file cannot take is left out and listed with the reason; a SKU
without level, or of which it is not known what it is, is left out whole. Rows are summed in `rows`.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.declarations.uk.producer import Producer, submission
from compliance.declarations.uk.ratings import given, rated
from compliance.declarations.uk.tables import MARKET, combinations, levels
from compliance.rollup.composites import LINE_COLUMNS
from compliance.rollup.exact import times_units
from compliance.rollup.lines import UNCOUNTED_SCHEMA, categories, prepared
from compliance.rollup.lines import lines_of as rolled_lines
from compliance.rollup.portfolio import SKU_COLUMNS, Portfolio
from compliance.ruleset import RuleSet
from compliance.words import resolve_format

UK_SKU_COLUMNS: Final = pl.Schema({
    **SKU_COLUMNS, "packaging_level": pl.String(), "use_contexts": pl.List(pl.String()),
})  # fmt: skip
"""What the file needs of a SKU."""
DRINKS: Final = pl.Schema({"sku_code": pl.String(), "is_drinks_container": pl.Boolean()})
"""The answers of `--drinks`: one a SKU."""
IDENTITY: Final = ("type", "class", "material", "subtype", "rating")
"""What makes parts one row of the file."""
_DRINKS_FORMATS: Final = frozenset({"bottle", "can"})
_DRINKS_CONTEXT: Final = "beverage"
_KEEPS_SHAPE: Final = "/"


class Statements(NamedTuple):
    """What the producer states: itself and the period (`half` 0 for the year), ratings and drinks containers.

    `ratings` have `ratings.RATINGS`, `drinks` have `DRINKS`.
    """

    producer: Producer
    year: int
    half: int
    ratings: pl.DataFrame
    drinks: pl.DataFrame


class Lines(NamedTuple):
    """A row per SKU and row of the file; `uncounted` as for figures.

    `lines` have `sku_code`, `IDENTITY`, the exact `unit_grams` of one unit, `units`, and `grams` of all of them.
    """

    lines: pl.DataFrame
    uncounted: pl.DataFrame


def lines_of(portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet, said: Statements) -> Lines:
    """The parts of the stated period; the portfolio's SKUs have `UK_SKU_COLUMNS`.

    Raises `FileRefused` where the period cannot be reported, and as `compliance.rollup.tonnes.rollup`.
    """
    producer, year, half = said.producer, said.year, said.half
    period = submission(producer, year, half)
    ready = prepared(portfolio, jurisdictions, rules)
    found = rolled_lines(MARKET, ready)
    lines = found.lines.join(categories(ready.jurisdictions[MARKET]), on="path", how="left")
    asked = (pl.col("year") == year) & (pl.col("half") == half)
    counting = found.counting.filter(asked).select("sku", "units")
    skus = _judged(counting, lines, ready.skus, said, rules)
    left_out = skus.filter(pl.col("reason").is_not_null())
    parts = _typed(lines, skus.filter(pl.col("reason").is_null()), producer)
    parts = _named(parts, producer)
    parts = rated(parts, given(ready.parts, ready.skus, said.ratings), producer, period)
    lacking = parts.filter(pl.col("lacking").is_not_null())
    kept = parts.filter(pl.col("lacking").is_null())
    return Lines(
        lines=kept.group_by("sku_code", *IDENTITY)
        .agg(pl.col("grams").sum().alias("unit_grams"), pl.col("units").first())
        .with_columns(times_units("unit_grams").alias("grams")),
        uncounted=pl.concat(
            [
                found.uncounted.filter(asked),
                _listed(left_out, year, half),
                _listed(_gaps(lacking), year, half),
            ]
        ).sort("sku_code", "reason"),
    )


def _judged(
    counting: pl.DataFrame, lines: pl.DataFrame, skus: pl.DataFrame, said: Statements, rules: RuleSet
) -> pl.DataFrame:
    """The SKUs of the period with what decides their rows; `reason` and `fields` where one is left out whole."""
    producer = said.producer
    facts = skus.select("sku", *UK_SKU_COLUMNS).join(counting, on="sku", how="inner")
    contained = (
        lines.filter(pl.col("has_body") & _material().is_in(_drinks_materials()))
        .select("sku", pl.lit(value=True).alias("body_may_be"))
        .unique()
    )
    facts = (
        facts.join(_container_formats(facts, rules), on="packaging_format", how="left", nulls_equal=True)
        .join(contained, on="sku", how="left")
        .join(said.drinks, on="sku_code", how="left")
    )
    holds_drink = pl.col("use_contexts").list.contains(_DRINKS_CONTEXT).fill_null(value=False)
    may_be = (
        pl.lit(producer.is_large) & pl.col("is_container") & holds_drink & pl.col("body_may_be").fill_null(value=False)
    )
    reuse = pl.lit(producer.is_large) & pl.col("reusable").fill_null(value=False)
    reason = (
        pl.when(pl.col("packaging_level").is_null()).then(pl.lit("packaging_level_missing"))
        .when(reuse & pl.lit(producer.is_marketplace)).then(pl.lit("reusable_with_om"))
        .when(may_be & pl.col("is_drinks_container").is_null()).then(pl.lit("drinks_container_undecided"))
    )  # fmt: skip
    return facts.with_columns(
        reason.alias("reason"), reuse.alias("reuse"),
        (may_be & pl.col("is_drinks_container").fill_null(value=False)).alias("is_drinks"),
    ).with_columns(
        pl.when(pl.col("reason") == "packaging_level_missing").then(pl.concat_list(pl.lit("packaging_level")))
        .when(pl.col("reason") == "reusable_with_om").then(pl.concat_list(pl.lit("reusable")))
        .otherwise(pl.lit([], pl.List(pl.String))).alias("fields")
    )  # fmt: skip


def _container_formats(facts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Each distinct format text with whether it is a bottle or a can."""
    texts = facts["packaging_format"].unique().to_list()
    found = [resolve_format(text, rules) if text else None for text in texts]
    return pl.DataFrame(
        {
            "packaging_format": texts,
            "is_container": [each is not None and each.key in _DRINKS_FORMATS for each in found],
        },
        schema={"packaging_format": pl.String, "is_container": pl.Boolean},
    )


def _typed(lines: pl.DataFrame, skus: pl.DataFrame, producer: Producer) -> pl.DataFrame:
    """The lines of these SKUs with type, class and material."""
    by_level = pl.DataFrame(
        [(name, each.packaging_class, each.reusable_class, each.follows_type) for name, each in levels().items()],
        schema={
            "packaging_level": pl.String, "level_class": pl.String, "reusable_class": pl.String,
            "follows_type": pl.Boolean,
        },
        orient="row",
    )  # fmt: skip
    parts = (
        lines.select(*LINE_COLUMNS, "category_code")
        .join(skus, on="sku", how="inner")
        .join(by_level, on="packaging_level", how="left")
        .with_columns(_material().alias("material"), pl.col("category_code").cast(pl.String))
    )
    drink = pl.col("is_drinks") & pl.col("has_body") & pl.col("material").is_in(_drinks_materials())
    household = pl.lit(producer.household_type)
    kind = (
        pl.when(drink).then(pl.lit("HDC" if producer.household_type == "HH" else "NDC"))
        .when(pl.lit(not producer.is_large)).then(pl.lit("SP"))
        .when(pl.col("reuse")).then(pl.lit("RU"))
        .when(pl.col("follows_type")).then(household)
        .otherwise(pl.lit("NH"))
    )  # fmt: skip
    packaging_class = (
        pl.when(drink).then(pl.lit(""))
        .when(pl.lit(producer.is_marketplace)).then(pl.lit("P6"))
        .when(pl.col("reuse")).then(pl.col("reusable_class"))
        .otherwise(pl.col("level_class"))
    )  # fmt: skip
    return parts.with_columns(kind.alias("type"), packaging_class.alias("class"))


def _named(parts: pl.DataFrame, producer: Producer) -> pl.DataFrame:
    """The parts with subtype, and `lacking` where plastic must say its shape and has none."""
    allowed = combinations(producer.organisation_size, marketplace=producer.is_marketplace)
    asking = [(kind, name) for (kind, name), each in allowed.items() if each.plastic_subtype]
    shapes = pl.DataFrame(asking, schema={"type": pl.String, "class": pl.String}, orient="row").with_columns(
        pl.lit(value=True).alias("asks_shape")
    )
    family = pl.col("path").cast(pl.String).str.split("/").list.first().str.replace_all("_", "-", literal=True)
    shape = pl.col("category_code").str.split(_KEEPS_SHAPE).list.get(1, null_on_oob=True)
    subtype = (
        pl.when(pl.col("material") == "OT").then(family)
        .when(pl.col("asks_shape") & (pl.col("material") == "PL")).then(shape)
        .otherwise(pl.lit(""))
    )  # fmt: skip
    return parts.join(shapes, on=["type", "class"], how="left").with_columns(
        subtype.alias("subtype"),
        pl.when(subtype.is_null()).then(pl.lit("plastic_shape_missing")).alias("lacking"),
    )


def _gaps(lacking: pl.DataFrame) -> pl.DataFrame:
    """One row per SKU and reason, with the facts to give in the order of the parts."""
    field = (
        pl.when(pl.col("lacking") == "rating_missing")
        .then(pl.format("ram:{}", pl.col("named")))
        .otherwise(pl.lit("packaging_format"))
    )
    return (
        lacking.sort("sku", "first")
        .group_by("sku", "sku_code", "units", pl.col("lacking").alias("reason"), maintain_order=True)
        .agg(field.unique(maintain_order=True).alias("fields"))
    )


def _listed(skus: pl.DataFrame, year: int, half: int) -> pl.DataFrame:
    return skus.with_columns(
        pl.lit(MARKET).alias("market"), pl.lit(year, pl.Int32).alias("year"), pl.lit(half, pl.Int8).alias("half")
    ).select(pl.col(name).cast(dtype) for name, dtype in UNCOUNTED_SCHEMA.items())


def _material() -> pl.Expr:
    return pl.col("category_code").cast(pl.String).str.split(_KEEPS_SHAPE).list.first()


def _drinks_materials() -> list[str]:
    """The materials that drinks containers are reported in."""
    return list(combinations("L", marketplace=False)["HDC", ""].materials)
