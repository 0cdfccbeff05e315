"""Which column is the article's code: by whose number it is, by the words of systems, by the barcode at last."""

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import delimited, read, values

SOMEBODY = [
    "Vendor",
    "Supplier",
    "Customer",
    "Manufacturer",
    "Lieferanten",
    "Kunden",
    "Hersteller",
    "Fournisseur",
    "Proveedor",
    "Fornitore",
    "Leverancier",
]
NUMBERS = ["ID", "No.", "Nummer", "Code", "Number", "Nr."]


@pytest.mark.parametrize("somebody", SOMEBODY)
def test_a_number_of_somebody_is_no_code_of_an_article(somebody: str) -> None:
    """Several numbers of a supplier would be asked about; what the file says of one alone is looked at once."""
    forms = (f"{somebody} {{}}", f"{{}} {somebody}", f"{somebody}_{{}}", f"{somebody}-{{}}")
    every = [form.format(number) for form in forms for number in NUMBERS]
    for headers, mapping in ((every, {"columns": {"supplier_id": None}}), (every[:1], None)):
        cells = ["77" for _ in headers]
        with pytest.raises(ReadingRefused) as refused:
            read(delimited([[*headers, "Name"], [*cells, "a"], [*cells, "b"]]), mapping)
        assert [(issue.code, issue.field) for issue in refused.value.issues] == [("missing_column", "sku_code")]
        table = [[*headers, "Article no.", "Name"], [*cells, "A", "a"], [*cells, "B", "b"]]
        upload, rows = read(delimited(table), mapping)
        assert rows.values["sku_code"].to_list() == ["A", "B"]
        assert [column["header"] for column in upload.source["ignored"]] == headers


@pytest.mark.parametrize("somebody", SOMEBODY)
@pytest.mark.parametrize("article", ["item no.", "Artikelnummer", "Code article", "product code"])
def test_somebody_s_number_of_an_article_stands_for_its_code_where_nothing_else_does(
    somebody: str, article: str
) -> None:
    for header in (f"{article} {somebody}", f"{somebody}_{article}"):
        assert read(delimited([[header, "Name"], ["77", "a"]]))[1].values["sku_code"].to_list() == ["77"]
        both = delimited([[header, "SKU", "Name"], ["77", "A", "a"]])
        assert read(both)[1].values["sku_code"].to_list() == ["A"]


@pytest.mark.parametrize(
    "header",
    ["sku_id", "ID", "part_id", "MATNR", "default_code", "Artikelnummer_Hersteller", "MPN", "Vendor SKU", "Article ID"],
)
def test_codes_by_the_names_that_systems_give_them(header: str) -> None:
    upload, rows = read(delimited([[header, "MAKTX"], ["007", "a"]]))
    assert [column["field"] for column in upload.source["columns"]] == ["sku_code", "name"]
    assert rows.values.select("sku_code", "name").rows() == [("007", "a")]


def test_of_columns_that_stand_for_the_code_the_article_s_own_is_best_and_a_bare_id_the_last() -> None:
    head = ["ID", "Artikelnummer_Hersteller", "Product ID", "Bezeichnung"]
    assert read(delimited([head, ["1", "H1", "P1", "a"]]))[1].values["sku_code"].to_list() == ["P1"]
    assert read(delimited([[*head[:2], head[3]], ["1", "H1", "a"]]))[1].values["sku_code"].to_list() == ["H1"]


def test_the_barcode_is_the_code_where_nothing_else_is_one() -> None:
    upload, rows = read(delimited([["EAN", "Name"], ["4006381333931", "a"]]))
    assert [(c["field"], c["column"]) for c in upload.source["columns"]] == [
        ("sku_code", "A"),
        ("gtin", "A"),
        ("name", "B"),
    ]
    assert rows.values.select("sku_code", "gtin").rows() == [("4006381333931", "4006381333931")]
    with pytest.raises(ReadingRefused, match="GTIN"):
        read(delimited([["EAN", "GTIN", "Name"], ["4006381333931", "4006381333931", "a"]]))


def test_a_title_says_whose_code_and_name_stand_below_it() -> None:
    table = [["Fournisseur", "", "Article", ""], ["Code", "Nom", "Réf.", "Libellé"], ["77", "ACME", "R1", "Boîte"]]
    upload, rows = read(delimited(table))
    assert rows.values.select("sku_code", "name").rows() == [("R1", "Boîte")]
    assert [column["header"] for column in upload.source["ignored"]] == ["Fournisseur Code", "Fournisseur Nom"]


def test_an_item_over_codes_beside_a_description_is_the_code() -> None:
    table = [["Item", "Description", "Packaging weight (g)"], ["I-1", "Shampoo", "30"], ["I-2", "Soap", "10"]]
    assert [(row["sku_code"], row["name"]) for row in values(delimited(table))] == [("I-1", "Shampoo"), ("I-2", "Soap")]


def test_our_own_number_is_the_code_beside_a_suppliers() -> None:
    for own in ("Unsere Art.-Nr.", "Our item no."):
        table = [["Lieferanten-Art.-Nr.", own, "Bezeichnung"], ["L-1", "4711", "Flasche"]]
        assert [row["sku_code"] for row in values(delimited(table))] == ["4711"]
