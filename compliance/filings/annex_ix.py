"""Counts the packaging of a Member State and year by category of Table 1 of Annex II, as Annex IX, part B, asks.

Regulation (EU) 2025/40, Article 44(7) and (8). A unit of packaging is the body with all that stays on it, or a part
that comes off (`compliance.grading.units`); its whole weight is in the category of its predominant material, which
`streams.csv` names for group and form. `annex_ix/formats.csv` says where a format decides instead, or decides nothing.
What no single category takes is listed with the question that would settle it: no such tonne is in a row.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from itertools import product
from typing import Final, Literal, NamedTuple, TypedDict, cast

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.filings.document import ARCHIVED, MISSING_COLUMNS, UNCOUNTED_COLUMNS, Question, uncounted_rows
from compliance.grading.units import FILM_PARTS, LAYERS, comes_off, fitting_row, part_of
from compliance.rollup.exact import GRAMS, beyond_reach, exceeds, times_units, within_reach, written_tonnes
from compliance.rollup.lines import UNCOUNTED_SCHEMA
from compliance.rollup.parts import SKU_COLUMNS, Portfolio, field_of, part_rows
from compliance.rollup.periods import market_of, volume_rows
from compliance.ruleset import FORMS, RuleSet
from compliance.tables import RULES, Row, rows, words
from compliance.words import resolve_format
from schemas.skus.types import Component

ANNEX_IX_COLUMNS: Final = pl.Schema({**SKU_COLUMNS, "markets": pl.List(pl.String())})
"""The columns of a SKU that the report needs."""
LIMIT_TONNES: Final = 10
"""Below it the simplified form is due (Article 44(8)); a Member State may set a lower one for a year."""
TOTAL: Final = "Total"
_FOLDER: Final = RULES / "annex_ix"
_UNIT: Final = ("sku", "unit")
_BODY: Final = -1
_UNKNOWN: Final = "?"
"""The beginning of a group that nobody knows; behind it the family, where that is known."""
_COMPOSITE: Final = ("C_", "UNSPECIFIED")
_PLACED: Final = pl.Schema({"category_no": pl.String(), "grams": GRAMS})
_UNPLACED: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "reason": pl.String(),
        "category_codes": pl.List(pl.String()),
        "fields": pl.List(pl.String()),
        "grams": GRAMS,
        "archived": pl.Boolean(),
    }
)


class Counted(NamedTuple):
    """What a portfolio, or a block of it, placed on a market in a year.

    `placed` has exact `grams` by `category_no`. `unplaced` are SKUs with the weight that no single category takes:
    `reason`, `category_codes` that it may be in, `fields` that would settle it. `uncounted` (`UNCOUNTED_SCHEMA`) lack
    a weight or their units. `units` are all units that were recorded.
    """

    placed: pl.DataFrame
    unplaced: pl.DataFrame
    uncounted: pl.DataFrame
    units: int


def count(
    portfolio: Portfolio, market: str, year: int, jurisdictions: Mapping[str, Jurisdiction], rules: RuleSet
) -> Counted:
    """Count the SKUs of a block (`ANNEX_IX_COLUMNS`) in a Member State and calendar year."""
    skus, volumes = _placed_skus(portfolio, market, year, jurisdictions)
    numbered = volumes.join(skus.select("sku_code", "sku"), on="sku_code", how="inner")
    recorded = volume_rows(numbered, jurisdictions).filter((pl.col("market") == market) & (pl.col("half") == 0))
    counting = recorded.filter(pl.col("units") > 0).select("sku", "year", "half", "units")
    silent = skus.join(recorded.select("sku"), on="sku", how="anti").select("sku")
    counted_skus = skus.join(counting.select("sku"), on="sku", how="semi")
    own, every = part_rows(portfolio, counted_skus)
    parts = with_facts(every, rules)
    units = categorise(parts, rules)
    beyond = beyond_reach(units, counting)
    lines = units.join(counting.join(beyond, on="sku", how="anti"), on="sku").with_columns(
        times_units("grams").alias("grams")
    )
    within_reach(lines["grams"])
    is_placed = pl.col("reason") == ""
    lacking = pl.concat(
        [
            _gap(parts.filter("lacks_weight"), "weight_missing", field_of("weight_g", "weight_grams")),
            _gap(own.filter(pl.col("material").is_null()), "material_missing", pl.lit("material")),
            _gap(beyond, "weight_missing", pl.lit("volumes")),
            _gap(silent, "units_missing", pl.lit("volumes")),
        ]
    )
    uncounted = (
        lacking.group_by("sku", "reason", maintain_order=True)
        .agg(pl.col("field").unique(maintain_order=True).alias("fields"))
        .join(counting, on="sku", how="left")
        .join(skus.select("sku", "sku_code", "archived"), on="sku")
        .with_columns(
            pl.lit(market).alias("market"), pl.lit(year, pl.Int32).alias("year"), pl.lit(0, pl.Int8).alias("half")
        )
    )
    return Counted(
        lines.filter(is_placed).group_by("category_no").agg(pl.col("grams").sum()),
        _listed(lines.filter(~is_placed & (pl.col("grams") > 0)), skus),
        uncounted.select(pl.col(name).cast(dtype) for name, dtype in UNCOUNTED_SCHEMA.items()),
        int(counting["units"].sum()),
    )


def combine(blocks: Iterable[Counted]) -> Counted:
    """Return the blocks as one. Raise `OverflowError` beyond 10^14 tonnes."""
    nothing = Counted(
        pl.DataFrame(schema=_PLACED), pl.DataFrame(schema=_UNPLACED), pl.DataFrame(schema=UNCOUNTED_SCHEMA), 0
    )
    placed, unplaced, uncounted, units = zip(nothing, *blocks, strict=True)
    every = pl.concat(placed)
    within_reach(every["grams"])
    return Counted(
        every.group_by("category_no").agg(pl.col("grams").sum()),
        pl.concat(unplaced).sort("sku_code", "reason", "category_codes"),
        pl.concat(uncounted).sort("sku_code", "reason"),
        sum(units),
    )


def _placed_skus(
    portfolio: Portfolio, market: str, year: int, jurisdictions: Mapping[str, Jurisdiction]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the numbered SKUs with a volume row of the market and year, or that name the market and have none."""

    def of_market(codes: pl.Series) -> list[str]:
        return [code for code in codes.drop_nulls().unique() if market_of(code, jurisdictions) == market]

    written, named = of_market(portfolio.volumes["market"]), of_market(portfolio.skus["markets"].explode())
    volumes = portfolio.volumes.filter(pl.col("market").is_in(written) & (pl.col("year") == year))
    archived = pl.col("archived").fill_null(value=False)
    names_market = pl.col("markets").list.eval(pl.element().is_in(named)).list.any().fill_null(value=False)
    skus = portfolio.skus.with_columns(archived).filter(
        pl.col("sku_code").is_in(volumes["sku_code"].unique().implode()) | (names_market & ~archived)
    )
    return skus.sort("sku_code").with_row_index("sku"), volumes


