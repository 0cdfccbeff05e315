"""Computes the file's cells for each part of a portfolio: type, class, material, subtype, rating, grams (steps 1 to 7).

Functions take frames and return frames, set by set; grams are exact. A part that the file cannot include is left out
and listed with the reason. A SKU is left out whole without level, or where facts are missing that decide its type.
`rows` sums the rows.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.declarations.uk.producer import Producer, submission
from compliance.declarations.uk.ratings import given_ratings, with_ratings
from compliance.declarations.uk.rules import drinks_materials
from compliance.declarations.uk.subtypes import with_subtypes
from compliance.declarations.uk.tables import MARKET, Facts, kind_of
from compliance.rollup.composites import LINE_COLUMNS
from compliance.rollup.exact import times_units
from compliance.rollup.lines import UNCOUNTED_SCHEMA, categories, prepare_lines
from compliance.rollup.lines import lines_of as rolled_lines
from compliance.rollup.portfolio import SKU_COLUMNS, Portfolio
from compliance.ruleset import RuleSet
from compliance.words import resolve_format

UK_SKU_COLUMNS: Final = pl.Schema({**SKU_COLUMNS, "packaging_level": pl.String(), "use_contexts": pl.List(pl.String())})
"""The columns of a SKU that the file needs."""
DRINKS: Final = pl.Schema({"sku_code": pl.String(), "is_drinks_container": pl.Boolean()})
"""The answers of `--drinks`: one for each SKU."""
IDENTITY: Final = ("type", "class", "material", "subtype", "rating")
"""The cells that identify a row of the file: parts with equal ones are summed."""
_DRINKS_FORMATS: Final = frozenset({"bottle", "can"})
_DRINKS_CONTEXT: Final = "beverage"
_ANSWERS: Final = {True: "Y", False: "N"}


class Statements(NamedTuple):
    """The producer's statements: itself and the period (`half` 0 for the year), ratings and drinks containers.

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


def lines_of(
    portfolio: Portfolio, jurisdictions: Iterable[Jurisdiction], rules: RuleSet, statements: Statements
) -> Lines:
    """Return the parts of the stated period; the portfolio's SKUs have `UK_SKU_COLUMNS`.

    Raise `FileRefused` where the period cannot be reported, and the errors of `compliance.rollup.tonnes.rollup`.
    """
    year, half = statements.year, statements.half
    blank = statements.producer.row(submission(statements.producer, year, half))
    ready = prepare_lines(portfolio, jurisdictions, rules)
    found = rolled_lines(MARKET, ready)
    lines = _with_materials(
        found.lines, ready.jurisdictions[MARKET], drinks_materials(blank | {"packaging_type": "HDC"})
    )
    asked = (pl.col("year") == year) & (pl.col("half") == half)
    counting = found.counting.filter(asked).select("sku", "units")
    skus = _judged(
        ready.skus.select("sku", *UK_SKU_COLUMNS).join(counting, on="sku", how="inner"), lines, statements, rules
    )
    left_out = skus.filter(pl.col("reason").is_not_null())
    parts = _typed(lines.join(skus.filter(pl.col("reason").is_null()), on="sku", how="inner"))
    parts = with_ratings(with_subtypes(parts, blank), given_ratings(ready.parts, ready.skus, statements.ratings), blank)
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


def _with_materials(lines: pl.DataFrame, kingdom: Jurisdiction, of_drinks: list[str]) -> pl.DataFrame:
    """Return the lines with `material`, `shape` where the category has one, and whether it may hold drinks."""
    segment = pl.col("category_code").cast(pl.String).str.split("/").list
    return (
        lines.select(LINE_COLUMNS)
        .join(categories(kingdom).select("path", "category_code"), on="path", how="left")
        .with_columns(
            segment.first().alias("material"),
            segment.get(1, null_on_oob=True).alias("shape"),
            (pl.col("has_body") & segment.first().is_in(of_drinks)).alias("may_hold"),
        )
    )


