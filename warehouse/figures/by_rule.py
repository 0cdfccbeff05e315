"""Holds each SKU of a snapshot against one rule: recycled content of 2030, bisphenol A, format bans.

The rules are law of the Union: a SKU that is sold outside of it alone, or that is archived, has no state. Each other
SKU that the rule is about has one. `compliance.readiness` lists the rules. Labels on packaging are no part of a
snapshot (`warehouse.skus.search`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple  # Any: rows of frames, as polars yields them

import polars as pl

from compliance.recycled_content import (
    COMPOSTABLE,
    SMALL_PARTS,
    asked_minimum,
    of_article_9_1,
    pet_verdicts,
    transports_dangerous_goods,
)
from compliance.rollup.parts import WEIGHTLESS
from compliance.rule_rows import RuleSet
from compliance.scopes import is_in_union
from compliance.weights import PLACES, judge_shares
from compliance.words import resolve_material
from schemas.json_values import JsonObject
from warehouse.figures.reader import FACTS, Now, prepare, reader
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import ARCHIVED

RECYCLED_STATES: Final = ("below", "undecided", "to_decide", "meets")
"""The states, the gravest first. `to_decide`: an exemption may apply, or contact, use or material are not recorded."""
_PET_CONTACT: Final = "rc_pet_contact_2030"
_OTHER_CONTACT: Final = "rc_other_contact_2030"
_BY_CODE: Final = {"sup_bottle": "rc_sup_bottle_2030", "rest": "rc_rest_2030"}
_BODY_OPEN: Final = "body"
"""What is asked of a beverage bottle of which nobody knows whether it is of plastic."""
_MAY_COMPOST: Final = "whether it is compostable plastic packaging, which Article 7(4)(e) exempts"
_MAY_BE_PLASTIC: Final = "what it is made of, and so whether it is plastic (Article 3(1)(52))"
_NEITHER: Final = ("composite", "bio_based", "other")
"""Materials that may be plastic, or not."""
_COMPOSITE: Final = "C_"
"""What the groups of materials begin with that are paper, glass or metal with plastic."""
_PRINTS: Final = pl.col("component_type").is_in(WEIGHTLESS)
"""What prints, glues or varnishes: no plastic part, and needing no weight, as in the averages."""
_PART_COLUMNS: Final = (
    *("sku_code", "position", "component_type", "material_family", "polymer_or_grade", "weight_g"),
    "recycled_content_percent",
)
_SKU_COLUMNS: Final = (
    "sku_code",
    "name",
    "material",
    "material_subtype",
    "weight_grams",
    "recycled_content_percent",
    "packaging_format",
    "reusable",
    "food_contact",
    "use_contexts",
    "packaging_level",
)


def hold_against_minimum(snapshot: Snapshot, rules: RuleSet) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the SKUs with plastic, and their plastic parts.

    SKUs have `sku_code`, `name`, `state`, `minimum` (the rule's code; null where it is open), `percent`, `least` and
    `most` percent of recycled plastic, `weights` (the fields of weights without which a part may be below 5 % of the
    whole, and so exempt); parts have `sku_code`, `path` (of the part, empty for the SKU itself), `grams`, `share`,
    `pet`.
    """
    skus = _sold_in_the_union(snapshot).filter(~transports_dangerous_goods())
    components = pl.read_parquet(snapshot.components, columns=list(_PART_COLUMNS)).join(skus, on="sku_code", how="semi")
    parts = _plastic_parts(components, skus, rules)
    minimums = {
        code: float(limit.value)
        for code, limit in rules.limits.items()
        if code.startswith("rc_") and code.endswith("_2030") and limit.value is not None
    }
    skus_asked = _skus_asked(components, skus, parts, rules)
    contact = pl.col("minimum") == "contact"
    of_pet, of_other = pl.lit(_PET_CONTACT), pl.lit(_OTHER_CONTACT)
    skus_asked = skus_asked.with_columns(
        first=pl.when(contact & (pl.col("pet") == "meets"))
        .then(of_other)
        .when(contact)
        .then(of_pet)
        .otherwise("minimum"),
        second=pl.when(contact & (pl.col("pet") == "below"))
        .then(of_pet)
        .when(contact)
        .then(of_other)
        .otherwise("minimum"),
    )
    with_percents = skus_asked
    for name in ("first", "second"):
        percents = with_percents.select(
            "sku_code", pl.col(name).replace_strict(minimums, default=None).alias("minimum")
        )
        judged = judge_shares(parts.join(percents, on="sku_code"))
        with_percents = with_percents.join(percents.rename({"minimum": f"{name}_percent"}), on="sku_code")
        judged = _with_open_exemptions(judged, parts, components, percents)
        with_percents = with_percents.join(
            judged.rename({"verdict": f"{name}_verdict"}), on="sku_code", suffix=f"_{name}"
        )
    agreed = pl.when(pl.col("first_verdict") == pl.col("second_verdict")).then("first_verdict")
    is_one = pl.col("first") == pl.col("second")
    to_decide = pl.col("minimum").is_in(["exemption", "unknown", _BODY_OPEN]) | pl.col("doubt").is_not_null()
    judged = with_percents.select(
        "sku_code",
        "name",
        pl.when(to_decide).then(pl.lit("to_decide")).otherwise(agreed.fill_null("undecided")).alias("state"),
        pl.col("minimum").alias("asked"),
        "doubt",
        pl.when(is_one & ~to_decide).then("first").alias("minimum"),
        pl.when(is_one & ~to_decide).then("first_percent").alias("percent"),
        "least",
        "most",
        "weights",
    )
    return judged, parts


