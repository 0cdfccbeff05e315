"""Components in every layout that people send, and weights with what stands beside them."""

import json

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, read, workbook

Parts = list[tuple[object, ...]]


def parts(table: Table, mapping: dict[str, object] | None = None) -> tuple[str, dict[str, Parts]]:
    """The layout, and of each SKU its components as (type, family, grade, grams); the same in both formats."""
    found = []
    for data in (delimited(table), workbook({"SKUs": table})):
        upload, rows = read(data, mapping)
        graphs = rows.values.select("sku_code", "components").rows() if "components" in rows.values.columns else []
        keys = ("component_type", "material_family", "polymer_or_grade", "weight_g")
        told = {code: [tuple(p.get(key) for key in keys) for p in json.loads(text)] for code, text in graphs if text}
        found.append((upload.source["layout"], told))
    assert found[0] == found[1]
    return found[0]


def faults(table: Table) -> list[tuple[int, str, str, str]]:
    rows = read(workbook({"SKUs": table}))[1]
    return rows.errors.select("line", "field", "column", "code").rows()


BODY, CAP = ("body", "glass", None, 200.0), ("cap", "metal", None, 5.5)


@pytest.mark.parametrize(
    "head",
    [
        ["packagings_1_shape", "packagings_1_material", "packagings_1_weight", "packagings_2_shape",
         "packagings_2_material", "packagings_2_weight"],
        ["Emballage 1 - Forme", "Emballage 1 - Matière", "Emballage 1 - Poids (g)", "Emballage 2 - Forme",
         "Emballage 2 - Matière", "Emballage 2 - Poids (g)"],
        ["Verpackungsart 1", "Material 1", "Gewicht 1 (g)", "Verpackungsart 2", "Material 2", "Gewicht 2 (g)"],
        ["component_1_component_type", "component_1_material_family", "component_1_weight_g",
         "component_2_component_type", "component_2_material_family", "component_2_weight_g"],
        ["Type composant 1", "Matériau composant 1", "Poids composant 1", "Type composant 2", "Matériau composant 2",
         "Poids composant 2"],
    ],
)  # fmt: skip
def test_numbered_groups_are_components(head: list[str]) -> None:
    table = [
        ["sku_code", "name", *head],
        ["A", "jar", "body", "glass", 200, "lid", "metal", "5,5"],
        ["B", "jar", "body", "glass", 200, "", "", ""],
        ["C", "jar", "", "", "", "cap", "metal", 0],
    ]
    assert parts(table) == ("wide", {"A": [BODY, CAP], "B": [BODY]})


def test_a_group_says_its_fault_in_its_own_column_and_the_sku_is_rejected() -> None:
    table = [
        ["sku_code", "name", "Material 1", "Weight 1", "Material 2", "Weight 2"],
        ["A", "a", "glass", 1, "unobtainium", 1],
        ["B", "b", "glass", 1, "", 3],
        ["C", "c", "glass", 1, "", ""],
        ["C", "again", "glass", "x", "", ""],
        ["", "d", "glass", 1, "", ""],
    ]
    assert faults(table) == [
        (2, "component_2_material_family", "E", "not_in_vocabulary"),
        (3, "component_2_material_family", "E", "required"),
        (5, "sku_code", "A", "duplicate_sku_code"),
        (6, "sku_code", "A", "required"),
    ]
    upload, rows = read(delimited(table))
    assert (rows.values["sku_code"].to_list(), rows.rejected, upload.rows) == (["C"], 4, 5)


def test_numbers_behind_headers_that_make_no_component_are_listed() -> None:
    table = [
        ["sku_code", "name", "Weight", "Type 1", "Type 2", "Emballage 1 - Recyclage"],
        ["A", "a", 1, "x", "y", "z"],
    ]
    upload, _ = read(delimited(table))
    assert upload.source["layout"] == "rows"
    assert [column["header"] for column in upload.source["ignored"]] == ["Type 1", "Type 2", "Emballage 1 - Recyclage"]


@pytest.mark.parametrize(
    ("head", "factor"),
    [
        (["Glas", "Weißblech", "Deckel Kunststoff"], 1),
        (["Glass (kg)", "Tinplate (kg)", "cap plastic (kg)"], 1000),
        (["Poids verre (g)", "Poids fer blanc (g)", "bouchon plastique (g)"], 1),
        (["Verp.-Gewicht Glas", "Verp.-Gewicht Weißblech", "Verp.-Gewicht Kunststoff Deckel"], 1),
        (["glass_weight_g", "metal_tinplate_weight_g", "cap_plastic_weight_g"], 1),
    ],
)
def test_weight_columns_of_materials_are_components(head: list[str], factor: int) -> None:
    table = [["sku_code", "name", *head], ["A", "jar", "200,5", 3, 2], ["B", "jar", "1,5", 0, ""]]
    of_a = [("body", "glass", None, 200.5), ("body", "metal", "tinplate", 3.0), ("cap", "plastic", None, 2.0)]
    of_b = [("body", "glass", None, 1.5)]
    told = {code: [(*p[:3], p[3] * factor) for p in found] for code, found in (("A", of_a), ("B", of_b))}
    assert parts(table) == ("materials", told)


