"""Mappings: what each part of one means, what is refused of it, and that it is told in `source`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pipelines.reading.columns import recognise, substitute_column
from pipelines.reading.grid import PART_HELPERS, VOLUME, ReadingRefused, Table, fields_of
from pipelines.reading.mapping import check_mapping
from schemas.fields import MAX_UNITS, MAX_WEIGHT_G
from schemas.messages import translate
from schemas.vocabularies import VOCABULARIES
from schemas.words import fold
from tests.drawing import examples
from tests.pipelines.reading.writing import Table as Rows
from tests.pipelines.reading.writing import delimited, read, values, workbook

Mapping = dict[str, Any]
SAMPLES = {
    "text": "Some words",
    "gtin": "4006381333931",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "markets": "FR;DE",
    "truth": "yes",
    "number": "2.5",
    "integer": "3",
    "ppm": "12",
    "day": "2026-11-30",
    "country": "FR",
    "marks": "Green Dot;Triman",
}


def sample(table: Table, name: str) -> str:
    """A cell that the field takes."""
    field = fields_of(table)[name]
    if name in ("weight_unit", "volume_year"):
        return {"weight_unit": "kg", "volume_year": "2027"}[name]
    return VOCABULARIES[field.vocabulary or name][0] if field.kind in ("code", "codes") else SAMPLES[field.kind]


def refused(data: bytes, mapping: Mapping) -> list[tuple[str, str | None, str]]:
    with pytest.raises(ReadingRefused) as caught:
        read(data, mapping)
    return [(issue.code, issue.field, issue.message) for issue in caught.value.issues]


SKU_FIELDS = [name for name in fields_of("sku") if name not in ("sku_code", "name", "supplier_id")]
"""Those that a mapping gives to any row; a supplier is of parts alone."""
VOLUMES = ["annual_volume_fr", "annual_volume_de_2026", "annual_volume_gb_2026_h1"]


OF_WEIGHTS = ("weight_unit", "unit_count", "weight_share_percent")
ALONE = (*OF_WEIGHTS, "total_count", "volume_half", "volume_year")
"""Fields that say something of a weight or of units beside them."""


def strange(number: int) -> str:
    """A header that is no field's."""
    return f"Zyx {chr(97 + number // 26)}{chr(97 + number % 26)}wv"


def test_mapped_columns_read_as_those_with_the_fields_own_names() -> None:
    cells = {name: sample("sku", name) for name in SKU_FIELDS if name not in ALONE} | dict.fromkeys(VOLUMES, "1200")
    headers = {name: strange(number) for number, name in enumerate(cells)}
    data = delimited([["sku_code", "name", *headers.values()], ["A", "a", *cells.values()]])
    own = delimited([["sku_code", "name", *cells], ["A", "a", *cells.values()]])
    assert values(data, {"columns": headers}) == values(own)
    upload, rows_read = read(data, {"columns": headers})
    assert rows_read.errors.is_empty()
    assert (upload.source["mapped"], upload.source["ignored"]) == ([*cells], [])
    assert {column["field"] for column in upload.source["columns"]} >= {*cells}


@pytest.mark.parametrize("name", [*ALONE, "gtin"])
def test_a_mapping_names_a_column_by_its_header_its_letter_or_one_of_several(name: str) -> None:
    cell, weight = sample("sku", name), ["weight_grams"] if name in OF_WEIGHTS else []
    rows = [["A", "a", cell, *("7.5" for _ in weight)]]
    wanted = values(delimited([["sku_code", "name", name, *weight], *rows]))
    data = delimited([["sku_code", "name", "Zyx Wvu", *weight], *rows])
    for naming in ("Zyx Wvu", "C", ["Not there", "zyx WVU"]):
        upload, rows_read = read(data, {"columns": {name: naming}})
        assert rows_read.values.drop("row", "line", "sheet").to_dicts() == wanted
        told_as = [column["field"] for column in upload.source["columns"] if column["field"] == name]
        assert upload.source["mapped"] == told_as
        assert bool(told_as) != bool(upload.source["ignored"])  # a count of parts means nothing where no line is a part
        assert rows_read.errors.is_empty()


def test_a_mapped_supplier_needs_rows_with_parts() -> None:
    data = delimited([["sku_code", "name", "Zyx"], ["A", "a", "Préformes"]])
    [(code, field, message)] = refused(data, {"columns": {"supplier_id": "Zyx"}})
    assert (code, field) == ("invalid_mapping", "mapping")
    assert message.startswith("A supplier is of parts")


