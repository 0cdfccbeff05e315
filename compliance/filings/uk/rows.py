"""Makes the rows of the file: sums lines of one identity exactly, in whole kilograms, ordered by codes (step 8).

A producer states about itself, its submission, ratings and drinks containers what packaging data cannot supply.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.filings.uk.rules import (
    LARGE,
    MARKET,
    MARKETPLACE,
    Facts,
    FileRefused,
    Row,
    codes,
    columns,
    drinks_materials,
    hold,
    kind_of,
    standing,
    stated_faults,
)
from compliance.material_path import material_paths
from compliance.rollup.exact import COUNT, times_units, within_reach
from compliance.rollup.lines import LINE_COLUMNS, UNCOUNTED_SCHEMA, categories, prepare_lines
from compliance.rollup.lines import lines_of as rolled_lines
from compliance.rollup.parts import PATH, SKU_COLUMNS, Parts, Portfolio
from compliance.ruleset import RuleSet
from compliance.words import resolve_format

_STATED: Final = frozenset(
    {"organisation_id", "subsidiary_id", "organisation_size", "submission_period", "packaging_activity"}
)


@dataclass(frozen=True, slots=True)
class Producer:
    """Codes of `rules/uk_packaging_data/codes.csv`; `household_type` is the type of sales and shipment packaging."""

    organisation_id: str
    organisation_size: str = LARGE
    activity: str = "SO"
    household_type: str = "HH"
    subsidiary_id: str = ""

    @property
    def is_marketplace(self) -> bool:
        """Whether the reported packaging was sold through an online marketplace of the producer's."""
        return self.activity == MARKETPLACE

    def row(self, period: str) -> dict[str, str]:
        """Return a row of the file with only the producer's statements."""
        return dict.fromkeys(columns(), "") | {
            "organisation_id": self.organisation_id,
            "subsidiary_id": self.subsidiary_id,
            "organisation_size": self.organisation_size,
            "submission_period": period,
            "packaging_activity": self.activity,
        }


def submission(producer: Producer, year: int, half: int) -> str:
    """Return the code of a period, `half` 0 for the year. Raise `FileRefused` with every error code that applies."""
    period = f"{year}-H{half}" if half else f"{year}-P0"
    if refused := stated_faults(producer.row(period), _STATED):
        raise FileRefused(refused)
    return period


_SUBTYPE: Final = "packaging_material_subtype"
UK_COLUMNS: Final = {
    "type": "packaging_type",
    "class": "packaging_class",
    "material": "packaging_material",
    "subtype": _SUBTYPE,
    "rating": "ram_rag_rating",
}
"""The cells that identify a row of the file, with the names of their columns: parts with equal ones are summed."""
IDENTITY: Final = tuple(UK_COLUMNS)
RATINGS: Final = pl.Schema({"sku_code": pl.String(), "component_type": pl.String(), "rating": pl.String()})
"""The producer's ratings: one for each SKU and component type."""


def with_ratings(parts: pl.DataFrame, ratings: pl.DataFrame, blank: Row) -> pl.DataFrame:
    """Return the parts with `rating`, blank where none is allowed or given; `lacking` says where one is required.

    `ratings` are `given` for parts by `sku` and `position`, which for a part is its `line`; `blank` is the row of the
    file with the producer's statements.
    """
    joined = _with_standing(parts, "subtype", "ram_rag_rating", blank).join(
        ratings, left_on=["sku", "line"], right_on=["sku", "position"], how="left"
    )
    missing = (pl.col("asks") == "needed") & pl.col("given").is_null()
    return joined.with_columns(
        pl.when(pl.col("asks") != "refused").then(pl.col("given")).fill_null("").alias("rating"),
        pl.coalesce("lacking", pl.when(missing).then(pl.lit("rating_missing"))).alias("lacking"),
    )


