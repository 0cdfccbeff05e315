"""Article 7's averages: worked examples by hand, a naive sum of any portfolio, and what has no place in an average."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance import catalogue
from compliance.filings.annex_ix import categories, questions
from compliance.grading.units import parts, units
from compliance.recycled_content import SHARE, combine, count, said, summary, unplaced_row, years_placed
from compliance.rollup.parts import Portfolio
from compliance.ruleset import load
from compliance.tables import RULES, rows
from compliance.words import resolve_format
from schemas.messages import LANGUAGES
from tests.compliance.portfolios import TRUTHS, frames, in_blocks, portfolios
from tests.compliance.test_annex_ix import MORE_FORMATS, number_of, off, weight
from tests.drawing import examples

PLACES = {entry.code: entry for entry in catalogue.pinned()}
TEXTS = pl.List(pl.String)
KINDS = {
    SHARE: pl.Float64,
    "food_contact": pl.Boolean,
    "manufacturing_site_id": pl.String,
    "markets": pl.List(pl.String),
}
LINE = ("component_type", "material_family", "polymer_or_grade", "weight_g", "separable", SHARE)
PLASTIC = {number for number, row in categories().items() if row["material"] == "Plastic"}


def blocks_of(skus):
    found = frames(skus)
    own = {name: pl.Series(name, [each.get(name) for each in skus], dtype=kind) for name, kind in KINDS.items()}
    shares = [line.get(SHARE) for each in skus for line in each.get("components") or []]
    components = found.components.with_columns(pl.Series(SHARE, shares, dtype=pl.Float64))
    return Portfolio(found.skus.with_columns(**own), components, found.volumes)


def counted(skus, year=2025):
    return combine([count(blocks_of(skus), year, PLACES, load())])


def reported(skus, year=2025, sites=None):
    return stated(counted(skus, year), sites or {"LYON": ("LYON", "Lyon"), "GENT": ("GENT", "Gent")})


def stated(found, sites):
    told = summary(found, [2025], load(), sites, "en")
    return told | {
        "lines": told["averages"],
        "unplaced": [unplaced_row(row, "en") for row in found.unplaced.to_dicts()],
    }


def sku(code, pack, lines, units=1_000_000, **others):
    """A SKU of Lyon with its units in Germany, of parts (type, family, text, grams, comes off, recycled percent)."""
    rows_of = [{"market": "DE", "year": 2025, "half": 0, "units_placed": units}]
    components = [dict(zip(LINE, line, strict=False)) for line in lines]
    made = {"sku_code": code, "packaging_format": pack, "components": components, "volumes": rows_of}
    return {**made, "manufacturing_site_id": "LYON", **others}


BOTTLE = sku(
    "COLA",
    "bottle",
    [
        ("body", "plastic", "PET", 25.0, None, 50),
        ("cap", "plastic", "HDPE", 2.5, None, None),
        ("label", "plastic", "PP", 0.7, None, 100),
    ],
    use_contexts=["beverage"],
)


def test_a_bottle_whose_cap_says_nothing_by_hand():
    # 0.7 of 28.2 g is below 5 %: exempt. Of 27.5 t 25 t have 50 %, 2.5 t nobody knows: 12.5 t to 15 t of 27.5 t.
    told = reported([BOTTLE])
    [line] = told["lines"]
    assert (line["site_name"], line["category_no"], line["point"], line["skus"]) == ("Lyon", "7", "c", 1)
    assert (line["tonnes"], line["unknown_tonnes"], line["known_percent"]) == (Decimal("27.5"), Decimal("2.5"), 50)
    assert (line["least_percent"], line["most_percent"]) == (Decimal("45.4545"), Decimal("54.5455"))
    assert (line["minimum_2030_percent"], line["minimum_2040_percent"]) == (30, 65)
    assert (line["find_2030_least_tonnes"], line["find_2030_most_tonnes"]) == (0, 0)
    # 65 % of 27.5 t are 17.875 t: 2.875 t are missing where all the cap is recycled, 5.375 t where nothing is.
    assert (line["find_2040_least_tonnes"], line["find_2040_most_tonnes"]) == (Decimal("2.875"), Decimal("5.375"))
    assert (line["find_2040_least_percent"], line["find_2040_most_percent"]) == (Decimal("10.4545"), Decimal("19.5455"))
    [small] = told["excluded"]
    assert (small["reason"], small["tonnes"], small["skus"]) == ("small_part", Decimal("0.7"), 1)
    assert small["reference"].endswith("Article 7(5)(b)")
    assert any("three litres" in each["sentence"] for each in told["open"])  # 3(1)(54): no field has the volume
    assert (told["unplaced"], told["tonnes"]) == ([], Decimal("27.5"))
    assert "post-consumer" in told["open"][0]["sentence"]


def test_plants_types_and_points_are_apart_and_weighted_by_weight():
    tray = ("body", "plastic", "PP", 30.0, None, 0)
    heavy = ("body", "plastic", "PP", 10.0, None, 40)
    skus = [
        sku("A", "tray", [tray], food_contact=True),
        sku("B", "tray", [heavy], food_contact=True),
        sku("C", "tray", [heavy], food_contact=False),
        sku("D", "tray", [heavy], food_contact=True, manufacturing_site_id="GENT"),
        sku("E", "tray", [("body", "plastic", "PET", 20.0, None, 35)], food_contact=True),
        sku("F", "cup", [("body", "plastic", "PS", 5.0, None, 11)], use_contexts=["takeaway"]),  # 3(1)(3) and (49)
    ]
    found = {
        (row["site_name"], row["category_no"], row["point"]): row["least_percent"] for row in reported(skus)["lines"]
    }
    # A and B: 30 t of 0 % and 10 t of 40 % are 10 %.
    assert found == {
        ("Gent", "12", "b"): 40,
        ("Lyon", "12", "b"): 10,
        ("Lyon", "12", "d"): 40,
        ("Lyon", "8", "a"): 35,
        ("Lyon", "15", "b"): 11,
    }


def test_a_plant_that_was_merged_counts_with_the_one_that_stays():
    trays = [sku(site, "tray", [PP], food_contact=True, manufacturing_site_id=site) for site in ("LYON", "GENT")]
    [line] = reported(trays, sites={"LYON": ("GENT", "Gent"), "GENT": ("GENT", "Gent")})["lines"]
    assert (line["site_id"], line["skus"], line["tonnes"]) == ("GENT", 2, 18)


def test_units_count_in_every_market_of_the_union_and_in_no_other():
    volumes = [("DE", 2025, 3), ("FR", 2025, 4), ("GB", 2025, 90), ("US-CA", 2025, 90), ("DE", 2024, 5)]
    placed = [{"market": m, "year": y, "half": 0, "units_placed": 1_000_000 * u} for m, y, u in volumes]
    tray = sku("A", "tray", [("body", "plastic", "PP", 1.0, None, 1)], food_contact=True, volumes=placed)
    assert [row["tonnes"] for row in reported([tray])["lines"]] == [7]
    assert [row["tonnes"] for row in reported([tray], 2024)["lines"]] == [5]
    assert years_placed(frames([tray]).volumes, PLACES) == [2025, 2024]


def test_the_cap_of_a_glass_bottle_is_no_plastic_bottle():
    lines = [("body", "glass", "glass", 20, None, None), ("cap", "plastic", "PP", 2, True, 10)]
    [line] = reported([sku("A", "bottle", lines, use_contexts=["beverage"])])["lines"]
    assert (line["category_no"], line["point"], line["tonnes"]) == ("12", "b", 2)


PP = ("body", "plastic", "PP", 9.0, None, 10)
OPEN = [
    (sku("A", "tray", [PP], None, food_contact=True), {"units_missing"}, ["volumes"], None),
    (
        sku("A", "tray", [PP], food_contact=True, manufacturing_site_id=None),
        {"site_missing"},
        ["manufacturing_site_id"],
        9,
    ),
    (sku("A", "tray", [PP]), {"contact_unknown"}, ["food_contact", "use_contexts"], 9),
    (sku("A", "tray", [PP], use_contexts=["pharmaceutical"]), {"exemption_open"}, [], 9),
    (sku("A", "tray", [PP], use_contexts=["dangerous_goods"], packaging_level="sales"), {"exemption_open"}, [], 9),
    (sku("A", "tray", [("body", "plastic", "PLA", 9.0)], food_contact=True), {"compostable_open"}, [], 9),
    (sku("A", None, [PP], food_contact=True), {"format_missing"}, ["packaging_format"], 9),
    (
        sku("A", "tray", [("body", "plastic", None, 9.0)], food_contact=True),
        {"pet_unknown", "material_unspecified"},
        ["components[0].polymer_or_grade"],
        9,
    ),
    (
        sku("A", "tray", [PP, ("label", "paper", "paper", None)], food_contact=True),
        {"weight_missing"},
        ["components[1].weight_g"],
        9,
    ),
    (
        sku("A", "box", [("body", "other", None, 9.0)], food_contact=False),
        {"material_unspecified"},
        ["components[0].polymer_or_grade"],
        9,
    ),
    (
        sku("A", "box", [("body", "composite", "C81", 9.0)], food_contact=False),
        {"composite_unsplit"},
        ["components"],
        9,
    ),
    (sku("A", "box", [], food_contact=False), {"material_missing"}, ["material"], None),
    (sku("A", None, [PP], manufacturing_site_id=None), {"site_missing", "contact_unknown", "format_missing"}, None, 9),
]


@pytest.mark.parametrize(("pack", "reasons", "fields", "tonnes"), OPEN)
def test_what_has_no_place_is_listed_with_its_questions(pack, reasons, fields, tonnes):
    told = reported([pack, BOTTLE])
    [row] = told["unplaced"]
    assert (row["sku_code"], {ask["reason"] for ask in row["asks"]}, row["tonnes"]) == ("A", reasons, tonnes)
    assert fields is None or row["fields"] == fields
    assert told["tonnes"] == Decimal("27.5")


def test_what_is_exempt_or_was_never_in_the_union_is_not_asked():
    dangerous = sku("A", "drum", [PP], use_contexts=["dangerous_goods"], packaging_level="transport")
    [row] = reported([dangerous])["excluded"]
    assert (row["reason"], row["tonnes"]) == ("dangerous", 9)
    elsewhere = [
        sku("B", "tray", [PP], None, markets=["GB"]),
        sku("C", "tray", [PP], 0),
        sku("D", "tray", [PP], None, archived=True),
        sku("E", "jar", [("body", "glass", "glass", 99.0)]),
    ]
    told = reported(elsewhere)
    assert (told["lines"], told["unplaced"], told["excluded"]) == ([], [], [])


def test_every_reason_has_a_sentence_in_every_language():
    keys = [row["key"] for row in rows(RULES / "recycled_content/sentences.csv")]
    assert len(keys) == len(set(keys))
    assert set(questions()) <= set(keys)
    for key in keys:
        assert len({said(key, lang)["sentence"] for lang in LANGUAGES}) == len(LANGUAGES)


def naive(skus, year=2025):
    """Grams and content by plant, number and point; exempt grams; codes of SKUs that have something without a place."""
    lines, exempt, beside = defaultdict(lambda: [Fraction(0)] * 3), Fraction(0), set()
    for each in skus:
        held = [row for row in each["volumes"] if row["year"] == year and PLACES[row["market"]].region == "eu"]
        known = [row["units_placed"] for row in held if row["units_placed"] is not None]
        named = any(PLACES[market].region == "eu" for market in each["markets"] or ["DE"])
        if sum(known) or (not known and named):
            exempt += naively(each, known, lines, beside)
    return dict(lines), exempt, beside


def naively(each, known, lines, beside):
    """Add one SKU with the units of its markets to the lines, or its code to those beside; return exempt grams."""
    if not each["components"] and each["material"] is None:
        beside.add(each["sku_code"])
        return 0
    pack = resolve_format(each["packaging_format"], load()) if each["packaging_format"] else None
    weighed, exempt, body = parts(each, load()), Fraction(0), None
    total = sum((weight(member) for member in weighed), Fraction(0))
    lacks = any(lacking(member) for member in weighed)
    plastics = []
    for unit in units(weighed, pack) if weighed else ():
        number = number_of(unit, pack, is_body=not off(unit)) if unit.members else None
        body = number if unit.members and not off(unit) else body
        plastics += [(member, plastic(member), number) for member in unit.members if plastic(member)]
    point = point_of(each, pack, plastics, body)
    dangerous = "dangerous_goods" in (each["use_contexts"] or ()) and each["packaging_level"] == "transport"
    article_9 = bool(pack and "compostable_art_9" in pack.flags)
    for member, state, number in plastics:
        grams = weight(member) * sum(known)
        if dangerous or (weight(member) * 20 < total and not lacking(member)):
            exempt += grams if state == "plastic" else 0
        elif (
            lacks
            or not known
            or None in {number, point, each["manufacturing_site_id"]}
            or state == "open"
            or group_of(member) == "BIODEGRADABLE"
            or article_9
        ):
            beside.add(each["sku_code"])
        else:
            share = (each["components"][member.index] if each["components"] else each).get(SHARE)
            add(lines[each["manufacturing_site_id"], number, point], grams, share)
    return exempt


def lacking(member):
    return member.grams is None and not member.part.weightless


def add(line, grams, share):
    """Add grams, their content and those without a share to a line, in place."""
    new = (grams, 0 if share is None else Fraction(Decimal(str(share))) * grams, grams if share is None else 0)
    line[:] = [before + more for before, more in zip(line, new, strict=True)]


def plastic(member):
    material = member.part.material
    if member.part.component_type in {"ink", "adhesive", "varnish"}:
        return None
    if is_unnamed_coating(member):
        return "plastic"
    if material is None:
        family = member.part.family
        if family in {"paper", "metal", "glass", "wood", "textile"}:
            return None
        return "plastic" if family == "plastic" else "open"
    if material.group.startswith("C_"):
        return "open"
    return "plastic" if material.family == "plastic" else None


def point_of(each, pack, plastics, body):
    uses = set(each["use_contexts"] or ())
    if uses & {"pharmaceutical", "dangerous_goods"} or (each["food_contact"] is None and not uses):
        return None
    if not each["reusable"] and pack and pack.key == "bottle" and "beverage" in uses:
        if body is None:
            return None
        if body in PLASTIC:
            return "sup_bottle"
    elif not (each["food_contact"] or uses & {"food", "beverage", "cosmetics", "takeaway"}):
        return "rest"
    certain = [member for member, state, _ in plastics if state == "plastic"]
    pet = sum((weight(member) for member in certain if group_of(member) == "PET"), Fraction(0))
    unknown = sum((weight(member) for member in certain if group_of(member) == "?"), Fraction(0))
    whole = sum(map(weight, certain), Fraction(0))
    if not whole:  # all of it weighs nothing: any one part of PET and one of something else leave it open
        groups = {group_of(member) for member in certain}
        return "pet_contact" if groups == {"PET"} else "other_contact" if not groups & {"PET", "?"} else None
    if pet * 2 > whole:
        return "pet_contact"
    return "other_contact" if (pet + unknown) * 2 <= whole else None


def is_unnamed_coating(member):
    part = member.part
    return (
        part.component_type == "coating"
        and part.family == "plastic"
        and bool(part.material)
        and part.material.family == "other"
    )


def group_of(member):
    if is_unnamed_coating(member):
        return "?"
    return member.part.material.group if member.part.material else "?"


LINE_OF = ("site_id", "category_no", "point")
SITES = st.sampled_from(["LYON", "GENT", None])
SHARES = st.none() | st.sampled_from([0.0, 30.0, 33.3, 50, 100.0])
PLACED_IN = st.none() | st.lists(st.sampled_from(["DE", "FR", "GB"]), max_size=2)
PACKS = st.sampled_from(MORE_FORMATS)
EITHER = st.booleans()
POLYMERS = st.sampled_from(["PET", "PP"])
GRAMS = st.integers(1, 50)
UNITS = st.integers(1, 1_000_000)


@examples(200, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_the_averages_are_a_naive_sum_of_any_portfolio(skus, data):
    for each in skus:
        each["markets"] = data.draw(PLACED_IN)
        each["packaging_format"] = data.draw(PACKS)
        each["manufacturing_site_id"], each["food_contact"] = (
            data.draw(SITES),
            data.draw(TRUTHS),
        )
        each[SHARE] = data.draw(SHARES)
        for line in each["components"]:
            line[SHARE] = data.draw(SHARES)
            if data.draw(EITHER):
                line |= {"material_family": "plastic", "polymer_or_grade": data.draw(POLYMERS)}
            if data.draw(EITHER):
                line["weight_g"] = data.draw(GRAMS)
        if data.draw(EITHER):
            others = [row for row in each["volumes"] if row["year"] != 2025]
            units_placed = data.draw(UNITS)
            each["volumes"] = [*others, {"market": "DE", "year": 2025, "half": 0, "units_placed": units_placed}]
    lines, exempt, beside = naive(skus)
    found = counted(skus)
    sums = defaultdict(lambda: [Fraction(0)] * 3)
    for *key, share, grams in found.sums.select(*LINE_OF, "share", "grams").iter_rows():
        add(sums[tuple(key)], Fraction(grams), share)
    assert dict(sums) == lines
    assert sum(map(Fraction, found.excluded["grams"]), Fraction(0)) == exempt
    assert set(found.unplaced["sku_code"]) == beside
    told = stated(found, {})
    for row in told["lines"]:
        assert row["find_2030_least_tonnes"] <= row["find_2030_most_tonnes"] <= row["find_2040_most_tonnes"]
    apart = combine([count(blocks_of(block), 2025, PLACES, load()) for block in in_blocks(skus, data)])
    assert stated(apart, {}) == told