@pytest.mark.parametrize("head", [["Glas"], ["Glass", "Paper %"], ["recycled plastic", "plastic %"]])
def test_a_material_s_name_alone_is_no_weight(head: list[str]) -> None:
    assert parts([["sku_code", "name", *head], ["A", "a", *["1"] * len(head)]]) == ("rows", {})


def test_materials_that_are_ticked_are_no_weights() -> None:
    table = [["sku_code", "name", "Glas", "Papier"], ["A", "a", "x", ""], ["B", "b", "", "x"]]
    assert parts(table) == ("rows", {})


def test_merged_cells_hold_their_value_once() -> None:
    table = [
        ["sku_code", "name", "component_type", "Material", "component_weight_g"],
        ["A", "jar", "body", "glass", 200],
        ["", "", "cap", "metal", "5,5"],
        ["B", "box", "body", "glass", 200],
        ["", "Summe", "", "", 405.5],
    ]
    table[0][3] = "component_material_family"
    assert parts(table) == ("long", {"A": [BODY, CAP], "B": [BODY]})
    own = [
        ["Référence", "Désignation", "Type d'emballage", "Matériau", "Poids (g)"],
        ["A", "jar", "Bocal", "Verre", 200],
        ["", "", "Couvercle", "Métal", "5,5"],
        ["", "", "", "", 205.5],
    ]
    assert parts(own) == ("long", {"A": [BODY, CAP]})
    assert faults(own) == [(4, "sku_code", "A", "required")]


def test_packaging_of_another_level_under_the_same_code_is_told_to_have_its_own() -> None:
    table = [
        ["sku_code", "name", "packaging_level", "component_type", "component_material_family", "component_weight_g"],
        ["A", "jar", "sales", "body", "glass", 200],
        ["A", "jar", "transport", "body", "paper_cardboard", 90],
    ]
    said = read(workbook({"SKUs": table}))[1].errors.select("line", "code", "message").rows()
    assert [(line, code) for line, code, _ in said] == [(3, "duplicate_sku_code")]
    assert "packaging of another level is a SKU of its own" in said[0][2]


def test_lines_of_one_code_are_its_parts_in_a_table_without_names() -> None:
    table = [["sku_code", "material", "annual_volume_fr"], ["A", "glass", 5], ["", "metal", ""], ["B", "glass", 1]]
    layout, found = parts(table)
    assert (layout, [family for _, family, *_ in found["A"]]) == ("long", ["glass", "metal"])


def test_a_line_below_an_example_belongs_to_it() -> None:
    table = [
        ["sku_code", "name", "component_type", "component_material_family", "component_weight_g"],
        ["A", "jar", "body", "glass", 200],
        ["EXAMPLE-1", "jar", "body", "glass", 1],
        ["", "", "cap", "metal", 1],
        ["B", "jar", "body", "glass", 200],
    ]
    assert parts(table) == ("long", {"A": [BODY], "B": [BODY]})


UNITS = [["sku_code", "name", "Weight", "UOM"], ["A", "a", 1.5, "KGM"], ["B", "b", 12, "GRM"], ["C", "c", "250", "mg"]]


def test_a_unit_beside_a_weight_converts_it() -> None:
    assert read(workbook({"SKUs": UNITS}))[1].values["weight_grams"].to_list() == [1500.0, 12.0, 0.25]
    pieces = [row if at == 0 else [*row[:3], "PCE"] for at, row in enumerate(UNITS)]
    upload, rows = read(workbook({"SKUs": pieces}))
    assert rows.values["weight_grams"].to_list() == [1.5, 12.0, 250.0]
    assert upload.source["ignored"] == [{"column": "D", "header": "UOM"}]


@pytest.mark.parametrize(
    ("weight", "unit", "grams"),
    [
        ("12", "", None),
        ("12", "box", None),
        ("12 g", "KGM", None),
        ("12 g", "g", 12.0),
        ("1.2 kg", "", 1200.0),
        ("", "", None),
        ("", "KGM", None),
    ],
)
def test_a_weight_in_two_units_or_in_none_is_a_fault(weight: str, unit: str, grams: float | None) -> None:
    _, rows = read(delimited([*UNITS, ["D", "d", weight, unit]]))
    if grams is None and weight:
        assert rows.errors.select("line", "field", "code").rows() == [(5, "weight_grams", "unknown_unit")]
    else:
        assert rows.values["weight_grams"][3] == grams