PART_FIELDS = [name for name in fields_of("component") if name not in ("sku_code", "component_type", "material_family")]
OF_TABLE = [name for name in PART_FIELDS if name not in ("measured_weight_g", "shape")]
"""Those of a table of components; the others need a numbered group."""


OWN = [name for name in OF_TABLE if name not in {field.name for field in PART_HELPERS}]
"""Those that say nothing of a weight beside them."""


@pytest.mark.parametrize("names", [OWN, *([field.name] for field in PART_HELPERS if field.name in OF_TABLE)])
def test_mapped_columns_of_the_components_sheet_read_as_their_own(names: list[str]) -> None:
    more = [] if names is OWN else ["weight_g"]
    row = ["A", "body", "plastic", *(sample("component", name) for name in names), *("7.5" for _ in more)]

    def book(*headers: str) -> bytes:
        header_row = ["sku_code", "component_type", "material_family", *headers, *more]
        return workbook({"S": [["sku_code", "name"], ["A", "a"]], "components": [header_row, row]})

    wanted = values(book(*names))
    foreign = [strange(number) for number in range(len(names))]
    for prefix in ("", "component_"):
        columns = {f"{prefix}{name}": header for name, header in zip(names, foreign, strict=True)}
        assert values(book(*foreign), {"components": {"columns": columns}}) == wanted
    [part] = json.loads(wanted[0]["components"])
    assert names is not OWN or all(name in str(part) or name.partition("_")[0] in str(part) for name in names)


def test_mapped_component_columns_beside_skus_read_as_their_own() -> None:
    row = ["A", "a", "body", "plastic", *(sample("component", name) for name in OWN)]
    head = ["sku_code", "name", "component_type", "material_family"]
    headers = {f"component_{name}": strange(number) for number, name in enumerate(OWN)}
    own = values(delimited([[*head, *headers], row]))
    assert values(delimited([[*head, *headers.values()], row]), {"columns": headers}) == own
    assert "components" in own[0]


@pytest.mark.parametrize(
    "field", ["material_family", "weight_g", "colour", "shape", "measured_weight_g", "weight_unit"]
)
def test_a_mapped_column_of_a_group_reads_as_its_own(field: str) -> None:
    cells = {"material_family": "glass", "weight_g": "4.5", field: sample("component", field)}
    own = delimited([["sku_code", "name", *(f"component_1_{name}" for name in cells)], ["A", "a", *cells.values()]])
    strange = [f"component_1_{name}" if name != field else "Zyx Wvu" for name in cells]
    mapping = {"columns": {f"component_1_{field}": "Zyx Wvu"}}
    assert values(delimited([["sku_code", "name", *strange], ["A", "a", *cells.values()]]), mapping) == values(own)


@pytest.mark.promise("IMP-30")
def test_one_column_serves_two_fields() -> None:
    file = delimited([["EAN", "Titel"], ["4006381333931", "Flasche"]])
    mapping = {"columns": {"sku_code": "EAN", "gtin": "EAN", "name": "Titel", "description": "Titel"}}
    upload, typed = read(file, mapping)
    [row] = typed.values.to_dicts()
    assert (row["sku_code"], row["gtin"]) == ("4006381333931", "4006381333931")
    assert (row["name"], row["description"]) == ("Flasche", "Flasche")
    assert upload.source["ignored"] == []
    assert upload.source["mapped"] == ["sku_code", "gtin", "name", "description"]


@pytest.mark.promise("IMP-30")
def test_a_switched_off_column_is_not_read_and_is_told() -> None:
    file = delimited([["sku_code", "name", "Material", "Gewicht (g)", "Unit"], ["A", "a", "glass", "2", "KGM"]])
    mapping = {"columns": {"material": None, "weight_unit": None}}
    upload, typed = read(file, mapping)
    assert "material" not in typed.values.columns
    assert upload.source["switched_off"] == [
        {"field": "material", "column": "C", "header": "Material"},
        {"field": "weight_unit", "column": "E", "header": "Unit"},
    ]
    assert [ignored["column"] for ignored in upload.source["ignored"]] == ["C", "E"]
    assert [column["field"] for column in upload.source["columns"]] == ["sku_code", "name", "weight_grams"]


def test_what_is_derived_for_a_field_is_switched_off_with_it() -> None:
    file = delimited([["sku_code", "name", "Material"], ["A", "a", "PET transparent"]])
    assert "material_subtype" in values(file)[0]
    assert "material_subtype" not in values(file, {"columns": {"material_subtype": None}})[0]


