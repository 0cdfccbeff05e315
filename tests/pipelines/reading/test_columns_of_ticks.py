"""Columns of ticks under markets: they say where an item is sold, and make the markets of its line."""

import pytest

from tests.pipelines.reading.writing import delimited, read, workbook

HEAD = ["sku_code", "name", "material"]
TICKS = [
    ["A-1", "Bottle", "plastic", "x", "", "✓"],
    ["A-2", "Can", "metal", "-", "ja", "nein"],
    ["A-3", "Lid", "metal", "", "", "no"],
]


@pytest.mark.parametrize(
    "markets",
    [["DE", "FR", "AT"], ["Germany", "Frankreich", "Austria"], ["Sold in DE", "Marché FR", "Markt AT"]],
)
def test_ticks_under_markets_are_the_markets_of_each_line(markets: list[str]) -> None:
    for data in (delimited([[*HEAD, *markets], *TICKS]), workbook({"SKUs": [[*HEAD, *markets], *TICKS]})):
        upload, typed = read(data)
        assert typed.values["markets"].to_list() == ["{DE,AT}", "{FR}", None]
        assert [c["column"] for c in upload.source["columns"] if c["field"] == "markets"] == ["D", "E", "F"]
        assert (upload.source["ignored"], upload.source["asked"], typed.errors.height) == ([], [], 0)


def test_ticks_under_several_markets_and_what_is_no_tick_are_faults_of_their_lines() -> None:
    lines = [
        ["A-1", "Bottle", "plastic", "x", "", "x"],
        ["A-2", "Can", "metal", "x", "x", ""],
        ["A-3", "Lid", "metal", "later", "x", ""],
    ]
    _, typed = read(delimited([[*HEAD, "DE", "FR", "EU"], *lines]))
    assert typed.errors.select("line", "field", "value", "code").rows() == [
        (2, "markets", "DE;EU", "unknown_market"),
        (4, "markets", "later;FR", "unknown_market"),
    ]
    assert typed.values["markets"].to_list() == ["{DE,FR}"]


@pytest.mark.parametrize(
    ("over", "markets"),
    [
        (None, ["EPR registered DE", "EPR registered FR", "EPR registered AT"]),
        (["", "", "", "Registered", "", ""], ["DE", "FR", "AT"]),
        (None, ["PE", "PS", "PA"]),
        (None, ["DE", "Bio", "Vegan"]),
        (None, ["DE 2026", "FR 2026", "AT 2026"]),
    ],
)
def test_ticks_that_say_something_else_are_no_markets(over: list[str] | None, markets: list[str]) -> None:
    table = [[*HEAD, *markets], *TICKS]
    upload, _ = read(workbook({"SKUs": table if over is None else [over, *table]}))
    assert "markets" not in {column["field"] for column in upload.source["columns"]}


def test_a_column_of_markets_and_the_mapping_come_before_ticks() -> None:
    own = [[*row, "IT"] for row in TICKS]
    assert read(delimited([[*HEAD, "DE", "FR", "AT", "markets"], *own]))[1].values["markets"].to_list() == ["{IT}"] * 3
    off = read(delimited([[*HEAD, "DE", "FR", "AT"], *TICKS]), {"columns": {"markets": None}})[1]
    assert "markets" not in off.values.columns


@pytest.mark.parametrize("no", ["0", ""])
def test_ones_and_zeros_alone_are_ticks(no: str) -> None:
    lines = [["A-1", "Bottle", "plastic", "1", no, "1"], ["A-2", "Can", "metal", no, "1", no]]
    upload, typed = read(delimited([[*HEAD, "DE", "FR", "AT"], *lines]))
    assert typed.values["markets"].to_list() == ["{DE,AT}", "{FR}"]
    assert (upload.source["ignored"], upload.source["asked"]) == ([], [])


def test_beside_other_figures_of_a_market_ones_are_asked_about() -> None:
    lines = [["A-1", "Bottle", "plastic", "1", "0", "1"], ["A-2", "Can", "metal", "500", "1", "1"]]
    upload, typed = read(delimited([[*HEAD, "DE", "FR", "AT"], *lines]))
    assert "markets" not in typed.values.columns
    assert [about["column"] for about in upload.source["asked"]] == ["D", "E", "F"]
    assert all("nothing says what the numbers below it count" in about["message"] for about in upload.source["asked"])
