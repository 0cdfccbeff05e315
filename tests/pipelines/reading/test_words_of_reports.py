"""Words of reports, of programs and of more languages beside fields: what they mean, and what they do not."""

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, read, values


def fields(header: str, cells: list[object]) -> list[str]:
    """The fields that a column beside a code, a name and a weight is read as."""
    table = [["SKU", "Name", "Packaging weight (g)", header], *([f"A-{at}", "x", 5, c] for at, c in enumerate(cells))]
    return [each["field"] for each in read(delimited(table))[0].source["columns"] if each["column"] == "D"]


def asked(table: Table) -> list[dict[str, object]]:
    """The answers of the questions."""
    return [about["answer"] for about in read(delimited(table))[0].source["asked"]]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Verkocht in NL (stuks) 2025", "annual_volume_nl_2025"),
        ("Sold in NL 2025", "annual_volume_nl_2025"),
        ("Absatz DE 2025 (St)", "annual_volume_de_2025"),
        ("Sålt i Sverige 2025 (st)", "annual_volume_se_2025"),
        ("Antal sålda Sverige 2025", "annual_volume_se_2025"),
        ("Sprzedano Polska 2025 [szt.]", "annual_volume_pl_2025"),
        ("Prodáno CZ 2025 (ks)", "annual_volume_cz_2025"),
        ("annual_volume_in_nl", "annual_volume_in_nl"),
    ],
)
def test_little_words_and_pieces_are_no_part_of_a_country(header: str, name: str) -> None:
    assert fields(header, [12000, 5000]) == [name]


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ("Prodáno v ČR 2025 (ks)", "annual_volume_at_2025"),
        ("Ilość wprowadzona 2025 [szt.]", "annual_volume_at_2025"),
        ("Mängd Sverige 2025", "annual_volume_se_2025"),
    ],
)
def test_units_in_words_that_are_not_known_are_asked_about(header: str, answer: str) -> None:
    table = [["SKU", "Name", header], ["A-1", "x", 12000], ["B-1", "y", 5000]]
    assert asked(table) == [{"columns": {answer: "C"}}]


@pytest.mark.parametrize("header", ["Price DE 2025 (EUR)", "Umsatz DE 2025", "Budget 2025"])
def test_money_of_a_year_is_no_units(header: str) -> None:
    assert asked([["SKU", "Name", header], ["A-1", "x", 12000], ["B-1", "y", 5000]]) == []


@pytest.mark.parametrize("header", ["Post-consumer recycled (%)", "% MPR", "Post-Consumer-Rezyklat (%)"])
def test_waste_of_consumers_is_recycled_content(header: str) -> None:
    assert fields(header, [30, 60]) == ["recycled_content_percent"]


@pytest.mark.parametrize(
    "header", ["Post-industrial recycled (%)", "Pre-consumer recycled (%)", "Recycled content PIR"]
)
def test_waste_of_factories_is_neither_read_nor_offered_as_recycled_content(header: str) -> None:
    table = [["SKU", "Name", header], ["A-1", "x", 30], ["B-1", "y", 60]]
    assert asked(table) == []
    assert "recycled_content_percent" not in values(delimited(table))[0]


def test_a_kind_of_packaging_with_its_levels_in_brackets_is_the_level() -> None:
    head = ["Codice", "Descrizione", "Peso imballo (g)", "Tipologia (primario/secondario/terziario)"]
    table = [head, ["A-1", "Vaso", 180, "primario"], ["B-1", "Cassa", 1200, "terziario"]]
    assert [row["packaging_level"] for row in values(delimited(table))] == ["sales", "transport"]


def test_packaging_of_another_level_is_none_of_the_item_in_polish() -> None:
    head = ["Nr", "Nazwa", "Opakowanie jednostkowe - materiał", "Opakowanie zbiorcze - materiał", "Masa opakowania (g)"]
    table = [head, ["A-1", "Butelka", "PET", "Tektura", 28], ["B-1", "Słoik", "Szkło", "Tektura", 180]]
    assert [row["material"] for row in values(delimited(table))] == ["plastic", "glass"]
    assert asked(table) == []


