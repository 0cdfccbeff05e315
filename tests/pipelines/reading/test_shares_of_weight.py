"""Weights of materials that are a part of the packaging's weight: without the rest its materials would be wrong."""

import pytest

from api.imports.columns_pages import chosen_answers, open_questions
from pipelines.reading.questions import answer_with
from tests.pipelines.reading.writing import Table, delimited, read, values, workbook

HEAD = ["Artikelnummer", "Bezeichnung"]


def parts(table: Table) -> list[object]:
    return [row.get("components") for row in values(delimited(table, ";"))]


@pytest.mark.parametrize(
    "header",
    [
        "davon Kunststoff (g)",
        "Gewicht Kunststoff (g)",
        "of which plastic (g)",
        "dont plastique (g)",
        "di cui plastica (g)",
    ],
)
def test_a_material_that_is_less_than_the_packaging_is_asked_about(header: str) -> None:
    table = [[*HEAD, "Verpackungsgewicht (g)", header], ["A-1", "Saft", "34", "10"], ["A-2", "Milch", "30", "6"]]
    upload, typed = read(delimited(table, ";"))
    [about] = upload.source["asked"]
    assert (about["kind"], about["answer"]) == ("column", {"columns": {"plastic_weight_g": "D"}})
    assert typed.values["weight_grams"].to_list() == [34, 30]
    assert "components" not in typed.values.columns
    answered = read(delimited(table, ";"), answer_with(about, "materials"))[0].source
    assert (answered["asked"], answered["layout"]) == ([], "materials")


def test_materials_that_are_the_whole_packaging_are_read() -> None:
    head = [*HEAD, "Verpackungsgewicht gesamt (g)", "davon Kunststoff (g)", "davon Papier (g)"]
    table = [head, ["A-1", "Saft", "34", "10", "24"], ["A-2", "Milch", "30", "6", "24"]]
    assert read(delimited(table, ";"))[0].source["asked"] == []
    assert [text and str(text).count("weight_g") for text in parts(table)] == [2, 2]


def test_materials_in_the_plural_are_read() -> None:
    head = [
        "Référence",
        "Libellé",
        "Poids papiers-cartons (g)",
        "Poids verres (g)",
        "Poids aciers (g)",
        "Poids aluminiums (g)",
    ]
    source = read(delimited([head, ["R-1", "Miel", "12", "210", "6", "1"]], ";"))[0].source
    assert source["components"] is not None
    named = [column["field"] for column in source["components"]["columns"]]
    assert named[1:] == ["paper_weight_g", "glass_weight_g", "metal_steel_weight_g", "metal_aluminium_weight_g"]
    assert source["ignored"] == []


def test_a_market_whose_cells_are_dashes_and_numbers_is_asked_about_with_the_others() -> None:
    table = [["SKU", "Name", "DE", "FR", "NL"], ["A-1", "Saft", "1200", "300", "5"], ["A-2", "Tee", "10", "0", "-"]]
    asked = read(delimited(table, ";"))[0].source["asked"]
    assert [about["header"] for about in asked] == ["DE", "FR", "NL"]


def test_the_page_offers_the_answer_in_words() -> None:
    table = [[*HEAD, "Verpackungsgewicht (g)", "davon Kunststoff (g)"], ["A-1", "Saft", "34", "10"]]
    source = read(delimited(table, ";"))[0].source
    for lang in ("en", "fr", "de"):
        [question] = open_questions(source, lang, beside_columns=True)
        [(choice, words)] = question.choices
        assert words != choice
        assert chosen_answers(source, {question.input: choice}) == source["asked"][0]["answer"]


def test_a_title_over_columns_of_materials_may_say_per_material() -> None:
    head = [["Produkt", "Artikelnr.", "Gewicht je Material in g", ""], ["", "", "Glas", "Papier"]]
    data = workbook({"Daten": [*head, ["Senf", "A-1", 140, 1.2], ["Ketchup", "A-2", "", 1]]})
    upload, rows = read(data)
    assert (upload.source["asked"], upload.source["ignored"]) == ([], [])
    assert [str(text).count("weight_g") for text in rows.values["components"]] == [2, 1]


def test_an_unknown_material_below_a_title_is_a_fault_of_its_line() -> None:
    """The label below the title is no cell of the column: by it a single number was too few."""
    head = [["Produkt", "Artikelnr.", "Gewicht je Material in g", "", ""], ["", "", "Glas", "Papier", "Zelluloid"]]
    rows = read(workbook({"Daten": [*head, ["Senf", "A-1", 140, 1.2, 6], ["Ketchup", "A-2", "", 1, ""]]}))[1]
    assert rows.errors.select("line", "code").rows() == [(3, "required")]
    assert rows.values["sku_code"].to_list() == ["A-2"]


def test_the_market_of_a_first_line_is_not_the_only_one_of_its_item() -> None:
    table = [["SKU", "Name", "Country", "2024", "2025"], ["A-1", "x", "DE", "1", "2"], ["A-1", "x", "FR", "3", "4"]]
    upload, rows = read(delimited(table))
    assert len(upload.source["asked"]) == 1
    assert "markets" not in rows.values.columns