def test_a_column_that_fits_two_is_settled_by_switching_one_off() -> None:
    file = delimited([["sku_code", "name", "Verpackungsgewicht (g)", "Poids de l'emballage (g)"], ["A", "a", "1", "2"]])
    assert refused(file, {})[0][0] == "ambiguous_column"
    assert values(file, {"columns": {"weight_grams": None}}) == values(delimited([["sku_code", "name"], ["A", "a"]]))


CONSTANTS = [
    ("packaging_level", "sales", "sales"),
    ("material", "Glas", "glass"),
    ("recycled_content_percent", 30, 30.0),
    ("food_contact", True, True),
    ("reusable", "nein", False),
    ("markets", ["FR", "DE"], "{FR,DE}"),
    ("weight_grams", 12.345, 12.345),
    ("description", "1,234", "1,234"),
    ("use_contexts", ["beverage"], "{beverage}"),
]


@pytest.mark.parametrize(("name", "given", "stored"), CONSTANTS)
@pytest.mark.parametrize("write", [delimited, lambda table: workbook({"S": table})])
def test_a_constant_is_given_to_every_row(name: str, given: Any, stored: Any, write: Any) -> None:
    file = write([["sku_code", "name"], ["A", "a"], ["B", "b"], ["Total", ""]])
    upload, typed = read(file, {"constants": {name: given}})
    assert [row[name] for row in typed.values.to_dicts()] == [stored, stored]
    assert upload.source["constants"].keys() == {name}
    assert name not in [column["field"] for column in upload.source["columns"]]
    assert upload.source["skipped"][0]["line"] == 4


def test_a_constant_stands_above_a_recognised_column_which_is_told_as_ignored() -> None:
    file = delimited([["sku_code", "name", "Material"], ["A", "a", "glass"]])
    upload, typed = read(file, {"constants": {"material": "paper"}})
    assert typed.values["material"].to_list() == ["paper"]
    assert upload.source["ignored"] == [{"column": "C", "header": "Material"}]


UNITS: list[tuple[Rows, Mapping, Any]] = [
    ([["sku_code", "name", "weight_grams"], ["A", "a", "0.02"]], {}, 20.0),
    ([["sku_code", "name", "Gewicht"], ["A", "a", "0,02"]], {"columns": {"weight_grams": "Gewicht"}}, 20.0),
    (
        [["sku_code", "name", "Gewicht", "Einheit"], ["A", "a", "0.02", "GRM"]],
        {"columns": {"weight_grams": "Gewicht"}},
        20.0,
    ),
]


@pytest.mark.parametrize(("table", "mapping", "grams"), UNITS)
def test_the_unit_of_all_weights_can_be_a_constant(table: Rows, mapping: Mapping, grams: float) -> None:
    assert values(delimited(table, ";"), {**mapping, "constants": {"weight_unit": "kg"}})[0]["weight_grams"] == grams


def test_the_unit_of_all_weights_holds_for_components_of_every_layout() -> None:
    kilograms = {"constants": {"weight_unit": "kg"}}
    part = '[{"component_type":"body","material_family":"glass","weight_g":20.0}'
    materials = delimited([["sku_code", "name", "Glas", "Papier"], ["A", "a", "0.02", "0.003"]])
    assert values(materials, kilograms)[0]["components"].startswith(part)
    wide = delimited(
        [["sku_code", "name", "Packaging 1 - Material", "Packaging 1 - Weight"], ["A", "a", "glass", "0.02"]]
    )
    assert '"weight_g":20.0' in values(wide, kilograms)[0]["components"]
    long = [["sku_code", "name", "component_type", "material_family", "component_weight_g"]]
    assert (
        '"weight_g":20.0' in values(delimited([*long, ["A", "a", "body", "glass", "0.02"]]), kilograms)[0]["components"]
    )
    sheets = workbook(
        {
            "S": [["sku_code", "name"], ["A", "a"]],
            "components": [["sku_code", "component_type", "material_family", "weight_g"], ["A", "body", "glass", 0.02]],
        }
    )
    assert '"weight_g":20.0' in values(sheets, {"components": kilograms})[0]["components"]


def test_a_constant_of_a_component_makes_each_line_one() -> None:
    file = delimited([["sku_code", "name", "Stoff", "g"], ["A", "a", "glass", "20"], ["A", "a", "paper", "2"]])
    mapping = {
        "columns": {"component_material_family": "Stoff", "component_weight_g": "g"},
        "constants": {"component_type": "body"},
    }
    [row] = values(file, mapping)
    assert row["components"].count('"component_type":"body"') == 2
    without = refused(file, {"columns": mapping["columns"]})
    assert without[0][0] == "invalid_mapping"
    assert "component_type" in without[0][2]


