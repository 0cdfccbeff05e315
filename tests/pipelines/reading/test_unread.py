"""Columns that may be data of the packaging are not dropped: they are read where it is certain, else asked about."""

import json

import pytest

from pipelines.reading.questions import answer_with
from tests.pipelines.reading.writing import Table, delimited, read, values

BOM: Table = [
    ["Material", "Materialkurztext", "Komponente", "Komponententext", "Werkstoff", "Gewicht netto"],
    ["10004711", "Shampoo", "20001234", "Flasche", "HDPE", "24,5"],
    ["10004711", "Shampoo", "20001235", "Klappdeckel", "PP", "4,2"],
]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (BOM, ["F"]),
        ([["SKU", "Name", "Pkg weight gross (g)", "Pkg weight net (g)"], ["A-1", "Saft", 25, 20]], ["C", "D"]),
    ],
    ids=["parts", "packagings"],
)
def test_where_no_weight_is_read_a_gross_or_net_one_is_asked_about(table: Table, columns: list[str]) -> None:
    source = read(delimited(table, ";"))[0].source
    assert [about["column"] for about in source["asked"]] == columns
    assert not set(columns) & {entry["column"] for entry in source["ignored"]}


def test_the_answer_reads_the_weights_of_the_parts() -> None:
    [about] = read(delimited(BOM, ";"))[0].source["asked"]
    mapping = {"columns": {"component_weight_g": "F", "component_material_family": "E"}}
    assert about["answer"] == {"columns": {"component_weight_g": "F"}}
    [graph] = read(delimited(BOM, ";"), mapping)[1].values["components"]
    assert [(part["component_type"], part["weight_g"]) for part in json.loads(graph)] == [("body", 24.5), ("cap", 4.2)]


@pytest.mark.parametrize("header", ["Flächengewicht (g/m²)", "Weight unit", "Packaging weight share", "Net weight"])
def test_what_is_no_weight_of_a_packaging_is_only_listed(header: str) -> None:
    source = read(delimited([["SKU", "Name", header], ["A-1", "Saft", 25]], ";"))[0].source
    assert ([entry["header"] for entry in source["ignored"]], source["asked"]) == ([header], [])


@pytest.mark.parametrize("country", [True, False])
def test_years_alone_are_asked_about_together(country: bool) -> None:
    head, row = (["Land"], ["DE"]) if country else ([], [])
    table = [[*head, "Artikelnummer", "Bezeichnung", "2024", "2025"], [*row, "4711-1", "Saft", 100, 200]]
    upload, typed = read(delimited(table))
    [about] = upload.source["asked"]
    assert "volumes" not in typed.values.columns
    answer = answer_with(about, "annual_volume" if country else "DE")
    [volumes] = read(delimited(table), answer)[1].values["volumes"]
    assert json.loads(volumes) == {"DE/2024/0": 100, "DE/2025/0": 200}


def test_a_title_over_years_says_that_they_are_units() -> None:
    head = [["Artikel", "", "Absatz DE", ""], ["Artikelnummer", "Bezeichnung", "2024", "2025"]]
    [volumes] = read(delimited([*head, ["4711-1", "Saft", 100, 200]]))[1].values["volumes"]
    assert json.loads(volumes) == {"DE/2024/0": 100, "DE/2025/0": 200}


def test_a_title_over_quarters_says_market_and_year() -> None:
    head = [["", "", "Absatz DE 2025", "", "", ""], ["Artikelnummer", "Bezeichnung", "Q1", "Q2", "Q3", "Q4"]]
    [volumes] = read(delimited([*head, ["4711-1", "Saft", 1, 2, 3, 4]]))[1].values["volumes"]
    assert json.loads(volumes) == {"DE/2025/0": 10}


@pytest.mark.parametrize("header", ["Verpackung", "Emballage", "Envase", "Imballaggio", "Opakowanie", "Verpakking"])
def test_a_word_for_packaging_over_its_kinds_is_their_format(header: str) -> None:
    table = [
        ["SKU", "Name", header, "Packaging weight (g)"],
        ["A-1", "Saft", "Flasche", 20],
        ["A-2", "Mais", "Dose", 30],
    ]
    assert read(delimited(table))[1].values["packaging_format"].to_list() == ["Flasche", "Dose"]
    for other in ("Karton", "12er Karton", "ja"):
        columns = read(delimited([*table, ["A-3", "Tee", other, 5]]))[0].source["columns"]
        assert "packaging_format" not in {column["field"] for column in columns}


