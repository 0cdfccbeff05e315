"""What one cell is read as, kind by kind: the table to add an odd cell to."""

import pytest

from tests.pipelines.reading.writing import delimited, read, values, workbook

UUID = "0199A2F4-7C1E-7B2A-9D3C-2F1E4B5A6C7D"


def typed(header: str, cell: object, *others: object, delimiter: str = ",") -> object:
    """What the first of some cells of a column is read as, or the code of its fault."""
    rows = [[f"S{at}", "n", text] for at, text in enumerate((cell, *others))]
    return outcome(delimited([["sku_code", "name", header], *rows], delimiter))


def typed_in_workbook(header: str, cell: object, number_format: str | None = None) -> object:
    formats = {2: number_format} if number_format else None
    return outcome(workbook({"SKUs": [["sku_code", "name", header], ["S0", "n", cell]]}, formats=formats))


def outcome(data: bytes) -> object:
    upload, rows = read(data)
    column = next(c.name for c in upload.main.columns if c.name not in ("sku_code", "name"))
    found = rows.errors.filter(rows.errors["line"] == 2)
    if found.height:
        return found["code"][0]
    first = rows.values.filter(rows.values["line"] == 2)
    return first["volumes" if column.startswith("annual_volume") else column][0]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("12.5", 12.5), ("12,5", 12.5), ("0,5", 0.5), ("1234", 1234.0), ("+7", 7.0), ("1.5E2", 150.0), ("1E-07", 1e-07),
        ("1,5e-2", 0.015),
        ("1 234,5", 1234.5), ("1\u00a0234,5", 1234.5), ("1\u202f234,5", 1234.5), ("1'234.5", 1234.5),
        ("1.234,56", 1234.56), ("1,234.56", 1234.56), ("1.234.567", 1234567.0), ("1,234,567", 1234567.0),
        ("1234.567", 1234.567), ("0.123", 0.123), (" 12.5 ", 12.5),
        ("42,3 g", 42.3), ("1.2kg", 1200.0), ("0.5 oz", 14.1747615625), ("250 mg", 0.25), ("3 grammes", 3.0),
        ("84.60 - 86.70", "value_range"), ("352,00–389,00", "value_range"), ("5 bis 7", "value_range"),
        ("<100", "invalid_number"), ("≈12", "invalid_number"), ("ca. 5", "invalid_number"),
        ("500 micron", "unknown_unit"), ("5 pieces", "unknown_unit"), ("30%", "unknown_unit"),
        ("12 g/Stk", 12.0), ("2,5 kg / 1000 Stk", 2.5), ("12 g per case", "unknown_unit"), ("12/14", "unknown_unit"),
        ("12 g*", "unknown_unit"), ("12 g?", "unknown_unit"), ("12?", "unknown_unit"),
        ("-1", "out_of_range"), ("1e999", "out_of_range"), ("NaN", "invalid_number"), ("inf", "invalid_number"),
        ("1.23.456", "invalid_number"), ("1,2345,678", "invalid_number"), ("12,34.567,8", "invalid_number"),
        ("#N/A", "cell_error"), ("#WERT!", "cell_error"), ("null", None), ("", None), ("  ", None),
    ],
)  # fmt: skip
def test_weights(cell: str, expected: object) -> None:
    assert typed("Weight", cell) == expected


@pytest.mark.parametrize(
    ("header", "cell", "others", "delimiter", "expected"),
    [
        ("Weight", "1.234", [], ",", "ambiguous_number"),
        ("Weight", "1,234", [], ",", "ambiguous_number"),
        ("weight_grams", "1.234", [], ",", 1.234),
        ("weight_grams", "1,234", [], ",", 1234.0),
        ("Weight", "1.234", [], ";", 1234.0),
        ("Weight", "1,234", [], ";", 1.234),
        ("weight_grams", "1.234", ["5,5"], ",", 1234.0),
        ("Weight", "1.234", ["5.5"], ";", 1.234),
        ("Weight", "1.234", ["1.234.567"], ",", 1234.0),
        ("Weight", "1.234", ["5.5", "5,5"], ",", "ambiguous_number"),
        ("annual_volume_fr", "1.000", ["2 000,0"], ",", '{"FR/2026/0":1000}'),
    ],
)
def test_a_lone_mark_is_decided_by_the_column_then_the_delimiter_then_the_exact_header(
    header: str, cell: str, others: list[str], delimiter: str, expected: object
) -> None:
    assert typed(header, cell, *others, delimiter=delimiter) == expected


