"""The yearly report of Article 44: a worked example, a naive sum of any portfolio, and what is never in a row."""

from collections import defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from compliance import catalogue
from compliance.filings.annex_ix import Reporter, categories, combine, count, questions, report, simplified_row
from compliance.grading.units import parts, units
from compliance.ruleset import load
from compliance.tables import RULES, rows
from compliance.words import resolve_format
from tests.compliance.portfolios import FORMATS, frames, in_blocks, portfolios, rolled_up
from tests.drawing import examples

PLACES = {entry.code: entry for entry in catalogue.pinned()}
AFTER = date(2026, 3, 1)
STREAMS = rows(RULES / "2026-11-26" / "streams.csv")
MORE_FORMATS = [*FORMATS, "crate", "tray", "tube", "film"]


def counted(skus, market="DE", year=2025):
    portfolio = frames(skus)
    markets = pl.Series("markets", [sku.get("markets") for sku in skus], dtype=pl.List(pl.String))
    return combine([count(portfolio._replace(skus=portfolio.skus.with_columns(markets)), market, year, PLACES, load())])


def sku(code, text, lines, units=1_000, **others):
    """A SKU of parts (type, family, text, grams, whether it comes off), with its units in Germany."""
    names = ("component_type", "material_family", "polymer_or_grade", "weight_g", "separable")
    volumes = [{"market": "DE", "year": 2025, "half": 0, "units_placed": units}]
    components = [dict(zip(names, line, strict=False)) for line in lines]
    return {"sku_code": code, "packaging_format": text, "components": components, "volumes": volumes, **others}


EXAMPLE = [
    # 25 + 2.5 + 0.7 g a bottle stay together, mainly PET: 28.2 kg in No 7.
    sku(
        "COLA",
        "bottle",
        [("body", "plastic", "PET", 25.0), ("cap", "plastic", "HDPE", 2.5), ("label", "plastic", "PP", 0.7)],
    ),
    # The lid comes off: 200 + 1 g of glass and paper are 201 kg in No 1, 9 kg of steel in No 4.
    sku(
        "JAM",
        "jar",
        [("body", "glass", "glass", 200), ("lid", "metal", "steel", 9, True), ("label", "paper", "paper", 1)],
    ),
    # 1 of 10 g is no paper, more than 5 %: No 3. Of 20 g 1 g is just 5 %: No 2.
    sku("CUP", "cup", [("body", "paper", "paper", 9), ("liner", "plastic", "PE", 1)]),
    sku("BAG", "bag", [("body", "paper", "paper", 19), ("liner", "plastic", "PE", 1)]),
    sku("CRATE", "crate", [("body", "plastic", "HDPE", 900)]),
    sku("FOIL", "foil", [("body", "metal", "ALU", 3)]),
]


def test_the_worked_example_by_hand():
    found = counted(EXAMPLE)
    kilograms = {"7": "28.2", "1": "201", "4": "9", "3": "10", "2": "20", "14": "900", "6": "3"}
    assert dict(found.placed.iter_rows()) == {no: Decimal(weight) * 1000 for no, weight in kilograms.items()}
    assert found.unplaced.is_empty()
    assert found.uncounted.is_empty()
    of_schemes = rolled_up(EXAMPLE).tonnes["grams"]  # the national declaration has other categories and the same sum
    assert sum(of_schemes) == sum(found.placed["grams"])


def test_below_ten_tonnes_the_simplified_form_from_ten_the_whole_table():
    form, lines, placed, *_ = report(counted(EXAMPLE), 2025, Reporter(), AFTER)
    quantities = {row["entry"]: row["tonnes"] for row in lines if row["tonnes"] is not None}
    assert (form, placed) == ("simplified", Decimal(1171200))
    expected = {"Glass": "0.201", "Plastic": "0.9282", "Paper/cardboard": "0.03", "Ferrous metal": "0.009"}
    expected |= {"Aluminium": "0.003", "Wood": "0", "Other": "0", "Total": "1.1712"}
    assert list(quantities) == list(expected)
    assert quantities == {name: Decimal(value) for name, value in expected.items()}
    assert {row["point"] for row in lines} == {f"B.2({letter})" for letter in "abcd"}
    ten = [sku("TEN", "bottle", [("body", "glass", "glass", 1_000)], 10_000)]
    less = [sku("TEN", "bottle", [("body", "glass", "glass", 1_000)], 9_999)]
    assert report(counted(less), 2025, Reporter(), AFTER).form == "simplified"
    for day, form in (
        (date(2025, 12, 31), "undecided"),
        (date(2026, 1, 1), "simplified"),
    ):  # less in *one calendar year*
        assert report(counted(less), 2025, Reporter(), day).form == form
    assert report(counted(ten), 2025, Reporter(), date(2025, 6, 30)).form == "full"
    whole = report(counted(ten), 2025, Reporter(), AFTER)
    of_table = [row for row in whole.rows if row["no"]]
    assert (whole.form, [row["no"] for row in of_table]) == ("full", list(categories()))
    assert [row["tonnes"] for row in of_table] == [Decimal(10)] + [Decimal(0)] * 21
    assert [row["point"][-2] for row in whole.rows] == sorted(row["point"][-2] for row in whole.rows)


