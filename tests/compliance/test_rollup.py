"""Tonnes by category: the worked examples, and each step of the way where it matters to a company."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from compliance import catalogue
from compliance.rollup.exact import tonnes, written_tonnes
from compliance.rollup.tonnes import rollup
from compliance.ruleset import load
from tests.compliance.portfolios import frames, rolled_up

DATA = Path(__file__).parent / "data"
UK_EXAMPLES = json.loads((DATA / "uk_examples.json").read_text(encoding="utf-8"))
EPR_EXAMPLES = json.loads((DATA / "epr_examples.json").read_text(encoding="utf-8"))
ONLY_IN_THE_UK_FILE = {
    "packaging_level_missing",
    "rating_missing",
    "plastic_shape_missing",
    "drinks_container_undecided",
    "reusable_with_om",
}


def part(kind, family, text, grams, **more):
    return {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams, **more}


def sku(code, *components, volumes=(("DE", 100_000),), packaging_format="cup", **more):
    placed = [{"market": market, "year": 2026, "units_placed": units} for market, units in volumes]
    return {
        "sku_code": code,
        "packaging_format": packaging_format,
        "components": components,
        "volumes": placed,
        **more,
    }


def figures(*skus):
    """Market and category to tonnes of the calendar year."""
    rows = rolled_up(skus).tonnes.filter(pl.col("half") == 0).iter_rows(named=True)
    return {(row["market"], row["category_code"]): tonnes(row["grams"]) for row in rows}


def test_categories_are_those_of_the_year_of_the_tonnes():
    """Citeo 2026: flexible PE and PP apart, PS with its foams; what was placed in 2025 keeps the groups of 2025."""

    def placed(code, material, packaging_format, year):
        found = sku(code, part("body", "plastic", material, 10), packaging_format=packaging_format)
        return found | {"volumes": [{"market": "FR", "year": year, "units_placed": 100_000}]}

    bags = [placed(f"B{year}", "LDPE", "bag", year) for year in (2025, 2026, 2027)]
    foams = [placed(f"F{year}", "EPS", "tray", year) for year in (2025, 2026)]
    found = rolled_up([*bags, *foams]).tonnes.filter(pl.col("half") == 0)
    assert set(found.select("year", "category_code").iter_rows()) == {
        (2025, "plastique_souple"),
        (2025, "plastique_autres"),
        (2026, "plastique_souple_pe"),
        (2026, "plastique_rigide_ps_pse"),
        (2027, "plastique_souple_pe"),
    }


def row(found, category_code):
    [only] = found.tonnes.filter(pl.col("category_code") == category_code).iter_rows(named=True)
    return only


def listed(*skus, half=0):
    rows = rolled_up(skus).uncounted.filter(pl.col("half") == half).iter_rows(named=True)
    return [(row["sku_code"], row["units"], row["reason"], row["fields"]) for row in rows]


def test_a_market_that_the_catalogue_lacks_is_listed_and_stops_nothing():
    """It was an exception: no market of the company had figures."""
    carton = [part("body", "paper", "LPB", 20), part("liner", "plastic", "LDPE", 5), part("ink", "other", None, 1)]
    both = [("DE", 1_000_000), ("ZZ", 1_000_000)]
    skus = [
        sku("A", *carton, volumes=both),
        sku("B", part("body", None, None, 3), volumes=both),
        sku("C", volumes=both),
    ]
    alone = rolled_up([each | {"volumes": each["volumes"][:1]} for each in skus])
    found = rolled_up(skus)
    assert found.tonnes.equals(alone.tonnes)
    assert found.uncounted.filter(pl.col("market") == "DE").equals(alone.uncounted)
    assert found.uncounted.filter(pl.col("market") == "ZZ").select("sku_code", "units", "reason", "grams").rows() == [
        (code, 1_000_000, "unknown_market", grams * 1_000_000) for code, grams in (("A", 26), ("B", 3), ("C", 0))
    ]


EVERYWHERE = [("DE", 100_000), ("CZ", 100_000), ("IT", 100_000), ("GB", 100_000)]


@pytest.mark.parametrize(
    ("paper", "plastic", "expected"),
    [
        (97, 3, {("DE", "paper"): 10, ("CZ", "papir"): 10, ("IT", "carta"): 10, ("GB", "PC"): 10}),
        (
            80,
            20,
            {
                ("DE", "other_composites"): 10,
                ("CZ", "papir"): 8,
                ("CZ", "plast"): 2,
                ("IT", "carta"): 10,
                ("GB", "FC"): 10,
            },
        ),
    ],
)
def test_coated_paper_is_counted_by_the_rule_of_each_jurisdiction(paper, plastic, expected):
    graph = [part("body", "paper", "PAP21", paper), part("coating", "plastic", "PE", plastic)]
    assert figures(sku("A", *graph, volumes=EVERYWHERE)) == expected


@pytest.mark.parametrize(
    ("market", "code"), [("NL", "drankenkartons"), ("ES", "brik"), ("GB", "FC"), ("DE", "beverage_cartons")]
)
def test_a_beverage_carton_is_one_whatever_the_rule_where_it_has_a_row(market, code):
    graph = [part("body", "paper", "LPB", 20), part("liner", "plastic", "LDPE", 5), part("cap", "plastic", "HDPE", 2)]
    found = figures(sku("A", *graph, volumes=[(market, 1_000_000)], packaging_format="beverage carton"))
    assert found.pop((market, code)) == 25
    assert list(found.values()) == [2]


def test_constituents_count_each_significant_material_and_the_rest_with_the_main_one():
    graph = [
        part("body", "paper", "PAP21", 90),
        part("liner", "metal", "ALU", 6),
        part("coating", "plastic", "LDPE", 4),
    ]
    assert figures(sku("A", *graph, volumes=[("CZ", 10_000)])) == {
        ("CZ", "papir"): Decimal("0.94"),
        ("CZ", "hlinik"): Decimal("0.06"),
    }


def test_a_separable_layer_and_a_label_are_units_of_their_own():
    graph = [
        part("body", "paper", "PAP21", 80),
        part("liner", "plastic", "LDPE", 20, separable=True),
        part("label", "paper", "paper", 5),
    ]
    assert figures(sku("A", *graph)) == {("DE", "paper"): Decimal("8.5"), ("DE", "plastics"): 2}


@pytest.mark.parametrize("example", EPR_EXAMPLES, ids=lambda each: each["why"])
def test_the_tonnes_of_the_published_cases_are_reached(example):
    expected = {(example["market"], code): Decimal(str(row["tonnes"])) for code, row in example["tonnes"].items()}
    assert figures(*example["skus"]) == expected


def test_the_composite_rule_judges_each_unit_by_itself_and_by_its_own_shape():
    """A composite label and a composite body are two units: neither is laid with the other, nor judged by its weight.

    A plain plastic label stays what it is, whatever lies beside it.
    """
    label, seal = part("label", "composite", "C82", 2), part("seal", "composite", "C90", 1)
    graph = [part("body", "paper", "PAP21", 97), part("coating", "plastic", "PE", 3), label, seal]
    plain = part("sleeve", "plastic", "PET", 4)
    assert figures(sku("A", *graph, plain, volumes=[("DE", 1_000_000), ("IT", 1_000_000)])) == {
        ("DE", "paper"): 100,
        ("DE", "other_composites"): 3,
        ("DE", "plastics"): 4,
        ("IT", "carta"): 102,
        ("IT", "plastica"): 5,
    }
    # Predominantly plastic: the shape is the seal's (film), not the jar's; of unknown composition it is listed.
    kingdom = next(entry for entry in catalogue.pinned() if entry.code == "GB")
    predominant = replace(kingdom, composite_rule="predominant")
    found = rollup(frames([sku("A", seal, packaging_format="jar", volumes=[("GB", 1)])]), [predominant], load())
    assert found.tonnes["category_code"].to_list() == ["PL/Flexible"]
    unknown = part("label", "composite", None, 1)
    assert listed(sku("A", part("body", "glass", "glass", 1), unknown, volumes=[("BE", 10)])) == [
        ("A", 10, "material_unspecified", ["components[1].polymer_or_grade"])
    ]


def test_ink_adhesive_and_lacquer_go_with_the_body_and_nowhere_without_it():
    riders = [part("ink", "other", None, 2), part("adhesive", "other", None, None), part("coating", "other", None, 3)]
    cap = part("cap", "metal", "steel", 50)
    assert figures(sku("A", part("body", "glass", "glass", 40), cap, *riders)) == {
        ("DE", "glass"): Decimal("4.5"),
        ("DE", "ferrous_metals"): 5,
    }
    assert figures(sku("A", cap, part("label", "paper", "paper", 1), *riders))["DE", "ferrous_metals"] == Decimal("5.5")
    assert listed(sku("A", *riders)) == [("A", 100_000, "material_missing", ["components"])]


def test_of_equal_weights_the_part_that_stands_first_decides():
    board, film = part("body", "paper", "PAP21", 50), part("liner", "plastic", "LDPE", 50)
    assert list(figures(sku("A", board, film, volumes=[("IT", 1)]))) == [("IT", "carta")]
    assert list(figures(sku("A", film, board, volumes=[("IT", 1)]))) == [("IT", "plastica")]
    tub = part("body", "plastic", "PP", 50)
    assert list(figures(sku("A", tub, film, volumes=[("FR", 1)]))) == [("FR", "plastique_pe_pp")]
    assert list(figures(sku("A", film, tub, volumes=[("FR", 1)]))) == [("FR", "plastique_souple_pe")]
    ink, cap, label = (
        part("ink", "other", None, 1),
        part("cap", "metal", "steel", 5),
        part("label", "paper", "paper", 5),
    )
    for first, second in ((cap, label), (label, cap)):
        found = rolled_up([sku("A", ink, first, second, volumes=[("DE", 1)])]).tonnes
        heavier = "ferrous_metals" if first is cap else "paper"
        assert found.filter(pl.col("grams") == 6)["category_code"].to_list() == [heavier]


def test_an_unknown_kind_counts_where_every_kind_it_could_be_has_one_category():
    markets = [("CA-ON", 1_000_000), ("DE", 1_000_000), ("FR", 1_000_000)]
    assert figures(sku("A", part("cap", "metal", None, 1), volumes=markets)) == {("CA-ON", "metal"): 1}
    assert figures(sku("A", part("cap", "plastic", None, 1), volumes=markets)) == {
        ("DE", "plastics"): 1,
        ("CA-ON", "rigid_plastic"): 1,
    }
    assert listed(sku("A", part("cap", "plastic", None, 1), volumes=markets)) == [
        ("A", 1_000_000, "material_unspecified", ["components[0].polymer_or_grade"])
    ]


def test_what_is_missing_is_listed_once_per_reason_and_the_other_parts_count():
    graph = [
        part("body", "glass", "glass", 200),
        part("label", "paper", "paper", None),
        part("cap", "metal", None, 3),
        part("seal", "plastic", "unknown", 1),
        part("sleeve", "plastic", "PET", None),
    ]
    assert figures(sku("A", *graph)) == {("DE", "glass"): 20}
    assert listed(sku("A", *graph)) == [
        ("A", 100_000, "material_unspecified", ["components[2].polymer_or_grade", "components[3].polymer_or_grade"]),
        ("A", 100_000, "weight_missing", ["components[1].weight_g", "components[4].weight_g"]),
    ]


def test_what_has_a_category_and_what_has_none_are_all_that_was_placed():
    """Two doors summed up the same company, and differed by what weighs and has no category."""
    skus = [
        sku(
            "A", part("body", "glass", "glass", 200), part("cap", "plastic", None, 3), part("seal", "other", None, None)
        ),
        sku("B", part("ink", "other", None, 2), part("adhesive", "other", None, 0.5)),
        sku("C", part("body", "plastic", "PET", None), part("varnish", "other", None, 0.25)),
        sku("D", weight_grams=7),
        sku("E", material="plastic", weight_grams=5, packaging_format=None),
        sku("F", part("body", "composite", None, 8), part("liner", "paper", "paper", 1), part("ink", "other", None, 1)),
        sku("G", material="glass", weight_grams=1e9),
        sku("H", part("label", "plastic", None, 0.1), part("body", "paper", "PAP 21", 20)),
    ]
    grams = {"A": 203, "B": 2.5, "C": 0.25, "D": 7, "E": 5, "F": 10, "G": 1e9, "H": 20.1}
    units = {"A": 3, "B": 5, "C": 7, "D": 11, "E": 13, "F": 17, "G": 1_000_000, "H": 19}
    for each in skus:
        places = (("DE", 0), ("FR", 0), ("GB", 1), ("GB", 2), ("CZ", 0))
        placed = ({"market": market, "year": 2026, "half": half} for market, half in places)
        each["volumes"] = [{**row, "units_placed": units[each["sku_code"]]} for row in placed]
    found, known = rolled_up(skus), Decimal(sum(Decimal(str(grams[code])) * units[code] for code in "ABCDEFH"))
    listed = found.uncounted.filter(pl.col("grams").is_not_null())
    every = pl.concat([frame.select("market", "half", "grams") for frame in (found.tonnes, listed)])
    sums = every.group_by("market", "half").agg(pl.col("grams").sum()).rows()
    assert sorted(sums) == [
        *((market, 0, known) for market in ("CZ", "DE", "FR")),
        *(("GB", half, known * (2 if half == 0 else 1)) for half in (0, 1, 2)),
    ]
    unknown = found.uncounted.filter(pl.col("grams").is_null())
    assert {(row["sku_code"], *row["fields"]) for row in unknown.iter_rows(named=True)} == {("G", "volumes")}


def test_without_components_the_sku_is_its_own_body():
    own = {"material": "plastic", "material_subtype": "PET", "weight_grams": 25}
    assert figures(sku("A", **own, packaging_format="bottle", volumes=[("FR", 1_000)])) == {
        ("FR", "plastique_pet"): Decimal("0.025")
    }
    assert listed(sku("A", **{**own, "weight_grams": None})) == [("A", 100_000, "weight_missing", ["weight_grams"])]
    unknown = {"material": "plastic", "weight_grams": 5, "packaging_format": None, "volumes": [("FR", 10)]}
    assert listed(sku("A", **unknown)) == [("A", 10, "material_unspecified", ["material_subtype", "packaging_format"])]
    assert listed(sku("A")) == [("A", 100_000, "material_missing", ["material"])]


def test_a_weight_of_nothing_is_a_row_of_nothing_whose_units_and_skus_count():
    found = row(rolled_up([sku("A", part("body", "glass", "glass", 0))]), "glass")
    assert (found["grams"], found["units"], found["skus"]) == (0, 100_000, 1)


def test_units_and_skus_count_once_per_category_and_the_least_sure_basis_stands():
    found = rolled_up(
        [
            sku("A", part("body", "wood", None, 1), part("cap", "wood", None, 1), volumes=[("NL", 7)]),
            sku("B", part("body", "textile", None, 1), part("label", "other", "ceramic", 1), volumes=[("NL", 5)]),
        ]
    )
    assert {key: row(found, "hout")[key] for key in ("units", "skus", "basis")} == {
        "units": 7,
        "skus": 1,
        "basis": "own",
    }
    assert {key: row(found, "other")[key] for key in ("units", "skus", "basis")} == {
        "units": 5,
        "skus": 1,
        "basis": "fallback",
    }


def test_a_member_state_without_rows_takes_the_unions_and_a_state_its_family_name():
    found = rolled_up([sku("A", part("body", "glass", "glass", 1), volumes=[("GR", 1), ("US-CA", 1)])])
    assert found.tonnes.select("market", "category_code", "category_name", "basis").rows() == [
        ("GR", "glass", "Glass", "eu_default"),
        ("US-CA", "glass", "glass", "fallback"),
    ]


def test_markets_are_normalised_and_a_subdivision_is_not_added_to_its_country():
    graph = [part("body", "glass", "glass", 1)]
    markets = [("uk", 1_000_000), ("BE-VLG", 1_000_000), ("be_wal", 2_000_000), ("CA-ON", 1_000_000), ("CA", 5_000_000)]
    assert figures(sku("A", *graph, volumes=markets)) == {
        ("GB", "GL"): 1,
        ("BE", "glass"): 3,
        ("CA-ON", "glass"): 1,
        ("CA", "glass"): 5,
    }


def test_a_figure_is_rounded_once_from_the_exact_sum():
    skus = [sku(f"S{n}", part("body", "glass", "glass", 0.3), volumes=[("DE", 1)]) for n in range(5)]
    exact = row(rolled_up(skus), "glass")["grams"]
    assert exact == Decimal("1.5")
    assert written_tonnes(exact) == Decimal("0.000002")


def test_what_is_reusable_is_left_out_of_the_single_use_tonnes():
    skus = [
        sku("A", part("body", "glass", "glass", 1), reusable=True),
        sku("B", part("body", "glass", "glass", 2), reusable=False),
        sku("C", part("body", "glass", "glass", 4)),
    ]
    found = row(rolled_up(skus), "glass")
    assert (found["grams"], found["single_use_grams"]) == (700_000, 600_000)


def test_an_operators_catalogue_decides_how_composites_are_counted():
    graph = [part("body", "paper", "PAP21", 80), part("coating", "plastic", "LDPE", 20)]
    germany = next(entry for entry in catalogue.pinned() if entry.code == "DE")
    stricter = replace(germany, composite_rule="constituents", composite_threshold_percent="20.5")
    found = rollup(frames([sku("A", *graph)]), [stricter], load())
    assert found.tonnes["category_code"].to_list() == ["paper"]
    # A row of its own takes a composite whatever the rule.
    found = rollup(frames([sku("A", *graph)]), [replace(stricter, composite_threshold_percent="19.5")], load())
    assert found.tonnes["category_code"].to_list() == ["other_composites"]


@pytest.mark.parametrize("example", [each for each in UK_EXAMPLES if "lines" in each], ids=lambda each: each["why"])
def test_the_kilograms_of_the_published_uk_cases_are_reached(example):
    found = rolled_up(example["skus"])
    half = example["half"] or 0
    left_out = {entry["sku_code"] for entry in example["uncounted"] if entry["reason"] in ONLY_IN_THE_UK_FILE}
    if not left_out:
        kilograms = sum(Decimal(line.split(",")[11]) for line in example["lines"])
        exact = sum(found.tonnes.filter(pl.col("half") == half)["grams"], Decimal(0)) / 1000
        assert exact - Decimal(str(example["difference_kg"])) == kilograms
    everywhere = [entry for entry in example["uncounted"] if entry["reason"] not in ONLY_IN_THE_UK_FILE]
    assert listed(*example["skus"], half=half) == [tuple(entry.values()) for entry in everywhere]