@pytest.mark.promise("IMP-30")
def test_texts_of_the_file_are_told_their_meaning() -> None:
    file = delimited(
        [
            ["sku_code", "name", "component_type", "material_family", "colour", "markets", "gtin"],
            ["A", "a", "body", "plastic", "Schwarz", "Nordics; FR", "keine"],
            ["B", "b", "body", "plastic", "light", "FR", ""],
        ]
    )
    meanings = {"colour": {"schwarz": "dark"}, "markets": {"Nordics": ["DK", "SE"]}, "gtin": {"keine": None}}
    upload, typed = read(file, {"values": meanings})
    assert typed.errors.is_empty()
    first, second = typed.values.to_dicts()
    assert '"colour":"dark"' in first["components"]
    assert '"colour":"light"' in second["components"]
    assert (first["markets"], first["gtin"]) == ("{DK,SE,FR}", None)
    assert upload.source["values"] == meanings


def test_texts_of_groups_and_of_the_components_sheet_are_told_their_meaning() -> None:
    wide = delimited(
        [["sku_code", "name", "component_1_material_family", "component_1_colour"], ["A", "a", "glass", "schwarz"]]
    )
    assert '"colour":"dark"' in values(wide, {"values": {"colour": {"schwarz": "dark"}}})[0]["components"]
    book = workbook(
        {
            "S": [["sku_code", "name"], ["A", "a"]],
            "components": [
                ["sku_code", "component_type", "material_family", "colour"],
                ["A", "body", "glass", "schwarz"],
            ],
        }
    )
    mapping = {"components": {"values": {"colour": {"schwarz": "dark"}}}}
    assert '"colour":"dark"' in values(book, mapping)[0]["components"]


def test_a_number_cell_of_a_workbook_is_told_its_meaning() -> None:
    book = workbook({"S": [["sku_code", "name", "food_contact"], ["A", "a", 2], ["B", "b", 1]]})
    found = values(book, {"values": {"food_contact": {"2": False}}})
    assert [row["food_contact"] for row in found] == [False, True]


TABLE = delimited([["sku_code", "name", "Gewicht", "Farbe"], ["A", "a", "2", "rot"]])
WRONG: list[tuple[Mapping, str]] = [
    ({"columns": {"weight": "Gewicht"}}, "weight_grams"),
    ({"columns": {"food_contct": "Gewicht"}}, "food_contact"),
    ({"columns": {"component_colr": "Farbe"}}, "component_colour"),
    ({"columns": {"weight_grams": "E"}}, "A to D"),
    ({"columns": {"weight_grams": "Poids"}}, "C “Gewicht”"),
    ({"columns": {"weight_grams": ["Poids", "Peso"]}}, "“Poids” or “Peso”"),
    ({"columns": {"weight_grams": []}}, "array of headers"),
    ({"columns": {"weight_grams": 3}}, "array of headers"),
    ({"columns": {"sku_code": None}}, "cannot be switched off"),
    ({"columns": {"weight_grams": "C", "Weight grams": "D"}}, "named twice"),
    ({"columns": {"weight_grams": "C"}, "constants": {"weight_grams": 2}}, "say one of them"),
    ({"constants": {"weight": 2}}, "weight_grams"),
    ({"constants": {"material": "unobtainium"}}, "plastic"),
    ({"constants": {"weight_unit": "stone"}}, "kg"),
    ({"constants": {"sku_code": "A"}}, "cannot be a constant"),
    ({"constants": {"recycled_content_percent": 300}}, "100"),
    ({"constants": {"material": None}}, "A constant is"),
    ({"constants": {"material": {"a": 1}}}, "A constant is"),
    ({"constants": []}, "constants must be an object"),
    ({"values": {"material": {"x": "unobtainium"}}}, "plastic"),
    ({"values": {"material": ["x"]}}, "text in the file"),
    ({"values": {"material": {"x": {}}}}, "null for an empty cell"),
    ({"values": {"material": {"x": "glass", " X ": "paper"}}}, "keep one"),
    ({"values": {"material": {" ": "glass"}}}, "empty cell"),
    ({"values": {"materiel": {"x": "glass"}}}, "material"),
    ({"values": []}, "values must be an object"),
    ({"lines": {"12-2": "skip"}}, "such as 12 or 12-18"),
    ({"header_row": 1.5}, "a line number"),
    ({"header_row": float("inf")}, "a line number"),
    ({"column": {}}, "columns, constants, values"),
    ({"components": {"constants": {"colour": "x"}, "sheet": "S"}}, "dark"),
]


