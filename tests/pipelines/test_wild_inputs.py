"""Inputs of kinds that users of comparable software reported: each ends as a person would expect, none with a fault."""

import pytest

from tests.pipelines.conftest import Desk, Workbook

PARTS = ["sku_code", "component_type", "material_family", "weight_g"]


def outcome(desk: Desk, data: str | bytes, filename: str = "portfolio.csv") -> dict:
    sent = desk.send(data, filename=filename)
    assert desk.finish(sent)
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
    assert desk.finish(sent)
    assert {(fault["field"], fault["code"]) for fault in desk.poll(sent)["errors"]} >= {("component_type", "required")}


HEADER = "sku_code,name,packaging_weight_g,recycled_content_percent,material"
FIRST = ["E-1,Jar,12.5,30,glass", "E-2,Lid,4,10,metal"]


def stored(desk: Desk) -> dict[str, tuple]:
    query = "SELECT sku_code, name, weight_grams, recycled_content_percent, material FROM skus WHERE company_id = %s"
    return {code: tuple(values) for code, *values in desk.rows(query)}


@pytest.mark.parametrize(
    "second",
    [
        ["sku_code,name,recycled_content_percent,packaging_weight_g,material", "E-3,Bottle,25,45.5,plastic"],
        ["name,sku_code,packaging_weight_g,recycled_content_percent,material", "Bottle,E-3,45.5,25,plastic"],
        ["sku_code,name,packaging weight (kg),recycled_content_percent,material", "E-3,Bottle,0.0455,25,plastic"],
        ["SKU Code,Name,Recycled content (%),Weight (g),Material", "E-3,Bottle,25,45.5,plastic"],
        ["Artikelnummer,Bezeichnung,Rezyklatanteil (%),Verpackungsgewicht (g),Material", "E-3,Flasche,25,45.5,plastic"],
        ["packaging_weight_g,recycled_content_percent,material,sku_code,name", "45.5,25,plastic,E-3,Bottle"],
        ["sku_code,name,packaging_weight_g,gtin,material", "E-3,Bottle,45.5,4006381333931,plastic"],
    ],
    ids=["order", "keys", "unit", "words", "language", "turned", "column"],
)
@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_rows_below_another_header_are_never_read_by_the_first(
    desk: Desk, workbook: Workbook, second: list[str], form: str
) -> None:
    lines = [HEADER, *FIRST, *second, second[1].replace("E-3", "E-4"), HEADER, "E-5,Box,7,0,paper"]
    data = "\n".join(lines) if form == "csv" else workbook(S=[line.split(",") for line in lines])
    found = outcome(desk, data, f"file.{form}")
    assert found["counts"] == {"total": 5, "created": 3, "updated": 0, "unchanged": 0, "rejected": 2}
    assert [(e["line"], e["sku_code"], e["code"]) for e in found["errors"]] == [
        (5, "E-3", "ambiguous_column"),
        (6, "E-4", "ambiguous_column"),
    ]
    assert [skipped["line"] for skipped in found["source"]["skipped"]] == [4, 7]
    assert stored(desk) == {
        "E-1": ("Jar", 12.5, 30, "glass"),
        "E-2": ("Lid", 4, 10, "metal"),
        "E-5": ("Box", 7, 0, "paper"),
    }


@pytest.mark.parametrize(
    "again",
    [HEADER, HEADER.upper(), "SKU Code,Name,Packaging weight (g),,", "Artikelnummer,Bezeichnung,Weight (g),,Material"],
)
def test_a_header_that_means_the_same_is_left_out(desk: Desk, again: str) -> None:
    found = outcome(desk, "\n".join([HEADER, FIRST[0], again, FIRST[1]]))
    assert (found["counts"]["created"], found["errors"]) == (2, [])
    assert [skipped["line"] for skipped in found["source"]["skipped"]] == [3]