@pytest.mark.parametrize(
    ("header", "cell", "expected"),
    [
        ("recycled_content_percent", "30", 30.0), ("recycled_content_percent", "30 %", 30.0),
        ("recycled_content_percent", "30,0 %", 30.0), ("recycled_content_percent", "0.3 %", 0.3),
        ("recycled_content_percent", "101", "out_of_range"), ("recycled_content_percent", ">100", "invalid_number"),
        ("Poids (kg)", "1.2", 1200.0), ("Poids (kg)", "200 g", 200.0), ("Gewicht in g", "7", 7.0),
        ("food_contact", "Oui", True), ("food_contact", "nein", False), ("food_contact", "x", True),
        ("food_contact", "✓", True), ("food_contact", "0", False), ("food_contact", "N", False),
        ("food_contact", "Non food contact.", "invalid_type"), ("food_contact", "yes*", "invalid_type"),
        ("reusable", "Mehrweg", True), ("reusable", "single-use", False), ("reusable", "Pfand", "invalid_type"),
        ("material", "Kunststoff", "plastic"), ("material", "VERRE", "glass"), ("material", "Papier/Pappe", "paper"),
        ("material", "unobtainium", "not_in_vocabulary"), ("material", "glass?", "not_in_vocabulary"),
        ("material", "carton + PE", "not_in_vocabulary"), ("material", "Alu carton", "not_in_vocabulary"),
        ("material", "Kunststoff (PP)", "plastic"), ("material", "PET*", "not_in_vocabulary"),
        ("packaging_level", "Primaire - UC / UVC", "sales"), ("packaging_level", "Umverpackung", "grouped"),
        ("markets", "fr; DE|uk", "{FR,DE,GB}"),
        ("markets", "FR und DE", "{FR,DE}"), ("markets", "FR, DE & IT", "{FR,DE,IT}"),
        ("markets", "Bosnia and Herzegovina", "{BA}"), ("markets", "FR et Atlantis", "unknown_market"),
        ("markets", ";", "unknown_market"),
        ("markets", "France, Italie", "{FR,IT}"), ("markets", "us ca", "{US-CA}"),
        ("markets", "en:france", "{FR}"), ("markets", "DEU", "{DE}"), ("markets", "Atlantis", "unknown_market"),
        ("use_contexts", "Lebensmittel, boisson", "{food,beverage}"), ("use_contexts", "war", "not_in_vocabulary"),
        ("use_contexts", ";", "not_in_vocabulary"),
        ("gtin", "3250390017165", "3250390017165"), ("gtin", "'3250390017165", "3250390017165"),
        ("gtin", "3250390017165.0", "3250390017165"), ("gtin", "3250390017166", "invalid_gtin"),
        ("gtin", "1,76701E+15", "digits_lost"), ("gtin", "3,25039E+12", "digits_lost"), ("gtin", "12", "invalid_gtin"),
        ("brand_id", UUID, UUID.lower()), ("brand_id", "Evian", "invalid_format"),
        ("reuse_cycles_target", "25", 25), ("reuse_cycles_target", "2.5", "invalid_type"),
        ("heavy_metals_sum_ppm", "<100", "<100"), ("heavy_metals_sum_ppm", "12,5", "12.5"),
        ("heavy_metals_sum_ppm", "<101", "out_of_range"), ("heavy_metals_sum_ppm", "-1", "out_of_range"),
        ("pfas_status", "unter Grenzwert", "below_limit"), ("pfas_value", "12", 12.0),
        ("description", '="00123"', "00123"), ("description", "'=1+1", "=1+1"), ("description", "=1+1", "=1+1"),
        ("description", "  padded ", "  padded "), ("description", "x" * 32_768, "too_long"),
        ("annual_volume_gb_2026_h1", "1 000", '{"GB/2026/1":1000}'), ("Volume annuel DE", "5", '{"DE/2026/0":5}'),
        ("annual_volume_us_ca_2025", "5", '{"US-CA/2025/0":5}'), ("annual_volume_fr", "null", '{"FR/2026/0":null}'),
        ("annual_volume_fr", "1,2 Mio", '{"FR/2026/0":1200000}'), ("annual_volume_fr", "10 pcs", '{"FR/2026/0":10}'),
        ("annual_volume_fr", "10 Tsd. Stück", '{"FR/2026/0":10000}'), ("annual_volume_fr", "5 pallets", "unknown_unit"),
        ("annual_volume_fr", "-1", "out_of_range"), ("annual_volume_fr", "1.5", "invalid_type"),
    ],
)  # fmt: skip
def test_other_kinds(header: str, cell: str, expected: object) -> None:
    assert typed(header, cell) == expected


