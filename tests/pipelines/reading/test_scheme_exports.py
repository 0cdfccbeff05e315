"""Tables as schemes and systems export them, in which a value was stored falsely, dropped or only listed as ignored."""

import json

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, values, workbook


def asked(data: bytes) -> list[tuple[str | None, list[str]]]:
    return [(about["column"], list(about["could_be"])) for about in read(data)[0].source["asked"]]


def parts(data: bytes) -> list[list[tuple[str, str, float]]]:
    graphs = [json.loads(str(row["components"])) for row in values(data)]
    return [[(part["component_type"], part["material_family"], part["weight_g"]) for part in graph] for graph in graphs]


def test_unit_weights_of_materials_are_parts() -> None:
    head = ["Code UVC", "Désignation UVC", "Poids unitaire acier (g)", "Poids unitaire papier-carton (g)"]
    data = delimited([[*head, "Poids unitaire verre (g)"], ["37", "Confiture", "8,5", "1,2", "210"]], ";")
    assert parts(data) == [[("body", "metal", 8.5), ("body", "paper", 1.2), ("body", "glass", 210)]]


def test_a_list_of_materials_in_a_header_names_no_part() -> None:
    header = "Materialart (Glas, PPK, Eisenmetalle, Aluminium, Getränkekartonverpackungen, Kunststoffe, sonstige)"
    data = delimited([["SKU", "Bezeichnung", header, "Verpackungsgewicht (g)"], ["1", "a", "Glas", "450"]], ";")
    assert (read(data)[0].source["layout"], values(data)[0].get("components")) == ("rows", None)


def test_weights_of_packaging_articles_are_asked_about() -> None:
    lines = ["MATNR;MAKTX;MTART;MEINS;BRGEW;NTGEW;GEWEI", "900100;FALTSCHACHTEL;VERP;ST;0,013;0,012;KG"]
    data = "\n".join([*lines, "900200;FLASCHE;VERP;ST;0,024;0,024;KG"]).encode()
    assert asked(data) == [("E", ["weight_grams"]), ("F", ["weight_grams"])]
    rows = read(data, {"columns": {"weight_grams": "F"}})[1]
    assert rows.values["weight_grams"].to_list() == [12, 24]


@pytest.mark.parametrize("header", ["per", "je", "Basismenge", "Base quantity"])
def test_the_number_that_a_weight_is_of_is_asked_about(header: str) -> None:
    table: Table = [["SKU", "Name", "Packaging material", "Packaging weight (kg)", header]]
    data = delimited([*table, ["1", "a", "PET", "20", "1000"], ["2", "b", "PET", "30", "1000"]])
    assert ("E", ["divide", "multiply", "ignore"]) in asked(data)
    assert "weight_grams" not in read(data)[1].values.columns
    answered = read(data, {"quantity": {"E": "divide"}})[1]
    assert answered.values["weight_grams"].to_list() == [20, 30]


def test_a_unit_below_lines_of_help_counts() -> None:
    rows: Table = [["SKU", "Name", "Packaging material", "Packaging weight"], ["M", "M", "O", "O"]]
    data = workbook({"T": [*rows, ["text", "text", "list", "kg"], ["1", "a", "PET", 0.02]]})
    assert values(data)[0]["weight_grams"] == 20


def test_a_description_behind_the_number_of_a_part_names_the_part() -> None:
    head = ["Parent", "Parent description", "Component", "Description", "Material", "Weight (g)"]
    lines = [["FG-1", "Shampoo", "PM-10", "Bottle", "HDPE", "21"], ["FG-1", "Shampoo", "PM-11", "Cap", "PP", "3"]]
    data = delimited([head, *lines, ["FG-2", "Jam", "PM-20", "Jar", "Glass", "180"]])
    assert parts(data) == [[("body", "plastic", 21), ("cap", "plastic", 3)], [("body", "glass", 180)]]
    assert [(row["name"], row.get("description")) for row in values(data)] == [("Shampoo", None), ("Jam", None)]


@pytest.mark.parametrize(("unit", "weight"), [("g", 20.0), ("kg", 20_000.0), ("%", None), ("pcs", None)])
def test_the_unit_beside_an_attribute_is_that_of_its_number(unit: str, weight: float | None) -> None:
    head = ["SKU", "Name", "Property", "Value", "Unit"]
    lines = [["A", "Jar", "Packaging weight", "20", unit], ["A", "Jar", "Packaging material", "PP", "-"]]
    rows = read(delimited([head, *lines]))[1]
    assert (rows.values["weight_grams"].to_list() if rows.values.height else [None]) == [weight]


def test_attributes_of_parts_are_those_of_each_part() -> None:
    head = ["SKU", "Name", "Component", "Attribute", "Value"]
    lines = [
        ["A", "Bottle", part, name, value]
        for part, material, weight in (("Body", "PET", "21"), ("Cap", "PP", "3"))
        for name, value in (("Material", material), ("Weight (g)", weight))
    ]
    assert parts(delimited([head, *lines])) == [[("body", "plastic", 21), ("cap", "plastic", 3)]]


def test_parts_beside_a_primary_packaging_are_asked_about_together() -> None:
    head = ["SKU", "Name", "Primary material", "Primary weight (g)", "Closure material", "Closure weight (g)"]
    upload, _ = read(delimited([head, ["1", "a", "Glass", "210", "Steel", "8"]]))
    assert ([about["could_be"] for about in upload.source["asked"]], upload.source["ignored"]) == (
        [["components", "whole"]], [],
    )  # fmt: skip
    answered = values(delimited([head, ["1", "a", "Glass", "210", "Steel", "8"]]), upload.source["asked"][0]["answer"])
    assert [part["weight_g"] for part in json.loads(str(answered[0]["components"]))] == [210, 8]


def test_thousands_of_pieces_may_be_one_word() -> None:
    data = delimited([["SKU", "Name", "Absatz DE 2025 TStk"], ["1", "a", "12,5"]], ";")
    assert json.loads(str(values(data)[0]["volumes"])) == {"DE/2025/0": 12_500}