def given_ratings(parts: Parts, skus: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return `sku`, `position`, `given`, `named`: each part's rating, and the component type that it is asked for by.

    A body has one rating: the first that one of its layers has.
    """
    layers = parts.layers.with_columns(pl.lit(value=True).alias("is_layer"))
    units = parts.units.with_columns(pl.lit(value=False).alias("is_layer"))
    ratings_of_sku = (
        pl.concat([layers, units])
        .join(skus.select("sku", "sku_code"), on="sku", how="left")
        .join(ratings, on=["sku_code", "component_type"], how="left")
        .sort("sku", "position")
    )
    of_body = (
        ratings_of_sku.filter(pl.col("is_layer"))
        .group_by("sku")
        .agg(
            pl.col("rating").drop_nulls().first().alias("of_body"),
            (pl.col("component_type") == "body").any().alias("has_body"),
            pl.col("component_type").first().alias("first_layer"),
        )
    )
    name = pl.when(pl.col("has_body")).then(pl.lit("body")).otherwise(pl.col("first_layer"))
    return ratings_of_sku.join(of_body, on="sku", how="left").select(
        "sku",
        "position",
        pl.when(pl.col("is_layer")).then(pl.col("of_body")).otherwise(pl.col("rating")).alias("given"),
        pl.when(pl.col("is_layer")).then(name).otherwise(pl.col("component_type")).alias("named"),
    )


def _with_standing(parts: pl.DataFrame, subtype: str, column: str, blank: Row) -> pl.DataFrame:
    """Return the parts with `asks`: how the rules treat a value in a cell, given the row's other cells.

    Each distinct face is asked about once; `subtype` is the column with the subtype of the material. A rating and,
    where the subtype is asked about, a shape are filled in, so that a missing one does not look like its error.
    """
    face = ["type", "class", "material", subtype]
    rating, shape = next(iter(codes("ram_rag_rating"))), _ANY_SHAPE if column == _SUBTYPE else ""
    faces = parts.select(face).unique()
    cells_of_faces = [(*cells, of or shape, rating) for *cells, of in faces.iter_rows()]
    rows = [{**blank, **dict(zip(UK_COLUMNS.values(), cells, strict=True))} for cells in cells_of_faces]
    asks = pl.Series("asks", [standing(row, column, row[column]) for row in rows], dtype=pl.String)
    return parts.join(faces.with_columns(asks), on=face, how="left", nulls_equal=True)


_PLASTIC: Final = "PL"
_OTHER: Final = "OT"
_ANY_SHAPE: Final = "Rigid"


def with_subtypes(parts: pl.DataFrame, blank: Row) -> pl.DataFrame:
    """Return the parts with `subtype`, and `lacking` where plastic must have a shape and has none.

    `blank` is the row of the file with the producer's statements.
    """
    names = pl.DataFrame(
        [(path, row.uk_other_name or row.family.replace("_", "-")) for path, row in material_paths().items()],
        schema={"path": PATH, "other_name": pl.String},
        orient="row",
    )
    candidate = (
        pl.when(pl.col("material") == _OTHER)
        .then(pl.col("other_name"))
        .when(pl.col("material") == _PLASTIC)
        .then(pl.col("shape"))
    )
    parts = parts.join(names, on="path", how="left").with_columns(candidate.alias("candidate"))
    parts = _with_standing(parts, "candidate", _SUBTYPE, blank)
    missing = (pl.col("asks") == "needed") & pl.col("candidate").is_null()
    return parts.with_columns(
        pl.when(pl.col("asks") != "refused").then(pl.col("candidate")).fill_null("").alias("subtype"),
        pl.when(missing).then(pl.lit("plastic_shape_missing")).alias("lacking"),
    ).drop("asks")


UK_SKU_COLUMNS: Final = pl.Schema({**SKU_COLUMNS, "packaging_level": pl.String(), "use_contexts": pl.List(pl.String())})
"""The columns of a SKU that the file needs."""
DRINKS: Final = pl.Schema({"sku_code": pl.String(), "is_drinks_container": pl.Boolean()})
"""The answers of `--drinks`: one for each SKU."""
_DRINKS_FORMATS: Final = frozenset({"bottle", "can"})
_DRINKS_CONTEXT: Final = "beverage"
_ANSWERS: Final = {True: "Y", False: "N"}


class Statements(NamedTuple):
    """The producer's statements: itself and the period (`half` 0 for the year), ratings and drinks containers.

    `ratings` have `RATINGS`, `drinks` have `DRINKS`.
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
    rolled = rolled_lines(MARKET, ready)
    lines = _with_materials(
        rolled.lines, ready.jurisdictions[MARKET], drinks_materials(blank | {"packaging_type": "HDC"})
    )
    of_period = (pl.col("year") == year) & (pl.col("half") == half)
    counting = rolled.counting.filter(of_period).select("sku", "units")
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
                rolled.uncounted.filter(of_period).drop("grams"),
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
    formats = [resolve_format(text, rules) if text else None for text in texts]
    return pl.DataFrame(
        {
            "packaging_format": texts,
            "is_container": [pack_format is not None and pack_format.key in _DRINKS_FORMATS for pack_format in formats],
        },
        schema={"packaging_format": pl.String, "is_container": pl.Boolean},
    )


def _kinds(facts: pl.DataFrame, producer: Producer) -> pl.DataFrame:
    """Return each distinct (level, reusable or not) with the kind of its parts, and that of a drinks container."""
    faces = facts.select("packaging_level", "reusable").unique()

    def kind(level: str | None, reusable: bool, *, drinks: bool) -> dict[str, str] | None:
        rows_of_kind = kind_of(
            Facts(
                organisation_size=producer.organisation_size,
                marketplace=_ANSWERS[producer.is_marketplace],
                drinks_container=_ANSWERS[drinks],
                reusable=_ANSWERS[reusable],
                packaging_level=level or "",
                household_type=producer.household_type,
            )
        )
        return (
            None
            if rows_of_kind is None
            else {"type": rows_of_kind.packaging_type, "class": rows_of_kind.packaging_class}
        )

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


_EXACT: Final = Context(prec=60)
_DRINKS: Final = ("HDC", "NDC")


@dataclass(frozen=True, slots=True)
class PackagingFile:
    """A file that the published rules accept.

    `rows` are cells by column; `difference_kg` is the exact sum of the counted weight minus the written weight.
    """

    rows: tuple[dict[str, str], ...]
    difference_kg: Decimal
    uncounted: pl.DataFrame


def sum_blocks(blocks: Iterable[Lines]) -> Lines:
    """Return the lines of several blocks of SKUs as one row per identity. Raise `OverflowError` beyond 10^14 tonnes."""
    every = [Lines(_sum(block.lines), block.uncounted) for block in blocks]
    lines = pl.concat([block.lines for block in every])
    within_reach(lines["grams"])
    return Lines(_sum(lines), pl.concat([block.uncounted for block in every]).sort("sku_code", "reason"))


def packaging_file(lines: Lines, producer: Producer, period: str) -> PackagingFile:
    """Return the file of summed lines. Raise `FileRefused` with the error codes of the regulator's refusal."""
    exact = Decimal(0)
    rows = []
    for *identity, grams, units in lines.lines.sort(IDENTITY).iter_rows():
        kilograms = _EXACT.scaleb(grams, -3)
        whole = kilograms.quantize(Decimal(1), rounding=ROUND_HALF_UP, context=_EXACT)
        exact += kilograms - whole
        if whole > 0:
            cells = dict(zip(UK_COLUMNS.values(), identity, strict=True))
            cells["packaging_material_weight"] = format(whole, "f")
            if cells["packaging_type"] in _DRINKS:
                cells["packaging_material_units"] = format(units, "f")
            rows.append({**producer.row(period), **cells})
    hold(rows, lines.uncounted)
    return PackagingFile(tuple(rows), exact, lines.uncounted)


def _sum(lines: pl.DataFrame) -> pl.DataFrame:
    within_reach(lines["grams"])
    return lines.group_by(IDENTITY).agg(pl.col("grams").sum(), pl.col("units").cast(COUNT).sum())
