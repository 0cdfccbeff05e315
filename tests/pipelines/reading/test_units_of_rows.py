"""A line for each SKU and market: its units are those of that market, and the lines of a SKU are collected."""

import json

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.upload import Upload
from tests.pipelines.reading.writing import Table, delimited, read, workbook

YEAR = 2026


def volumes(table: Table, mapping: dict[str, object] | None = None) -> dict[str, dict[str, int | None]]:
    """The volumes of each SKU; the same in both formats, and after the upload was packed for a worker."""
    found = []
    for data in (delimited(table), workbook({"Sales": table})):
        upload, rows = read(data, mapping)
        assert rows.errors.rows() == []
        assert Upload.from_bytes(upload.to_bytes()).units is not None
        texts = rows.values.select("sku_code", "volumes").rows()
        found.append({code: json.loads(text) for code, text in texts if text is not None})
    assert found[0] == found[1]
    return found[0]


def faults(table: Table) -> list[tuple[int, str, str | None, str]]:
    return read(workbook({"Sales": table}))[1].errors.select("line", "sku_code", "field", "code").rows()


@pytest.mark.parametrize(
    "head",
    [
        ["SKU", "Market", "Year", "Units"],
        ["Item code", "Country", "Reporting year", "Quantity"],
        ["Artikelnummer", "Land", "Jahr", "Menge"],
        ["Artikel-Nr", "Markt", "Berichtsjahr", "Absatz (Stück)"],
        ["Référence", "Pays", "Année", "Quantité"],
        ["Code article", "Marché", "Année", "Ventes"],
    ],
)
def test_the_units_of_a_line_are_those_of_its_market(head: list[str]) -> None:
    table = [head, ["A", "DE", YEAR, 100], ["A", "France", YEAR, 50], ["B", "DE", YEAR - 1, 7], ["A", "DE", 2025, 3]]
    assert volumes(table) == {"A": {"DE/2025/0": 3, "DE/2026/0": 100, "FR/2026/0": 50}, "B": {"DE/2025/0": 7}}


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        (["Half"], [["H1"], ["2nd half"], [""]]),
        (["Halbjahr"], [["1"], ["2. Halbjahr"], ["0"]]),
        (["Semestre"], [["S1"], ["2e semestre"], [""]]),
        (["Period"], [["2026-H1"], ["H2 2026"], ["2026"]]),
        (["Year", "Half"], [[2026, "H1"], [2026, "H2"], [2026, ""]]),
    ],
)
def test_a_half_stands_in_a_column_of_its_own(head: list[str], cells: list[list[object]]) -> None:
    lines = [["A", market, *of_line, 5] for market, of_line in zip(("GB", "GB", "DE"), cells, strict=True)]
    table = [["SKU", "Market", *head, "Units"], *lines]
    assert volumes(table) == {"A": {"DE/2026/0": 5, "GB/2026/1": 5, "GB/2026/2": 5}}


def test_columns_of_several_years_and_names_beside_them() -> None:
    table = [["SKU", "Name", "Land", "Absatz 2025", "Absatz 2026 (Tsd.)", "Material"],
             ["A", "Jar", "DE", 10, "1,5", "glass"], ["A", "Jar", "AT", "", 2, "glass"],
             ["B", "Lid", "DE", 0, "", "metal"]]  # fmt: skip
    assert volumes(table) == {"A": {"AT/2026/0": 2000, "DE/2025/0": 10, "DE/2026/0": 1500}, "B": {"DE/2025/0": 0}}
    upload, rows = read(delimited(table))
    assert rows.values.select("sku_code", "name", "material").rows() == [("A", "Jar", "glass"), ("B", "Lid", "metal")]
    assert "markets" not in rows.values.columns, "units say where it is sold"
    fields = [column["field"] for column in upload.source["columns"]]
    assert fields == ["sku_code", "name", "markets", "annual_volume_2025", "annual_volume_2026", "material"]


def test_a_line_without_a_code_belongs_to_the_sku_above() -> None:
    table = [["SKU", "Market", "Units"], ["A", "DE", 1], ["", "FR", 2], ["B", "DE", 3], ["", "AT", 4]]
    assert volumes(table) == {"A": {"DE/2026/0": 1, "FR/2026/0": 2}, "B": {"AT/2026/0": 4, "DE/2026/0": 3}}


