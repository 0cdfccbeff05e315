"""Characters that nobody sees make no second SKU, no unknown header and no unknown word."""

import pytest

from schemas.texts import INVISIBLE
from schemas.words import fold
from tests.pipelines.reading.writing import delimited, faults, read, workbook


@pytest.mark.parametrize("hidden", INVISIBLE)
def test_codes_and_words_are_what_is_seen(hidden: str) -> None:
    head = [
        f"SK{hidden}U",
        f"{hidden}Name",
        f"Verpackungs{hidden}gewicht",
        f"Packaging{hidden} material",
        "EAN",
        "Market",
    ]
    row = [
        f"{hidden}A{hidden}1",
        f"{hidden}Jar{hidden}",
        f"1{hidden}2",
        f"gl{hidden}ass",
        f"400638{hidden}1333931",
        f"F{hidden}R",
    ]
    for data in (delimited([head, row]), workbook({"SKUs": [head, row]})):
        assert read(data)[1].values.drop("row", "line", "sheet").to_dicts() == [
            {
                "sku_code": "A1",
                "name": "Jar",
                "weight_grams": 12,
                "material": "glass",
                "gtin": "4006381333931",
                "markets": "{FR}",
            }
        ]
    assert fold(f"Verpackungs{hidden}gewicht") == "verpackungsgewicht"


@pytest.mark.parametrize("hidden", INVISIBLE)
def test_two_lines_that_look_alike_are_one_sku(hidden: str) -> None:
    assert faults(delimited([["SKU", "Name"], ["A1", "a"], [f"A1{hidden}", "a"]])) == [
        (3, "sku_code", "duplicate_sku_code")
    ]
    parts = [["sku_code", "component_type", "material_family"], [f"A{hidden}1", "body", "glass"]]
    data = workbook({"SKUs": [["SKU", "Name"], ["A1", "a"]], "components": parts})
    rows = read(data)[1]
    assert (rows.values["sku_code"].to_list(), rows.values["components"].null_count()) == (["A1"], 0)


def test_within_a_name_they_stay_and_a_cell_of_nothing_else_is_empty() -> None:
    rows = read(delimited([["SKU", "Name", "Material"], ["A", "Do\u00adse", "\u200b"], ["B", "\u200bBox", "glass"]]))[1]
    assert rows.values.select("name", "material").rows() == [("Do\u00adse", None), ("Box", "glass")]
    assert rows.presence["material"].to_list() == [False, True]
