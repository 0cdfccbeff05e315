"""Averages the recycled content of plastic packaging per plant, year, type and format, as Article 7 asks.

Regulation (EU) 2025/40, Article 7(1) and (2). A plastic part is in the average of the plant that its SKU names, the
category of Table 1 of Annex II of the unit that it belongs to (`compliance.filings.annex_ix`), and the point of the
paragraphs that the whole SKU falls under, for the units placed on the markets of the Union in a calendar year. A part
below 5 % of its SKU is exempt (7(5)(b)). The share is what the record declares; a missing one is between 0 and 100 %.
What has no place is listed with the questions that give it one: no such tonne is in an average.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple, cast  # Any: rows of frames, whose columns the schemas name

import polars as pl

from compliance.catalogue import Jurisdiction
from compliance.filings.annex_ix import categories, categorise, with_facts
from compliance.rollup.exact import GRAMS, beyond_reach, half_up, times_units, within_reach
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, WEIGHTLESS, Portfolio, field_of, part_rows
from compliance.rollup.periods import market_of
from compliance.ruleset import RuleSet
from compliance.tables import RULES, Row, cited, rows
from compliance.weights import judge_shares
from compliance.words import resolve_format
from schemas.answers import Number
from schemas.figures import ContentLine, ContentSentence, ContentSummary, UnplacedContent

SHARE: Final = "recycled_content_percent"
CONTENT_SKUS: Final = pl.Schema(
    {
        **SKU_COLUMNS,
        SHARE: pl.Float64(),
        "food_contact": pl.Boolean(),
        "manufacturing_site_id": pl.String(),
        "markets": pl.List(pl.String()),
    }
)
CONTENT_COMPONENTS: Final = pl.Schema({**COMPONENT_COLUMNS, SHARE: pl.Float64()})
"""The columns of a SKU and of a component that the averages need; volumes have those of every portfolio."""
POINTS: Final = {"pet_contact": "a", "other_contact": "b", "sup_bottle": "c", "rest": "d"}
"""The points of Article 7(1) and (2) by the name that `limits.csv` has for them, `rc_<name>_2030`."""
YEARS: Final = (2030, 2040)
OPEN_ALWAYS: Final = ("post_consumer", "exempt_uses", "part_plant")
"""What no record says, of any SKU."""
_MAINLY: Final = 50.0
"""Percent; contact-sensitive packaging is of PET where more than this of its plastic is."""
_CONTACT_USES: Final = ("food", "beverage", "cosmetics", "takeaway")
"""Take-away packaging holds drinks or ready food (Article 3(1)(3)); its products are of Article 3(1)(49)."""
COMPOSTABLE: Final = "BIODEGRADABLE"
"""The group of materials that may be compostable plastic, which Article 7(4)(e) exempts."""
_EXEMPT_USES: Final = ("pharmaceutical", "dangerous_goods")
SMALL_PARTS: Final = 20
"""A part is exempt where so many of them weigh less than the whole (Article 7(5)(b))."""
_MAY_BE: Final = ("?", "?other")
"""The groups of parts of which nobody knows whether they are plastic."""
_PLASTIC: Final = tuple(number for number, row in categories().items() if row["material"] == "Plastic")
"""The categories of plastic packaging."""
_PART: Final = ("sku", "position", "is_own")
_OWN: Final = (pl.lit(0, pl.UInt32).alias("position"), pl.lit(value=True).alias("is_own"))
"""The place of the one body that a SKU without components is."""
_LINE: Final = ("site_id", "category_no", "point")
_SUMS: Final = pl.Schema({**dict.fromkeys(_LINE, pl.String()), "share": pl.Float64(), "grams": GRAMS})
_SKUS: Final = pl.Schema({**dict.fromkeys(_LINE, pl.String()), "skus": pl.UInt32()})
_EXCLUDED: Final = pl.Schema({"exempt": pl.String(), "grams": GRAMS, "skus": pl.UInt32()})
_UNPLACED: Final = pl.Schema(
    {
        "sku_code": pl.String(),
        "units": pl.Int64(),
        "grams": GRAMS,
        "reasons": pl.List(pl.String()),
        "fields": pl.List(pl.String()),
        "archived": pl.Boolean(),
    }
)


class Counted(NamedTuple):
    """The plastic of a portfolio, or a block of it, in a year.

    `sums` are exact `grams` by plant, category, point and declared `share` (null where there is none), `skus` how many
    SKUs are in each, `excluded` those that are exempt by reason, `unplaced` a row per SKU with its open `reasons`.
    """

    sums: pl.DataFrame
    skus: pl.DataFrame
    excluded: pl.DataFrame
    unplaced: pl.DataFrame


def asked_minimum(skus: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return `minimum` of each row of SKUs: `sup_bottle`, `contact` (of PET or not), `rest`, `exemption`, `unknown`.

    An exemption may apply; `unknown` lacks contact and use. What is not said to be reusable is for a single use.
    """
    texts = [text for text in skus["packaging_format"].unique() if text]
    bottles = [text for text in texts if (row := resolve_format(text, rules)) and row.key == "bottle"]
    uses = pl.col("use_contexts").fill_null([])
    is_contact = pl.col("food_contact").fill_null(value=False) | pl.any_horizontal(
        uses.list.contains(use) for use in _CONTACT_USES
    )
    minimum = (
        pl.when(pl.any_horizontal(uses.list.contains(use) for use in _EXEMPT_USES))
        .then(pl.lit("exemption"))
        .when(pl.col("food_contact").is_null() & (uses.list.len() == 0))
        .then(pl.lit("unknown"))
        .when(
            ~pl.col("reusable").fill_null(value=False)
            & pl.col("packaging_format").is_in(bottles).fill_null(value=False)
            & uses.list.contains("beverage")
        )
        .then(pl.lit("sup_bottle"))
        .when(is_contact)
        .then(pl.lit("contact"))
        .otherwise(pl.lit("rest"))
    )
    return skus.with_columns(minimum.alias("minimum"))