def test_a_mapping_names_both_columns_whatever_their_headers() -> None:
    table = [["SKU", "Where", "Sold 2025"], ["A", "DE", 100], ["A", "FR", 50]]
    columns = {"markets": "Where", "annual_volume": "C"}
    mapping: dict[str, object] = {"columns": columns, "constants": {"volume_year": 2025}}
    assert volumes(table, mapping) == {"A": {"DE/2025/0": 100, "FR/2025/0": 50}}
    with pytest.raises(ReadingRefused, match="the market that each row names"):
        read(delimited(table), {"columns": {"annual_volume": "C"}})


def test_what_is_wrong_stands_at_its_line_and_rejects_its_sku_alone() -> None:
    table = [["SKU", "Market", "Year", "Half", "Units"],
             ["A", "DE", 2026, "", 1], ["A", "DE", 2026, "", 2],
             ["B", "DE", 2026, "H1", 1],
             ["C", "", 2026, "", 1],
             ["D", "GB", 2026, "H3", 1],
             ["E", "DE", 2026, "", "many"], ["E", "FR", 2026, "", 1],
             ["F", "FR", 2025, "2026", 1],
             ["G", "DE", 2026, "", 5], ["G", "DE", 2026, "", 5]]  # fmt: skip
    assert faults(table) == [
        (3, "A", "annual_volume", "duplicate_row"),
        (4, "B", "volume_half", "out_of_range"),
        (5, "C", "markets", "required"),
        (6, "D", "volume_half", "invalid_format"),
        (7, "E", "annual_volume", "invalid_number"),
        (9, "F", "annual_volume", "invalid_format"),
    ]
    _, rows = read(delimited(table))
    assert rows.values.select("sku_code", "volumes").rows() == [("G", '{"DE/2026/0":5}')]
    assert rows.rejected == 6


def test_other_values_of_a_sku_are_a_fault_of_its_later_line() -> None:
    table = [["SKU", "Name", "Market", "Units"], ["A", "Jar", "DE", 1], ["A", "Lid", "FR", 2]]
    assert [(line, code) for line, _, _, code in faults(table)] == [(3, "duplicate_sku_code")]


@pytest.mark.parametrize(
    "lines",
    [
        [["A", "Jar", "DE, FR", 1, "glass"], ["B", "Jar", "DE", 1, "glass"]],
        [["A", "Jar", "DE", 1, "glass"], ["B", "Jar", "FR", 1, "glass"]],
    ],
)
def test_a_quantity_that_may_be_something_else_is_listed_and_not_read(lines: Table) -> None:
    upload, rows = read(delimited([["SKU", "Name", "Country", "Quantity", "Material"], *lines]))
    assert [column["header"] for column in upload.source["ignored"]] == ["Quantity"]
    assert "volumes" not in rows.values.columns


def test_two_columns_that_fit_are_asked_about() -> None:
    with pytest.raises(ReadingRefused, match="all fit annual_volume") as refused:
        read(delimited([["SKU", "Land", "Menge", "Absatz"], ["A", "DE", 1, 2], ["A", "FR", 1, 2]]))
    [issue] = refused.value.issues
    assert issue.answer is not None


