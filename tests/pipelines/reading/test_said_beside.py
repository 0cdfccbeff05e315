"""What stands beside numbers of a table: remarks on units, ticks under materials, limits, codes of reports, hues."""

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, faults, read, values

HEAD = ["SKU", "Name", "Packaging weight"]


def asked(table: Table) -> list[tuple[str, str | None, dict[str, object]]]:
    """The questions as (kind, column, answer)."""
    return [(about["kind"], about["column"], about["answer"]) for about in read(delimited(table))[0].source["asked"]]


@pytest.mark.parametrize(
    ("remark", "grams"),
    [
        ("Packaging data 2026 - weights in kilograms unless stated otherwise", 180),
        ("Alle Angaben in kg", 180),
        ("Maße in mm, Gewichte in kg", 180),
        ("Stand 01.03.2026, alle Gewichte in kg je 1000 Stück", 0.18),
        ("Dane w kilogramach (masy opakowań)", 180),
        ("Net weight: 5 kg", 0.18),
        ("Please do not change weights, e.g. of a bottle", 0.18),
    ],
)
def test_a_remark_says_the_unit_of_weights_whose_headers_say_none(remark: str, grams: float) -> None:
    rows = [HEAD, ["A", "Jar", "0.18"], ["B", "Lid", "0.02"]]
    for table in ([[remark, "", ""], *rows], [[remark, "", ""], ["", "", ""], *rows]):
        assert values(delimited(table))[0]["weight_grams"] == pytest.approx(grams)


def test_a_remark_below_the_table_says_the_unit_too() -> None:
    table = [HEAD, ["A-1", "Jar", "0.18"], ["A-2", "Lid", "0.02"], ["* weights in kg", "", ""]]
    assert [row["weight_grams"] for row in values(delimited(table))] == [180, 20]


@pytest.mark.parametrize("remark", ["Net weights in kg", "Note: product weights are in kg"])
def test_a_remark_on_other_weights_leaves_the_unit_open(remark: str) -> None:
    rows = [HEAD, ["A-1", "Jar", 180], ["A-2", "Lid", 12]]
    for table in ([[remark, "", ""], *rows], [*rows, [remark, "", ""]]):
        assert "weight_grams" not in values(delimited(table))[0]
        [(kind, column, answer)] = [each for each in asked(table) if each[0] != "lines"]
        assert (kind, column, answer["units"]) == ("unit", "C", {"weight_grams": "g"})
        assert values(delimited(table), answer)[0]["weight_grams"] == 180
    both = [[remark, "", ""], ["Packaging weights in g", "", ""], *rows]
    assert values(delimited(both))[0]["weight_grams"] == 180


@pytest.mark.parametrize(
    "header",
    [
        "Packaging weight (g/l)",
        "Packaging weight (g/100 ml)",
        "Packaging weight (kg/hl)",
        "Packaging weight g per 100 g",
    ],
)
def test_a_weight_per_amount_of_the_product_is_no_weight_of_a_packaging(header: str) -> None:
    assert "weight_grams" not in values(delimited([["SKU", "Name", header], ["A", "Drum", 45]]))[0]


@pytest.mark.parametrize(("tick", "none"), [("x", ""), ("ja", "nein"), ("1", "0")])
def test_ticks_under_materials_name_the_material(tick: str, none: str) -> None:
    table = [
        ["SKU", "Name", "Packaging weight (g)", "Glass", "Plastic", "Papier/Pappe"],
        ["A", "Jar", 180, tick, none, none],
        ["B", "Bag", 12, none, tick, none],
    ]
    assert [(row["material"], row["weight_grams"]) for row in values(delimited(table))] == [
        ("glass", 180),
        ("plastic", 12),
    ]
    assert faults(delimited([*table, ["C", "Box", 30, none, tick, tick]])) == [(4, "material", "not_in_vocabulary")]