def transports_dangerous_goods() -> pl.Expr:
    """Return whether SKUs are packaging for the transport of dangerous goods, which Article 7(4)(f) exempts."""
    uses = pl.col("use_contexts").fill_null([])
    of_transport = uses.list.contains("dangerous_goods") & (pl.col("packaging_level") == "transport")
    return of_transport.fill_null(value=False)


def pet_verdicts(parts: pl.DataFrame) -> pl.DataFrame:
    """Return `pet` of each SKU by its plastic parts (`sku_code`, `grams`, percent `pet`).

    `below` is mainly of PET, `meets` is not, `undecided` may be either: mainly is more than half, so that the rest,
    which is asked about, is less than half.
    """
    rest = parts.select(
        "sku_code", "grams", (100 - pl.col("pet")).alias("share"), pl.lit(100 - _MAINLY).alias("minimum")
    )
    return judge_shares(rest).select("sku_code", pl.col("verdict").alias("pet"))


def count(portfolio: Portfolio, year: int, jurisdictions: Mapping[str, Jurisdiction], rules: RuleSet) -> Counted:
    """Count the plastic of a block of SKUs (`CONTENT_SKUS`, `CONTENT_COMPONENTS`) in a calendar year."""
    skus = asked_minimum(_asked_skus(portfolio, year, jurisdictions), rules)
    own, every = part_rows(portfolio, skus)
    parts = _plastic(_with_shares(with_facts(every, rules), portfolio, skus, own), rules)
    beyond = beyond_reach(parts, skus.filter(pl.col("units") > 0).select("sku", "units"))
    told = parts.join(skus.select("sku", "units", "manufacturing_site_id", "minimum", "is_dangerous"), on="sku")
    facts = told.with_columns(
        pl.col("sku").is_in(beyond["sku"].implode()).alias("is_beyond"),
        pl.when("is_small").then(pl.lit("small_part")).when("is_dangerous").then(pl.lit("dangerous")).alias("exempt"),
    )
    gaps = pl.concat([*_gaps(facts.filter(pl.col("exempt").is_null()), rules), _bare(own)])
    weighed = facts.filter(pl.col("units") > 0, ~pl.col("is_beyond")).with_columns(times_units("grams").alias("grams"))
    within_reach(weighed["grams"])
    exempt = weighed.filter(pl.col("exempt").is_not_null(), "is_plastic")
    placed = weighed.filter(pl.col("exempt").is_null()).join(gaps, on=_PART, how="anti")
    lines = placed.with_columns(pl.col("manufacturing_site_id").alias("site_id"), _point().alias("point"))
    return Counted(
        lines.group_by(*_LINE, "share").agg(pl.col("grams").sum()).select(_SUMS.names()),
        lines.group_by(_LINE).agg(pl.col("sku").n_unique().alias("skus")),
        exempt.group_by("exempt").agg(pl.col("grams").sum(), pl.col("sku").n_unique().alias("skus")),
        _unplaced(gaps, weighed, skus),
    )


