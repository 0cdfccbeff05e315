"""Format bans: the worked examples in full, and what a flag says."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.annex_v import bans, every_open_fact, flags, reason, translated_reason, undecided
from compliance.ruleset import load
from tests.drawing import examples

RULES = load()
TODAY = date(2026, 11, 22)
EXAMPLES = json.loads((Path(__file__).parent / "data" / "annex_v_examples.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["why"])
def test_a_worked_example_raises_the_flags_it_should(example):
    found = [
        {key: flag[key] for key in ("code", "certainty", "depends_on")}
        for flag in flags(example["sku"], RULES, today=TODAY)
    ]
    assert found == example["flags"]


def test_a_flag_says_from_when_why_and_on_what_it_depends():
    film = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "LDPE", "weight_g": 18}
    [flag] = flags(
        {"packaging_level": "grouped", "packaging_format": "shrink wrap", "components": [film]}, RULES, today=TODAY
    )
    assert flag["applies_from"] == "2030-01-01"
    assert flag["reference"] == "Art. 25(1); Annex V point 1"
    assert flag["reason"] == (
        "Single-use plastic grouped packaging at the point of sale, from 2030-01-01, "
        "if: convenience grouping at point of sale, not necessary for handling"
    )


def test_layers_of_several_plastics_are_one_material_against_paper():
    def layer(kind, family, text, grams):
        return {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams}

    graph = [
        layer("body", "paper", "PAP21", 5),
        layer("coating", "plastic", "LDPE", 3),
        layer("liner", "plastic", "PP", 3),
    ]
    bowl = {"packaging_level": "sales", "packaging_format": "bowl", "use_contexts": ["takeaway"], "components": graph}
    assert [flag["code"] for flag in flags(bowl, RULES, today=TODAY)] == ["AV-3"]
    graph[2]["separable"] = True
    assert flags(bowl, RULES, today=TODAY) == []


@pytest.mark.parametrize(
    ("polymer", "day", "said"),
    [
        ("EPS", date(2021, 7, 2), "from 2021-07-03"),
        ("EPS", date(2021, 7, 3), "in force since 2021-07-03"),
        ("XPS", date(2029, 2, 11), "from 2029-02-12"),
        ("XPS", date(2029, 2, 12), "in force since 2029-02-12"),
    ],
)
def test_a_flag_is_in_force_from_its_day_on(polymer, day, said):
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": polymer, "weight_g": 5}
    cup = {"packaging_format": "cup", "packaging_level": "sales", "use_contexts": ["beverage"], "components": [body]}
    flag = next(flag for flag in flags(cup, RULES, today=day) if flag["code"].startswith("SUPD-B9"))
    assert (flag["certainty"], flag["reason"]) == ("certain", f"{flag['reason'].partition(', ')[0]}, {said}")


def test_the_rule_set_before_still_says_what_it_said():
    """Its polystyrene row stands for both kinds with one day; its flags read as all do."""
    body = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "EPS", "weight_g": 5}
    cup = {"packaging_format": "cup", "packaging_level": "sales", "use_contexts": ["beverage"], "components": [body]}
    [flag] = flags(cup, load("2026-11-21"), today=TODAY)
    assert flag["reason"] == "Beverage cup of expanded or extruded polystyrene, from 2029-02-12"


def test_the_rule_set_before_still_flags_what_it_flagged():
    """2026-11-22 has no fact *any layer is plastic*, and asks a plate nothing about single use."""
    film = {"component_type": "coating", "material_family": "plastic", "polymer_or_grade": "LDPE", "weight_g": 1}
    board = {"component_type": "body", "material_family": "paper", "polymer_or_grade": "PAP21", "weight_g": 12}
    plate = {"packaging_level": "sales", "packaging_format": "plate", "components": [board, film]}
    assert flags(plate, load("2026-11-22"), today=TODAY) == []
    assert [flag["code"] for flag in flags(plate, RULES, today=TODAY)] == ["SUPD-B3"]


@pytest.mark.parametrize(
    ("category", "codes"),
    [
        ("Crisps", []),
        ("Chips salées", []),
        ("Snacks / Kartoffelchips", []),
        ("Käse", []),
        (None, ["AV-2"]),
        ("Food", ["AV-2"]),
        ("Fresh fruit", ["AV-2"]),
        ("Vegetable crisps", ["AV-2"]),
        ("Fresh snack carrots", ["AV-2"]),
        ("Chipsy things", ["AV-2"]),
    ],
)
def test_a_category_that_excludes_a_ban_ends_its_depends(category, codes):
    """A bag of crisps is no fresh fruit (issue 37); a category that may be either decides nothing."""
    film = {
        "component_type": "body",
        "material_family": "plastic",
        "polymer_or_grade": "PP",
        "weight_g": 4,
        "thickness_um": 30,
    }
    bag = {"packaging_level": "sales", "packaging_format": "bag", "use_contexts": ["food"], "components": [film]}
    assert [flag["code"] for flag in flags(bag | {"product_category": category}, RULES, today=TODAY)] == codes
    unused = bag | {"product_category": category, "use_contexts": []}
    assert undecided(unused, RULES) == ("use_contexts",), "AV-3 asks for the use of a bag whatever is in it"
    net = unused | {"packaging_format": "net"}
    assert undecided(net, RULES) == (("use_contexts",) if codes else ())
    assert [flag["code"] for flag in flags(bag | {"product_category": category}, load("2026-11-22"), today=TODAY)] == [
        "AV-2"
    ]


def test_additives_of_all_bodies_count_and_of_nothing_else():
    def part(kind, grams, *additives):
        given = {"component_type": kind, "material_family": "plastic", "polymer_or_grade": "LDPE", "weight_g": grams}
        return given | {"additives": list(additives)} if additives else given

    def codes(*parts):
        return [flag["code"] for flag in flags({"components": parts, "markets": ["FR"]}, RULES, today=TODAY)]

    assert codes(part("body", 9), part("body", 1, "uv_stabiliser", "oxo_degradable")) == ["SUPD-OXO"]
    assert codes(part("body", 9, "uv_stabiliser")) == codes(part("body", 9), part("cap", 1, "oxo_degradable")) == []


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        (
            "en",
            "Very lightweight plastic carrier bag, from 2030-01-01, if: wall thickness below 15 um, holds a beverage",
        ),
        (
            "fr",
            "Sac en plastique très léger, à partir du 2030-01-01, si : paroi de moins de 15 µm; contient une boisson",
        ),
        ("de", "Sehr leichte Kunststofftragetasche, ab 2030-01-01, wenn: Wandstärke unter 15 µm; enthält ein Getränk"),
    ],
)
def test_a_reason_is_told_again_in_a_language(lang, said):
    ban = next(ban for ban in RULES.bans if ban.code == "AV-6")
    english = reason(ban, ["wall_thickness_below_15_um", "holds_a_beverage"], TODAY)
    assert translated_reason("AV-6", english, RULES, lang) == said


def test_a_reason_that_was_kept_is_told_without_a_date_and_by_the_words_of_its_time():
    kept = "Beverage cup of expanded or extruded polystyrene, if: holds a beverage"
    assert translated_reason("SUPD-B9", kept, RULES, "de") == (
        "Getränkebecher aus expandiertem oder extrudiertem Polystyrol, wenn: enthält ein Getränk"
    )
    assert translated_reason("SUPD-B99", "Nobody knows this ban", RULES, "de") == "Nobody knows this ban"


def test_an_answered_fact_decides_a_ban_and_a_stored_field_stands_above_it():
    cup = {
        "packaging_format": "cup",
        "components": [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "EPS"}],
    }

    def found(record, **answers):
        facts = [
            {"fact": key, "answer": value, "by": "a@b.example", "at": "2026-11-27T00:00:00Z"}
            for key, value in answers.items()
        ]
        return {ban.code: open_facts for ban, open_facts in bans({**record, "flag_facts": facts}, RULES)}

    assert found(cup)["SUPD-B9"] == ["holds_a_beverage"]
    assert found(cup, holds_a_beverage=True)["SUPD-B9"] == []
    assert "SUPD-B9" not in found(cup, holds_a_beverage=False)
    assert found({**cup, "use_contexts": ["beverage"]}, holds_a_beverage=False)["SUPD-B9"] == []
    assert "SUPD-B9" not in found({**cup, "use_contexts": ["food"]}, holds_a_beverage=True)
    assert "holds_a_beverage" in every_open_fact(RULES)


def pack(**fields):
    given = {name: fields.pop(name, None) for name in ("material", "polymer_or_grade", "thickness_um")}
    family = given.pop("material")
    return {**fields, "components": [{"component_type": "body", "weight_g": 5, "material_family": family, **given}]}


_FOOD = {"use_contexts": ["food"], "material": "plastic"}
_BAG = {"packaging_format": "bag", "packaging_level": "sales", "use_contexts": ["household"], "material": "plastic",
        "polymer_or_grade": "PE"}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ({**_FOOD, "packaging_format": "tray", "polymer_or_grade": "PP"}, ["packaging_level"]),
        ({**_FOOD, "packaging_level": "sales", "polymer_or_grade": "PP"}, ["packaging_format"]),
        (
            {**_FOOD, "packaging_format": "Dings", "packaging_level": "sales"},
            ["packaging_format", "polymer_or_grade"],
        ),
        (
            {"packaging_format": "cup", "packaging_level": "transport", "use_contexts": ["beverage"]},
            ["material"],
        ),
        (
            {"packaging_format": "cup", "packaging_level": "transport", "material": "plastic"},
            ["polymer_or_grade"],
        ),
        ({"packaging_format": "plate", "packaging_level": "transport", "reusable": False}, ["material"]),
        ({"packaging_format": "tray", "packaging_level": "sales", "material": "glass"}, []),
        ({"markets": ["US-CA"]}, []),
        ({**_BAG}, ["thickness_um"]),  # Annex V point 6: below 15 micron (Article 3(1)(57))
        ({**_BAG, "thickness_um": 15}, []),
        ({**_BAG, "material": "paper", "polymer_or_grade": None}, []),
        ({**_BAG, "material": None, "polymer_or_grade": None}, ["material"]),
        ({**_BAG, "packaging_format": "tray"}, []),
        ({**_BAG, "packaging_format": None, "packaging_level": "transport"}, ["packaging_format"]),
        ({**_BAG, "markets": ["GB"]}, []),
    ],
)
def test_what_is_missing_for_a_ban_is_named_and_not_read_as_not_banned(facts, missing):
    """Article 25: without a level Annex V raised no flag, and only a gap of the portfolio said anything."""
    assert (flags(pack(**facts), RULES, today=TODAY), list(undecided(pack(**facts), RULES))) == ([], missing)


_GIVEN = {
    "packaging_format": ["cup", "tray", "bottle", "sachet", "plate", "wrap", "bag", "Dings"],
    "packaging_level": ["sales", "grouped", "transport"],
    "use_contexts": [["food"], ["beverage"], ["takeaway"], ["cosmetics"], ["household"]],
    "material": ["plastic", "paper", "glass"],
    "polymer_or_grade": ["EPS", "XPS", "PP"],
    "thickness_um": [14.9, 15],
}


@examples(300)
@given(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in _GIVEN.items()}), st.data())
def test_no_fact_that_is_added_raises_a_ban_that_nothing_announced(whole, data):
    if whole["material"] != "plastic":
        whole["polymer_or_grade"] = None
    missing = data.draw(st.sets(st.sampled_from(sorted(whole))))
    if "material" in missing:
        missing.add("polymer_or_grade")
    known = {name: value for name, value in whole.items() if name not in missing}
    codes, before = ({ban.code for ban, _ in bans(pack(**facts), RULES)} for facts in (whole, known))
    if codes - before:
        assert set(undecided(pack(**known), RULES)) & missing
    assert set(undecided(pack(**known), RULES)) <= {name for name in _GIVEN if known.get(name) in (None, "Dings")}


@pytest.mark.parametrize(
    ("family", "polymer", "banned", "missing"),
    [
        ("plastic", "PET/ALU/PE", ["AV-4"], ()),
        ("composite", "PET/ALU/PE", ["AV-4"], ()),
        ("composite", "C/LDPE 90", ["AV-4"], ()),
        ("bio_based", "PLA", ["AV-4"], ()),
        ("composite", None, [], ("polymer_or_grade",)),
        ("composite", "no such laminate", [], ("polymer_or_grade",)),
        ("composite", "C/PAP 84", [], ()),
        ("other", "ceramic", [], ()),
    ],
)
def test_a_sachet_is_of_plastic_where_its_polymer_says_so_whatever_its_family(family, polymer, banned, missing):
    body = {"component_type": "body", "material_family": family, "polymer_or_grade": polymer, "weight_g": 2}
    sachet = {"packaging_level": "sales", "packaging_format": "sachet", "use_contexts": ["food", "takeaway"]}
    record = {**sachet, "reusable": False, "components": [body]}
    assert [flag["code"] for flag in flags(record, RULES, today=TODAY)] == banned
    assert undecided(record, RULES) == missing


@pytest.mark.parametrize(("family", "polymer"), [("plastic", "PET/PE"), ("composite", "PET/PE"), ("bio_based", "PLA")])
def test_a_plate_of_a_laminate_or_of_bio_based_plastic_is_banned_as_one_of_plastic(family, polymer):
    body = {"component_type": "body", "material_family": family, "polymer_or_grade": polymer, "weight_g": 9}
    plate = {"packaging_level": "sales", "packaging_format": "plate", "use_contexts": ["industrial"]}
    [flag] = flags({**plate, "reusable": False, "components": [body]}, RULES, today=TODAY)
    assert (flag["code"], flag["certainty"]) == ("SUPD-B3", "certain")
