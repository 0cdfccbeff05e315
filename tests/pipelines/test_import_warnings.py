"""The warnings of an import (decisions §13): in its status with their places, counted by code, in a dry run too."""

import pytest

from pipelines.imports import report
from pipelines.imports.submissions import FILENAME
from tests.pipelines.conftest import Desk, Workbook
from tests.pipelines.test_preview import previewed

LONG = (
    "sku_code,name,weight_grams,markets,annual_volume_de_2026,component_type,material_family,polymer_or_grade,"
    "component_weight_g\n"
    "W-1,Bottle,32.1,FR,1000,body,plastic,PET,25\n"
    "W-1,,,,,cap,plastic,Unobtainium,2.1\n"
    "W-2,Jar,210,,,body,plastic,Glass,210\n"
    "W-3,Fine,10,,,body,plastic,PP,10\n"
)
EXPECTED = [
    (2, "weight_grams", "C", "W-1", "weight_mismatch"),
    (3, "polymer_or_grade", "H", "W-1", "polymer_unresolved"),
    (2, "markets", "D", "W-1", "market_not_named"),
    (4, "polymer_or_grade", "H", "W-2", "material_conflict"),
]
PARTS = (
    "sku_code,name,weight_grams,component_type,material_family,component_weight_g\n"
    "U-1,Cup,30,body,plastic,20\nU-2,Cup,20,body,plastic,20\n"
)
COUNTS = {"weight_mismatch": 1, "polymer_unresolved": 1, "market_not_named": 1, "material_conflict": 1}


def places(found: dict) -> list[tuple]:
    return [(w["line"], w["field"], w["column"], w["sku_code"], w["code"]) for w in found["warnings"]]


@pytest.mark.parametrize("dry_run", [True, False])
def test_every_warning_of_writing_reaches_the_status(desk: Desk, dry_run: bool) -> None:
    sent = desk.send(LONG, dry_run=dry_run)
    assert desk.poll(sent)["warnings"] == []
    assert desk.poll(sent)["warning_counts"] == {}
    assert desk.finish(sent)
    found = desk.poll(sent)
    assert found["counts"]["created"] == 3  # a row that is warned about is stored
    assert places(found) == EXPECTED
    assert found["warning_counts"] == COUNTS
    assert "32.1 g" in found["warnings"][0]["message"]


def test_a_file_that_is_sent_again_warns_again(desk: Desk) -> None:
    assert desk.finish(desk.send(LONG))
    again = desk.send(LONG)
    assert desk.finish(again)
    assert desk.poll(again)["counts"]["unchanged"] == 3
    assert places(desk.poll(again)) == EXPECTED


def test_a_check_of_rows_gives_the_warnings_of_a_dry_run(desk: Desk) -> None:
    sent = desk.send(LONG, dry_run=True, filename=FILENAME)
    asked = previewed(desk, LONG)
    assert desk.finish(sent)
    for name in ("warnings", "warning_counts"):
        assert asked[name] == desk.poll(sent)[name]


def test_all_are_counted_and_the_first_two_hundred_listed(desk: Desk) -> None:
    rows = [f"M-{at},Cup,PTE-{at}" for at in range(report.MOST_LISTED + 5)]
    sent = desk.send("\n".join(["sku_code,name,material_subtype", *rows]))
    assert desk.finish(sent)
    found = desk.poll(sent)
    assert found["warning_counts"] == {"polymer_unresolved": len(rows)}
    assert [each["sku_code"] for each in found["warnings"]] == [f"M-{at}" for at in range(report.MOST_LISTED)]
    assert found["warnings"][0] | {"message": ""} == {
        "sheet": None,
        "line": 2,
        "sku_code": "M-0",
        "field": "material_subtype",
        "column": "C",
        "value": "PTE-0",
        "code": "polymer_unresolved",
        "message": "",
    }


