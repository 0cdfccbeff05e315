"""Files that nobody of this project wrote: each is read, or refused with a reason that a person can act on."""

import json
from pathlib import Path

import pytest

from pipelines.reading import lines
from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import read

REAL = Path(__file__).parents[4] / "shared" / "real"
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside the repository")

REFUSED = {
    "off/import_csv_file_test.tsv.csv": {("missing_column", "name")},
    "ceflex/CEFLEX D4ACE July 2025.xlsx": {("missing_column", "sku_code")},
    "defra/ors-id-log-example.xlsx": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/real_pom_file_data.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/empty.xlsx": {("no_table", None)},
    "defra/wdio/EmptyFile.csv": {("no_table", None)},
    "defra/wdio/EmptyFileFromExcel.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/wdio/InvalidFileIncorrectColumnName.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/wdio/InvalidFileMissingHeaders.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/wdio/InvalidFileLessColumns.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "defra/wdio/WrongFormatFile.xls": {("unreadable_file", None)},
    "open3p/7_1_3_Components_Template.csv": {("missing_column", "sku_code")},
    "open3p/7_1_4_Complete_Packaging_Template.csv": {("missing_column", "sku_code")},
    "open3p/5_1_1_Shape.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "open3p/5_1_4_Component_Recycling_Disruptors.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
    "open3p/5_2_3_Material_Category.csv": {("missing_column", "sku_code"), ("missing_column", "name")},
}


@pytest.mark.parametrize(("path", "reasons"), REFUSED.items())
def test_refused(path: str, reasons: set[tuple[str, str | None]]) -> None:
    with pytest.raises(ReadingRefused) as refused:
        read((REAL / path).read_bytes())
    assert {(issue.code, issue.field) for issue in refused.value.issues} == reasons


def test_a_thousand_products_whose_codes_begin_with_zero() -> None:
    upload, rows = read((REAL / "off/products.csv").read_bytes())
    assert (upload.source["delimiter"], upload.source["encoding"], upload.rows) == ("\t", "utf-8", 1000)
    assert (rows.values.height, rows.rejected) == (989, 11)
    assert rows.values["sku_code"].str.starts_with("0").sum() >= 975
    assert set(rows.errors["code"]) == {"unknown_market"}


@pytest.mark.parametrize("mapping", [{}, {"columns": {"sku_code": "GTIN"}}])
def test_a_retailer_s_list_of_components_by_the_barcode(mapping: dict[str, object]) -> None:
    wraps = {"Film / Enveloppage / Feuille / Housse": "body", "Sac / Sachet / Flowpack": "body"}
    data = (REAL / "off/packagings-mousquetaires.xlsx.csv").read_bytes()
    upload, rows = read(data, mapping)
    brand, *words = [column["text"] for column in upload.source["asked"]]
    assert (brand, words) == ("MONIQUE RANOU", [*wraps, "Coupe / Coupelle"])  # decisions §13
    upload, rows = read(data, {**mapping, "values": {"component_type": {**wraps, "Coupe / Coupelle": "body"}}})
    assert [column["answer"] for column in upload.source["asked"]] == [{"create": True}]
    assert (upload.source["layout"], upload.rows) == ("long", 50)
    assert (rows.values.height, rows.rejected) == (18, 0)
    croquettes = rows.values.filter(rows.values["sku_code"] == "3250390021544")["components"][0]
    assert [(part["polymer_or_grade"], part["weight_g"]) for part in json.loads(croquettes)] == [
        ("Carton plat", 22.8),
        ("PE", 1.2),
    ]
    ten_films = rows.values.filter(rows.values["sku_code"] == "3250390020745")["components"][0]
    assert json.loads(ten_films)[0]["weight_g"] == 8.8


def test_components_side_by_side_below_help_and_example() -> None:
    data = (REAL / "off/openfoodfacts_import_template_fr_test.xlsx.csv").read_bytes()
    upload, rows = read(data)
    assert {column["field"] for column in upload.source["columns"] if "barres" in column["header"]} == {
        "sku_code",
        "gtin",
    }
    assert set(rows.errors["code"]) == {"invalid_gtin"}  # both barcodes are made up
    upload, rows = read(data, {"columns": {"sku_code": "Code-barres"}})
    assert (upload.source["layout"], upload.rows, rows.rejected) == ("wide", 2, 0)
    assert [line["reason"] for line in upload.source["skipped"]][:2] == [lines.HELP, lines.EXAMPLE]
    data = (REAL / "off/import_csv_file_test.tsv.csv").read_bytes()
    upload, rows = read(data, {"columns": {"name": "product_name_fr"}})
    assert (upload.source["layout"], upload.rows) == ("wide", 7)
    graphs = [json.loads(text) for text in rows.values["components"]]
    assert [graph[0]["weight_g"] for graph in graphs] == [42.3, 84.6, 42.3]
    assert set(rows.errors["code"]) == {"unknown_market", "required"}  # `en` is a language, one part has no material


@pytest.mark.parametrize("mapping", [None, {"columns": {"sku_code": "ID"}}])
def test_layers_are_no_repeats(mapping: dict[str, object] | None) -> None:
    data = (REAL / "ceflex/Examples from CEFLEX D4ACE report.xlsx").read_bytes()
    upload, rows = read(data, mapping)
    assert upload.source["header_row"] == 3
    assert upload.source["layout"] == "long"
    assert (rows.values.height, rows.rejected) == (6, 0)
