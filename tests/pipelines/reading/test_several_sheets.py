"""Sheets of one header are read as one table, and every row, fault and question knows its sheet (decisions §13)."""

from datetime import date

import polars as pl
import pytest

from pipelines.imports.rejections import as_workbook, rejected_tables
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload, read_upload
from tests.pipelines.reading.writing import workbook

HEAD = ["sku_code", "name", "weight_grams", "material"]
JAN = [["Packaging of January"], HEAD, ["A-1", "Jar", 180, "glass"], ["A-2", "Box", "heavy", "paper"]]
FEB = [
    HEAD,
    ["B-1", "Jar", 190, "glass"],
    ["A-1", "Jar", 185, "glass"],
    ["B-2", "Can", 15, "steel"],
    ["Total", None, 390, None],
]
BOTH = workbook({"Cover": [["Packaging data"]], "Jan": JAN, "Feb 2026": FEB})


def read(data: bytes, **mapping: object) -> Upload:
    return read_upload(data, "list.xlsx", mapping=mapping or None, today=date(2026, 11, 1))


def typed(upload: Upload):
    return type_rows(Upload.from_bytes(upload.to_bytes()), default_year=2026, served_markets={"FR"})


def test_sheets_of_one_header_are_asked_about_with_all_of_them_first() -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(BOTH)
    [issue] = refused.value.issues
    assert (issue.kind, issue.could_be, issue.answer) == ("sheet", ["all", "Jan", "Feb 2026"], {"sheets": "all"})


@pytest.mark.parametrize("sheets", ["all", ["Jan", "Feb 2026"], ["jan", "FEB 2026"]])
def test_every_row_and_fault_says_its_sheet_and_line(sheets) -> None:
    upload = read(BOTH, sheets=sheets)
    rows = typed(upload)
    assert rows.values.select("sheet", "line", "sku_code", "weight_grams").rows() == [
        ("Jan", 3, "A-1", 180),
        ("Feb 2026", 2, "B-1", 190),
        ("Feb 2026", 4, "B-2", 15),
    ]
    assert rows.errors.select("sheet", "line", "sku_code", "column").rows() == [
        ("Jan", 4, "A-2", "C"),
        ("Feb 2026", 3, "A-1", "A"),
    ]
    assert "line 3 (Jan)" in rows.errors["message"][1]
    source = upload.source
    assert source["sheets"] == [{"sheet": "Jan", "header_row": 2}, {"sheet": "Feb 2026", "header_row": 1}]
    assert [(line["sheet"], line["line"]) for line in source["skipped"]] == [("Feb 2026", 5)], "a total of its own"
    assert [each["sheet"] for each in source["unread_sheets"]] == ["Cover"]
    assert upload.rows == 5


def test_the_order_of_the_names_is_the_order_of_the_rows() -> None:
    rows = typed(read(BOTH, sheets=["Feb 2026", "Jan"]))
    assert rows.values["sku_code"].to_list() == ["B-1", "A-1", "B-2"]
    assert rows.errors.select("sheet", "line").rows() == [("Jan", 3), ("Jan", 4)]


def test_one_sheet_of_several_is_read_as_before() -> None:
    upload = read(BOTH, sheets=["Feb 2026"])
    assert (upload.source["sheet"], "sheets" in upload.source) == ("Feb 2026", False)
    assert typed(upload).values["sheet"].unique().to_list() == ["Feb 2026"]


def test_all_counts_where_a_sheet_was_chosen_before() -> None:
    """An answer is added to the mapping of before, which may have named one sheet."""
    assert typed(read(BOTH, sheet="Jan", sheets="all")).values.height == 3


@pytest.mark.parametrize("header", [["name", "sku_code", "weight_grams", "material"], ["sku_code", "name", "material"]])
def test_sheets_of_other_columns_are_refused_together(header) -> None:
    data = workbook({"Jan": JAN, "Feb": [header, ["B-1", "B-2", "paper", "paper"]]})
    with pytest.raises(ReadingRefused, match="Jan and Feb cannot be read as one table"):
        read(data, sheets=["Jan", "Feb"])


def test_an_unknown_sheet_and_one_without_header_are_refused() -> None:
    for sheets in (["Jan", "March"], ["Jan", "Cover"]):
        with pytest.raises(ReadingRefused):
            read(BOTH, sheets=sheets)


