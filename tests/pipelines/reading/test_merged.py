"""Cells merged over lines, and several sheets of one table (decisions §13, *Merged cells* and kind `sheet`)."""

import io
from pathlib import Path

import pytest
import xlsxwriter

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import read, workbook

FILES = Path(__file__).parent / "meaning" / "files"


def merged(codes: list[str | None]) -> bytes:
    """A weight merged over the first two lines, a material and markets over the first two."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet, shape = book.add_worksheet("S"), book.add_format()
        sheet.write_row(0, 0, ["sku_code", "name", "weight_grams", "material", "markets"])
        for at, code in enumerate(codes):
            sheet.write_row(1 + at, 0, [code, "Jar"] if code else [None, None])
        for column, value in ((2, 250), (3, "glass"), (4, "DE")):
            sheet.merge_range(1, column, 2, column, value, shape)
        sheet.write_row(3, 2, [7, "metal", "FR"])
    return buffer.getvalue()


CODES: list[str | None] = ["A-0", "A-1", "A-2"]


def test_texts_codes_and_markets_are_filled_down() -> None:
    _, typed = read((FILES / "k11a_merged_material.xlsx").read_bytes())
    assert typed.errors.rows() == []
    assert typed.values["material"].to_list() == ["glass", "glass", "plastic"]
    assert typed.values["markets"].to_list() == ["{DE}"] * 3
    assert typed.values["weight_grams"].to_list() == [250, 180, 20]


def test_a_merged_number_over_several_skus_is_asked_and_not_read() -> None:
    upload, typed = read(merged(CODES))
    assert typed.values["weight_grams"].to_list() == [None, None, 7]
    assert typed.values["material"].to_list() == ["glass", "glass", "metal"]
    [asked] = upload.source["asked"]
    assert (asked["kind"], asked["column"], asked["lines"], asked["text"]) == ("quantity", "C", "2-3", "250")
    assert asked["answer"] == {"quantity": {"C": "multiply"}}
    assert read(merged(CODES), asked["answer"])[1].values["weight_grams"].to_list() == [250, 250, 7]


@pytest.mark.parametrize(("use", "weights"), [("divide", [125, 125, 7]), ("ignore", [None, None, 7])])
@pytest.mark.parametrize("named", ["C", "weight_grams"])
def test_the_mapping_says_what_a_merged_number_is(use: str, weights: list[float | None], named: str) -> None:
    upload, typed = read(merged(CODES), {"quantity": {named: use}})
    assert typed.values["weight_grams"].to_list() == weights
    assert upload.source["asked"] == []


def test_a_merged_number_of_a_components_sheet_is_settled_within_components() -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        skus, parts = book.add_worksheet("SKUs"), book.add_worksheet("Components")
        for row, cells in enumerate([("sku_code", "name"), ("A-0", "Jar"), ("A-1", "Pot")]):
            skus.write_row(row, 0, cells)
        parts.write_row(0, 0, ["sku_code", "component_type", "material_family", "weight_g"])
        for row in (1, 2):
            parts.write_row(row, 0, [f"A-{row - 1}", "body", "glass"])
        parts.merge_range(1, 3, 2, 3, 250, book.add_format())
    [asked] = read(buffer.getvalue())[0].source["asked"]
    assert asked["answer"] == {"components": {"quantity": {"D": "multiply"}}}
    told, typed = read(buffer.getvalue(), asked["answer"])
    assert told.source["asked"] == []
    assert ['"weight_g":250' in parts for parts in typed.values["components"]] == [True, True]


HEAD = ["sku_code", "name", "material"]


def sheets() -> bytes:
    return workbook({name: [HEAD, [f"A-{name}", "Jar", name.lower()]] for name in ("Glass", "Plastic", "Paper")})


def test_sheets_of_one_header_are_asked_about() -> None:
    for data in (sheets(), (FILES / "k12a_sheet_per_material.xlsx").read_bytes()):
        with pytest.raises(ReadingRefused) as refused:
            read(data)
        [issue] = refused.value.issues
        assert (issue.kind, issue.could_be) == ("sheet", ["all", "Glass", "Plastic", "Paper"])
        assert issue.answer is not None
        upload, typed = read(data, issue.answer)
        assert (upload.source["sheet"], typed.values["sheet"].n_unique()) == ("Glass", 3)


def test_the_sheet_that_the_mapping_names_is_read() -> None:
    for mapping in ({"sheets": ["paper"]}, {"sheet": "Paper"}):
        upload, typed = read(sheets(), mapping)
        assert typed.values.select("sheet", "sku_code").rows() == [("Paper", "A-Paper")]
        assert [sheet["sheet"] for sheet in upload.source["unread_sheets"]] == ["Glass", "Plastic"]


def test_sheets_of_other_headers_empty_ones_and_hidden_ones_are_not_asked_about() -> None:
    others = {
        "Other": [["sku_code", "name", "weight_grams"], ["B", "Box", 5]],
        "Empty": [HEAD],
        "Old": [HEAD, ["C", "c", "glass"]],
    }
    upload, _ = read(workbook({"S": [HEAD, ["A", "Jar", "glass"]], **others}, hidden=["Old"]))
    assert upload.source["sheet"] == "S"


def test_a_sheet_that_is_not_there_is_refused() -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(sheets(), {"sheets": ["Glass", "None"]})
    assert [issue.code for issue in refused.value.issues] == ["invalid_mapping"]


def test_source_says_which_texts_were_filled_down() -> None:
    """Also those of fields that keep their text as it is (decisions §13, *readings*)."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet, shape = book.add_worksheet("S"), book.add_format()
        sheet.write_row(0, 0, ["sku_code", "name", "description", "material"])
        for line in range(1, 5):
            sheet.write_row(line, 0, [f"A-{line}", "Jar"])
        sheet.merge_range(1, 2, 3, 2, "For honey", shape)
        sheet.merge_range(1, 3, 2, 3, "glass", shape)
    upload, typed = read(buffer.getvalue())
    assert typed.values["description"].to_list() == ["For honey"] * 3 + [None]
    said = {(each["column"], each["text"], each["value"], each["rows"]) for each in upload.source["readings"]}
    assert {("C", "For honey", "For honey", 3), ("D", "glass", "glass", 2)} <= said
