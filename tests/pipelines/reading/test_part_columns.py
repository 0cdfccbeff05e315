"""Columns of parts side by side, each named in its header: `Flasche | Deckel` over `Material | Gewicht` each."""

import json

import pytest

from pipelines.reading.questions import answer_with
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


SHARES = ["SKU", "Name", "Verpackungsgewicht (g)", "Material 1", "Anteil 1 (%)", "Material 2", "Anteil 2 (%)"]


def test_shares_of_numbered_parts_divide_the_weight_of_their_packaging() -> None:
    lines = [["A-1", "Juice", 30, "PET", 90, "HDPE", 10], ["A-2", "Wine", 500, "Glas", 100, "", ""]]
    for data in (delimited([SHARES, *lines]), workbook({"S": [SHARES, *lines]})):
        upload, typed = read(data)
        graphs = [json.loads(text) for text in typed.values["components"]]
        assert [[(part["material_family"], part["weight_g"]) for part in parts] for parts in graphs] == [
            [("plastic", 27), ("plastic", 3)],
            [("glass", 500)],
        ]
        assert (upload.source["asked"], upload.source["ignored"]) == ([], [])


@pytest.mark.parametrize("shares", [(90, 3), (100, ""), ("", 100)], ids=["no 100 %", "a part without", "the first"])
def test_shares_that_are_not_of_the_whole_packaging_are_a_fault(shares: tuple[object, object]) -> None:
    _, typed = read(delimited([SHARES, ["A-1", "Wine", 500, "Glas", shares[0], "Kork", shares[1]]]))
    assert typed.errors.select("line", "sku_code", "code").rows() == [(2, "A-1", "out_of_range")]
    assert not typed.values.height


def test_shares_that_may_be_fractions_are_asked_about_before_they_weigh() -> None:
    data = delimited([SHARES, ["A-1", "Juice", 30, "PET", "0.9", "HDPE", "0.1"]])
    upload, typed = read(data)
    assert [about["kind"] for about in upload.source["asked"]] == ["fraction"] * 2
    assert typed.values.select("weight_grams", "components").rows() == [(30, None)]
    units = {f"component_{at}_weight_share_percent": "fraction" for at in (1, 2)}
    [graph] = read(data, {"units": units})[1].values["components"]
    assert [part["weight_g"] for part in json.loads(graph)] == [27, 3]


def test_shares_beside_own_weights_or_none_at_all_weigh_nothing() -> None:
    own = ["SKU", "Name", "Material 1", "Weight 1 (g)", "Share 1 (%)", "Material 2", "Weight 2 (g)", "Share 2 (%)"]
    upload, typed = read(delimited([own, ["A-1", "Juice", "PET", 27, 90, "HDPE", 3, 10]]))
    assert [part["weight_g"] for part in json.loads(typed.values["components"][0])] == [27, 3]
    assert [entry["column"] for entry in upload.source["ignored"]] == ["E", "H"]
    upload, typed = read(delimited([[*SHARES[:2], *SHARES[3:]], ["A-1", "Juice", "PET", 90, "HDPE", 10]]))
    assert all("weight_g" not in part for part in json.loads(typed.values["components"][0]))
    assert [entry["column"] for entry in upload.source["ignored"]] == ["D", "F"]


BESIDE = ["SKU", "Name", "Packaging material", "Packaging weight (g)", "Cap material", "Cap weight (g)"]


def test_a_part_beside_a_packaging_leaves_open_whether_that_is_the_body_or_the_whole() -> None:
    data = delimited([BESIDE, ["A-1", "Juice", "PET", 20, "HDPE", 2], ["A-2", "Juice", "PET", 20, "", ""]])
    upload, typed = read(data)
    [about] = upload.source["asked"]
    assert (about["kind"], about["could_be"], upload.source["ignored"]) == ("column", ["components", "whole"], [])
    assert not {"weight_grams", "material", "components"} & set(typed.values.columns)
    graphs = [json.loads(text) for text in read(data, about["answer"])[1].values["components"]]
    assert [[(part["component_type"], part["weight_g"]) for part in parts] for parts in graphs] == [
        [("body", 20), ("cap", 2)],
        [("body", 20)],
    ]


def test_a_packaging_beside_parts_may_be_the_whole_by_the_second_answer() -> None:
    data = delimited([BESIDE, ["A-1", "Juice", "PET", 22, "HDPE", 2]])
    [about] = read(data)[0].source["asked"]
    answer = answer_with(about, "whole")
    assert answer == {"columns": {"material": "C", "weight_grams": "D"}}
    upload, typed = read(data, answer)
    assert (typed.values["weight_grams"].to_list(), upload.source["asked"]) == ([22], [])
    assert "components" not in typed.values.columns


def test_a_mapping_may_say_that_the_weight_of_the_packaging_is_the_whole() -> None:
    mapping = {"columns": {"material": "C", "weight_grams": "D"}}
    upload, typed = read(delimited([BESIDE, ["A-1", "Juice", "PET", 22, "HDPE", 2]]), mapping)
    assert (typed.values["weight_grams"].to_list(), upload.source["asked"]) == ([22], [])


def test_parts_made_by_hand_with_ids_and_positions_are_no_export() -> None:
    head = ["id", "sku_code", "position", "component_type", "material_family", "weight_g"]
    parts = [head, ["1", "A-1", 1, "body", "glass", 300], ["2", "A-1", 2, "cap", "metal", 3]]
    typed = read(workbook({"SKUs": [["sku_code", "name"], ["A-1", "Wine"]], "Components": parts}))[1]
    assert [part["weight_g"] for part in json.loads(typed.values["components"][0])] == [300, 3]
