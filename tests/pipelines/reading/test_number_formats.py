"""What a number format shows: read as a person sees it, in columns of numbers and of texts (decisions §13)."""

import pytest

from pipelines.reading.workbook.formats import number_shown, sections_of, text_shown
from tests.pipelines.reading.writing import read, workbook

ACCOUNTS = '_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-;_-@_-'
SHOWN = [
    # the stored number, its format, what a text field gets, what a field of numbers gets
    ("1500", '#,##0.0," kg"', "1.5 kg", "1.5 kg"),
    ("250", '0.00," kg"', "0.25 kg", "0.25 kg"),
    ("1234567", "#,##0,", "1235", "1234.567"),
    ("46", '0" g/m²"', "46 g/m²", "46 g/m²"),
    ("12.5", '0.00" €"', "12.50 €", "12.5 €"),
    ("5", "[$€-407] 0.00", "€ 5.00", "€ 5"),
    ("12.5", '0.0"%"', "12.5%", "12.5%"),
    ("0.3", "0%", "30%", "30%"),
    ("1500", '[>=1000]0.0," kg";0" g"', "1.5 kg", "1.5 kg"),
    ("500", '[>=1000]0.0," kg";0" g"', "500 g", "500 g"),
    ("500", "[>=1000][Red]0;[Blue]0.0", "500.0", "500"),
    ("12", '"K-"0000', "K-0012", "K-12"),
    ("6061234", '"K"00-00000', "K60-61234", "K6061234"),
    ("7712", "[>=10000]00000;0-000", "7-712", "7712"),
    ("7", "000", "007", "7"),
    ("1.1", "0.00", "1.10", "1.1"),
    ("2.5", "0", "3", "2.5"),
    ("0.5", "0.##", "0.5", "0.5"),
    ("-3", "0;(0)", "(3)", "-3"),
    ("-3", "0", "-3", "-3"),
    ("0", ACCOUNTS, "-", "0"),
    ("12.5", ACCOUNTS, "12.50", "12.5"),
    ("0", '0;-0;"n/a"', "n/a", "n/a"),
    ("12", ";;;", "12", "12"),
    ("12.345", '0.000" kg"', "12.345 kg", "12.3450 kg"),
    ("12.5", 'General" g"', "12.5 g", "12.5 g"),
    ("12.5", "0.0\\ g", "12.5 g", "12.5 g"),
    ("4006381333931", "0.00E+00", "4006381333931", "4006381333931"),
    ("12345678901234567", "0", "1.23456789012346E+16", "12345678901234567"),
    ("45789", "mmm-yy", "2025-05-12", "2025-05-12"),
    ("45789", "[$-407]d. mmmm yyyy;@", "2025-05-12", "2025-05-12"),
    ("5", "# ?/?", None, "5"),
    ("3", "[DBNum1]0", None, "3"),
    ("-3", "[>0]0;[=0]0", None, "-3"),
    ("words", "0", "words", "words"),
]


@pytest.mark.parametrize(("raw", "code", "text", "number"), SHOWN)
def test_a_format_shows_what_a_person_sees(raw: str, code: str, text: str | None, number: str) -> None:
    assert text_shown(raw, sections_of(code), since_1904=False) == text
    assert number_shown(raw, sections_of(code), since_1904=False) == number


@pytest.mark.parametrize(
    ("code", "stored", "weight"),
    [
        ('0.0," kg"', 1500, 1500),
        ('[>=1000]0.0," kg";0" g"', 1500, 1500),
        ('[<1]0" kg";0.0" g"', 12.5, 12.5),
        ('0" mg"', 1500, 1.5),
        (ACCOUNTS, 12.5, 12.5),
        ("#,##0.00", 1234.5, 1234.5),
        ("[Red]0.0", 12.5, 12.5),
    ],
)
def test_a_weight_has_the_unit_that_its_format_writes(code: str, stored: float, weight: float) -> None:
    cells = [["sku_code", "name", "weight_grams"], ["A", "Jar", stored]]
    _, typed = read(workbook({"S": cells}, formats={2: code}))
    assert typed.errors.rows() == []
    assert typed.values["weight_grams"].to_list() == [weight]


@pytest.mark.parametrize("code", ['0" g/m²"', '0.00" €"', '0.0"%"', '0" pcs"', "[$£-809]0.00", "d/m/yy"])
def test_a_weight_that_its_format_shows_in_another_unit_is_rejected(code: str) -> None:
    cells = [["sku_code", "name", "weight_grams"], ["A", "Jar", 12.5]]
    _, typed = read(workbook({"S": cells}, formats={2: code}))
    assert [(e["line"], e["field"]) for e in typed.errors.iter_rows(named=True)] == [(2, "weight_grams")]


@pytest.mark.parametrize("code", ["mmm-yy", "d/m/yyyy", "# ?/?", "[DBNum1]0", "h:mm"])
def test_a_code_that_has_become_a_date_or_is_shown_in_an_unknown_way_is_rejected(code: str) -> None:
    cells = [["sku_code", "name"], [45789, "Jar"], ["A", "Box"]]
    _, typed = read(workbook({"S": cells}, formats={0: code}))
    assert [(e["line"], e["code"]) for e in typed.errors.iter_rows(named=True)] == [(2, "invalid_format")]
    assert typed.values["sku_code"].to_list() == ["A"]