def combine(blocks: Iterable[Counted]) -> Counted:
    """Return the blocks as one. Raise `OverflowError` beyond 10^14 tonnes."""
    nothing = Counted(*(pl.DataFrame(schema=schema) for schema in (_SUMS, _SKUS, _EXCLUDED, _UNPLACED)))
    sums, skus, excluded, unplaced = (pl.concat(frames) for frames in zip(nothing, *blocks, strict=True))
    within_reach(sums["grams"])
    within_reach(unplaced["grams"])
    return Counted(
        sums.group_by(*_LINE, "share").agg(pl.col("grams").sum()),
        skus.group_by(_LINE).agg(pl.col("skus").sum()),
        excluded.group_by("exempt").agg(pl.col("grams", "skus").sum()).sort("exempt"),
        unplaced.sort("sku_code"),
    )


def years_placed(volumes: pl.DataFrame, jurisdictions: Mapping[str, Jurisdiction]) -> list[int]:
    """Return the calendar years with units on a market of the Union, the latest first."""
    union = _union(volumes["market"], jurisdictions)
    placed = volumes.filter(pl.col("market").is_in(union), pl.col("half") == 0, pl.col("units_placed") > 0)
    return sorted(placed["year"].unique().to_list(), reverse=True)


def _union(codes: pl.Series, jurisdictions: Mapping[str, Jurisdiction]) -> list[str]:
    """Return those of the codes that are a market of the Union."""
    union = {entry.code for entry in jurisdictions.values() if entry.region == "eu"}
    return [code for code in codes.drop_nulls().unique() if market_of(code, jurisdictions) in union]


def _asked_skus(portfolio: Portfolio, year: int, jurisdictions: Mapping[str, Jurisdiction]) -> pl.DataFrame:
    """Return the numbered SKUs with their `units` of the year in the Union; null where they may be there unrecorded."""
    union = _union(portfolio.volumes["market"], jurisdictions)
    named = _union(portfolio.skus["markets"].explode(), jurisdictions)
    markets = pl.col("markets").fill_null([])
    may_be_there = (markets.list.len() == 0) | markets.list.eval(pl.element().is_in(named)).list.any()
    of_year = portfolio.volumes.filter(pl.col("year") == year, pl.col("half") == 0, pl.col("market").is_in(union))
    units = of_year.drop_nulls("units_placed").group_by("sku_code").agg(pl.col("units_placed").sum().alias("units"))
    skus = portfolio.skus.with_columns(
        pl.col("archived").fill_null(value=False), transports_dangerous_goods().alias("is_dangerous")
    ).join(units, on="sku_code", how="left")
    is_silent = pl.col("units").is_null() & ~pl.col("archived") & may_be_there
    return skus.filter((pl.col("units") > 0) | is_silent).sort("sku_code").with_row_index("sku")


