"""Units placed on a market: beside periods that are no year, and under names of markets alone."""

import pytest

from tests.pipelines.reading.writing import delimited, read, values, workbook


@pytest.mark.parametrize(
    ("header", "period"),
    [
        ("Monat", "01.2026"), ("Month", "January"), ("Buchungsdatum", "31.01.2026"), ("Periode", "2026/01"),
        ("Quartal", "1"), ("KW", "12"), ("Half", "H1"), ("Miesiąc", "2025-01"), ("Mese di vendita", "gennaio"),
        ("Mois", "janvier"), ("Maand", "2025-01"), ("Fecha de venta", "31/01/2025"), ("Sales month", "Jan"),
    ],
)  # fmt: skip
def test_units_of_a_market_beside_a_shorter_period_are_asked_about(header: str, period: str) -> None:
    table = [
        ["SKU", "Name", header, "Units sold DE 2025"],
        ["A-1", "Soap", period, "1000"],
        ["A-2", "Gel", period, "5"],
    ]
    (about,) = read(delimited(table))[0].source["asked"]
    assert (about["kind"], about["answer"]) == ("column", {"columns": {"annual_volume_de_2025": "D"}})
    assert about["message"].startswith(
        f"“{header}: {period}” says that “Units sold DE 2025” may be no units of a year."
    )
    assert all("volumes" not in row or row["volumes"] is None for row in values(delimited(table)))
    answered = values(delimited(table), about["answer"])
    assert [row["volumes"] for row in answered] == ['{"DE/2025/0":1000}', '{"DE/2025/0":5}']


@pytest.mark.parametrize(
    ("header", "cell"), [("Periode", "2025"), ("Shelf life (days)", "12"), ("Launch date", "03/2025"), ("Tag", "")]
)
def test_what_is_no_shorter_period_of_sales_leaves_the_units_read(header: str, cell: str) -> None:
    table = [["SKU", "Name", header, "Units sold DE 2025"], ["A-1", "Soap", cell, "1000"], ["A-2", "Gel", cell, "5"]]
    upload, typed = read(delimited(table))
    assert upload.source["asked"] == []
    assert typed.values["volumes"].to_list() == ['{"DE/2025/0":1000}', '{"DE/2025/0":5}']


@pytest.mark.parametrize(
    ("headers", "could_be"),
    [
        (["NY", "TX"], [["us_ny"], ["us_tx"]]),
        (["New York", "Texas"], [["us_ny"], ["us_tx"]]),
        (["CA", "OR", "MN"], [["us_ca", "ca"], ["us_or"], ["us_mn"]]),
        (["DE", "FR", "CA"], [["de"], ["fr"], ["ca", "us_ca"]]),
        (["DE", "FR", "NY"], [["de"], ["fr"], ["us_ny"]]),
    ],
)
def test_numbers_under_names_of_states_are_asked_about(headers: list[str], could_be: list[list[str]]) -> None:
    rows = [[code, "Soap", "12", *("100" for _ in headers)] for code in ("A-1", "A-2")]
    asked = read(delimited([["SKU", "Name", "Packaging weight (g)", *headers], *rows]))[0].source["asked"]
    assert [about["header"] for about in asked] == headers
    assert [about["could_be"] for about in asked] == [[f"annual_volume_{code}" for code in codes] for codes in could_be]
    assert {about["kind"] for about in asked} == {"column"}


def test_a_single_word_that_is_a_state_too_is_no_market() -> None:
    table = [["SKU", "Name", "Packaging weight (g)", "OR"], ["A-1", "Soap", "12", "3"]]
    assert read(delimited(table))[0].source["asked"] == []


@pytest.mark.parametrize(
    "title",
    [
        "Absatz Januar 2026", "Ventes janvier 2026", "Vendite gennaio 2026", "Sales report Q1 2026",
        "Meldung 1. Halbjahr 2026", "Zeitraum: 01.01.2026 - 31.03.2026", "2026-04-01 to 2026-06-30", "Q3/2026",
    ],
)  # fmt: skip
def test_units_below_a_title_of_a_part_of_a_year_are_asked_about(title: str) -> None:
    table = [[title, "", ""], ["SKU", "Name", "Units sold DE"], ["A-1", "Soap", "1000"], ["A-2", "Gel", "5"]]
    (about,) = read(delimited(table))[0].source["asked"]
    assert about["message"].startswith(f"“{title}” says that “Units sold DE” may be no units of a year.")
    assert all(row.get("volumes") is None for row in values(delimited(table)))


def test_a_sheet_of_a_month_says_so_too() -> None:
    data = workbook({"Januar 2026": [["SKU", "Name", "Units sold DE"], ["A-1", "Soap", 1000]]})
    assert [about["text"] for about in read(data)[0].source["asked"]] == ["Januar 2026"]


@pytest.mark.parametrize(
    "title",
    [
        "Stand: Januar 2026", "Date: 12 October 2026", "01.01.2026 - 31.12.2026", "Sales 2026", "Version 3, May 2026",
        "Packaging data 2026", "Price list January 2026",
    ],
)  # fmt: skip
def test_a_title_of_a_year_or_with_a_day_of_its_own_leaves_the_units_read(title: str) -> None:
    table = [[title, "", ""], ["SKU", "Name", "Units sold DE"], ["A-1", "Soap", "1000"], ["A-2", "Gel", "5"]]
    assert [row["volumes"] for row in values(delimited(table))] == ['{"DE/2026/0":1000}', '{"DE/2026/0":5}']


def test_halves_below_a_title_of_a_half_stay_read() -> None:
    table = [["Report H1 2026", "", ""], ["SKU", "Name", "Units sold GB H1 2026"], ["A-1", "Soap", "1000"]]
    assert [row["volumes"] for row in values(delimited(table))] == ['{"GB/2026/1":1000}']


@pytest.mark.parametrize(
    ("header", "values_of"), [("Vertriebskanal", ("Online", "Handel")), ("Kunde", ("4711", "4712"))]
)
def test_units_of_one_line_of_several_are_asked_about(header: str, values_of: tuple[str, str]) -> None:
    first, second = values_of
    lines = [["A-1", "Saft", first, "100"], ["A-1", "Saft", second, "900"], ["A-2", "Tee", first, "20"]]
    data = delimited([["Artikelnummer", "Bezeichnung", header, "Absatz DE 2025"], *lines])
    (about,) = read(data)[0].source["asked"]
    assert about["message"].startswith(f"“{header}: {first}, {second}” says that “Absatz DE 2025” may be no units")
    assert all(row.get("volumes") is None for row in values(data))


def test_a_running_number_tells_no_lines_apart() -> None:
    lines = [["1", "A-1", "Saft", "100"], ["2", "A-1", "Saft", "900"], ["3", "A-2", "Tee", "20"]]
    source = read(delimited([["Nr", "Artikelnummer", "Bezeichnung", "Absatz DE 2025"], *lines]))[0].source
    assert source["asked"] == []