def _judged(facts: pl.DataFrame, lines: pl.DataFrame, statements: Statements, rules: RuleSet) -> pl.DataFrame:
    """Return the SKUs of the period with their kinds; `reason` and `fields` where one is left out whole.

    The producer must say whether a beverage container is a drinks container where the answer changes its kind.
    """
    may_hold = lines.filter("may_hold").select("sku", pl.lit(value=True).alias("body_may_hold")).unique()
    facts = (
        facts.with_columns(pl.col("reusable").fill_null(value=False))
        .join(_container_formats(facts, rules), on="packaging_format", how="left", nulls_equal=True)
        .join(may_hold, on="sku", how="left")
        .join(statements.drinks, on="sku_code", how="left")
    )
    facts = facts.join(
        _kinds(facts, statements.producer), on=["packaging_level", "reusable"], how="left", nulls_equal=True
    )
    holds_drink = pl.col("use_contexts").list.contains(_DRINKS_CONTEXT).fill_null(value=False)
    changes = pl.col("kind").ne_missing(pl.col("kind_of_drinks"))
    may_be = pl.col("is_container") & holds_drink & pl.col("body_may_hold").fill_null(value=False) & changes
    reason = (
        pl.when(pl.col("packaging_level").is_null())
        .then(pl.lit("packaging_level_missing"))
        .when(pl.col("kind").is_null())
        .then(pl.lit("reusable_with_om"))
        .when(may_be & pl.col("is_drinks_container").is_null())
        .then(pl.lit("drinks_container_undecided"))
    )
    field = {"packaging_level_missing": ["packaging_level"], "reusable_with_om": ["reusable"]}
    return facts.with_columns(
        reason.alias("reason"),
        reason.replace_strict(field, default=[], return_dtype=pl.List(pl.String)).alias("fields"),
        (may_be & pl.col("is_drinks_container").fill_null(value=False)).alias("is_drinks"),
    )


def _container_formats(facts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return each distinct format text with whether it is a bottle or a can."""
    texts = facts["packaging_format"].unique().to_list()
    found = [resolve_format(text, rules) if text else None for text in texts]
    return pl.DataFrame(
        {
            "packaging_format": texts,
            "is_container": [each is not None and each.key in _DRINKS_FORMATS for each in found],
        },
        schema={"packaging_format": pl.String, "is_container": pl.Boolean},
    )


def _kinds(facts: pl.DataFrame, producer: Producer) -> pl.DataFrame:
    """Return each distinct (level, reusable or not) with the kind of its parts, and that of a drinks container."""
    faces = facts.select("packaging_level", "reusable").unique()

    def kind(level: str | None, reusable: bool, *, drinks: bool) -> dict[str, str] | None:
        found = kind_of(
            Facts(
                organisation_size=producer.organisation_size,
                marketplace=_ANSWERS[producer.is_marketplace],
                drinks_container=_ANSWERS[drinks],
                reusable=_ANSWERS[reusable],
                packaging_level=level or "",
                household_type=producer.household_type,
            )
        )
        return None if found is None else {"type": found.packaging_type, "class": found.packaging_class}

    dtype = pl.Struct({"type": pl.String, "class": pl.String})
    rows = list(faces.iter_rows())
    return faces.with_columns(
        pl.Series("kind", [kind(*row, drinks=False) for row in rows], dtype=dtype),
        pl.Series("kind_of_drinks", [kind(*row, drinks=True) for row in rows], dtype=dtype),
    )


def _typed(parts: pl.DataFrame) -> pl.DataFrame:
    """Return the parts with type and class; of a drinks container only the body counts as one."""
    kind = pl.when(pl.col("is_drinks") & pl.col("may_hold")).then("kind_of_drinks").otherwise("kind")
    return parts.with_columns(kind.struct.unnest())


def _gaps(lacking: pl.DataFrame) -> pl.DataFrame:
    """Return one row per SKU and reason, with the facts to give in the order of the parts."""
    field = (
        pl.when(pl.col("lacking") == "rating_missing")
        .then(pl.format("ram:{}", pl.col("named")))
        .otherwise(pl.lit("packaging_format"))
    )
    return (
        lacking.sort("sku", "first")
        .group_by("sku", "sku_code", "archived", "units", pl.col("lacking").alias("reason"), maintain_order=True)
        .agg(field.unique(maintain_order=True).alias("fields"))
    )


def _listed(skus: pl.DataFrame, year: int, half: int) -> pl.DataFrame:
    return skus.with_columns(
        pl.lit(MARKET).alias("market"), pl.lit(year, pl.Int32).alias("year"), pl.lit(half, pl.Int8).alias("half")
    ).select(pl.col(name).cast(dtype) for name, dtype in UNCOUNTED_SCHEMA.items())