@pytest.mark.parametrize(("mapping", "right"), WRONG)
def test_a_wrong_mapping_is_refused_with_what_would_be_right(mapping: Mapping, right: str) -> None:
    code, field, message = refused(TABLE, mapping)[0]
    assert code == "invalid_mapping"
    assert str(field).startswith("mapping")
    assert right in message
    assert translate(message, "fr") != message
    assert translate(message, "de") != message


def test_the_line_of_the_headers_may_be_written_with_a_point() -> None:
    assert values(TABLE, {"header_row": 1.0}) == values(TABLE, {"header_row": 1})


def test_every_name_that_source_publishes_can_be_mapped_again() -> None:
    """What an answer calls a column is what a mapping calls it."""
    files = [
        [
            [
                "sku_code",
                "name",
                "component_type",
                "component_weight_g",
                "component_recycled_content_percent",
                "recycled_content_percent",
                "annual_volume_fr",
            ],
            ["A", "a", "body", "1", "2", "3", "4"],
        ],
        [["sku_code", "name", "Emballage 1 - Matière", "Weight 1 (kg)"], ["A", "a", "glass", "1"]],
        [["sku_code", "name", "Glas", "Poids plastique (g)", "Deckel Papier"], ["A", "a", "1", "2", "3"]],
    ]
    for file in files:
        data = delimited(file)
        source = read(data)[0].source
        mapping = {"columns": {column["field"]: column["column"] for column in source["columns"]}}
        assert values(data, mapping) == values(data)


def test_every_mapping_of_the_document_is_one() -> None:
    document = (Path(__file__).parents[3] / "docs" / "imports.md").read_text(encoding="utf-8")
    section = document.partition("## Saying what you mean")[2].partition("## Getting it back")[0]
    told = [json.loads(text) for text in re.findall(r"`(\{.*?\})`(?=[ ,;:.|]|$)", section, re.MULTILINE)]
    assert len(told) >= 11
    for mapping in told:
        check_mapping(mapping)
    keys = {key for mapping in told for key in mapping}
    assert keys >= {"columns", "constants", "values", "header_row", "layout", "components"}


@given(
    st.sampled_from(sorted(SKU_FIELDS)),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=4, max_size=12),
)
@example("heavy_metals_sum_ppm", "GȜ00")
@examples(60)
def test_any_header_can_be_mapped_to_any_field(name: str, header: str) -> None:
    assume(
        recognise(header, 0, "sku") is None
        and substitute_column(header) is None
        and fold(header) not in ("sku code", "name")
    )
    weight = [["weight_grams", "7.5"]] if name in OF_WEIGHTS else []
    columns = [["sku_code", "A"], ["name", "a"], *weight]
    own = delimited(list(zip(*columns, [name, sample("sku", name)], strict=True)))
    strange = delimited(list(zip(*columns, [header, sample("sku", name)], strict=True)))
    mapping: dict[str, object] = {"columns": {name: header}}
    if asked := read(strange, mapping)[0].source["asked"]:  # what may be a unit is not dropped (decisions §13)
        assert [question["kind"] for question in asked] == ["unit"]
        mapping["units"] = {name: fields_of("sku")[name].unit}
    assert values(strange, mapping) == values(own)


def test_a_field_switched_off_beside_the_skus_stays_one_of_the_components_sheet() -> None:
    parts = [["sku_code", "component_type", "material_family", "recycled_content_percent"], ["A", "body", "glass", 30]]
    book = workbook({"S": [["sku_code", "name", "recycled_content_percent"], ["A", "a", 10]], "components": parts})
    [row] = values(book, {"columns": {"recycled_content_percent": None}})
    assert "recycled_content_percent" not in row
    assert '"recycled_content_percent":30' in row["components"]


def test_a_constant_that_no_line_needs_is_not_told_as_one() -> None:
    source = read(delimited([["sku_code", "name"], ["A", "a"]]), {"constants": {"unit_count": 2}})[0].source
    assert (source["constants"], source["ignored"]) == ({}, [])


def test_fields_of_files_have_the_bounds_of_every_door() -> None:
    measured = next(field for field in PART_HELPERS if field.name == "measured_weight_g")
    assert (VOLUME.maximum, measured.maximum) == (MAX_UNITS, MAX_WEIGHT_G)
