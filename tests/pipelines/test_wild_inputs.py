"""Inputs of kinds that users of comparable software reported: each ends as a person would expect, none with a fault."""

import pytest

from tests.pipelines.conftest import Desk, Workbook

PARTS = ["sku_code", "component_type", "material_family", "weight_g"]


def outcome(desk: Desk, data: str | bytes, filename: str = "portfolio.csv") -> dict:
    sent = desk.send(data, filename=filename)
    assert desk.run(sent)
    found = desk.poll(sent)
    assert found["status"] == "completed"
    return found


def graph(desk: Desk, code: str) -> list[tuple]:
    return [
        tuple(row)
        for row in desk.rows(
            "SELECT line ->> 'component_type', (line ->> 'weight_g')::float FROM skus, "
            f"json_array_elements(components) AS line WHERE company_id = %s AND sku_code = '{code}'"
        )
    ]


@pytest.mark.parametrize("stored", [1, 2, 3, 4])
def test_components_of_stored_skus_that_the_first_sheet_does_not_have_replace_their_graphs(
    desk: Desk, workbook: Workbook, stored: int
) -> None:
    codes = [f"ST-{number}" for number in range(stored)]
    outcome(desk, "\n".join(["sku_code,name", *(f"{code},Jar" for code in codes)]))
    lines = [[code, "body", "glass", 5] for code in codes] + [[code, "lid", "metal", 1] for code in codes]
    data = workbook(
        Items=[["sku_code", "name"], ["NEW-1", "New"]], Components=[PARTS, *lines, ["NEW-1", "body", "glass", 7]]
    )
    found = outcome(desk, data, "two.xlsx")
    assert found["errors"] == []
    assert found["counts"] == {
        "total": stored + 1,
        "created": 1,
        "updated": stored,
        "unchanged": 0,
        "rejected": 0,
    }
    for code in codes:
        assert graph(desk, code) == [("body", 5), ("cap", 1)]


def test_components_of_skus_that_nobody_holds_are_a_row_error_each(desk: Desk, workbook: Workbook) -> None:
    lines = [["NO-1", "body", "glass", 5], ["NO-2", "body", "glass", 6], ["NEW-1", "body", "glass", 7]]
    data = workbook(Items=[["sku_code", "name"], ["NEW-1", "New"]], Components=[PARTS, *lines])
    found = outcome(desk, data, "two.xlsx")
    assert (found["counts"]["created"], found["counts"]["rejected"]) == (1, 2)
    assert [(e["sheet"], e["line"], e["sku_code"], e["code"]) for e in found["errors"]] == [
        ("Components", 2, "NO-1", "unknown_reference"),
        ("Components", 3, "NO-2", "unknown_reference"),
    ]


@pytest.mark.parametrize("word", ["Component", "Komponente", "Élément"])
@pytest.mark.parametrize("other", ["colour", "material_family", "Farbe", "component_weight_g", "component_id"])
@pytest.mark.parametrize("part", ["", "4711"])
def test_a_column_of_parts_without_a_usable_value_makes_no_parts(desk: Desk, word: str, other: str, part: str) -> None:
    cell = {"material_family": "glass", "component_weight_g": "5", "component_id": ""}.get(other, "clear")
    found = outcome(desk, f"sku_code;name;{word};{other}\nA;Jar;{part};{cell}\nB;Box;{part};{cell}\n")
    assert (found["counts"]["created"], found["errors"]) == (2, [])
    assert desk.rows("SELECT count(*) FROM skus WHERE company_id = %s AND components IS NOT NULL") == [(0,)]
    assert {word, other} - {"component_id"} <= {column["header"] for column in found["source"]["ignored"]}


def test_parts_that_the_mapping_names_count_whatever_the_column_of_parts_has(desk: Desk) -> None:
    text = "sku_code;name;Component;shade\nA;Jar;;clear\n"
    sent = desk.send(text, mapping={"columns": {"colour": "shade"}})
    assert desk.run(sent)
    assert {(fault["field"], fault["code"]) for fault in desk.poll(sent)["errors"]} >= {("component_type", "required")}
