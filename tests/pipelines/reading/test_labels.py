"""Headers over two lines: titles above parts, units below, and lines that only look like a second header."""

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, workbook

GLASS_AND_PAPER = ["A", "jar", 200, 12]


def source(table: Table) -> tuple[dict[str, str], list[str], str]:
    """Header -> field of what is read, the headers ignored, and the layout; the same in both formats."""
    found = []
    for data in (delimited(table), workbook({"SKUs": table})):
        told = read(data)[0].source
        columns = [*told["columns"], *(told["components"] or {"columns": []})["columns"]]
        read_as = {column["header"]: column["field"] for column in columns}
        found.append((read_as, [column["header"] for column in told["ignored"]], told["layout"]))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    "head",
    [
        [["SKU", "Name", "Weight", ""], ["", "", "Glass", "Paper"]],
        [["Product", "", "Weight", ""], ["SKU", "Name", "Glass", "Paper"]],
        [["", "", "Weight", ""], ["SKU", "Name", "Glass", "Paper"]],
    ],
)
def test_titles_reach_over_the_columns_below(head: Table) -> None:
    columns, ignored, layout = source([*head, GLASS_AND_PAPER])
    assert layout == "materials"
    assert (columns["Weight Glass"], columns["Weight Paper"]) == ("glass_weight_g", "paper_weight_g")
    assert ignored == []


def test_titles_number_the_components_below() -> None:
    head = [["SKU", "Name", "Emballage 1", "", "Emballage 2", ""], ["", "", "Matière", "Poids", "Matière", "Poids"]]
    columns, _, layout = source([*head, ["A", "jar", "verre", "1", "métal", "2"]])
    assert (layout, columns["Emballage 2 Poids"]) == ("wide", "component_2_weight_g")


def test_parts_that_fit_no_field_are_listed_and_none_is_taken_for_the_whole() -> None:
    columns, ignored, _ = source([["SKU", "Name", "Weight", ""], ["", "", "Primary", "Secondary"], ["A", "a", 1, 2]])
    assert (list(columns), ignored) == (["SKU", "Name"], ["Weight Primary", "Weight Secondary"])


@pytest.mark.parametrize("units", [["", "", "kg"], ["", "", "(kg)"], ["text", "text", "kg"], ["-", "", "[kg]"]])
def test_units_below_the_header_count(units: list[str]) -> None:
    for data in (
        delimited([["SKU", "Name", "Weight"], units, ["A", "a", "1.5"]]),
        workbook({"SKUs": [["SKU", "Name", "Weight"], units, ["A", "a", 1.5]]}),
    ):
        assert read(data)[1].values["weight_grams"].to_list() == [1500.0]


@pytest.mark.parametrize(
    "first", [["A", "a", "1.5"], ["A", "a", ""], ["", "a", "x"], ["A", "", "12"], ["T", "G", "12"], ["G", "kg", ""]]
)
def test_a_line_with_a_key_is_data(first: list[str]) -> None:
    upload, rows = read(delimited([["SKU", "Name", "Weight"], first, ["B", "b", "2"]]))
    assert (upload.rows, upload.source["skipped"]) == (2, [])
    assert rows.values["sku_code"].to_list()[-1] == "B"


def test_a_title_above_changes_no_header_that_is_one_by_itself() -> None:
    head = ["SKU", "Name", "Weight", "Note"]
    columns, ignored, _ = source([["Portfolio 2026", "", "", ""], head, ["A", "a", 1, "x"]])
    assert (list(columns), ignored) == (["SKU", "Name", "Weight"], ["Note"])
