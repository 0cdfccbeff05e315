"""Tables in which several lines of another form make an item: attributes in rows, levels of a bill of materials."""

import json

import pytest

from pipelines.imports.rejections import rejected_tables
from tests.pipelines.reading.writing import Table, delimited, faults, read, values, workbook

ATTRIBUTES: Table = [
    ["Material", "Materialkurztext", "Merkmal", "Merkmalwert", "Einheit"],
    ["900100", "Faltschachtel A", "Verpackungsgewicht", "12,4", "G"],
    ["900100", "Faltschachtel A", "Verpackungsmaterial", "Karton", ""],
    ["900200", "Dose", "Verpackungsgewicht", "0,052", "KG"],
    ["900200", "Dose", "Verpackungsmaterial", "Weißblech", ""],
]
BILL: Table = [
    ["Level", "Item", "Description", "Qty", "Material", "Weight (g)"],
    ["0", "A-1", "Shampoo 250 ml", "1", "", ""],
    ["1", "A-1-B", "Bottle", "1", "HDPE", "21"],
    ["1", "A-1-C", "Closure assembly", "1", "", ""],
    ["2", "A-1-C1", "Cap", "1", "PP", "3"],
    ["2", "A-1-C2", "Liner", "1", "PE", "0.2"],
    ["0", "A-2", "Jam jar", "1", "", ""],
    ["1", "A-2-J", "Jar", "1", "Glass", "180"],
]


def graphs(data: bytes) -> dict[object, list[tuple[str, str, float]]]:
    of_rows = ((row["sku_code"], json.loads(str(row["components"]))) for row in values(data))
    return {
        code: [(part["component_type"], part["material_family"], part["weight_g"]) for part in parts]
        for code, parts in of_rows
    }


def merged(table: Table) -> Table:
    """The table as a workbook has it whose codes are merged over the lines of each item, with numbers as numbers."""
    seen: set[object] = set()
    rows: list[list[object]] = []
    for row in table[1:]:
        repeats = row[0] in seen
        seen.add(row[0])
        number = float(str(row[3]).replace(",", ".")) if str(row[3])[0].isdigit() else row[3]
        rows.append([*([None, None] if repeats else row[:2]), row[2], number, *row[4:]])
    return [table[0], *rows]


@pytest.mark.parametrize(
    "data", [delimited(ATTRIBUTES, ";"), workbook({"Info": [["PIM"]], "MM": [["Klassen"], [], *merged(ATTRIBUTES)]})]
)
def test_attributes_in_rows_are_columns_of_their_item(data: bytes) -> None:
    upload, rows = read(data)
    assert rows.errors.height == 0
    assert [(row["sku_code"], row["material"], row["weight_grams"]) for row in values(data)] == [
        ("900100", "paper", 12.4),
        ("900200", "metal", 52.0),
    ]
    assert {column["header"] for column in upload.source["columns"]} >= {"Verpackungsgewicht", "Verpackungsmaterial"}


def test_an_attribute_that_is_not_known_is_listed_by_its_own_word() -> None:
    table = [*ATTRIBUTES, ["900200", "Dose", "Lagerklasse", "11", ""]]
    assert [entry["header"] for entry in read(delimited(table, ";"))[0].source["ignored"]] == ["Lagerklasse"]


def test_a_name_may_be_an_attribute() -> None:
    lines = [["A-1", "Name", "Jar"], ["A-1", "Packaging material", "Glass"]]
    data = delimited([["Item code", "Attribute", "Value"], *lines])
    [row] = values(data)
    assert (row["sku_code"], row["name"], row["material"]) == ("A-1", "Jar", "glass")


def test_an_attribute_given_twice_with_other_values_rejects_its_item_whole() -> None:
    table = [*ATTRIBUTES, ["900100", "Faltschachtel A", "Verpackungsgewicht", "13", "G"]]
    data = delimited(table, ";")
    assert [row["sku_code"] for row in values(data)] == ["900200"]
    upload, rows = read(data)
    assert rows.errors.select("line", "code").rows() == [(6, "duplicate_row")]
    report = [{**row, "value": None} for row in rows.errors.to_dicts()]
    [rejected] = rejected_tables(data, upload.source, report)  # type: ignore[arg-type]
    assert rejected.lines == (2, 3, 6)


