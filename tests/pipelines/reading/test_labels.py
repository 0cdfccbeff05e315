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
        delimited([["SKU", "Name", "Packaging weight"], units, ["A", "a", "1.5"]]),
        workbook({"SKUs": [["SKU", "Name", "Packaging weight"], units, ["A", "a", 1.5]]}),
    ):
        assert read(data)[1].values["weight_grams"].to_list() == [1500.0]


@pytest.mark.parametrize(
    "first", [["A", "a", "1.5"], ["A", "a", ""], ["", "a", "x"], ["A", "", "12"], ["T", "G", "12"], ["G", "kg", ""]]
)
def test_a_line_with_a_key_is_data(first: list[str]) -> None:
    upload, rows = read(delimited([["SKU", "Name", "Packaging weight"], first, ["B", "b", "2"]]))
    assert (upload.rows, upload.source["skipped"]) == (2, [])
    assert rows.values["sku_code"].to_list()[-1] == "B"


def test_a_title_above_changes_no_header_that_is_one_by_itself() -> None:
    head = ["SKU", "Name", "Packaging weight", "Note"]
    columns, ignored, _ = source([["Portfolio 2026", "", "", ""], head, ["A", "a", 1, "x"]])
    assert (list(columns), ignored) == (["SKU", "Name", "Packaging weight"], ["Note"])


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("Verp.-gewicht Glas\n\nZugehörige Einheit in NTG-P-049", None),  # asked: its unit stands elsewhere
        ("Verpackungsgewicht\n(leer gewogen, ohne Etikett)", None),
        ("Poids emballage (voir la notice de pesée)", "weight_grams"),
        ("Poids emballage\n(brut)", None),
        ("Gewicht\nProdukt", None),
        ("Packaging weight\nof the secondary packaging", None),
        ("Packaging weight\nRecycled content", None),
        ("Matériau\nvoir la liste", "material"),
        ("Article code\nof the supplier", None),
    ],
)
def test_a_note_below_a_header_leaves_its_term(header: str, field: str | None) -> None:
    table = [["SKU", "Name", header, "Papier (g)"], ["A", "a", "1", "2"]]
    upload, _ = read(delimited(table))
    parts = (upload.source["components"] or {"columns": []})["columns"]
    held = {column["header"]: column["field"] for column in [*upload.source["columns"], *parts]}
    assert held.get(header) == field


def test_a_note_may_name_the_unit() -> None:
    table = [["SKU", "Name", "Packaging weight\nin kg, see data sheet"], ["A", "a", "0.2"]]
    assert read(delimited(table))[1].values["weight_grams"].to_list() == [200]


@pytest.mark.parametrize(
    ("cells", "field"),
    [
        (("Primary", "Secondary"), "packaging_level"),
        (("Primary", "Online"), "packaging_level"),
        (("cosmetics", "food"), "use_contexts"),
        (("Primary", "Primary", "of all sorts"), "packaging_level"),
    ],
)
def test_the_cells_decide_whether_a_usage_is_a_level(cells: tuple[str, ...], field: str) -> None:
    for header in ("Usage", "Use"):
        table = [["SKU", "Name", header], *([f"S{at}", "n", cell] for at, cell in enumerate(cells))]
        assert read(delimited(table))[0].source["columns"][2]["field"] == field
    own = [["SKU", "Name", "use_contexts"], ["A", "a", "food"]]
    assert read(delimited(own))[0].source["columns"][2]["field"] == "use_contexts"


def test_a_usage_beside_the_level_is_left_out_where_it_says_the_same() -> None:
    table = [["SKU", "Name", "Packaging level", "Usage"], ["A", "a", "Primary", "Primary"]]
    upload, rows = read(delimited(table))
    assert (rows.errors.rows(), rows.values["packaging_level"].to_list()) == ([], ["sales"])
    assert upload.source["ignored"] == [{"column": "D", "header": "Usage"}]
