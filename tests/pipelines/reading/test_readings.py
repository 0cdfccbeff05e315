"""`source.readings`: what the texts of a file became (decisions §13)."""

import json

from pipelines.reading.cells import MOST
from tests.pipelines.reading.writing import delimited, read, workbook

SKUS = [
    [
        "sku_code",
        "name",
        "Material",
        "Verpackungsgewicht (kg)",
        "markets",
        "food_contact",
        "packaging_level",
        "pfas_status",
    ],
    ["A", "a", "Weißblech", "0,025", "Germany;FR", "ja", "Primary", "absent"],
    ["B", "b", "Weißblech", "0,030", "DE", "no", "sales", ""],
    ["C", "c", "PET schwarz", "", "Germany;FR", "", "", ""],
    ["D", "d", "Dose D7", "", "", "", "", ""],
]


def told(data: bytes, mapping: dict[str, object] | None = None) -> dict[tuple[str, str], tuple[str, int]]:
    found = read(data, mapping)[0].source["readings"]
    return {(each["field"], each["text"]): (each["value"], each["rows"]) for each in found}


def test_each_text_says_what_it_became_and_in_how_many_rows() -> None:
    words = {"values": {"material": {"Dose D7": "metal"}}}
    assert told(delimited(SKUS, ";"), words) == {
        ("material", "Dose D7"): ("metal", 1),
        ("weight_grams", "0,025"): ("0.025 kg = 25 g", 2),
        ("material", "Weißblech"): ("metal, tinplate", 2),
        ("material", "PET schwarz"): ("plastic, PET schwarz", 1),
        ("markets", "Germany;FR"): ("DE, FR", 2),
        ("markets", "DE"): ("DE", 1),
        ("food_contact", "ja"): ("true", 1),
        ("food_contact", "no"): ("false", 1),
        ("packaging_level", "Primary"): ("sales", 1),
        ("packaging_level", "sales"): ("sales", 1),
        ("pfas_status", "absent"): ("absent", 1),
    }


def test_what_a_text_says_of_its_part_has_one_order_in_every_process() -> None:
    table = [["sku_code", "name", "component_type", "material_family", "component_weight_g"]]
    table += [["A", "a", "label", "PET clear métallisé", "1"], ["A", "a", "cap", "metallisierte OPP schwarz", "9"]]
    found = told(delimited(table))
    assert found["material_family", "PET clear métallisé"] == (
        "plastic, PET clear métallisé, transparent, metallised",
        1,
    )
    assert found["material_family", "metallisierte OPP schwarz"][0].endswith("dark, metallised")


def test_the_language_before_a_word_hides_nothing_of_it() -> None:
    table = [["sku_code", "name", "material"], ["A", "a", "en:glass"], ["B", "b", "fr:verre"]]
    assert told(delimited(table)) == {
        ("material", "en:glass"): ("glass", 1),
        ("material", "fr:verre"): ("glass", 1),
    }


def test_what_loses_something_comes_first() -> None:
    first = read(delimited(SKUS, ";"), {"values": {"material": {"Dose D7": "metal"}}})[0].source["readings"][0]
    assert first == {"column": "C", "field": "material", "text": "Dose D7", "value": "metal", "rows": 1}
    table = [["sku_code", "name", "component_type", "material_family", "component_weight_g"]]
    table += [["A", "a", "label", "PP", "1"], ["A", "a", "Flasche", "PET", "9"]]
    first = read(delimited(table))[0].source["readings"][0]
    assert (first["text"], first["value"]) == ("Flasche", "body")


def test_parts_of_a_text_with_what_is_said_of_the_part() -> None:
    table = [["sku_code", "name", "component_type", "material_family", "component_weight_g"]]
    table += [["A", "a", "Flasche", "PET schwarz", "9"], ["A", "a", "label", "OPP metallisiert", "1"]]
    found = told(delimited(table))
    assert found["material_family", "PET schwarz"] == ("plastic, PET schwarz, dark", 1)
    assert found["material_family", "OPP metallisiert"] == ("plastic, OPP metallisiert, metallised", 1)
    _, rows = read(delimited(table))
    [graph] = [json.loads(text) for text in rows.values["components"]]
    assert [(part.get("colour"), part.get("metallised")) for part in graph] == [("dark", None), (None, True)]


def test_a_detail_of_its_own_column_stands_and_the_loss_is_said() -> None:
    table = [["sku_code", "name", "material", "material_subtype"]]
    table += [["A", "a", "Weißblech", "lackiert"], ["B", "b", "Alu", ""]]
    upload, rows = read(delimited(table))
    assert rows.values["material_subtype"].to_list() == ["lackiert", "aluminium"]
    first = upload.source["readings"][0]
    assert (first["text"], first["value"]) == ("Weißblech", "metal")
    assert told(delimited(table))["material", "Alu"] == ("metal, aluminium", 1)


def test_words_of_a_components_sheet_are_told_too() -> None:
    parts = [["sku_code", "component_type", "material_family", "weight_g"], ["A", "Deckel", "Weißblech", 3.5]]
    found = told(workbook({"SKUs": [["sku_code", "name"], ["A", "a"]], "components": parts}))
    assert found == {
        ("weight_g", "3.5"): ("3.5 g", 1),
        ("component_type", "Deckel"): ("cap", 1),
        ("material_family", "Weißblech"): ("metal, tinplate", 1),
    }


def test_a_weight_is_told_with_the_unit_beside_it() -> None:
    table = [["sku_code", "name", "weight_grams", "weight_unit"], ["A", "a", "0.5", "kg"]]
    assert told(delimited(table))["weight_grams", "0.5"] == ("0.5 kg = 500 g", 1)


def test_faults_are_no_readings_and_there_are_at_most_so_many() -> None:
    table = [["sku_code", "name", "material", "packaging_format"]]
    table += [[f"S{at}", "n", "no such stuff", f"format {at}"] for at in range(300)]
    found = read(delimited(table))[0].source["readings"]
    assert len(found) == MOST
    assert {each["field"] for each in found} == {"packaging_format"}
