"""Raised, lowered and struck text: no part of numbers and codes, a part of other texts."""

import io

import pytest
import xlsxwriter

from tests.pipelines.reading.writing import read

RUNS = {
    "superscript": {"font_script": 1},
    "subscript": {"font_script": 2},
    "struck": {"font_strikeout": True},
}


def rich(run: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet, shape = book.add_worksheet("S"), book.add_format(run)
        head = ["sku_code", "name", "material", "weight_grams", "markets", "description"]
        sheet.write_row(0, 0, head)
        for at, (before, behind) in enumerate(
            [("A-1", "a"), ("Box CO", "2"), ("glass", "1"), ("12.5", "1"), ("DE, FR", "b"), ("Note", "9")]
        ):
            sheet.write_rich_string(1, at, book.add_format({"bold": True}), before, shape, behind)
        sheet.write_row(2, 0, ["A-2", "Lid", "metal", 8.4, "DE", "plain"])
    return buffer.getvalue()


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_raised_or_struck_run_is_no_part_of_numbers_and_codes(run: dict[str, object]) -> None:
    _, typed = read(rich(run))
    assert typed.errors.rows() == []
    first = typed.values.row(0, named=True)
    assert (first["sku_code"], first["weight_grams"], first["material"]) == ("A-1", 12.5, "glass")
    assert first["markets"] == "{DE,FR}"
    assert (first["name"], first["description"]) == ("Box CO2", "Note9")
    assert typed.values["sku_code"].to_list() == ["A-1", "A-2"]


def test_a_bold_run_is_a_part_of_everything() -> None:
    upload, _ = read(rich({"italic": True}))
    assert upload.table["sku_code"].to_list()[0] == "A-1a"
