"""A header with a fault of typing is asked about with the field that it would be; another word is not."""

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import delimited, read


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("Packging material", "material"), ("Packaging wieght (g)", "weight_grams"), ("Marktes", "markets"),
        ("Recyled content %", "recycled_content_percent"), ("Untis sold DE 2025", "annual_volume_de_2025"),
        ("Verpackungsgewict (g)", "weight_grams"), ("Verpackunsmaterial", "material"), ("Matérieu", "material"),
    ],
)  # fmt: skip
def test_a_fault_of_typing_is_asked_about(header: str, field: str) -> None:
    source = read(delimited([["SKU", "Name", header], ["A", "a", "12"]]))[0].source
    assert [about["could_be"] for about in source["asked"]] == [[field]]


@pytest.mark.parametrize("header", ["Gericht", "Wrapper", "Colony", "Packer", "Nature", "Herkunft", "MTART", "MArt"])
def test_another_word_is_none(header: str) -> None:
    source = read(delimited([["SKU", "Name", header, "GTIN"], ["A", "a", "12", ""]]))[0].source
    assert (source["asked"], [entry["header"] for entry in source["ignored"]]) == ([], [header])


def test_a_needed_column_is_named_in_the_refusal() -> None:
    with pytest.raises(ReadingRefused) as refused:
        read(delimited([["Artikelnumer", "Bezeichung", "Material"], ["1-A", "a", "Glas"]]))
    answers = [issue.answer for issue in refused.value.issues]
    assert answers == [{"columns": {"sku_code": "A"}}, {"columns": {"name": "B"}}]