def test_codes_of_gs1_name_plastics() -> None:
    table = [["gtin", "name", "packagingMaterialTypeCode"], ["4006381333931", "Chips", "POLYMER_PP"]]
    assert values(delimited(table))[0]["material"] == "plastic"


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [
        ("Single-use?", "yes", "no"),
        ("Einweg (j/n)", "j", "n"),
        ("nicht wiederverwendbar", "ja", "nein"),
        ("Non-reusable", "1", "0"),
        ("Non réemployable (O/N)", "O", "N"),
        ("Non riutilizzabile", "sì", "no"),
        ("No reutilizable", "sí", "no"),
        ("Niet herbruikbaar", "ja", "nee"),
    ],
)
def test_single_use_over_yes_and_no_is_asked_about_as_the_contrary(header: str, yes: str, no: str) -> None:
    table = [["SKU", "Name", "Packaging weight (g)", header], ["A-1", "Jar", 180, no], ["B-1", "Bag", 5, yes]]
    [answer] = asked(table)
    assert answer == {"columns": {"reusable": "D"}, "values": {"reusable": {yes: "false", no: "true"}}}
    assert [row["reusable"] for row in values(delimited(table), answer)] == [True, False]


def test_a_reuse_system_over_yes_and_no_says_whether_there_is_one() -> None:
    table = [
        ["SKU", "Name", "Packaging weight (g)", "Mehrwegsystem"],
        ["A-1", "Jar", 180, "ja"],
        ["B", "Bag", 5, "nein"],
    ]
    assert [row["reusable"] for row in values(delimited(table))] == [True, False]


def test_a_deposit_over_amounts_is_no_yes_and_no() -> None:
    assert fields("Statiegeld", ["0,25", "0"]) == []
    assert fields("Statiegeld", ["1", "0"]) == ["reuse_deposit_system"]


def test_whose_waste_a_packaging_is_is_no_format_beside_formats() -> None:
    head = ["SKU", "Name", "Packaging weight (g)", "Packaging type"]
    table = [head, ["A-1", "Jar", 180, "Household"], ["B-1", "Bag", 5, "Bag"]]
    assert [row["packaging_format"] for row in values(delimited(table))] == [None, "Bag"]
    [answer] = asked(table)
    assert values(delimited(table), answer)[0]["packaging_format"] == "Household"
    beside = [[*head, "Format"], ["A-1", "Jar", 180, "Household", "jar"], ["B-1", "Bag", 5, "Non-household", "bag"]]
    assert [row["packaging_format"] for row in values(delimited(beside))] == ["jar", "bag"]


def test_the_weight_of_the_british_report_is_asked_about_in_kilograms() -> None:
    head = ["sku", "name", "packaging_class", "packaging_material", "packaging_material_weight"]
    table = [head, ["A-1", "Jar", "P1", "GL", "0.18"], ["B-1", "Bag", "P1", "PL", "0.012"]]
    assert values(delimited(table))[0].get("weight_grams") is None
    [answer] = asked(table)
    assert values(delimited(table), answer)[0]["weight_grams"] == 180


def test_materials_below_a_header_that_names_none_are_asked_about() -> None:
    head = ["Cód.", "Denominación", "Envase primario", "Peso envase primario (g)"]
    table = [head, ["A-1", "Mermelada", "Vidrio", "180"], ["B-1", "Patatas", "PP", "4,2"]]
    assert asked(table) == [{"columns": {"material": "C"}}]


def test_the_weight_of_a_primary_material_is_asked_about() -> None:
    table = [["SKU", "Name", "Primary material", "Primary material weight (g)"], ["A-1", "Jar", "glass", 180]]
    assert asked(table) == [{"columns": {"weight_grams": "D"}}]


def test_some_months_in_a_column_of_periods_are_asked_about() -> None:
    head = ["Artikelnummer", "Bezeichnung", "Land", "Periode", "Absatz (Stück)"]
    months = [["A-1", "x", "DE", f"{month:02}/2025", 10] for month in range(1, 13)]
    with pytest.raises(ReadingRefused, match="not all parts of a year"):
        read(delimited([head, *months[:5]]))
    assert values(delimited([head, *months]))[0]["volumes"] == '{"DE/2025/0":120}'


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "cp1254"])
def test_a_text_whose_only_letter_is_a_micro_sign_needs_no_answer(encoding: str) -> None:
    table = [["SKU", "Name", "Thickness (µm)"], ["A-1", "Bag", 40]]
    upload = read(delimited(table, ";", encoding))[0]
    assert [each["header"] for each in upload.source["ignored"]] == ["Thickness (µm)"]