ROWS: Table = [
    ["Artikelnummer", "Bezeichnung", "Verpackungsmaterial", "Verpackungsgewicht (g)", "Land", "Menge 2025"],
    ["4711-1", "Saft", "PET", 12, "DE", "1.000"],
    ["4711-1", "Saft", "PET", 12, "FR", "500"],
    ["4711-2", "Wein", "Glas", 200, "DE", "10"],
]


@pytest.mark.parametrize("units", [["1.000", "500", "10"], ["1000", "500", "10"], ["1000", "1000", "1000"]])
def test_a_quantity_beside_weights_that_agree_divides_none_and_is_asked_about(units: list[str]) -> None:
    table = [ROWS[0], *([*row[:5], number] for row, number in zip(ROWS[1:], units, strict=True))]
    upload, typed = read(delimited(table, ";"))
    assert typed.values.select("weight_grams", "markets").rows() == [(12, "{DE,FR}"), (200, "{DE}")]
    [about] = upload.source["asked"]
    assert (about["kind"], about["text"]) == ("column", "“Menge 2025”")
    answer = {**about["answer"], "decimal": ","}
    first, last = (json.loads(text) for text in read(delimited(table, ";"), answer)[1].values["volumes"])
    wanted = [int(number.replace(".", "")) for number in units]
    assert (first, last) == ({"DE/2025/0": wanted[0], "FR/2025/0": wanted[1]}, {"DE/2025/0": wanted[2]})


def test_totals_of_nations_are_still_divided() -> None:
    weights = [12_000, 6000, 2000]
    table = [ROWS[0], *([*row[:3], grams, row[4], row[5]] for row, grams in zip(ROWS[1:], weights, strict=True))]
    table[1][5] = "1000"
    assert read(delimited(table, ";"))[1].values["weight_grams"].to_list() == [12, 200]


def test_units_of_a_further_year_are_not_left_out_as_the_same_part() -> None:
    head = ["SKU", "Name", "Packaging weight (g)", "Units DE", "Year"]
    _, typed = read(delimited([head, ["E-1", "Saft", 10, 3000, 2025], ["E-1", "Saft", 10, 2000, 2024]]))
    assert typed.errors.select("line", "code").rows() == [(3, "duplicate_sku_code")]


@pytest.mark.parametrize("header", ["Part", "Teil", "Pièce", "Parte", "Część"])
def test_a_column_of_parts_says_what_each_line_is(header: str) -> None:
    head = ["SKU", "Name", header, "Material", "Weight (g)"]
    lines = [["Y-1", "Yoghurt", "Cup", "PS", 4.5], ["Y-1", "Yoghurt", "Lid", "Alu", 0.4]]
    [graph] = read(delimited([head, *lines]))[1].values["components"]
    assert [part["component_type"] for part in json.loads(graph)] == ["body", "cap"]


def test_numbers_are_not_asked_about_as_countries() -> None:
    header = "Plastic packaging placed on market DE 2025 (kg)"
    source = read(delimited([["SKU", "Name", header, "Units placed DE 2025"], ["A-1", "Saft", 120, 10_000]]))[0].source
    assert ([entry["header"] for entry in source["ignored"]], source["asked"]) == ([header], [])


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("70% paper 30% PE", None),
        ("paper 70 % PE 30 %", None),
        ("PE 70 % PP 30 %", "plastic"),
        ("70% PET 30% rPET", "plastic"),
    ],
)
def test_shares_without_a_sign_between_are_of_one_material_each(text: str, family: str | None) -> None:
    table = [["SKU", "Name", "Packaging material"], ["A-1", "Saft", text], ["A-2", "Saft", "glass"]]
    rows = {row["sku_code"]: row["material"] for row in values(delimited(table))}
    assert rows == ({"A-1": family, "A-2": "glass"} if family else {"A-2": "glass"})