def test_a_sheet_of_components_has_the_place_of_its_own_line(desk: Desk, workbook: Workbook) -> None:
    skus = [["sku_code", "name", "weight_grams"], ["S-1", "Bottle", 30], ["S-2", "Jar", 10]]
    parts = [["sku_code", "component_type", "material_family", "polymer_or_grade", "weight_g"]]
    parts += [["S-2", "body", "plastic", "PP", 10], ["S-1", "body", "plastic", "PTE", 20]]
    sent = desk.send(workbook(skus=skus, components=parts), filename="two.xlsx")
    assert desk.finish(sent)
    found = [(w["sheet"], w["line"], w["column"], w["value"], w["code"]) for w in desk.poll(sent)["warnings"]]
    assert found == [
        ("skus", 2, "C", "30", "weight_mismatch"),
        ("components", 3, "D", "PTE", "polymer_unresolved"),
    ]


def test_a_stored_part_that_the_file_does_not_name_has_the_place_of_its_sku(desk: Desk, workbook: Workbook) -> None:
    parts = [["sku_code", "component_type", "material_family", "polymer_or_grade"], ["K-1", "body", "plastic", "PTE"]]
    names = [["sku_code", "name"], ["K-1", "Bottle"]]
    assert desk.finish(desk.send(workbook(skus=names, components=parts), filename="first.xlsx"))
    other = [parts[0], ["K-2", "body", "plastic", "PP"]]
    renamed = [["sku_code", "name"], ["K-1", "Bottle 2"], ["K-2", "Jar"]]
    sent = desk.send(workbook(skus=renamed, components=other), filename="second.xlsx")
    assert desk.finish(sent)
    (found,) = desk.poll(sent)["warnings"]
    assert (found["sheet"], found["line"], found["sku_code"]) == ("skus", 2, "K-1")
    assert (found["field"], found["column"]) == ("components[0].polymer_or_grade", None)


def test_an_unlikely_weight_is_a_warning_and_stored_each_time_it_is_sent(desk: Desk) -> None:
    for _ in range(2):
        sent = desk.send("sku_code,name,packaging_format,weight_grams\nA-1,Jar,jar,2160\nA-2,Jar,jar,180\n")
        assert desk.finish(sent)
        found = desk.poll(sent)
        assert (found["counts"]["total"], found["counts"]["rejected"]) == (2, 0)
        assert places(found) == [(2, "weight_grams", "D", "A-1", "unlikely_value")]


def test_a_line_left_out_as_an_example_is_a_warning(desk: Desk) -> None:
    sent = desk.send("sku_code,name,weight_grams\nEXAMPLE-001,Bottle,12\nA-1,Bottle,12\n")
    assert desk.finish(sent)
    found = desk.poll(sent)
    assert found["counts"]["total"] == 1
    assert found["warning_counts"] == {"example_row_skipped": 1}
    assert (found["warnings"][0]["line"], found["warnings"][0]["code"]) == (2, "example_row_skipped")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("sku_code,name,material_subtype\nU-1,Cup,PTE\nU-2,Cup,PP\n", None),
        ("sku_code,name,material,material_subtype\nU-1,Cup,glass,PET\nU-2,Cup,plastic,PP\n", None),
        (
            PARTS,
            "sku_code,name,weight_grams\nU-1,Cup,30\nU-2,Cup,20\n",
        ),
    ],
    ids=["polymer", "family", "weight"],
)
def test_rows_that_are_stored_as_sent_warn_again(desk: Desk, first: str, again: str | None) -> None:
    """The database compares such rows by itself (`pipelines.writing.merge`)."""
    before = desk.send(first)
    assert desk.finish(before)
    sent = desk.send(again or first)
    assert desk.finish(sent)
    assert desk.poll(sent)["counts"]["unchanged"] == 2
    assert [each["sku_code"] for each in desk.poll(sent)["warnings"]] == ["U-1"]
    assert desk.poll(sent)["warning_counts"] == desk.poll(before)["warning_counts"]