@pytest.mark.parametrize(
    ("header", "cell", "number_format", "expected"),
    [
        ("Weight", 1.234, None, 1.234), ("Weight", "1,5", None, 1.5), ("gtin", 3250390017165, None, "3250390017165"),
        ("description", 123, "00000", "00123"), ("description", 1.1, "0.00", "1.10"), ("description", 1.1, None, "1.1"),
        ("description", True, None, "TRUE"), ("food_contact", True, None, True), ("food_contact", 0, None, False),
        ("description", 46246, "dd/mm/yyyy", "2026-08-12"), ("Weight", 46246, "dd/mm/yyyy", "invalid_number"),
        ("recycled_content_percent", 0.3, "0%", 30.0), ("recycled_content_percent", 0.003, "0.0%", 0.3),
        ("gtin", 3250390017165, "0000000000000", "3250390017165"), ("gtin", 1767010000000000, None, "digits_lost"),
        ("description", "a & b <c> é", None, "a & b <c> é"), ("description", "x_x000D_y", None, "x_x000D_y"),
        ("Weight", "=NA()", None, "invalid_number"),
    ],
)  # fmt: skip
def test_cells_of_a_workbook(header: str, cell: object, number_format: str | None, expected: object) -> None:
    assert typed_in_workbook(header, cell, number_format) == expected


def test_a_number_cell_says_nothing_about_text_cells() -> None:
    table = [["sku_code", "name", "Weight"], ["A", "n", 5.5], ["B", "n", "1.234"], ["C", "n", 1.234]]
    _, rows = read(workbook({"SKUs": table}))
    assert rows.errors["code"].to_list() == ["ambiguous_number"]
    assert rows.values["weight_grams"].to_list() == [5.5, 1.234]


@pytest.mark.parametrize("code", ["00123", "1E5", "3-4", "TRUE", "12/08", "1.10", "é"])
def test_a_sku_code_is_the_text_that_is_shown(code: str) -> None:
    assert values(delimited([["sku_code", "name"], [code, "n"]])) == [{"sku_code": code, "name": "n"}]
    assert values(workbook({"SKUs": [["sku_code", "name"], [code, "n"]]})) == [{"sku_code": code, "name": "n"}]


def test_empty_is_not_given_and_null_is_given() -> None:
    table = [["sku_code", "name", "material", "markets"], ["A", "n", "", "null"], ["B", "", "glass", "FR"]]
    _, rows = read(delimited(table))
    assert rows.presence.rows() == [(True, True, False, True), (True, False, True, True)]
    assert rows.values["markets"].to_list() == [None, "{FR}"]


def test_a_key_cannot_be_cleared_or_missing() -> None:
    table = [["sku_code", "name"], ["null", "n"], ["", "n"], ["A", "null"]]
    _, rows = read(delimited(table))
    assert rows.errors.select("line", "field", "code").rows() == [
        (2, "sku_code", "not_null"),
        (3, "sku_code", "required"),
        (4, "name", "not_null"),
    ]
    assert rows.rejected == 3