OPEN = [
    (sku("A", None, [("body", "plastic", "PET", 9)]), "format_missing", ["7", "8", "9"], ["packaging_format"]),
    (sku("A", "tray", [("body", "metal", "ALU", 9)]), "stiffness_unknown", ["5", "6"], ["packaging_format"]),
    (sku("A", None, [("body", "metal", "ALU", 9)]), "format_missing", ["5", "6"], ["packaging_format"]),
    (sku("A", "box", [("body", "other", "wax", 9)]), "no_category", [], []),
    (sku("A", "box", [("body", "composite", "C81", 9)]), "composite_unsplit", [], ["components"]),
    (
        sku("A", "box", [("body", "metal", None, 9)]),
        "material_unspecified",
        ["4", "5"],
        ["components[0].polymer_or_grade"],
    ),
    (
        sku("A", "box", [("body", "glass", "glass", None), ("label", "paper", None, 9)]),
        "weight_missing",
        [],
        ["components[0].weight_g"],
    ),
]


@pytest.mark.parametrize(("pack", "reason", "codes", "fields"), OPEN)
def test_what_fits_no_row_stands_apart_with_its_question_and_never_in_other(pack, reason, codes, fields):
    found = counted([pack, *EXAMPLE])
    made = report(found, 2025, Reporter(), AFTER)
    expected = {"sku_code": "A", "units": 1_000, "category_codes": codes, "fields": fields, "reason": reason}
    [row] = found.unplaced.iter_rows(named=True)
    assert expected.items() <= row.items()
    assert row["grams"] == 9_000
    if len({simplified_row()[no] for no in codes}) == 1 and made.form == "simplified":
        assert (made.unplaced, made.placed_grams) == ([], Decimal(1180200))
    else:
        [shown] = made.unplaced
        assert shown["question"] == questions()[reason]
        assert (made.placed_grams, made.unplaced_grams) == (Decimal(1171200), 9_000)
        assert {row["tonnes"] for row in made.rows if row["entry"] == "Other"} <= {Decimal(0)}
    assert not any(row["no"] in {"21", "22"} and row["tonnes"] for row in made.rows)


def test_a_part_of_unknown_material_leaves_the_unit_open_only_where_it_may_have_the_majority():
    light = counted([sku("A", "bottle", [("body", "glass", "glass", 100), ("sleeve", "bio_based", None, 99)])])
    heavy = counted([sku("A", "bottle", [("body", "glass", "glass", 100), ("sleeve", "bio_based", None, 100)])])
    assert dict(light.placed.iter_rows()) == {"1": 199_000}
    assert heavy.unplaced["fields"].to_list() == [["components[1].polymer_or_grade"]]