def test_the_rows_of_the_first_of_two_files_are_not_lost_where_the_second_has_more_columns(desk: Desk) -> None:
    found = outcome(desk, "sku_code,name,,\nE-1,Jar,,\nsku_code,name,material,weight_grams\nE-2,Box,paper,5\n")
    assert set(stored(desk)) == {"E-1"}
    assert [(e["line"], e["sku_code"]) for e in found["errors"]] == [(4, "E-2")]


MARKED = {
    "space": '"name", "sku_code", "material"\n"Jar, big", "D-5", "glass"\n',
    "spaces": '"name",   "sku_code",  "material"\n"Jar, big",   "D-5",  "glass"\n',
    "single": "'name';'sku_code';'material'\n'Jar, big';'D-5';'glass'\n",
    "single_values": "name;sku_code;material\n'Jar, big';'D-5';'glass'\n",
    "code": "name;sku_code;material\nJar, big;'D-5';glass\n",
    "typographic": "name;sku_code;material\nJar, big;„D-5“;glass\n",
    "french": "name;sku_code;material\nJar, big;« D-5 »;glass\n",
    "doubled": 'name;sku_code;material\nJar, big;"""D-5""";glass\n',
    "unclosed": 'name, sku_code, weight_grams, material\n"Jar, big", "D-5", 12.5, "glass"\n',
}


@pytest.mark.parametrize("text", MARKED.values(), ids=MARKED)
def test_marks_around_a_code_are_no_part_of_it(desk: Desk, text: str) -> None:
    outcome(desk, "sku_code,name,material\nD-5,Jar,glass\n")
    found = outcome(desk, text)
    assert found["errors"] == []
    assert desk.rows("SELECT sku_code, name, material FROM skus WHERE company_id = %s") == [
        ("D-5", "Jar, big", "glass")
    ]


def test_marks_within_a_name_stay(desk: Desk) -> None:
    outcome(desk, "sku_code;name\nD-5;'Premium'\nD-6;5\" pipe\nO'NEIL-1;The \"best\" one\n")
    assert {code: name for code, (name, *_) in stored(desk).items()} == {
        "D-5": "'Premium'",
        "D-6": '5" pipe',
        "O'NEIL-1": 'The "best" one',
    }


NULLS = ["nan", "NaN", "None", "NaT", r"\N", "<NA>", "(null)", "[null]", "undefined", "NA"]


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_null_words_of_programs_are_no_answer(desk: Desk, workbook: Workbook, form: str) -> None:
    texts = ["description", "material_subtype", "product_category"]
    lines = [f"N-{at},Jar,a,PET,b" for at in range(len(NULLS))]
    outcome(desk, "\n".join([f"sku_code,name,{','.join(texts)}", *lines]))
    rows = [["sku_code", "name", *texts, "markets", "packaging_format", "gtin", "food_contact"]]
    rows += [[f"N-{at}", word, word, word, word, "NA", word, word, word] for at, word in enumerate(NULLS)]
    rows += [[word, "Jar", "x", "PET", "y", "DE", "", "", ""] for word in NULLS]
    data = "\n".join(",".join(map(str, row)) for row in rows) if form == "csv" else workbook(S=rows)
    found = outcome(desk, data, f"nulls.{form}")
    assert (found["counts"]["updated"], found["counts"]["rejected"]) == (len(NULLS), len(NULLS))
    assert {(e["field"], e["code"]) for e in found["errors"]} == {("sku_code", "required")}
    query = "SELECT DISTINCT name, description, material_subtype, product_category, markets FROM skus"
    assert desk.rows(f"{query} WHERE company_id = %s") == [("Jar", "a", "PET", "b", ["NA"])]


def test_a_new_item_whose_name_is_a_null_word_needs_a_name(desk: Desk) -> None:
    found = outcome(desk, "sku_code,name,description\nC-4,nan,null\nC-5,Jar,NULL\n")
    assert [(e["sku_code"], e["field"], e["code"]) for e in found["errors"]] == [("C-4", "name", "required")]
