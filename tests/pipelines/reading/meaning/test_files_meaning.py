"""The files about encodings, number formats and rich text: right, asked or rejected, never something else."""

from pathlib import Path

import pytest

from pipelines.reading.grid import ReadingRefused
from pipelines.reading.text import decode
from tests.pipelines.reading.writing import read

FILES = Path(__file__).parent / "files"
ENCODED = {
    "k05a_polish_cp1250.csv": "cp1250",
    "k05b_bulgarian_cp1251.csv": "cp1251",
    "k05e_czech_8859_2.csv": "iso8859-2",
    "k05f_japanese_sjis.csv": "cp932",
    "k05g_turkish_cp1254.csv": "cp1254",
}


@pytest.mark.parametrize("name", ENCODED)
def test_the_letters_of_a_text_are_right(name: str) -> None:
    data = (FILES / name).read_bytes()
    assert decode(data).text == data.decode(ENCODED[name])


def test_headers_that_are_not_understood_are_shown_in_their_letters() -> None:
    with pytest.raises(ReadingRefused) as refused:
        read((FILES / "k05f_japanese_sjis.csv").read_bytes())
    assert "�" not in str(refused.value.outline)


def errors_of(name: str) -> list[tuple[int, str, str]]:
    _, typed = read((FILES / name).read_bytes())
    return [(e["line"], e["field"], e["code"]) for e in typed.errors.iter_rows(named=True)]


def test_a_scale_in_a_format_counts() -> None:
    _, typed = read((FILES / "k06a_scaling_comma.xlsx").read_bytes())
    assert typed.values["weight_grams"].to_list() == [1500, 250]


def test_units_that_a_format_writes_are_judged_as_in_a_text() -> None:
    assert [(field, code) for _, field, code in errors_of("k06c_unknown_units.xlsx")] == [
        ("weight_grams", "unknown_unit")
    ] * 4


def test_literals_in_the_format_of_a_code_are_part_of_it() -> None:
    _, typed = read((FILES / "k06d_code_literals.xlsx").read_bytes())
    assert typed.values["sku_code"].to_list() == ["K06D-0012", "K60-61234", "7-712"]


def test_a_code_that_has_become_a_date_is_rejected() -> None:
    assert errors_of("k06f_date_code.xlsx") == [(2, "sku_code", "invalid_format")]


def test_a_footnote_is_no_part_of_a_number_or_a_code() -> None:
    _, typed = read((FILES / "k07a_superscript_footnote.xlsx").read_bytes())
    assert typed.values["sku_code"].to_list() == ["K07A-1", "K07A-2"]
    assert typed.values["weight_grams"].to_list() == [12.5, 8.4]