def _sold_in_the_union(snapshot: Snapshot) -> pl.DataFrame:
    """Return the SKUs that are not archived and of which a market is in the Union, or none is given."""
    held = pl.read_parquet(snapshot.skus, columns=[*_SKU_COLUMNS, ARCHIVED, "markets_in_effect"])
    markets = pl.col("markets_in_effect").fill_null([])
    inside = list(filter(is_in_union, held["markets_in_effect"].explode().drop_nulls().unique()))
    may_be_there = (markets.list.len() == 0) | markets.list.eval(pl.element().is_in(inside)).list.any()
    return held.filter(~pl.col(ARCHIVED).fill_null(value=False), may_be_there).select(_SKU_COLUMNS)


def _with_open_exemptions(
    judged: pl.DataFrame, parts: pl.DataFrame, components: pl.DataFrame, percents: pl.DataFrame
) -> pl.DataFrame:
    """Return the verdicts where any part may be exempt: while a weight is missing, which are below 5 % is not known.

    It `meets` then if each part does, and is `below` if each is, and all are plastic, so many that one is not exempt.
    """
    weighing = components.filter(~_PRINTS | pl.col("weight_g").is_not_null())
    is_open = (pl.len() > 1) & pl.col("weight_g").has_nulls()
    opened = weighing.group_by("sku_code").agg(
        is_open.alias("is_open"),
        pl.len().alias("every"),
        pl.format("components[{}].weight_g", pl.col("position").filter(pl.col("weight_g").is_null()).sort()).alias(
            "weights"
        ),
    )
    shares = parts.group_by("sku_code").agg(
        pl.col("share").fill_null(0.0).min().alias("lowest"),
        pl.col("share").fill_null(100.0).max().alias("highest"),
        pl.len().alias("plastics"),
    )
    known = judged.join(opened, on="sku_code", how="left").join(shares, on="sku_code").join(percents, on="sku_code")
    all_plastic = (pl.col("plastics") == pl.col("every")) & (pl.col("every") <= SMALL_PARTS)
    of_each = (
        pl.when(pl.col("lowest") >= pl.col("minimum"))
        .then(pl.lit("meets"))
        .when(all_plastic & (pl.col("highest") < pl.col("minimum")))
        .then(pl.lit("below"))
        .otherwise(pl.lit("undecided"))
    )
    return known.select(
        *judged.drop("verdict").columns,
        pl.when("is_open").then(of_each).otherwise("verdict").alias("verdict"),
        pl.when("is_open").then("weights").alias("weights"),
    )


