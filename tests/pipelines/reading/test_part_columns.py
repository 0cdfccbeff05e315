"""Columns of parts side by side, each named in its header: `Flasche | Deckel` over `Material | Gewicht` each."""

import json

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, workbook

ROW = ["A-1", "Juice", "PET", 20, "HDPE", 2]
TITLES = [["Artikelnummer", "Bezeichnung", "Flasche", "", "Deckel", ""], ["", "", *["Material", "Gewicht"] * 2]]
BELOW = [["", "", "Flasche", "", "Deckel", ""], ["Artikelnummer", "Bezeichnung", *["Material", "Gewicht"] * 2]]
ONE_LINE = [["SKU", "Name", "Bottle material", "Bottle weight (g)", "Cap material", "Cap weight (g)"]]
BEHIND = [["Référence", "Désignation", "Matière flacon", "Poids flacon (g)", "Matière bouchon", "Poids bouchon (g)"]]


@pytest.mark.parametrize("head", [TITLES, BELOW, ONE_LINE, BEHIND])
def test_parts_side_by_side_are_components(head: Table) -> None:
    for data in (delimited([*head, ROW]), workbook({"S": [*head, ROW]})):
        upload, typed = read(data)
        parts = json.loads(typed.values["components"][0])
        assert [(part["component_type"], part["polymer_or_grade"], part["weight_g"]) for part in parts] == [
            ("body", "PET", 20),
            ("cap", "HDPE", 2),
        ]
        assert (upload.source["layout"], upload.source["asked"], upload.source["ignored"]) == ("wide", [], [])


def test_a_part_that_a_line_does_not_give_is_none_and_its_weight_alone_is_a_fault() -> None:
    _, typed = read(delimited([*ONE_LINE, ["A-1", "Jar", "glass", 200, "", ""], ["A-2", "Jar", "glass", 200, "", 3]]))
    assert len(json.loads(typed.values["components"][0])) == 1
    assert typed.errors.select("line", "field", "code").rows() == [(3, "component_2_material_family", "required")]


@pytest.mark.parametrize(
    ("first", "second"),
    [("Tray", "Film"), ("Tray", "Thingy"), ("Cap", "Label")],
    ids=["a part that is open", "no word for a part", "no body"],
)
def test_where_a_part_is_not_understood_all_are_asked_about(first: str, second: str) -> None:
    head = ["SKU", "Name", f"{first} material", f"{first} weight (g)", f"{second} material", f"{second} weight (g)"]
    upload, typed = read(delimited([head, ROW]))
    assert {(a["kind"], a["header"]) for a in upload.source["asked"]} == {("column", header) for header in head[2:]}
    assert "components" not in typed.values.columns


def test_a_part_without_a_material_is_asked_about_with_the_others() -> None:
    upload, typed = read(delimited([["SKU", "Name", "Bottle weight (g)", "Cap weight (g)"], ["A-1", "Juice", 20, 2]]))
    assert {(a["kind"], a["column"]) for a in upload.source["asked"]} == {("column", "C"), ("column", "D")}
    assert "components" not in typed.values.columns
