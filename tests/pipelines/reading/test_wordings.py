"""Wordings of suppliers' and systems' tables: number signs, levels in a header, fractions beside percent signs."""

import pytest

from pipelines.reading.columns import recognise
from tests.pipelines.reading.writing import delimited, faults, read, values


def test_a_number_sign_is_a_number_of_its_word() -> None:
    table = [["Item #", "Item Description", "Vendor #"], ["4711", "Shampoo", "V-9"], ["4712", "Soap", "V-9"]]
    source = read(delimited(table))[0].source
    assert [column["field"] for column in source["columns"]] == ["sku_code", "name"]
    assert [entry["header"] for entry in source["ignored"]] == ["Vendor #"]


@pytest.mark.parametrize("header", ["Part #", "Article#", "SKU #", "Item #"])
def test_a_number_of_an_article_is_its_code(header: str) -> None:
    column = recognise(header, 0, "sku")
    assert column is not None
    assert column.name == "sku_code"


@pytest.mark.parametrize(
    "header",
    ["Imballaggio primario/secondario", "Primary / Secondary / Tertiary packaging", "Primärverpackung / Umverpackung"],
)
def test_a_header_that_lists_levels_is_the_level(header: str) -> None:
    table = [["SKU", "Name", header], ["A-1", "Passata", "Primario"], ["A-2", "Scatola", "Secondario"]]
    assert [row["packaging_level"] for row in values(delimited(table))] == ["sales", "grouped"]


def test_a_measure_of_levels_is_no_level() -> None:
    assert recognise("Primary/Secondary weight (g)", 0, "sku") is None


@pytest.mark.parametrize(("bare", "is_asked"), [("0,3", True), ("1", True), ("0", False), ("45", False)])
def test_a_fraction_beside_percent_signs_is_asked_about(bare: str, is_asked: bool) -> None:
    table = [["SKU", "Name", "Rezyklatanteil"], ["A-1", "Saft", "30%"], ["A-2", "Tee", bare]]
    asked = [(about["kind"], about["text"]) for about in read(delimited(table, ";"))[0].source["asked"]]
    assert asked == ([("fraction", bare)] if is_asked else [])
    if is_asked:
        answered = values(delimited(table, ";"), {"units": {"recycled_content_percent": "fraction"}})
        assert [row["recycled_content_percent"] for row in answered] == [30, 100 if bare == "1" else 30]


@pytest.mark.parametrize(("letter", "name"), [("D", "Germany (DE)"), ("A", "Austria (AT)"), ("I", "Italy (IT)")])
def test_a_letter_of_a_number_plate_is_answered_with_its_country(letter: str, name: str) -> None:
    data = delimited([["SKU", "Name", "Markets"], ["A-1", "Saft", letter]])
    assert faults(data) == [(2, "markets", "unknown_market")]
    assert f"nearest are: {name}. " in str(read(data)[1].errors["message"][0])


@pytest.mark.parametrize(
    "header",
    [
        "No food contact", "kein Lebensmittelkontakt (ja/nein)", "Food contact: no", "Non-recycled content (%)",
        "% non recyclé", "Non-deposit",
    ],
)  # fmt: skip
def test_a_header_that_denies_its_field_is_not_read(header: str) -> None:
    source = read(delimited([["SKU", "Name", header], ["A-1", "Saft", "1"]], ";"))[0].source
    assert [column["field"] for column in source["columns"]] == ["sku_code", "name"]
    assert ([entry["header"] for entry in source["ignored"]], source["asked"]) == ([header], [])


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Contact alimentaire (O/N)", "food_contact"), ("Reusable (yes/no)", "reusable"), ("Item No", "sku_code"),
        ("Lebensmittelkontakt ja/nein", "food_contact"), ("Food contact yes or no", "food_contact"),
        ("Réutilisable oui non", "reusable"), ("No. of units sold DE 2025", "annual_volume_de_2025"),
    ],
)  # fmt: skip
def test_a_list_of_answers_denies_nothing(header: str, name: str) -> None:
    column = recognise(header, 0, "sku")
    assert column is not None
    assert column.name == name


def test_units_of_all_markets_together_are_asked_about() -> None:
    table = [["SKU", "Name", "Absatz gesamt 2025"], ["A-1", "Saft", "12.000"]]
    [about] = read(delimited(table, ";"))[0].source["asked"]
    assert (about["header"], "annual_volume_de_2025" in about["could_be"]) == ("Absatz gesamt 2025", True)


def test_heavy_metals_with_their_unit_are_read() -> None:
    table = [["SKU", "Name", "Schwermetalle (mg/kg)"], ["A-1", "Saft", "<100"], ["A-2", "Tee", "3,5"]]
    assert [row["heavy_metals_sum_ppm"] for row in values(delimited(table, ";"))] == ["<100", "3.5"]