def test_units_wait_for_the_answer_which_list_their_markets_are_of() -> None:
    table = [["SKU", "Market", "Units"], ["A", "CO", 1], ["A", "ME", 2]]
    upload, rows = read(delimited(table))
    assert [asked["kind"] for asked in upload.source["asked"]] == ["list"]
    assert (rows.errors.rows(), "volumes" in rows.values.columns) == ([], False)
    assert [column["header"] for column in upload.source["ignored"]] == ["Units"]


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("Einheit", ["Stk", "Karton"]),
        ("Unit", ["kg", "kg"]),
        ("UOM", ["EA", "CS"]),
        ("Unité", ["pièces", "milliers"]),
        ("Datum", ["31.01.2026", "28.02.2026"]),
        ("Buchung", ["2026-01-31", "2026-02-28"]),
        ("KW", ["1", "2"]),
        ("Fiscal year", ["2025/26", "FY26"]),
    ],
)
def test_quantities_of_another_unit_or_period_are_asked_about_and_no_units_of_a_year(
    title: str, cells: list[str]
) -> None:
    """One line of a SKU is enough: twenty cartons would be twenty units, and those of January the year's."""
    table = [["SKU", "Name", "Land", title, "Menge"], ["A", "Jar", "DE", cells[0], 20], ["B", "Lid", "DE", cells[1], 5]]
    for data in (delimited(table), workbook({"Sales": table})):
        with pytest.raises(ReadingRefused) as refused:
            read(data)
        [issue] = refused.value.issues
        assert (issue.code, issue.kind, issue.answer) == (
            "ambiguous_column",
            "column",
            {"columns": {"annual_volume": "E"}},
        )
        assert all(part in str(issue.message) for part in (f"“{title}: ", cells[1], "“Menge”"))
    assert volumes(table, {"columns": {"annual_volume": "E"}})["A"] == {"DE/2026/0": 20}


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("Monat", ["Januar", "Februar"]),
        ("Month", ["1", "2"]),
        ("Quartal", ["Q1", "Q2"]),
        ("Zeitraum von", ["2026-01", "2026-02"]),
        ("Monat", ["202601", "202602"]),
    ],
)
def test_some_months_are_asked_about_and_the_answer_adds_them_up(title: str, cells: list[str]) -> None:
    rows = [["A", "Jar", "DE", cell, 20] for cell in cells]
    table = [["SKU", "Name", "Land", title, "Menge"], *rows]
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    [issue] = refused.value.issues
    assert (issue.code, issue.answer) == ("ambiguous_column", {"columns": {"annual_volume": "E", "volume_half": "D"}})
    assert volumes(table, issue.answer)["A"] == {"DE/2026/0": 40}


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("Month", [f"2025-{month:02}" for month in range(1, 13)]),
        ("Monat", [f"{month:02}/2025" for month in range(1, 13)]),
        ("Periode", [f"2025{month:02}" for month in range(1, 13)]),
        ("Quarter", [f"Q{quarter} 2025" for quarter in range(1, 5)]),
    ],
)
def test_all_months_or_quarters_of_a_year_are_added_up(title: str, cells: list[str]) -> None:
    rows = [[code, "Jar", "DE", cell, units] for code, units in (("A", 20), ("B", 1)) for cell in cells]
    table = [["SKU", "Name", "Land", title, "Menge"], *rows]
    assert volumes(table) == {"A": {"DE/2025/0": 20 * len(cells)}, "B": {"DE/2025/0": len(cells)}}


@pytest.mark.parametrize(
    ("title", "cells"),
    [("Einheit", ["Stk", "ST"]), ("Unit", ["pcs", "EA"]), ("Customer", ["Aldi", "Lidl"]), ("Plant", ["2100", "1000"])],
)
def test_what_says_nothing_of_quantities_stands_beside_units(title: str, cells: list[str]) -> None:
    table = [["SKU", "Name", "Land", title, "Menge"], ["A", "Jar", "DE", cells[0], 20], ["B", "Lid", "DE", cells[1], 5]]
    assert volumes(table) == {"A": {"DE/2026/0": 20}, "B": {"DE/2026/0": 5}}


def test_equal_units_that_an_unread_column_tells_apart_are_not_dropped() -> None:
    table = [["SKU", "Market", "Channel", "Units"], ["A", "DE", "Retail", 1000], ["A", "DE", "Online", 1000],
             ["B", "DE", "Retail", 7]]  # fmt: skip
    assert faults(table) == [(3, "A", "annual_volume", "duplicate_row")]
    _, rows = read(delimited(table))
    assert rows.values["sku_code"].to_list() == ["B"]


@pytest.mark.parametrize(
    "title", ["Mengen in Tsd. Stück", "Units in thousands", "Absatz in Tonnen", "Mengen in kg", "Ventes en milliers"]
)
def test_a_title_that_scales_quantities_is_asked_about_in_every_layout(title: str) -> None:
    wide = [[title], ["SKU", "Name", "Absatz DE 2025"], ["A", "Jar", 12]]
    for data in (delimited(wide, ";"), workbook({"Sales": wide})):
        upload, rows = read(data)
        [asked] = upload.source["asked"]
        assert (asked["kind"], asked["column"], asked["text"]) == ("unit", "C", title)
        assert "volumes" not in rows.values.columns
        answer = {"columns": {"annual_volume_de_2025": "C"}, "units": {"annual_volume_de_2025": "1000"}}
        assert json.loads(read(data, answer)[1].values["volumes"][0]) == {"DE/2025/0": 12_000}
    with pytest.raises(ReadingRefused, match="may be no units of a year"):
        read(workbook({"Sales": [[title], ["SKU", "Land", "Menge"], ["A", "DE", 12], ["A", "FR", 12]]}))