def _with_shares(parts: pl.DataFrame, portfolio: Portfolio, skus: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Return the parts with the `share` that each declares; a SKU's own is that of its one body alone."""
    graph = portfolio.components.join(skus.select("sku", "sku_code"), on="sku_code")
    position, of_graph = pl.col("position").cast(pl.UInt32), pl.lit(value=False).alias("is_own")
    share = pl.col(SHARE).alias("share")
    shares = pl.concat([graph.select("sku", position, of_graph, share), own.select("sku", *_OWN, share)])
    return parts.join(shares, on=_PART, how="left")


def _plastic(parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the parts that are plastic, or may be, with what is said of their unit and SKU.

    What prints, glues or varnishes is no main structural component (Article 3(1)(52)), and so no plastic part.
    `is_small` is a part below 5 % of its SKU, however heavy parts without a weight are; `settles` are the fields that
    would give the unit its category; `pet` is that of `pet_verdicts`, `of_plastic` whether the body is of plastic.
    """
    group, kind = pl.col("group"), pl.col("kind")
    structural = ~pl.col("component_type").is_in(WEIGHTLESS)
    coats = (pl.col("component_type") == "coating") & pl.col("family").eq_missing(pl.lit("plastic"))
    is_unnamed = coats & (kind == "other")
    is_plastic = structural & ((kind == "plastic") | is_unnamed) & ~group.str.starts_with("C_")
    may_be = structural & (group.is_in(_MAY_BE) | group.str.starts_with("C_"))
    is_small = pl.col("grams") * SMALL_PARTS < pl.col("grams").sum().over("sku")
    units = categorise(parts, rules).select(
        "sku", "unit", "category_no", "reason", pl.col("fields").fill_null([]).alias("settles")
    )
    numbers = pl.col("category_no").str.split("|").list.eval(pl.element().is_in(_PLASTIC))
    bodies = units.filter(pl.col("unit") < 0).select(
        "sku",
        pl.when((pl.col("category_no") != "") & (numbers.list.all() == numbers.list.any()))
        .then(numbers.list.all())
        .alias("of_plastic"),
    )
    told = parts.with_columns(
        is_plastic.alias("is_plastic"),
        (is_small & ~pl.col("lacks_weight")).alias("is_small"),
        pl.col("lacks_weight").any().over("sku").alias("lacks_any"),
        pl.when(pl.col("lacks_weight")).then(field_of("weight_g", "weight_grams")).alias("weight_field"),
    ).with_columns(pl.col("weight_field").drop_nulls().implode().over("sku").alias("weight_fields"))
    plastic = told.filter(is_plastic | may_be)
    percent = pl.when(group == "PET").then(100.0).when(~group.str.starts_with("?") & ~is_unnamed).then(0.0)
    of_sku = plastic.filter("is_plastic").select(
        pl.col("sku").alias("sku_code"),
        pl.when(~pl.col("lacks_weight")).then("grams").cast(pl.Float64).alias("grams"),
        percent.alias("pet"),
    )
    verdicts = pet_verdicts(of_sku).rename({"sku_code": "sku"})
    with_units = plastic.join(units, on=("sku", "unit"), how="left")
    return with_units.join(verdicts, on="sku", how="left").join(bodies, on="sku", how="left")


def _gaps(parts: pl.DataFrame, rules: RuleSet) -> Iterator[pl.DataFrame]:
    """Yield what keeps parts out of an average: their key, the `reason`, and the `fields` that would settle it."""
    is_plastic, minimum = pl.col("is_plastic"), pl.col("minimum")
    is_composite = pl.col("group").str.starts_with("C_")
    polymer = pl.concat_list(field_of("polymer_or_grade", "material_subtype"))
    contact = minimum == "contact"
    of_article_9 = pl.col("packaging_format").is_in(of_article_9_1(parts["packaging_format"], rules))
    may_compost = (pl.col("group") == COMPOSTABLE) | (is_plastic & of_article_9)
    for reason, holds, fields in (
        ("units_missing", pl.col("units").is_null(), _list("volumes")),
        ("weight_missing", pl.col("lacks_any"), pl.col("weight_fields")),
        ("weight_missing", pl.col("is_beyond"), _list("volumes")),
        ("composite_unsplit", is_composite, _list("components")),
        ("material_unspecified", ~is_plastic & ~is_composite, polymer),
        ("site_missing", pl.col("manufacturing_site_id").is_null(), _list("manufacturing_site_id")),
        ("contact_unknown", minimum == "unknown", _list("food_contact", "use_contexts")),
        ("exemption_open", minimum == "exemption", _list()),
        ("compostable_open", may_compost, _list()),
        ("pet_unknown", contact & (pl.col("pet") == "undecided"), polymer),
        ("material_unspecified", (minimum == "sup_bottle") & pl.col("of_plastic").is_null(), _list("components")),
    ):
        yield parts.filter(holds).select(*_PART, pl.lit(reason).alias("reason"), fields.alias("fields"))
    is_open = is_plastic & (pl.col("reason") != "") & (pl.col("reason") != "weight_missing")
    yield parts.filter(is_open).select(*_PART, "reason", pl.col("settles").alias("fields"))


def of_article_9_1(formats: pl.Series, rules: RuleSet) -> list[str]:
    """Return those of the texts that name a format which must be compostable by Article 9(1)."""
    texts = [text for text in formats.unique() if text]
    return [text for text in texts if (row := resolve_format(text, rules)) and "compostable_art_9" in row.flags]


def _list(*fields: str) -> pl.Expr:
    return pl.lit(list(fields), dtype=pl.List(pl.String()))


def _bare(own: pl.DataFrame) -> pl.DataFrame:
    """Return the gap of SKUs of which nobody knows what they are made of."""
    unsaid = own.filter(pl.col("material").is_null())
    return unsaid.select("sku", *_OWN, pl.lit("material_missing").alias("reason"), _list("material").alias("fields"))


def _point() -> pl.Expr:
    """Return the point of a placed part; a bottle that is not of plastic has caps that are ordinary contact plastic."""
    is_said = (pl.col("minimum") == "rest") | ((pl.col("minimum") == "sup_bottle") & pl.col("of_plastic"))
    of_contact = pl.when(pl.col("pet") == "below").then(pl.lit("pet_contact")).otherwise(pl.lit("other_contact"))
    return pl.when(is_said).then("minimum").otherwise(of_contact)


def _unplaced(gaps: pl.DataFrame, weighed: pl.DataFrame, skus: pl.DataFrame) -> pl.DataFrame:
    """Return a row per SKU of the gaps: the grams of its parts that have no place, all reasons and fields."""
    grams = weighed.join(gaps, on=_PART, how="semi").group_by("sku").agg(pl.col("grams").sum())
    asked = gaps.group_by("sku", maintain_order=True).agg(
        pl.col("reason").unique(maintain_order=True).alias("reasons"),
        pl.col("fields").explode().drop_nulls().unique(maintain_order=True),
    )
    rows = asked.join(grams, on="sku", how="left").join(skus, on="sku")
    return rows.select(pl.col(name).cast(dtype) for name, dtype in _UNPLACED.items())


def summary(
    counted: Counted, years: list[int], rules: RuleSet, sites: Mapping[str, tuple[str, str]], lang: str
) -> ContentSummary:
    """Return the averages with bounds and what is to find, of a year that the caller names.

    `sites` has, by the id of a plant, the id of the one that it means by now, and its name.
    """
    stays = pl.col("site_id").replace({site: kept for site, (kept, _) in sites.items()})
    of_line: dict[_Key, dict[float | None, Decimal]] = {}
    sums = counted.sums.group_by(stays, *_LINE[1:], "share").agg(pl.col("grams").sum())
    for site, number, point, share, grams in sums.iter_rows():
        of_line.setdefault((site, number, point), {})[share] = grams
    counts = counted.skus.group_by(stays, *_LINE[1:]).agg(pl.col("skus").sum())
    skus = {(site, number, point): of for site, number, point, of in counts.iter_rows()}
    names = dict(sites.values())
    order = sorted(of_line, key=lambda key: (names.get(key[0], ""), key[0], int(key[1]), POINTS[key[2]]))
    return {
        "year": None,
        "years": years,
        "tonnes": _written(sum(counted.sums["grams"], Decimal(0))),
        "unplaced_tonnes": _written(counted.unplaced["grams"].sum()),
        "averages": [_line(key, of_line[key], skus[key], rules, names.get(key[0])) for key in order],
        "excluded": [
            {"reason": reason, **said(reason, lang), "tonnes": _written(of), "skus": count}
            for reason, of, count in counted.excluded.iter_rows()
        ],
        "open": [said(key, lang) for key in OPEN_ALWAYS],
    }


_Key = tuple[str, str, str]
"""Plant, category and point of an average."""


def _line(key: _Key, grams: Mapping[float | None, Decimal], skus: int, rules: RuleSet, site: str | None) -> ContentLine:
    site_id, number, point = key
    whole, unknown = (Fraction(of) for of in (sum(grams.values(), Decimal(0)), grams.get(None, Decimal(0))))
    content = sum(
        (Fraction(str(share)) * Fraction(of) for share, of in grams.items() if share is not None), Fraction(0)
    )
    bounds = [(content + more) / whole if whole else None for more in (0, 100 * unknown)]
    line = {
        "site_id": site_id,
        "site_name": site,
        "category_no": number,
        "packaging_type": "{material}: {packaging_type}".format(**categories()[number]),
        "point": POINTS[point],
        "skus": skus,
        "tonnes": _written(whole),
        "unknown_tonnes": _written(unknown),
        "known_percent": _percent(content / (whole - unknown) if whole > unknown else None),
        "least_percent": _percent(bounds[0]),
        "most_percent": _percent(bounds[1]),
    }
    for year in YEARS:
        minimum = Fraction(rules.limits[f"rc_{point}_{year}"].value)
        line[f"minimum_{year}_percent"] = _percent(minimum)
        for name, bound in zip(("least", "most"), reversed(bounds), strict=True):
            missing = None if bound is None else max(minimum - bound, Fraction(0))
            line[f"find_{year}_{name}_percent"] = _percent(missing)
            line[f"find_{year}_{name}_tonnes"] = _written((missing or 0) * whole / 100)
    return cast(ContentLine, line)


def _percent(value: Fraction | None) -> Decimal | None:
    return None if value is None else half_up(value, Decimal("0.0001"))


def _written(grams: Number | Fraction | Decimal) -> Number:
    """Return tonnes as a figure is written: an exact decimal, which JSON has as a number."""
    return cast(Number, half_up(Fraction(grams) / 1_000_000, Decimal("0.000001")))


def unplaced_row(row: Mapping[str, Any], lang: str) -> UnplacedContent:
    """Return a row of `unplaced` with its questions in a language."""
    return {
        "sku_code": row["sku_code"],
        "archived": row["archived"],
        "units": row["units"],
        "tonnes": None if row["grams"] is None else _written(row["grams"]),
        "asks": [{"reason": reason, **said(reason, lang)} for reason in row["reasons"]],
        "fields": row["fields"],
    }


@cache
def _sentences() -> Mapping[str, Row]:
    return {row["key"]: row for row in rows(RULES / "recycled_content" / "sentences.csv")}


def said(key: str, lang: str) -> ContentSentence:
    """Return what is asked or exempt, in a language, with its article."""
    row = _sentences()[key]
    return {"sentence": row[lang], "reference": cited(row["article"], lang)}
