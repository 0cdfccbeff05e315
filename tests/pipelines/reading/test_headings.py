"""A heading of the lines below, with its text in the column of codes, is no item and no fault that hides the reason."""

import pytest

from tests.pipelines.reading.writing import delimited, read, values

HEAD = ["Artikelnummer", "Bezeichnung", "Verpackungsmaterial", "Verpackungsgewicht (g)"]
ROWS = [["1001", "Flasche", "PET", "24,5"], ["1003", "Dose", "Alu", "13"], ["1004", "Dose 2", "Alu", "16"]]


def skipped(lines: list[list[str]]) -> list[int]:
    return [entry["line"] for entry in read(delimited([HEAD, *lines], ";"))[0].source["skipped"]]


@pytest.mark.parametrize("codes", [["1001", "1003", "1004"], ["B-XL", "C-S", "C-500"], ["FLA", "DOS", "DOL"]])
def test_a_word_alone_among_lines_with_names_is_a_heading(codes: list[str]) -> None:
    rows = [[code, *row[1:]] for code, row in zip(codes, ROWS, strict=True)]
    lines = [["Flaschen", "", "", ""], rows[0], ["Dosen", "", "", ""], *rows[1:]]
    assert skipped(lines) == [2, 4]
    assert [row["sku_code"] for row in values(delimited([HEAD, *lines], ";"))] == codes


def test_more_headings_than_lines_are_headings() -> None:
    lines = [[word, "", "", ""] for word in ("Glas", "Flaschen")]
    assert skipped([*lines, ROWS[0], ["Dosen", "", "", ""], ["klein", "", "", ""], ROWS[1]]) == [2, 3, 5, 6]


def test_a_text_that_fills_every_cell_is_a_heading() -> None:
    lines = [ROWS[0], ["Dosen"] * 4, *ROWS[1:]]
    assert skipped(lines) == [3]
    assert read(delimited([HEAD, *lines], ";"))[1].errors.height == 0


def test_a_number_of_a_group_with_its_name_is_asked_about() -> None:
    lines = [["WG 10", "Flaschen", "", ""], ROWS[0], ["WG 20", "Dosen", "", ""], *ROWS[1:]]
    upload, rows = read(delimited([HEAD, *lines], ";"))
    assert [about["lines"] for about in upload.source["asked"]] == ["2", "4"]
    assert rows.values["sku_code"].to_list() == ["1001", "1003", "1004"]


def test_a_code_alone_that_is_written_like_the_others_stays_a_row() -> None:
    assert skipped([ROWS[0], ["1002", "", "", ""], *ROWS[1:]]) == []
