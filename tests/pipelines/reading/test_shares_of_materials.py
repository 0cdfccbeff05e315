"""Shares of materials beside a weight: `Kunststoff % | Papier %` are the packaging's materials, or asked about."""

import json

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, workbook

HEAD = ["Artikelnummer", "Bezeichnung", "Verpackungsgewicht (g)"]
ROWS = [["A-1", "Riegel", "5,2", "80", "20"], ["A-2", "Tüte", "6,0", "100", ""]]


def graphs(table: Table, mapping: dict[str, object] | None = None) -> list[list[tuple[str, float]] | None]:
    rows = read(delimited(table, ";"), mapping)[1].values
    texts = rows["components"] if "components" in rows.columns else [None] * rows.height
    parsed = [None if text is None else json.loads(text) for text in texts]
    return [
        None if graph is None else [(part["material_family"], part["weight_g"]) for part in graph] for graph in parsed
    ]


@pytest.mark.parametrize(
    ("plastic", "paper"),
    [
        ("Kunststoff %", "Papier %"),
        ("% plastic", "% paper"),
        ("Plastique (%)", "Papier (%)"),
        ("Anteil Kunststoff (%)", "Anteil Papier (%)"),
    ],
)
def test_shares_that_are_whole_divide_the_weight(plastic: str, paper: str) -> None:
    table = [[*HEAD, plastic, paper], *ROWS]
    assert read(delimited(table, ";"))[0].source["asked"] == []
    assert graphs(table) == [[("plastic", 4.16), ("paper", 1.04)], [("plastic", 6)]]


def test_percent_cells_of_a_workbook_divide_it_too() -> None:
    head = ["SKU", "Product", "Packaging weight (g)", "Plastic (%)", "Paper (%)"]
    data = workbook({"S": [head, ["A", "x", 30, 0.95, 0.05]]}, formats={3: "0%", 4: "0%"})
    assert [part["weight_g"] for part in json.loads(read(data)[1].values["components"][0])] == [28.5, 1.5]


def test_shares_that_are_not_whole_reject_their_row_alone() -> None:
    table = [[*HEAD, "Kunststoff %", "Papier %"], *ROWS, ["A-3", "Beutel", "6", "50", "20"]]
    rows = read(delimited(table, ";"))[1]
    assert rows.errors.select("line", "code").rows() == [(4, "out_of_range")]
    assert rows.values["sku_code"].to_list() == ["A-1", "A-2"]


@pytest.mark.parametrize(
    "table",
    [
        [[*HEAD, "Kunststoff %"], ["A-1", "Riegel", "5,2", "80"], ["A-2", "Tüte", "6", "70"]],
        [[*HEAD, "Kunststoff %", "Papier %"], ["A-1", "Riegel", "5,2", "60", "20"]],
        [["Artikelnummer", "Bezeichnung", "Kunststoff %", "Papier %"], ["A-1", "Riegel", "80", "20"]],
    ],
)
def test_other_shares_are_asked_about_and_not_read(table: Table) -> None:
    source = read(delimited(table, ";"))[0].source
    [about] = source["asked"]
    assert (about["kind"], about["could_be"], source["ignored"]) == ("column", ["shares"], [])
    assert graphs(table) == [None] * (len(table) - 1)


def test_shares_make_no_weight_the_packaging_s() -> None:
    table = [
        ["Artikelnummer", "Bezeichnung", "Gewicht", "Kunststoff %", "Papier %"],
        ["A-1", "Stuhl", "3500", "80", "20"],
    ]
    asked = [about["header"] or about["text"] for about in read(delimited(table, ";"))[0].source["asked"]]
    assert asked == ["Gewicht", "“Kunststoff %”, “Papier %”"]
    assert graphs(table) == [None]


def test_fractions_are_asked_about_first() -> None:
    table = [[*HEAD, "Anteil Kunststoff", "Anteil Papier"], ["A-1", "Riegel", "5", "0,8", "0,2"]]
    asked = read(delimited(table, ";"))[0].source["asked"]
    assert [about["kind"] for about in asked] == ["fraction", "fraction"]
    assert graphs(table) == [None]
    units = dict.fromkeys(("plastic_weight_share_percent", "paper_weight_share_percent"), "fraction")
    assert graphs(table, {"units": units}) == [[("plastic", 4), ("paper", 1)]]


@pytest.mark.parametrize(
    "header", ["Recycled plastic %", "Papier recycled %", "Plastic % (PCR)", "Glas Rezyklatanteil %"]
)
def test_a_recycled_share_is_none_of_a_material(header: str) -> None:
    assert graphs([[*HEAD, header, "Papier %"], ["A-1", "Riegel", "5", "80", "20"]]) == [None]