_FACE: Final = ("component_type", "family", "text", "separable")
_FACTS: Final = {"group": pl.String, "kind": pl.String, "weightless": pl.Boolean, "comes_off": pl.Boolean}


def with_facts(parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the parts with their `unit`, its `form` and format `key`, `group` and material family `kind`.

    `lacks_weight` marks a part that needs a weight and has none; each distinct face is read once.
    """
    faces = parts.select(_FACE).unique()
    facts = pl.DataFrame([_facts(face, rules) for face in faces.iter_rows()], schema=_FACTS, orient="row")
    texts = parts["packaging_format"].unique().to_list()
    formats = [resolve_format(text, rules) if text else None for text in texts]
    of_text = pl.DataFrame(
        {
            "packaging_format": texts,
            "form_of_pack": [row.form if row else None for row in formats],
            "key_of_pack": [row.key if row else "-" for row in formats],
        },
        schema=dict.fromkeys(("packaging_format", "form_of_pack", "key_of_pack"), pl.String),
    )
    known = parts.join(faces.hstack(facts), on=_FACE, how="left", nulls_equal=True)
    known = known.join(of_text, on="packaging_format", how="left", nulls_equal=True).sort("sku", "position")
    is_film = pl.col("component_type").is_in(FILM_PARTS)
    of_part = pl.when(is_film).then(pl.lit("film")).otherwise(pl.lit("rigid"))
    return known.with_columns(
        pl.when("comes_off").then(pl.col("position").cast(pl.Int64)).otherwise(_BODY).alias("unit"),
        pl.when("comes_off").then(of_part).otherwise("form_of_pack").alias("form"),
        pl.when("comes_off").then(pl.lit("")).otherwise("key_of_pack").alias("key"),
        (pl.col("grams").is_null() & ~pl.col("weightless")).alias("lacks_weight"),
        pl.col("grams").fill_null(0),
    )


def _facts(face: tuple[str | bool | None, ...], rules: RuleSet) -> tuple[str, str, bool, bool]:
    """Return group and family of a part's material, whether it needs no weight, and whether it comes off."""
    names = ("component_type", "material_family", "polymer_or_grade", "separable")
    part = part_of(cast(Component, dict(zip(names, face, strict=True))), None, rules)
    family = face[1]
    kind = str(family) if family in _families(rules) else ""
    group, kind = (part.material.group, part.material.family) if part.material else (_UNKNOWN + kind, kind or _UNKNOWN)
    return group, kind, part.weightless, comes_off(part)


@lru_cache(maxsize=8)
def _families(rules: RuleSet) -> frozenset[str]:
    """Return the families whose materials Table 1 has categories for."""
    return frozenset(
        material.family
        for material in rules.materials.values()
        if material.specified and any(row.category_no for row in rules.streams.get(material.group, ()))
    )


def categorise(parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return a row per unit of the parts of `with_facts`: exact `grams`, `category_no` and `reason`.

    The reason is empty where the number is the one category; else the numbers are all that it may be, joined by `|`,
    and `fields` would settle it.
    """
    return _with_categories(_units(parts, rules), rules)


def _units(parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return a row per unit: its `grams`, predominant `group`, `form`, `key`, `held` conditions, missing `fields`.

    Article 3(1)(24) goes by the majority: a part of unknown material leaves the unit's open where it could have it.
    """
    is_layer = pl.col("comes_off") | pl.col("component_type").is_in(LAYERS)
    is_unknown = pl.col("group").str.starts_with(_UNKNOWN)
    is_main = pl.col("comes_off") | (pl.col("component_type") == "body")
    lacks_main = pl.col("lacks_weight") & is_main
    missing = (
        pl.when(lacks_main)
        .then(field_of("weight_g", "weight_grams"))
        .when(is_unknown)
        .then(field_of("polymer_or_grade", "material_subtype"))
    )
    shares = {
        when: is_layer & (pl.col("kind") != "paper") if when[0] == "non_paper_layers" else pl.col("group") == when[0]
        for when in _conditions(rules)
    }
    units = parts.group_by(_UNIT, maintain_order=True).agg(
        pl.col("grams").sum().alias("total"),
        pl.col("grams").filter(is_unknown).sum().alias("unknown"),
        pl.col("form", "key").first(),
        lacks_main.any().alias("lacks_main"),
        missing.drop_nulls().unique(maintain_order=True).alias("fields"),
        *(pl.col("grams").filter(is_in).sum().alias(f"share{place}") for place, is_in in enumerate(shares.values())),
    )
    held = [
        exceeds(pl.col(f"share{place}"), pl.col("total"), str(percent)).cast(pl.UInt32) * (1 << place)
        for place, (_, percent) in enumerate(shares)
    ]
    is_open = (pl.col("unknown") > 0) & (pl.col("grams") * 2 <= pl.col("total"))
    of_family = pl.when(pl.col("of_kind") * 2 > pl.col("total")).then(pl.lit(_UNKNOWN) + pl.col("kind"))
    return units.join(_heaviest(parts), on=_UNIT).select(
        *_UNIT,
        pl.col("total").alias("grams"),
        pl.when("lacks_main")
        .then(pl.lit(_UNKNOWN))
        .when(is_open)
        .then(of_family.fill_null(_UNKNOWN))
        .otherwise("group")
        .alias("group"),
        pl.col("form"),
        pl.col("key"),
        pl.sum_horizontal(held).alias("held"),
        "lacks_main",
        "fields",
    )


def _heaviest(parts: pl.DataFrame) -> pl.DataFrame:
    """Return each unit's heaviest group in its heaviest family, as `predominant_group` does: with `of_kind` grams."""
    groups = parts.group_by(*_UNIT, "kind", "group").agg(pl.col("grams").sum())
    families = groups.group_by(*_UNIT, "kind").agg(pl.col("grams").sum().alias("of_kind"))
    ranked = groups.join(families, on=(*_UNIT, "kind")).with_columns((pl.col("kind") == "other").alias("is_other"))
    return ranked.sort(
        *_UNIT, "is_other", "of_kind", "kind", "grams", "group", descending=[False] * 3 + [True, False, True, False]
    ).unique(_UNIT, keep="first", maintain_order=True)


@lru_cache(maxsize=8)
def _conditions(rules: RuleSet) -> tuple[tuple[str, float], ...]:
    """Return what rows of `streams.csv` weigh, each with its percent."""
    return tuple(dict.fromkeys(row.when for group in rules.streams.values() for row in group if row.when))


def _with_categories(units: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the units with `category_no` and an empty `reason`, or all numbers that it may be; `fields` settle it."""
    face = ("group", "form", "key", "held")
    faces = units.select(face).unique()
    judged = [_judged(group, form, key, held, rules) for group, form, key, held in faces.iter_rows()]
    codes = pl.Series("category_no", ["|".join(codes) for codes, _ in judged], dtype=pl.String)
    reasons = pl.Series("reason", [reason for _, reason in judged], dtype=pl.String)
    asked = pl.DataFrame(list(_FIELDS.items()), schema={"reason": pl.String, "asked": pl.List(pl.String)}, orient="row")
    judged_units = units.join(faces.with_columns(codes, reasons), on=face, how="left", nulls_equal=True)
    reason = pl.when("lacks_main").then(pl.lit("weight_missing")).otherwise("reason").alias("reason")
    with_reason = judged_units.with_columns(reason).join(asked, on="reason", how="left")
    return with_reason.with_columns(pl.coalesce("asked", "fields").alias("fields"))


_FIELDS: Final = {
    "format_missing": ["packaging_format"],
    "stiffness_unknown": ["packaging_format"],
    "composite_unsplit": ["components"],
    "no_category": list[str](),
}
"""The fields that a reason asks for; the others ask for those of the parts."""


def _judged(group: str, form: str | None, key: str, held: int, rules: RuleSet) -> tuple[tuple[str, ...], str]:
    """Return the numbers that a unit may have, and why it is open: empty where it is the one category."""
    forms = [form] if form in FORMS else sorted(FORMS)
    groups = [group] if not group.startswith(_UNKNOWN) else _groups_of(group.removeprefix(_UNKNOWN), rules)

    def holds(what: str, percent: float) -> bool:
        return bool(held >> _conditions(rules).index((what, percent)) & 1)

    fitting = [fitting_row(rules, one, of, holds) for one, of in product(groups, forms)]
    numbers: dict[str, str] = {}
    for row in fitting:
        if row is not None:
            listed, reason = _of_format(row.stream, key) or ((row.category_no,), "")
            numbers |= dict.fromkeys(filter(None, listed), reason)
    codes = tuple(sorted(numbers, key=int))
    if group.startswith(_UNKNOWN):
        return codes, "material_unspecified"
    if not codes:
        return codes, "composite_unsplit" if group.startswith(_COMPOSITE) else "no_category"
    return codes, "" if len(codes) == 1 else next(filter(None, numbers.values()), "format_missing")


def _groups_of(family: str, rules: RuleSet) -> list[str]:
    return sorted({each.group for each in rules.materials.values() if each.specified and each.family == family})


@cache
def _formats() -> tuple[Row, ...]:
    return tuple(rows(_FOLDER / "formats.csv"))


def _of_format(stream: str | None, key: str) -> tuple[tuple[str, ...], str] | None:
    """Return the numbers of a stream in a format, and why there are several; None where no row of the table fits."""
    for row in _formats():
        if stream in words(row["streams"]) and key in words(row["formats"]):
            return words(row["category_nos"]), row["reason"]
    return None


def _gap(lacking: pl.DataFrame, reason: str, field: pl.Expr) -> pl.DataFrame:
    return lacking.select("sku", pl.lit(reason).alias("reason"), field.alias("field"))


def _listed(lines: pl.DataFrame, skus: pl.DataFrame) -> pl.DataFrame:
    """Return the units without a category as a row per SKU, reason and numbers."""
    key = ("sku", "units", "reason", "category_no")
    return (
        lines.sort(_UNIT)
        .group_by(key, maintain_order=True)
        .agg(pl.col("fields").explode().drop_nulls().unique(maintain_order=True), pl.col("grams").sum())
        .join(skus.select("sku", "sku_code", "archived"), on="sku")
        .with_columns(pl.col("category_no").str.split("|").list.set_difference([""]).alias("category_codes"))
        .select(pl.col(name).cast(dtype) for name, dtype in _UNPLACED.items())
    )


class Reporter(NamedTuple):
    """What a company's registers hold of a Member State: each registration, the representative, the certification.

    A registration is register, number, first and last day; the representative is name, address, first and last day of
    the mandate; the certification is who certified, and when. Days are ISO texts, empty where there is no last one.
    """

    registrations: tuple[tuple[str, str, str, str], ...] = ()
    representative: tuple[str, str, str, str] | None = None
    certification: tuple[str, str] | None = None


NO_REPORTER: Final = Reporter()


class ReportRow(TypedDict):
    """One row of the report: the point of Annex IX, the number of Table 1 of Annex II, and what is stated there."""

    point: str
    no: str
    entry: str
    value: str
    tonnes: Decimal | None
    note: str


REPORT_COLUMNS: Final = tuple(ReportRow.__annotations__)
UNPLACED_COLUMNS: Final = (*MISSING_COLUMNS, "tonnes", "reason", "question")
UNCOUNTED_LIST: Final = (*UNCOUNTED_COLUMNS, "question")
Form = Literal["full", "simplified", "undecided"]
"""Point 1 or 2 of Annex IX, part B; undecided below the limit while more may come: point 1 is filled in.

More may come where something is not counted, and until the calendar year has ended (Article 44(8)).
"""


class Report(NamedTuple):
    """The report of a Member State and year: its rows, the exact grams in them and beside them, and the lists.

    `question` is the missing fact for which most of `unplaced_grams` wait.
    """

    form: Form
    rows: list[ReportRow]
    placed_grams: Decimal
    unplaced_grams: Decimal
    unplaced: list[dict[str, object]]
    uncounted: list[dict[str, object]]
    question: Question | None


def report(counted: Counted, year: int, reporter: Reporter, as_of: date) -> Report:
    """Return the report of what was counted, in the order of Annex IX; `as_of` is the day of the data."""
    grams = dict(counted.placed.iter_rows())
    unplaced = counted.unplaced
    total = sum([*grams.values(), *unplaced["grams"]], Decimal(0))
    form: Form = "full"
    if total < LIMIT_TONNES * 1_000_000:
        has_ended = as_of.year > year
        form = "simplified" if has_ended and counted.uncounted.is_empty() else "undecided"
    if form == "simplified":
        lines = simplified_row()
        names = pl.Series([_row_of(codes) for codes in unplaced["category_codes"]], dtype=pl.String)
        by_name = unplaced.with_columns(names.alias("name"))
        unplaced = by_name.filter(pl.col("name").is_null()).drop("name")
        sums = dict.fromkeys(lines.values(), Decimal(0))
        of_names = by_name.filter(pl.col("name").is_not_null()).select("name", "grams").iter_rows()
        for name, weight in [*((lines[number], weight) for number, weight in grams.items()), *of_names]:
            sums[name] += weight
        quantities = [("", name, weight) for name, weight in sums.items()]
        quantities.append(("", TOTAL, sum(sums.values(), Decimal(0))))
    else:
        quantities = [(no, _name(row), grams.get(no, Decimal(0))) for no, row in categories().items()]
    beside = sum(unplaced["grams"], Decimal(0))
    return Report(
        form,
        _rows(2 if form == "simplified" else 1, year, quantities, reporter, as_of),
        total - beside,
        beside,
        [_unplaced(row) for row in unplaced.iter_rows(named=True)],
        [{**row, "question": questions()[row["reason"]]} for row in uncounted_rows(counted.uncounted)],
        _most_asked(unplaced),
    )


def _rows(
    point: int, year: int, quantities: Iterable[tuple[str, str, Decimal]], reporter: Reporter, as_of: date
) -> list[ReportRow]:
    """Return the rows of point 1 or 2, (a) to (d); what no record here holds says so."""

    def row(
        letter: str, entry: str, value: str = "", note: str = "", *, no: str = "", weight: Decimal | None = None
    ) -> ReportRow:
        tonnes = None if weight is None else written_tonnes(weight)
        return {
            "point": f"B.{point}({letter})",
            "no": no,
            "entry": entry,
            "value": value,
            "tonnes": tonnes,
            "note": note or ("" if value or tonnes is not None else NOT_RECORDED),
        }

    first, last = f"{year}-01-01", f"{year}-12-31"
    numbers = [
        row("a", f"Registration number: {register}", number, _days(since, until))
        for register, number, since, until in reporter.registrations
        if since <= last and (not until or until >= first)
    ]
    name, address, since, until = reporter.representative or ("", "", "", "")
    certified_by, signed_on = reporter.certification or ("", "")
    return [
        *(numbers or [row("a", "Registration number")]),
        row("a", "Trade register number or equivalent"),
        row("a", "European or national tax identification number"),
        row(
            "b", "Reporting period", f"{first}/{last}", "" if as_of.isoformat() > last else f"as of {as_of}: not ended"
        ),
        *(row("c", entry, no=no, weight=weight) for no, entry, weight in quantities),
        row("c", "Unpacked without being an end user"),
        row("d", "Producer responsibility organisation, or individual fulfilment"),
        row("d", "Authorised representative", ", ".join(filter(None, (name, address))), _days(since, until)),
        row("d", "Self-certification (Article 45(4))", certified_by, signed_on),
    ]


NOT_RECORDED: Final = "not recorded"


def _days(since: str, until: str) -> str:
    return f"from {since} to {until}" if until else f"from {since}" if since else ""


def _unplaced(row: Mapping[str, object]) -> dict[str, object]:
    """Return a row of the list of what no single category takes; `archived` only where its SKU is."""
    written = {name: row[name] for name in (*MISSING_COLUMNS, "reason")}
    written |= {"tonnes": written_tonnes(cast(Decimal, row["grams"])), "question": questions()[str(row["reason"])]}
    return written | ({ARCHIVED: True} if row[ARCHIVED] else {})


def _most_asked(unplaced: pl.DataFrame) -> Question | None:
    """Return the fact for which most weight waits, of equals the first by name; a part's fact counts for all parts."""
    fact = pl.col("fields").str.replace(r"^.*[.]", "").alias("field")
    asked = (
        unplaced.explode("fields").drop_nulls("fields").select("sku_code", "reason", "category_codes", fact, "grams")
    )
    waiting = asked.unique().group_by("field").agg(pl.col("grams").sum(), pl.col("sku_code").n_unique())
    for field, grams, skus in waiting.sort("grams", "field", descending=[True, False]).head(1).iter_rows():
        return {"field": field, "tonnes": written_tonnes(grams), "skus": skus}
    return None


@cache
def categories() -> Mapping[str, Row]:
    """Return the rows of Table 1 of Annex II by number, in its order."""
    return {row["category_no"]: row for row in rows(_FOLDER / "categories.csv")}


@cache
def simplified_row() -> Mapping[str, str]:
    """Return the row of the simplified form that takes each category, in the order of its table."""
    return {number: row["simplified"] for number, row in sorted(categories().items(), key=_order)}


_SIMPLIFIED: Final = ("Glass", "Plastic", "Paper/cardboard", "Ferrous metal", "Aluminium", "Wood", "Other")


def _order(entry: tuple[str, Row]) -> int:
    return _SIMPLIFIED.index(entry[1]["simplified"])


def _row_of(codes: Iterable[str]) -> str | None:
    """Return the one row of the simplified form that takes all these categories; None where there is none."""
    names = {simplified_row()[number] for number in codes}
    return names.pop() if len(names) == 1 else None


def _name(row: Row) -> str:
    return f"{row['material']}: {row['packaging_type']}"


@cache
def questions() -> Mapping[str, str]:
    """Return the question that settles each reason."""
    return {row["reason"]: row["question"] for row in rows(_FOLDER / "questions.csv")}