def test_counts_and_shares_make_the_weight_of_the_part() -> None:
    table = [
        ["GTIN", "Code", "Libellé", "Matériau", "Poids unitaire vide", "Nombre de composants", "% en poids"],
        ["", "A", "box", "Carton", "24", 1, "95%"],
        ["", "A", "box", "Plastique", "24", 1, "5%"],
        ["", "B", "bag", "Plastique", "0,88", 10, "100%"],
        ["", "B", "bag", "Carton", "44,7", 1, "100%"],
        ["", "C", "bag", "Plastique", "2,5", 2, "100%"],
    ]
    layout, graphs = parts(table)
    assert layout == "long"
    assert {code: [p[3] for p in found] for code, found in graphs.items()} == {"A": [22.8, 1.2], "B": [8.8, 44.7]}
    assert read(delimited(table))[1].values["weight_grams"].to_list() == [None, None, 5.0]


@pytest.mark.parametrize(("layout", "table"), [("wide", UNITS), ("materials", UNITS)])
def test_a_layout_that_the_file_has_not_is_refused(layout: str, table: Table) -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table), {"layout": layout})
    assert refused.value.issues[0].code == "invalid_mapping"


def test_rows_as_told_leaves_groups_alone() -> None:
    table = [["sku_code", "name", "Material 1", "Weight 1"], ["A", "a", "glass", 1]]
    assert parts(table, {"layout": "rows"}) == ("rows", {})


@pytest.mark.parametrize(
    ("cell", "family", "detail"),
    [
        ("Plastiques / PEBD - Polyethylène basse densité", "plastic", "PEBD"),
        ("Métaux / Aluminium", "metal", "Aluminium"),
        ("Cellulosique / Carton plat", "paper", "Carton plat"),
        ("Kunststoff - PET", "plastic", "PET"),
        ("PET recyclé", "plastic", "PET recyclé"),
        ("LDPE", "plastic", "LDPE"),
        ("Papier/Pappe", "paper", None),
        ("Plastiques / jamais vu", "plastic", "jamais vu"),
        ("Papier / Kunststoff", None, None),
        ("unobtainium", None, None),
        ("Plastic", "plastic", None),
    ],
)
def test_a_material_cell_may_say_more_than_the_family(cell: str, family: str | None, detail: str | None) -> None:
    _, rows = read(delimited([["sku_code", "name", "Material"], ["A", "a", cell], ["B", "b", "PET"]]))
    if family is None:
        assert rows.errors.select("field", "code", "value").rows() == [("material", "not_in_vocabulary", cell)]
    else:
        assert rows.values.select("material", "material_subtype").row(0) == (family, detail)
    own = [["sku_code", "name", "Material", "Polymer"], ["A", "a", "PET", "rPET"], ["B", "b", "PET", ""]]
    assert read(workbook({"SKUs": own}))[1].values["material_subtype"].to_list() == ["rPET", "PET"]


def test_a_measured_weight_stands_above_the_specified_one_and_alone() -> None:
    head = ["packagings_1_material", "packagings_1_weight_specified", "packagings_1_weight_measured"]
    both = [["sku_code", "name", *head], ["A", "a", "glass", "55.2", "55.32"], ["B", "b", "glass", "55.2", ""]]
    assert parts(both) == ("wide", {"A": [("body", "glass", None, 55.32)], "B": [("body", "glass", None, 55.2)]})
    alone = [[row[at] for at in (0, 1, 2, 4)] for row in both]
    assert parts(alone) == ("wide", {"A": [("body", "glass", None, 55.32)], "B": [("body", "glass", None, None)]})


def test_a_cleared_weight_of_a_material_makes_no_component() -> None:
    table = [["sku_code", "name", "Glas (g)", "Papier (g)"], ["A", "a", "null", 2], ["B", "b", "null", ""]]
    assert parts(table) == ("materials", {"A": [("body", "paper", None, 2.0)]})


def test_a_mapping_names_a_group_s_column() -> None:
    table = [["sku_code", "name", "Material 1", "Weight 1", "Mass of it"], ["A", "a", "glass", 1, 2]]
    told = parts(table, {"columns": {"component_1_weight_g": "E"}})
    assert told == ("wide", {"A": [("body", "glass", None, 2.0)]})
