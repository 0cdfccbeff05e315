"""A mapping settles what the report says is at fault: a part's material in a long table, a sheet named components."""

import json
from datetime import date

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.mapping import merged
from pipelines.reading.questions import answer_with
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from tests.pipelines.reading.writing import workbook

LONG = b"SKU;Name;Component;Material;Weight_g\nK-1;Mug box;Gift box;PAP;47,5\nK-1;Mug box;Label;PAP;5,25\n"
SKUS = [["PRODUCT_CODE", "PRODUCT_NAME", "PACKAGING_WEIGHT_G"], ["K-1", "Honey set", 250]]
MASTER = [["COMPONENT_ID", "COMPONENT_CODE", "COMPONENT_NAME", "WEIGHT_G"], [1, "C-1", "Flint jar", 230]]
GRAPH = [["sku_code", "component_type", "material_family", "weight_g"], ["K-1", "body", "glass", 230]]
TODAY = date(2026, 11, 26)


@pytest.mark.parametrize("field", ["component_material_family", "material_family", "material"])
@pytest.mark.parametrize("way", ["mapping", "words"])
def test_a_part_s_material_in_a_long_table_is_settled_by_the_name_the_report_gives(field, way):
    given = {field: {"PAP": "paper"}}
    upload = read_upload(LONG, "k.csv", today=TODAY, **{way: {"values": given} if way == "mapping" else given})
    typed = type_rows(upload, default_year=2026, served_markets=frozenset())
    assert typed.errors.rows() == []
    assert typed.values["components"][0].count('"material_family":"paper"') == 2


def read(sheet, mapping=None):
    return read_upload(workbook({"PRODUCT": SKUS, "COMPONENTS": sheet}), "k.xlsx", mapping=mapping, today=TODAY)


def test_a_master_of_components_does_not_block_the_file_and_is_named():
    upload = read(MASTER)
    assert (upload.rows, upload.parts) == (1, None)
    [unread] = upload.source["unread_sheets"]
    assert unread["sheet"] == "COMPONENTS"
    assert unread["reason"].startswith("no line names a SKU")


def test_components_without_a_known_code_column_still_ask_for_it():
    with pytest.raises(ReadingRefused):
        read([["Ours", "Piece"], ["K-1", "Flint jar"]])


@pytest.mark.parametrize("sheet", [MASTER, GRAPH])
def test_a_mapping_switches_the_components_off(sheet):
    upload = read(sheet, {"components": None})
    assert upload.parts is None
    assert [each["sheet"] for each in upload.source["unread_sheets"]] == ["COMPONENTS"]


def test_a_mapping_switches_the_components_on():
    with pytest.raises(ReadingRefused):
        read(MASTER, {"components": {"sheet": "COMPONENTS"}})
    assert read(GRAPH, {"components": {}}).parts is not None


def test_an_answer_is_added_to_the_mapping_piece_by_piece():
    earlier = {"columns": {"name": "B"}, "components": {"units": {"weight_g": "g"}}, "decimal": ","}
    answer = {"columns": {"weight_grams": "C"}, "components": {"lines": {"12": "skip"}}}
    assert merged(earlier, answer) == {
        "columns": {"name": "B", "weight_grams": "C"},
        "components": {"units": {"weight_g": "g"}, "lines": {"12": "skip"}},
        "decimal": ",",
    }
    assert merged(earlier, {"components": None})["components"] is None
    assert merged({"components": None}, {"components": {}})["components"] == {}


BOTH = [
    ["sku_code", "name", "recycled_content_percent", "component_type", "material_family", "component_weight_g"],
    ["A", "a", "30", "body", "glass", "9"],
]


def parts_of(table, mapping):
    data = "\n".join(";".join(row) for row in table).encode()
    upload = read_upload(data, "k.csv", mapping=mapping, today=TODAY)
    typed = type_rows(upload, default_year=2026, served_markets=frozenset())
    return upload, typed.values["recycled_content_percent"].to_list(), json.loads(typed.values["components"][0] or "[]")


def test_the_unit_of_a_part_s_share_beside_one_of_the_sku_is_applied_as_its_question_says():
    table = [[*BOTH[0], "component_recycled_content_percent"], [*BOTH[1], "0.3"]]
    upload, shares, parts = parts_of(table, None)
    [asked] = upload.source["asked"]
    assert (asked["kind"], shares, parts) == ("fraction", [30], [])
    for choice, share in (("fraction", 30), ("percent", 0.3)):
        upload, shares, [part] = parts_of(table, answer_with(asked, choice))
        assert (upload.source["asked"], shares, part["recycled_content_percent"]) == ([], [30], share)


def test_a_unit_of_the_sku_s_share_says_nothing_of_a_part_s():
    table = [[*BOTH[0], "component_recycled_content_percent"], [*BOTH[1], "0.3"]]
    upload, shares, _ = parts_of(table, {"units": {"recycled_content_percent": "percent"}})
    assert ([asked["kind"] for asked in upload.source["asked"]], shares) == (["fraction"], [30])


def test_a_constant_of_a_part_stands_beside_one_of_the_sku():
    table = [[row[0], row[1], *row[3:]] for row in BOTH]
    told = {"constants": {"recycled_content_percent": 30, "component_recycled_content_percent": 20}}
    _, shares, [part] = parts_of(table, told)
    assert (shares, part["recycled_content_percent"]) == ([30], 20)


HEAD = ("sku_code", "component_type", "material_family")
OF_COMPONENTS = {
    "unit": [(*HEAD, "weight (t)"), ("K-1", "body", "glass", 2)],
    "open unit": [(*HEAD, "weight (kg per crate)"), ("K-1", "body", "glass", 2)],
    "open column": [(*HEAD, "weight_g", "colour (of the cap)"), ("K-1", "body", "glass", 2, "red")],
    "fraction": [(*HEAD, "weight_g", "recycled_content_percent"), ("K-1", "body", "glass", 230, 0.3)],
    "value": [(*HEAD, "weight_g"), ("K-1", "film", "plastic", 2)],
    "quantity": [(*HEAD, "weight_g", "Quantity"), ("K-1", "body", "glass", 230, 6)],
    "missing": [("code of the thing", *HEAD[1:], "weight_g"), ("K-1", "body", "glass", 230)],
    "ambiguous": [(*HEAD, "Weight of packaging (g)", "Packaging weight (g)"), ("K-1", "body", "glass", 230, 99000)],
}


def of_components(rows):
    try:
        return read(rows).source["asked"]
    except ReadingRefused as refused:
        return [issue.as_dict() for issue in refused.issues if issue.answer is not None]


@pytest.mark.parametrize("rows", OF_COMPONENTS.values(), ids=OF_COMPONENTS)
def test_a_question_about_a_components_sheet_says_its_answer_in_words_too(rows):
    asked = of_components(rows)
    assert asked
    for each in asked:
        assert list(each["answer"]) == ["components"]
        assert f"mapping={json.dumps(each['answer'], ensure_ascii=False)}" in each["message"]


@pytest.mark.parametrize("rows", OF_COMPONENTS.values(), ids=OF_COMPONENTS)
def test_each_choice_has_an_answer_of_its_own_and_another_word_has_none(rows):
    for each in of_components(rows):
        answers = [json.dumps(answer_with(each, choice)) for choice in each["could_be"]]
        assert len(set(answers)) == len(answers)
        with pytest.raises(ValueError, match="nothing of these"):
            answer_with(each, "nothing of these")