def test_a_line_with_too_many_cells_is_no_value() -> None:
    lines = ["SKU,Name,Attribute,Value", "1,Jar,Packaging material,Glass", "1,Jar,Packaging weight (g),24,5"]
    lines += ["2,Tin,Packaging material,Steel", "2,Tin,Packaging weight (g),24"]
    data = "\n".join(lines).encode()
    assert [row["sku_code"] for row in values(data)] == ["2"]
    assert [(line, code) for line, _, code in faults(data)] == [(3, "ragged_row")]


@pytest.mark.parametrize("data", [delimited(BILL), workbook({"CS11": BILL})])
def test_the_parts_of_a_bill_are_those_of_the_item_above(data: bytes) -> None:
    assert graphs(data) == {
        "A-1": [("body", "plastic", 21.0), ("cap", "plastic", 3.0), ("liner", "plastic", 0.2)],
        "A-2": [("body", "glass", 180.0)],
    }
    source = read(data)[0].source
    assert (source["layout"], [row["name"] for row in values(data)]) == ("long", ["Shampoo 250 ml", "Jam jar"])


@pytest.mark.parametrize("levels", [{"0": "1", "1": "2", "2": "3"}, {"1": ".1", "2": "..2"}])
def test_levels_are_counted_from_that_of_the_item(levels: dict[str, str]) -> None:
    table = [BILL[0], *([levels.get(str(row[0]), row[0]), *row[1:]] for row in BILL[1:])]
    assert set(graphs(delimited(table))) == {"A-1", "A-2"}


def test_a_part_with_parts_that_weighs_something_itself_rejects_its_item() -> None:
    table = [list(row) for row in BILL]
    table[3][4:] = ["PP", "3.2"]
    data = delimited(table)
    assert [row["sku_code"] for row in values(data)] == ["A-2"]
    assert faults(data)[0][0] == 4


def test_the_weight_of_the_whole_item_is_none_of_its_parts() -> None:
    table = [list(row) for row in BILL]
    table[1][5] = table[6][5] = "300"
    upload, _ = read(delimited(table))
    assert "Level 0: Weight (g)" in [entry["header"] for entry in upload.source["ignored"]]
    assert set(graphs(delimited(table))) == {"A-1", "A-2"}


@pytest.mark.parametrize("name", ["Jam jar", ""])
def test_parts_of_an_item_without_a_code_are_of_no_other_item(name: str) -> None:
    table = [list(row) for row in BILL]
    table[6][1:3] = ["", name]
    data = delimited(table)
    assert set(graphs(data)) == {"A-1"}
    assert {line for line, _, code in faults(data) if code == "required"} >= {8}


def test_a_line_of_an_attribute_without_its_code_is_of_no_other_item() -> None:
    table = [*ATTRIBUTES, ["", "Tube", "Verpackungsgewicht", "9", "G"]]
    data = delimited(table, ";")
    assert [row["weight_grams"] for row in values(data)] == [12.4, 52.0]
    assert [(line, code) for line, _, code in faults(data)] == [(6, "required")]


def test_a_dimension_is_no_level() -> None:
    table = [["SKU", "Name", "Level", "Packaging material"], ["A", "a", "1", ""], ["B", "b", "12", "Glass"]]
    assert "layout" in read(delimited(table))[0].source
    assert {field for _, field, _ in faults(delimited(table))} == {"packaging_level"}


def test_levels_of_packaging_are_no_bill() -> None:
    table = [["SKU", "Name", "Level", "Material", "Weight (g)"], ["A", "Bottle", "0", "PET", "21"]]
    table += [["B", "Case", "1", "Board", "300"]]
    assert {field for _, field, _ in faults(delimited(table))} == {"packaging_level"}


@pytest.mark.parametrize(
    "header", [["SKU", "Name", "Feature", "Value"], ["SKU", "Name", "Packaging material", "Packaging weight (g)"]]
)
def test_a_table_with_a_line_for_each_item_stays_as_it_is(header: list[str]) -> None:
    upload, _ = read(delimited([header, ["A", "Jar", "Glass", "12"], ["B", "Tin", "Steel", "13"]]))
    assert [column["column"] for column in upload.source["columns"]][:2] == ["A", "B"]
    assert all(column["column"] <= "D" for column in upload.source["columns"])