def test_missing_units_and_weights_are_listed_and_leave_the_form_open():
    none = {"volumes": []}
    skus = [
        sku("NULL", "jar", [("body", "glass", "glass", 1)], None),
        sku("NAMED", "jar", [("body", "glass", "glass", 1)], **none, markets=["DE"]),
        sku("ELSEWHERE", "jar", [("body", "glass", "glass", 1)], **none, markets=["FR"]),
        sku("ZERO", "jar", [("body", "glass", "glass", 1)], 0),
        sku(
            "LIGHT",
            "jar",
            [("body", "glass", "glass", 1), ("label", "paper", "paper", None), ("ink", "other", None, None)],
        ),
        sku("PLAIN", "jar", [], material="glass"),
        sku("BARE", "jar", []),
    ]
    found = counted(skus)
    listed = {(row["sku_code"], row["reason"], *row["fields"]) for row in found.uncounted.iter_rows(named=True)}
    assert listed == {
        ("NULL", "units_missing", "volumes"),
        ("NAMED", "units_missing", "volumes"),
        ("LIGHT", "weight_missing", "components[1].weight_g"),
        ("PLAIN", "weight_missing", "weight_grams"),
        ("BARE", "material_missing", "material"),
    }
    assert dict(found.placed.iter_rows()) == {"1": 1_000}
    made = report(found, 2025, Reporter(), AFTER)
    assert made.form == "undecided"
    assert all(row["question"] for row in made.uncounted)
    assert {row["point"] for row in made.rows} == {f"B.1({letter})" for letter in "abcd"}


def test_identification_is_what_the_registers_hold_of_the_year_and_what_is_not_recorded_says_so():
    kept = (("LUCID", "DE1", "2024-01-01", ""), ("LUCID", "OLD", "2020-01-01", "2024-12-31"))
    reporter = Reporter(kept, ("Agent", "Berlin", "2025-02-01", ""), ("Ada", "2025-03-01"))
    stated = {(row["point"], row["entry"]): (row["value"], row["note"]) for row in _rows_of(reporter, AFTER)}
    assert stated["B.2(a)", "Registration number: LUCID"] == ("DE1", "from 2024-01-01")
    assert stated["B.2(a)", "Trade register number or equivalent"] == ("", "not recorded")
    assert stated["B.2(b)", "Reporting period"] == ("2025-01-01/2025-12-31", "")
    assert stated["B.2(d)", "Authorised representative"] == ("Agent, Berlin", "from 2025-02-01")
    assert stated["B.2(d)", "Self-certification (Article 45(4))"] == ("Ada", "2025-03-01")
    early = {row["entry"]: row for row in _rows_of(Reporter(), date(2025, 12, 31))}
    assert early["Registration number"]["note"] == "not recorded"
    assert early["Reporting period"]["note"] == "as of 2025-12-31: not ended"


def _rows_of(reporter, day):
    return report(counted(EXAMPLE), 2025, reporter, day).rows


def test_the_tables_say_the_same_numbers_and_every_reason_has_a_question():
    known = {row["category_no"]: row["predominant_material"] for row in rows(RULES / "2026-11-26/ppwr_categories.csv")}
    assert {no: row["material"] for no, row in categories().items()} == known
    assert list(categories()) == [str(no) for no in range(1, 23)]
    assert {row["category_no"] for row in STREAMS if row["category_no"]} <= set(categories())
    for row in rows(RULES / "annex_ix/formats.csv"):
        assert set(row["category_nos"].split("|")) <= set(categories())
        assert row["reason"] in {"", *questions()}


# A naive sum: one SKU after the other in exact fractions, over the raw tables


def naive(skus, market="DE", year=2025):
    """Grams by number, grams that no number takes, and what is not counted, of a Member State and year."""
    placed, beside, lacking = defaultdict(Fraction), Fraction(0), set()
    for each in skus:
        held = [row for row in each["volumes"] if (row["market"], row["year"]) == (market, year)]
        number = next((row["units_placed"] for row in held), None)
        if number is None and (held or market in (each.get("markets") or ())):
            lacking.add((each["sku_code"], "units_missing"))
        if not number:
            continue
        if not each["components"] and each["material"] is None:
            lacking.add((each["sku_code"], "material_missing"))
            continue
        pack = resolve_format(each["packaging_format"], load()) if each["packaging_format"] else None
        weighed = parts(each, load())
        for unit in units(weighed, pack) if weighed else ():
            if not unit.members:
                continue
            if any(member.grams is None and not member.part.weightless for member in unit.members):
                lacking.add((each["sku_code"], "weight_missing"))
            grams = sum((weight(member) for member in unit.members), Fraction(0)) * number
            found = number_of(unit, pack, is_body=unit.members[0] in weighed and not off(unit))
            if found is None:
                beside += grams
            elif grams:
                placed[found] += grams
    return dict(placed), beside, lacking


def weight(member):
    return Fraction(Decimal(str(member.grams or 0)))


