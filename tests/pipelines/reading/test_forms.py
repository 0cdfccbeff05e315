"""Forms of one product: labels at the left, answers beside them. None of them becomes a table of nonsense."""

import pytest

from pipelines.reading.grid import ReadingRefused
from schemas.messages import translate
from tests.pipelines.reading.writing import Table, delimited, read, workbook

BLOCKS: Table = [
    ["Fiche technique emballage"],
    [],
    ["Référence article", "4711"],
    ["Désignation", "Confiture d'abricots 370 g"],
    ["Emballage primaire"],
    ["Matériau", "Verre"],
    ["Poids de l'emballage (g)", 198.5],
    ["Emballage secondaire"],
    ["Matériau", "Carton"],
    ["Poids de l'emballage (g)", 312],
]
PAIRS: Table = [
    ["Packaging specification"],
    ["Item code", "AB-12", "Item name", "Hand cream 75 ml"],
    ["GTIN", "5000169005231", "Country", "GB"],
    ["Material", "Plastic", "Weight (g)", 12.5],
]
FAR: Table = [
    ["Datenblatt Verpackung"],
    ["Artikelnummer:", "", "88001"],
    ["Artikelbezeichnung:", "", "Duschgel 300 ml"],
    ["Material:", "", "HDPE"],
    ["Gewicht (g):", "", 24.5],
]


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(ReadingRefused) as refused:
        read(data)
    [issue] = refused.value.issues
    return issue.code, issue.message


@pytest.mark.parametrize(
    ("form", "recognised"),
    [(BLOCKS, "A3 “Référence article” (sku_code)"), (PAIRS, "C2 “Item name” (name)"), (FAR, "(weight_grams)")],
    ids=["blocks", "pairs", "far"],
)
def test_a_form_is_refused_with_what_was_recognised(form: Table, recognised: str) -> None:
    for data in (workbook({"4711": form}), workbook({"4711": form, "4712": form}), delimited(form, ";")):
        code, message = refusal(data)
        assert (code, recognised in message) == ("missing_column", True)
        assert translate(message, "de").startswith("Dies ist ein Formular eines Produkts")


def test_the_packaging_levels_of_a_form_are_named_and_no_weight_of_one_is_read_for_another() -> None:
    assert "several levels (“Emballage primaire”, “Emballage secondaire”)" in refusal(workbook({"F": BLOCKS}))[1]
    assert "several levels" not in refusal(workbook({"F": PAIRS}))[1]


def test_a_form_beside_a_table_is_left_out() -> None:
    table = [["SKU", "Name", "Material"], ["A", "a", "glass"]]
    upload, rows = read(workbook({"Form": PAIRS, "List": table}))
    assert (upload.source["sheet"], rows.values["sku_code"].to_list()) == ("List", ["A"])
    assert [sheet["sheet"] for sheet in upload.source["unread_sheets"]] == ["Form"]


@pytest.mark.parametrize(
    "table",
    [
        [["SKU", "Name"], ["Material", "Weight"], ["Brand", "Colour"]],
        [["SKU", "Remark", "Name", "Remark 2"], ["A", "x", "a", "y"], ["Code", "x", "b", "y"]],
    ],
    ids=["odd codes", "unknown columns between"],
)
def test_odd_words_in_a_table_make_no_form(table: Table) -> None:
    assert read(delimited(table))[1].values.height == 2


def test_who_maps_the_columns_says_that_it_is_a_table() -> None:
    mapping: dict[str, object] = {"columns": {"sku_code": "A", "name": "B"}, "header_row": 2}
    assert read(workbook({"F": PAIRS}), mapping)[1].values["sku_code"].to_list() == ["GTIN", "Material"]