def test_a_limit_in_a_header_is_asked_about_with_what_yes_means() -> None:
    head = ["SKU", "Name", "Packaging weight (g)", "Pb+Cd+Hg+CrVI < 100 ppm", "PFAS < 25 ppb", "SVHC > 0.1 % (w/w)"]
    table = [head, ["A", "Jar", 180, "yes", "no", "no"], ["B", "Lid", 12, "no", "yes", "yes"]]
    of_yes = {"yes": "below_limit", "no": "above_limit"}
    assert asked(table) == [
        ("column", "D", {"columns": {"heavy_metals_status": "D"}, "values": {"heavy_metals_status": of_yes}}),
        ("column", "E", {"columns": {"pfas_status": "E"}, "values": {"pfas_status": of_yes}}),
    ]
    assert [row["svhc_declared"] for row in values(delimited(table))] == [False, True]


def test_levels_of_the_united_kingdoms_reports_are_known_and_their_kind_of_waste_is_no_format() -> None:
    head = ["SKU", "Product", "packaging_type", "packaging_class", "packaging_material", "Packaging weight (g)"]
    table = [head, ["A", "Jar", "HH", "P1", "GL", 180], ["B", "Mailer", "NH", "P3", "PC", 30]]
    rows = values(delimited(table))
    assert [row["packaging_level"] for row in rows] == ["sales", "e_commerce"]
    assert "packaging_format" not in rows[0]
    # Elsewhere P3 may be the third level of a packaging.
    other = [["SKU", "Name", "Level", "Packaging weight (g)"], ["A", "Jar", "P1", 180], ["B", "Film", "P3", 30]]
    assert [(kind, column) for kind, column, _ in asked(other)] == [("list", "C")]


def test_a_colour_that_names_a_hue_alone_is_asked_about_and_its_part_is_read() -> None:
    head = ["Artikelnummer", "Bezeichnung", "Bauteil", "Material", "Gewicht (g)", "Farbe"]
    table = [head, ["A", "Wasser", "Flasche", "PET", 25, "blau"], ["A", "Wasser", "Deckel", "PE", 2, "Blau"]]
    answer = {"values": {"component_colour": {"blau": "transparent_coloured"}}}
    assert asked(table) == [("value", "F", answer)]
    assert str(values(delimited(table))[0]["components"]).count("weight_g") == 2
    assert str(values(delimited(table), answer)[0]["components"]).count("transparent_coloured") == 2


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        (
            ["Código do artigo", "Descrição", "Material da embalagem", "Peso da embalagem (g)", "Nível de embalagem"],
            ["P1", "Frasco de mel", "Vidro", 180, "Primária"],
        ),
        (
            ["Varenummer", "Varenavn", "Emballagemateriale", "Emballagevægt (g)", "Emballageniveau"],
            ["P1", "Frasco de mel", "Glas", 180, "Primær"],
        ),
    ],
)
def test_portuguese_and_danish_headers_are_read(header: list[str], cells: list[object]) -> None:
    assert values(delimited([header, cells])) == [
        {
            "sku_code": "P1",
            "name": "Frasco de mel",
            "material": "glass",
            "weight_grams": 180,
            "packaging_level": "sales",
        }
    ]


def test_a_weight_under_a_word_for_a_name_is_no_name() -> None:
    with pytest.raises(ReadingRefused):
        read(delimited([["Ref", "Wine", "Bottle (g)", "Label (g)"], ["W1", "Rouge", 450, "1.5"]]))


def test_a_column_of_packaging_components_counts_whatever_its_words() -> None:
    head = ["Artikelnummer", "Artikelbezeichnung", "Verpackungsbestandteil", "Werkstoff", "Masse [kg]"]
    table = [head, ["1", "Bohrer", "Blister", "PET", "0.0052"], ["1", "Bohrer", "Rückkarte", "Karton", "0.0081"]]
    assert [(kind, column) for kind, column, _ in asked(table)] == [("value", "C")]
    assert values(delimited(table)) == []


def test_a_count_per_case_is_of_no_market() -> None:
    table = [["Art.-Nr.", "Artikel", "VE (Stück)", "Verpackungsgewicht (g)"], ["K1", "Senfglas", 12, 180]]
    assert (faults(delimited(table)), values(delimited(table))[0]["weight_grams"]) == ([], 180)


def test_a_remark_on_the_supplier_above_the_header_is_no_title_of_the_code() -> None:
    table = [
        ["Supplier: ACME Ltd", "", "Date: 12/03/2026"],
        ["Item code", "Item", "Packaging weight (g)"],
        ["B", "b", 5],
    ]
    assert values(delimited(table))[0]["sku_code"] == "B"