def test_parts_of_one_sku_stay_on_their_sheet() -> None:
    """A line without a code goes on with the SKU above it, never with one of the sheet before."""
    head = ["sku_code", "name", "component_type", "material_family", "component_weight_g"]
    one = [head, ["P-1", "Jar", "body", "glass", 180], [None, None, "closure", "metal", 6]]
    two = [head, [None, None, "label", "paper", 1], ["P-2", "Can", "body", "metal", 15]]
    rows = typed(read(workbook({"One": one, "Two": two}), sheets="all"))
    graphs = dict(rows.values.select("sku_code", "components").iter_rows())
    assert (graphs["P-1"].count("component_type"), graphs["P-2"].count("component_type")) == (2, 1)
    assert set(rows.errors.select("sheet", "line").rows()) == {("Two", 2)}


def test_a_part_that_further_sheets_repeat_is_one_part() -> None:
    """Sheets of months list each packaging whole: it does not weigh more with each; another weight is a fault."""
    head = ["sku_code", "name", "component_type", "material_family", "component_weight_g"]
    jar, lid = ["P-1", "Jar", "body", "glass", 180], ["P-1", "Jar", "closure", "metal", 6]
    can, label = ["P-2", "Can", "body", "metal", 15], ["P-1", "Jar", "label", "paper", 1]
    months = {"Jan": [head, jar, lid, can], "Feb": [head, jar, lid, [*can[:4], 16]], "Extra": [head, label]}
    upload = read(workbook(months), sheets="all")
    rows = typed(upload)
    graphs = dict(rows.values.select("sku_code", "components").iter_rows())
    assert (graphs.keys(), graphs["P-1"].count("component_type")) == ({"P-1"}, 3)
    assert rows.errors.select("sheet", "line", "code").rows() == [("Feb", 4, "duplicate_row")]
    assert [(line["sheet"], line["line"]) for line in upload.source["skipped"]] == [("Feb", 2), ("Feb", 3)]


def test_lines_of_one_sheet_are_named_with_it() -> None:
    legend = [*[None] * 1], ["PL", "Plastic", None, None]
    data = workbook({"Jan": [HEAD, *JAN[2:3], *legend], "Feb": [HEAD, FEB[1], FEB[3]]})
    [asked] = read(data, sheets="all").source["asked"]
    assert (asked["sheet"], asked["lines"], asked["answer"]) == ("Jan", "4", {"lines": {"Jan!4": "skip"}})
    codes = typed(read(data, sheets="all", lines={"Jan!4": "read", "Feb!3": "skip"})).values["sku_code"].to_list()
    assert codes == ["A-1", "PL", "B-1"]
    both = typed(read(data, sheets="all", lines={"3": "skip", "4": "skip"})).values["sku_code"].to_list()
    assert both == ["A-1", "B-1"], "lines without a sheet are those of each"


def test_help_below_each_header_is_left_out() -> None:
    note = ["text", "text", "number", "text"]
    data = workbook({"Jan": [HEAD, note, JAN[2]], "Feb": [HEAD, note, FEB[1]]})
    upload = read(data, sheets="all")
    assert [(line["sheet"], line["line"]) for line in upload.source["skipped"]] == [("Jan", 2), ("Feb", 2)]
    assert typed(upload).values["sku_code"].to_list() == ["A-1", "B-1"]


def test_a_correction_is_made_on_the_sheet_of_the_fault() -> None:
    upload = read(BOTH, sheets="all")
    report = typed(upload).errors.drop("template").to_dicts()
    tables = rejected_tables(BOTH, upload.source, report)
    assert [(table.name, table.lines) for table in tables] == [("Jan", (4,)), ("Feb 2026", (3,))]
    assert {"A-1", "B-1", "B-2"} - {"A-1"} <= tables[0].others
    again = read(as_workbook(tables), sheets=["Jan", "Feb 2026"])
    assert typed(again).errors.select("sheet", "line").rows() == [("Jan", 3)]


def test_a_table_of_many_sheets_has_the_rows_of_a_table() -> None:
    """Fifty-three weeks are one table; none is left out because it is the fifty-first."""
    weeks = {f"W{week:02}": [HEAD[:2], [f"W-{week}", "Jar"]] for week in range(1, 54)}
    rows = typed(read(workbook(weeks), sheets="all")).values
    assert rows.select(pl.col("sku_code").n_unique(), pl.col("sheet").n_unique()).row(0) == (53, 53)