@pytest.mark.parametrize(
    ("title", "cells"), [("Einheit", ["Karton", "Stk"]), ("ME", ["KAR", "ST"]), ("Unit", ["kg"] * 2)]
)
def test_a_column_of_units_beside_units_by_market_is_asked_about(title: str, cells: list[str]) -> None:
    table = [["SKU", "Name", title, "Absatz DE 2025"], ["A", "Jar", cells[0], 12], ["B", "Lid", cells[1], 5]]
    upload, rows = read(delimited(table))
    [asked] = upload.source["asked"]
    assert (asked["column"], asked["text"]) == ("D", f"{title}: {cells[0]}")
    assert "volumes" not in rows.values.columns


@pytest.mark.parametrize("title", ["Verpackungsdaten 2026", "Alle Mengen in Stück", "Stand: 1. November 2025"])
def test_a_title_that_scales_nothing_leaves_units_as_they_are(title: str) -> None:
    _, rows = read(workbook({"Sales": [[title], ["SKU", "Name", "Unit", "Absatz DE 2025"], ["A", "Jar", "pcs", 12]]}))
    assert json.loads(rows.values["volumes"][0]) == {"DE/2025/0": 12}


@pytest.mark.parametrize(
    ("title", "year"),
    [
        ("Absatzzahlen 2025", 2025),
        ("Reporting year 2025", 2025),
        ("Verpackungsdaten 2025", 2025),
        ("Stand 2025", YEAR),
        ("Verpackungsdaten vom 12.03.2025", YEAR),
        ("Sales 2024/2025", YEAR),
        ("Verpackungsdaten nach (EU) 2025/40", YEAR),
    ],
)
def test_a_year_in_a_title_is_that_of_units_that_name_none(title: str, year: int) -> None:
    wide = [[title], ["SKU", "Name", "Absatz DE", "Absatz FR 2024"], ["A", "Jar", 12, 3]]
    for data in (delimited(wide, ";"), workbook({"Sales": wide})):
        assert json.loads(read(data)[1].values["volumes"][0]) == {f"DE/{year}/0": 12, "FR/2024/0": 3}
    by_row = [[title], ["SKU", "Land", "Menge"], ["A", "DE", 12], ["A", "FR", 5]]
    assert volumes(by_row) == {"A": {f"DE/{year}/0": 12, f"FR/{year}/0": 5}}
    told = [[title], ["SKU", "Land", "Jahr", "Menge"], ["A", "DE", 2023, 12], ["A", "FR", 2023, 5]]
    assert volumes(told) == {"A": {"DE/2023/0": 12, "FR/2023/0": 5}}


def test_a_sheet_for_each_year_is_no_table_of_one_year() -> None:
    table = [["SKU", "Name", "Absatz DE"], ["A", "Jar", 12]]
    data = workbook({"2024": table, "2025": table})
    assert json.loads(read(data, {"sheets": ["2024"]})[1].values["volumes"][0]) == {"DE/2024/0": 12}
    with pytest.raises(ReadingRefused, match="cannot be read as one table"):
        read(data, {"sheets": "all"})


def test_columns_of_numbers_under_bare_markets_are_asked_about() -> None:
    """They may be units placed, and were only listed as ignored; one alone, or marks of where it is sold, are none."""
    table = [["SKU", "Name", "DE", "France"], ["A", "Jar", 12, 5], ["B", "Lid", 3, 4]]
    upload, rows = read(delimited(table))
    assert [(asked["kind"], asked["could_be"]) for asked in upload.source["asked"]] == [
        ("column", ["annual_volume_de"]),
        ("column", ["annual_volume_fr"]),
    ]
    assert "volumes" not in rows.values.columns
    columns = {name: place for asked in upload.source["asked"] for name, place in asked["answer"]["columns"].items()}
    answered = read(delimited(table), {"columns": columns})[1]
    assert json.loads(answered.values["volumes"][0]) == {f"DE/{YEAR}/0": 12, f"FR/{YEAR}/0": 5}
    marks = [["SKU", "Name", "DE", "France"], ["A", "Jar", "x", ""], ["B", "Lid", "x", "x"]]
    assert read(delimited(marks))[0].source["asked"] == []
    assert read(delimited([row[:3] for row in table]))[0].source["asked"] == []
