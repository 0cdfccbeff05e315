"""Tables whose header is unknown or not there: no row is taken for one in silence, and refusals say what to send."""

import json
import re

import pytest

from pipelines.reading.grid import ReadingRefused
from schemas.messages import translate
from tests.pipelines.reading.writing import delimited, read, values, workbook

ROWS = [["A-1", "Bottle", "12.5"], ["A-2", "Cap of metal", "2"], ["A-3", "Lid", "3"]]
LETTERS = {"columns": {"sku_code": "A", "name": "B", "weight_grams": "C"}}
BOTH = pytest.mark.parametrize("write", [delimited, lambda table: workbook({"Liste": table})])


def refusals(data: bytes, mapping: dict[str, object] | None = None) -> list[tuple[str, str | None, str]]:
    with pytest.raises(ReadingRefused) as refused:
        read(data, mapping)
    return [(issue.code, issue.field, issue.message) for issue in refused.value.issues]


@BOTH
def test_a_file_without_a_header_is_refused_naming_what_is_missing(write) -> None:
    assert [(code, field) for code, field, _ in refusals(write(ROWS))] == [
        ("missing_column", "sku_code"),
        ("missing_column", "name"),
    ]


@BOTH
@pytest.mark.parametrize("rows", [ROWS, [[*row, "plastic"] for row in ROWS], ROWS[1:], [["1", "Ours", "2"], *ROWS]])
def test_columns_named_by_letters_swallow_no_row_of_data(write, rows) -> None:
    ((code, field, message),) = refusals(write(rows), LETTERS)
    assert (code, field) == ("invalid_mapping", "mapping")
    assert "header_row" in message
    assert translate(message, "fr") != message
    found = values(write(rows), {**LETTERS, "header_row": 0})
    assert [row["sku_code"] for row in found] == [row[0] for row in rows]


@BOTH
def test_columns_named_by_letters_below_unknown_headers_lose_no_row(write) -> None:
    table = [["Ours", "What", "Heavy"], *ROWS]
    assert [row["sku_code"] for row in values(write(table), LETTERS)] == ["A-1", "A-2", "A-3"]
    titled = [["Export"], *table]
    assert [row["sku_code"] for row in values(write(titled), LETTERS)] == ["A-1", "A-2", "A-3"]


def test_a_table_without_a_header_needs_its_columns_by_letter() -> None:
    ((code, _, message),) = refusals(delimited(ROWS), {"columns": {"sku_code": "A"}, "header_row": 0})
    assert code == "invalid_mapping"
    assert "name" in message
    source = read(delimited(ROWS), {**LETTERS, "header_row": 0})[0].source
    assert (source["header_row"], source["ignored"]) == (0, [])


@pytest.mark.parametrize(
    "table",
    [
        [[None, "Foo", "Bar"], [None, "K-1", "Deckel"]],
        [["Foo", None, "Bezeichnung"], ["K-1", None, "2"]],
    ],
)
def test_a_refusal_suggests_columns_that_are_there_and_taking_it_helps(table) -> None:
    book = workbook({"Deckblatt": [["Export"]], "Liste": table})
    columns: dict[str, str] = {}
    for _, _, message in refusals(book):
        assert "the sheet “Liste”" in message
        assert translate(message, "de") != message
        found = re.search(r"mapping=(\{.*\})\.$", message)
        assert found is not None
        columns |= json.loads(found[1])["columns"]
    assert len(set(columns.values())) == len(columns)
    assert read(book, {"columns": columns, "header_row": 1})[0].rows == 1


@pytest.mark.parametrize("header", ["Artikel", "Item"])
def test_a_name_that_no_other_line_has_is_suggested_as_the_code_too(header) -> None:
    table = [[header, "Material", "Packaging weight (g)"], ["Apple juice", "PET", "20"], ["Pear juice", "glass", "200"]]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    [issue] = refused.value.issues
    assert (issue.kind, issue.answer) == ("column", {"columns": {"sku_code": "A", "name": "A"}})
    assert [row["sku_code"] for row in values(delimited(table), issue.answer)] == ["Apple juice", "Pear juice"]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited([*table, table[1]]))
    assert refused.value.issues[0].answer is None, "a name of two lines is no code"


def test_a_refusal_of_the_components_sheet_names_it_and_its_part_of_the_mapping() -> None:
    book = workbook({"S": [["sku_code", "name"], ["A", "a"]], "Komponenten": [["sku_code", "Foo"], ["A", "body"]]})
    ((code, field, message),) = refusals(book)
    assert (code, field) == ("missing_column", "component_type")
    assert "the components sheet “Komponenten”" in message
    assert 'mapping={"components": {"columns": {"component_type": "B"}}}' in message
    assert read(book, {"components": {"columns": {"component_type": "B"}}})[0].components is not None


def test_a_table_with_unknown_headers_is_no_form() -> None:
    head = ["Foo", "Bar", "Baz", "Qux"]
    cells = ["Referenz", "Bezeichnung", "Gewicht", "Material", "EAN", "Verpackungsart"]
    table = [head, *([f"x {at}", cell, "3", "y"] for at, cell in enumerate(cells))]
    assert all("form" not in message for _, _, message in refusals(workbook({"L": table})))


def test_codes_without_names_are_settled_by_saying_that_there_are_none() -> None:
    table = [["SKU", "Material", "Packaging weight (g)"], ["A-1", "PET", "20"], ["A-2", "glass", "200"]]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    [issue] = refused.value.issues
    assert (issue.code, issue.kind, issue.answer) == ("missing_column", "column", {"columns": {"name": None}})
    assert [row["weight_grams"] for row in values(delimited(table), issue.answer)] == [20, 200]


def test_a_word_for_a_name_and_a_count_is_no_name_over_numbers() -> None:
    french = [["Référence", "Désignation", "Nombre", "Poids emballage (g)"], ["A-1", "Jus", "3", "20"]]
    assert [row["name"] for row in values(delimited(french))] == ["Jus"]
    with pytest.raises(ReadingRefused):
        read(delimited([[cell for at, cell in enumerate(row) if at != 1] for row in french]))
    spanish = [["Código", "Nombre", "Peso del envase (g)"], ["A-1", "Zumo 3", "20"]]
    assert [row["name"] for row in values(delimited(spanish))] == ["Zumo 3"]