def _skus_asked(components: pl.DataFrame, skus: pl.DataFrame, parts: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the SKUs with plastic: what is asked of each (`minimum`), its `doubt`, and whether it is `pet`."""
    asked = asked_minimum(skus.join(parts, on="sku_code", how="semi"), rules).join(
        _bodies(components, skus), on="sku_code", how="left"
    )
    doubts = parts.group_by("sku_code").agg(pl.col("doubt").drop_nulls().sort().first())
    is_of_9_1 = pl.col("packaging_format").is_in(of_article_9_1(skus["packaging_format"], rules))
    told = asked.join(doubts, on="sku_code").select(
        "sku_code",
        "name",
        _asked().replace(_BY_CODE).alias("minimum"),
        pl.when(is_of_9_1).then(pl.lit(_MAY_COMPOST)).otherwise("doubt").alias("doubt"),
    )
    return told.join(pet_verdicts(parts), on="sku_code")


def facts_of(row: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Return what an answer says of one SKU of `hold_against_minimum`, from its row and its parts."""
    is_known = row["least"] == row["most"]
    return {
        "minimum_rule": row["minimum"],
        "minimum_percent": row["percent"],
        "recycled_plastic_percent": round(row["least"], 2) if is_known else None,
        **({} if is_known else {"recycled_plastic_between": [round(row["least"], 2), round(row["most"], 2)]}),
        "facts_missing": list(_missing(row, parts)),
    }


def _missing(row: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the facts that are missing, and nothing that is there."""
    if row["asked"] == "unknown":
        yield from ("food_contact", "use_contexts")
    if row["asked"] == _BODY_OPEN:
        yield "the material of the body: a bottle of glass or metal is no plastic bottle"
    if row["doubt"]:
        yield row["doubt"]
    if row["asked"] == "exemption":
        yield "whether an exemption of Article 7(4) applies"
    if row["state"] != "undecided":
        return
    yield from row["weights"] or ()
    weighs = any(part["grams"] is None or part["grams"] > 0 for part in parts)
    for part in parts:
        counts = not weighs or part["grams"] is None or part["grams"] > 0 or len(parts) == 1
        if part["share"] is None and counts:
            yield f"{part['path']}recycled_content_percent"
        if not row["weights"] and len(parts) > 1 and (part["grams"] is None or not weighs):
            yield f"{part['path']}weight_g"
        if row["minimum"] is None and part["pet"] is None and counts:
            yield f"{part['path']}polymer_or_grade" if part["path"] else "material_subtype"


def _bodies(components: pl.DataFrame, skus: pl.DataFrame) -> pl.DataFrame:
    """Return `of_plastic` by SKU: whether its bodies are of plastic; null where that is not known, or they differ.

    A SKU without a body in its graph is of its own material.
    """
    of_graph = components.filter(pl.col("component_type") == "body").select("sku_code", family="material_family")
    own = skus.select("sku_code", family="material").join(of_graph, on="sku_code", how="anti")
    is_plastic = pl.when(~pl.col("family").is_in(_NEITHER)).then(pl.col("family") == "plastic")
    bodies = (
        pl.concat([of_graph, own])
        .group_by("sku_code")
        .agg(least=is_plastic.fill_null(value=False).min(), most=is_plastic.fill_null(value=True).max())
    )
    return bodies.select("sku_code", of_plastic=pl.when(pl.col("least") == pl.col("most")).then("least"))


def _asked() -> pl.Expr:
    """Return what is asked of a SKU: a bottle of glass or metal is no plastic bottle, with its cap (Article 3(1)(54)).

    Directive (EU) 2019/904, Part F of the Annex, excepts glass and metal bottles that have caps of plastic.
    """
    is_bottle = pl.col("minimum") == "sup_bottle"
    of_plastic = pl.col("of_plastic")
    return (
        pl.when(is_bottle & of_plastic.is_null())
        .then(pl.lit(_BODY_OPEN))
        .when(is_bottle & ~of_plastic)
        .then(pl.lit("contact"))
        .otherwise("minimum")
    )


def _plastic_parts(components: pl.DataFrame, skus: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Return the plastic parts without riders, and without those below 5 % of the weight; a SKU may be its own part.

    `doubt` says what has to be known of a part that may be exempt, or no plastic. A composite or bio-based one is
    plastic where its text names one (Article 3(1)(53)); `pet` is null where nobody knows which plastic it is.
    """
    whole = pl.col("weight_g").sum().over("sku_code")
    is_small = (pl.col("weight_g") * SMALL_PARTS).round(PLACES) < whole.round(PLACES)
    of_graph = components.filter(~_PRINTS & ~is_small.fill_null(value=False)).select(
        "sku_code",
        pl.format("components[{}].", "position").alias("path"),
        pl.col("material_family").alias("family"),
        pl.col("weight_g").alias("grams"),
        pl.col("recycled_content_percent").alias("share"),
        pl.col("polymer_or_grade").alias("text"),
    )
    itself = skus.join(components, on="sku_code", how="anti").select(
        "sku_code",
        pl.lit("").alias("path"),
        pl.col("material").alias("family"),
        pl.col("weight_grams").alias("grams"),
        pl.col("recycled_content_percent").alias("share"),
        pl.col("material_subtype").alias("text"),
    )
    may_be = pl.col("family").is_null() | pl.col("family").is_in(_NEITHER)
    every = pl.concat([of_graph, itself]).filter((pl.col("family") == "plastic") | may_be)
    named = [(text, resolve_material(text, rules)) for text in every["text"].unique() if text]
    known = {text: rules.materials[code] for text, code in named if code and rules.materials[code].specified}
    families, groups = ({text: getattr(of, name) for text, of in known.items()} for name in ("family", "group"))
    is_pet = {text: 100.0 if material.group == "PET" else 0.0 for text, material in known.items()}
    kind = pl.col("text").replace_strict(families, default=None, return_dtype=pl.String)
    group = pl.col("text").replace_strict(groups, default=None, return_dtype=pl.String)
    is_open = may_be & (kind.is_null() | group.str.starts_with(_COMPOSITE))
    return every.filter(~may_be | is_open | (kind == "plastic")).select(
        *("sku_code", "path", "grams", "share"),
        pl.col("text").replace_strict(is_pet, default=None, return_dtype=pl.Float64).alias("pet"),
        pl.when(group == COMPOSTABLE)
        .then(pl.lit(_MAY_COMPOST))
        .when(is_open)
        .then(pl.lit(_MAY_BE_PLASTIC))
        .alias("doubt"),
    )


_BPA: Final = """
CREATE TEMPORARY TABLE judged AS
WITH parts AS (
    SELECT sku_code, bool_or(bpa_status = 'above_limit') AS has_bpa,
           bool_and(coalesce(bpa_status, 'unknown') <> 'unknown') AS all_say
    FROM components GROUP BY sku_code
)
SELECT sku_code, name, CASE WHEN bpa_status = 'above_limit' OR has_bpa THEN 'contains'
        WHEN coalesce(bpa_status, 'unknown') <> 'unknown' OR all_say THEN 'declared_free' ELSE 'no_statement' END
    AS said, CASE WHEN food_contact OR said = 'declared_free' THEN said ELSE 'undecided' END AS state,
    {'bpa_status': bpa_status, 'facts_missing': CASE WHEN food_contact THEN [] ELSE ['food_contact'] END} AS facts
FROM skus LEFT JOIN parts USING (sku_code)
WHERE coalesce(food_contact, true) AND (len(markets_in_effect) = 0 OR list_has_any(markets_in_effect, $inside))
"""
_MARKETS: Final = "SELECT DISTINCT unnest(markets_in_effect) FROM skus"
_BANS: Final = """
CREATE TEMPORARY TABLE judged AS
WITH {facts}
SELECT sku_code, name, CASE WHEN len(list_filter(flags, lambda flag: flag.certainty = 'certain')) > 0 THEN 'affected'
        WHEN len(flags) > 0 THEN 'depends' ELSE 'undecided' END AS state,
    {{'bans': list_transform(flags, lambda flag: {{'code': flag.code, 'applies_from': flag.applies_from::VARCHAR,
        'certainty': flag.certainty, 'why': flag.text}}),
      'facts_missing': annex_v_undecided}} AS facts
FROM facts WHERE len(flags) > 0 OR len(annex_v_undecided) > 0
"""
_COUNTED: Final = "SELECT state, count(*) FROM judged GROUP BY state ORDER BY count(*) DESC, state"
_PAGE: Final = """
SELECT sku_code, name, state, facts FROM judged WHERE $state IS NULL OR state = $state
ORDER BY array_position($order, state), sku_code LIMIT $limit OFFSET $offset
"""
STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "recycled_content_2030": RECYCLED_STATES,
    "bpa_in_food_contact": ("contains", "undecided", "no_statement", "declared_free"),
    "format_bans": ("affected", "depends", "undecided"),
}
"""The states of each rule, the gravest first, which is the order of a list."""


class Judged(NamedTuple):
    """How many SKUs have each state, and a page of the SKUs with the facts that gave it."""

    counts: dict[str, int]
    items: list[JsonObject]


def by_rule(
    snapshot: Snapshot, now: Now, rules: RuleSet, key: str, *, state: str | None, limit: int, offset: int
) -> Judged:
    """Judge the SKUs that a rule of `STATES` is about; the page has those of one state, or all, the gravest first."""
    if key == "recycled_content_2030":
        return _recycled(snapshot, rules, state=state, limit=limit, offset=offset)
    with reader(snapshot) as answers:
        if key == "bpa_in_food_contact":
            inside = [code for (code,) in answers.rows(_MARKETS) if is_in_union(code)]
            answers.rows(_BPA, inside=inside)
        else:
            prepare(answers)
            answers.rows(_BANS.format(facts=FACTS), market=None, today=now.today)
        counts = {str(name): int(count) for name, count in answers.rows(_COUNTED)}
        page = answers.rows(_PAGE, state=state, order=list(STATES[key]), limit=limit, offset=offset)
    items = [{"sku_code": code, "name": name, "state": state, **facts} for code, name, state, facts in page]
    return Judged({name: counts.get(name, 0) for name in STATES[key]}, items)


def _recycled(snapshot: Snapshot, rules: RuleSet, *, state: str | None, limit: int, offset: int) -> Judged:
    """Judge recycled content over frames: its bounds are a function of the rules of the law, not of SQL."""
    judged, parts = hold_against_minimum(snapshot, rules)
    counts = dict(judged["state"].value_counts().iter_rows())
    order = {name: place for place, name in enumerate(RECYCLED_STATES)}
    listed = judged if state is None else judged.filter(pl.col("state") == state)
    page = listed.sort(pl.col("state").replace_strict(order), "sku_code").slice(offset, limit)
    of_page = parts.join(page.select("sku_code"), on="sku_code", how="semi").partition_by("sku_code", as_dict=True)
    items = [
        {name: row[name] for name in ("sku_code", "name", "state")}
        | facts_of(row, of_page[row["sku_code"],].sort("path").to_dicts())
        for row in page.iter_rows(named=True)
    ]
    return Judged({name: counts.get(name, 0) for name in RECYCLED_STATES}, items)
