"""Heavy metals of parts are declared of each part, in a table with a line for each and in a sheet of components."""

import json
from collections.abc import Sequence

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, values, workbook

PARTS: Table = [["A-1", "Bottle", "Body", "Glass", 210], ["A-1", "Bottle", "Cap", "PP", 3]]
HEAD = ["SKU", "Name", "Component", "Material", "Weight (g)"]


def table(header: Sequence[str], *cells: Sequence[str]) -> bytes:
    return delimited([[*HEAD, *header], *([*part, *own] for part, own in zip(PARTS, cells, strict=True))])


def declared(data: bytes) -> list[object]:
    [row] = values(data)
    return [part.get("substances", {}).get("heavy_metals") for part in json.loads(str(row["components"]))]


def test_sums_that_differ_are_those_of_the_parts() -> None:
    assert declared(table(["Sum of heavy metals (mg/kg)"], ["<100"], ["120"])) == [
        {"status": "below_limit"},
        {"status": "above_limit", "value": 120},
    ]


def test_the_four_metals_of_each_part_are_added_up() -> None:
    data = table(["Pb (ppm)", "Cd (ppm)", "Hg (ppm)", "Cr VI (ppm)"], ["50", "10", "0", "0"], ["5", "1", "0", "1"])
    assert declared(data) == [{"status": "below_limit", "value": 60}, {"status": "below_limit", "value": 7}]


def test_a_single_metal_of_parts_is_asked_about() -> None:
    source = read(table(["Lead (ppm)"], ["50"], ["5"]))[0].source
    assert (source["ignored"], [about["text"] for about in source["asked"]]) == ([], ["“Lead (ppm)”"])


def test_a_sheet_of_components_has_them_too() -> None:
    sheets = {
        "SKUs": [["SKU", "Name"], ["A-1", "Bottle"]],
        "components": [
            ["SKU", "Component", "Material", "Weight (g)", "Heavy metals (ppm)"],
            ["A-1", "Body", "Glass", 210, 50],
            ["A-1", "Cap", "PP", 3, 5.5],
        ],
    }
    assert declared(workbook(sheets)) == [
        {"status": "below_limit", "value": 50},
        {"status": "below_limit", "value": 5.5},
    ]


@pytest.mark.parametrize("cell", ["n.d.", "12-15", "<500"])
def test_what_is_no_sum_of_a_part_rejects_its_graph(cell: str) -> None:
    _, rows = read(table(["Sum of heavy metals (mg/kg)"], [cell], ["12"]))
    assert (rows.values.height, rows.errors.height > 0) == (0, True)