def off(unit):
    return unit.types[0] == "body" and unit.members[0].part.component_type != "body"


def number_of(unit, pack, *, is_body):
    """The number of Table 1 that takes a unit, or None."""
    if any(
        m.grams is None and not m.part.weightless and (off(unit) or m.part.component_type == "body")
        for m in unit.members
    ):
        return None
    total, unknown = sum(map(weight, unit.members)), Fraction(0)
    groups, kinds = defaultdict(Fraction), defaultdict(Fraction)
    for member in unit.members:
        material = member.part.material
        family = material.family if material else next_family(member)
        key = (family, material.group if material else f"?{family if family != '?' else ''}")
        groups[key] += weight(member)
        kinds[family] += weight(member)
        unknown += 0 if material else weight(member)
    others = [family for family in kinds if family != "other"] or ["other"]
    family = min(others, key=lambda name: (-kinds[name], name))
    group = min((g for f, g in groups if f == family), key=lambda name: (-groups[family, name], name))
    if group.startswith("?") or (unknown and groups[family, group] * 2 <= total):
        return None
    layers = {"body", "coating", "liner", "tie_layer"}
    non_paper = sum(
        (weight(m) for m, kind in zip(unit.members, unit.types, strict=False) if kind in layers and not_paper(m)),
        Fraction(0),
    )
    shares = {"non_paper_layers": non_paper, **{g: w for (_, g), w in groups.items()}}
    form = unit.form
    forms = [form] if form in ("bottle", "rigid", "tray", "film") else ["bottle", "film", "rigid", "tray"]
    numbers = set()
    for one in forms:
        row = next(
            (r for r in STREAMS if r["group"] == group and r["form"] in (one, "any") and holds(r, shares, total)), None
        )
        if row is None:
            continue
        key = (pack.key if pack else "-") if is_body else ""
        if row["stream"] in ("PE_rigid", "PP_rigid") and key in ("crate", "pallet", "corrugated_sheet"):
            numbers.add("14")
        elif row["stream"] == "aluminium" and key in ("-", "container", "tray", "tube"):
            numbers |= {"5", "6"}
        elif row["category_no"]:
            numbers.add(row["category_no"])
    return numbers.pop() if len(numbers) == 1 else None


def next_family(member):
    family = member.part.family
    return family if family in {"plastic", "paper", "metal", "glass", "wood", "textile", "other"} else "?"


def not_paper(member):
    return member.part.material is None or member.part.material.family != "paper"


def holds(row, shares, total):
    what, _, percent = row["when"].partition(">")
    return not what or shares.get(what, Fraction(0)) * 100 > total * Fraction(percent)


PLACED_IN = st.none() | st.lists(st.sampled_from(["DE", "FR"]), max_size=2)
PACKS = st.sampled_from(MORE_FORMATS)
EITHER = st.booleans()
UNITS = st.integers(1, 1_000_000)


@examples(200, suppress_health_check=list(HealthCheck))
@given(portfolios(), st.data())
def test_the_report_is_a_naive_sum_of_any_portfolio(skus, data):
    for each in skus:
        each["markets"] = data.draw(PLACED_IN)
        each["packaging_format"] = data.draw(PACKS)
        if data.draw(EITHER):
            units_placed = data.draw(UNITS)
            others = [row for row in each["volumes"] if (row["market"], row["year"]) != ("DE", 2025)]
            row = {"market": "DE", "year": 2025, "half": 0, "units_placed": units_placed}
            each["volumes"] = [*others, row]
    found = counted(skus)
    placed, beside, lacking = naive(skus)
    assert {no: Fraction(grams) for no, grams in found.placed.iter_rows() if grams} == placed
    assert sum(map(Fraction, found.unplaced["grams"]), Fraction(0)) == beside
    assert set(found.uncounted.select("sku_code", "reason").iter_rows()) == lacking
    made = report(found, 2025, Reporter(), AFTER)
    assert Fraction(made.placed_grams) + Fraction(made.unplaced_grams) == sum(placed.values()) + beside
    apart = [counted(block) for block in in_blocks(skus, data)]
    assert dict(combine(apart).placed.iter_rows()) == dict(found.placed.iter_rows())


def test_another_market_and_year_are_not_counted():
    assert counted(EXAMPLE, "FR").units == counted(EXAMPLE, "DE", 2024).units == 0
