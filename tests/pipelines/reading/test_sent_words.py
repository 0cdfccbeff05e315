"""Words of companies' files: materials with a recycling code or a print beside them, answers in nine languages."""

import pytest

from tests.pipelines.reading.writing import delimited, faults, values


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("Poliaccoppiato C/PAP 81", "paper"), ("Composite C/PAP 84", "paper"), ("Bioplastic PLA", "plastic"),
        ("Metall FE 40", "metal"), ("FE", "metal"), ("Karton, bedruckt", "paper"), ("carton imprimé", "paper"),
        ("Wellpappe unbedruckt", "paper"), ("cartone stampato", "paper"), ("PP printed white", "plastic"),
        ("PET-fles", "plastic"), ("Kunststof flexibel", "plastic"), ("Cartón para bebidas", "paper"),
        ("Cartone per bevande", "paper"), ("karton do płynnej żywności", "paper"), ("Nápojový karton", "paper"),
        ("dryckeskartong", "paper"), ("Cartoncillo", "paper"), ("papper", "paper"), ("wellpapp", "paper"),
        ("trä", "wood"), ("PAP", "paper"),
    ],
)  # fmt: skip
def test_a_material_is_read_with_what_stands_beside_it(text: str, family: str) -> None:
    (row,) = values(delimited([["SKU", "Name", "Packaging material"], ["A-1", "Soap", text]], ";"))
    assert row["material"] == family


@pytest.mark.parametrize("text", ["Composite paper", "composite PET", "Glas FE", "printed", "Verbund Karton"])
def test_two_materials_stay_a_fault(text: str) -> None:
    data = delimited([["SKU", "Name", "Packaging material"], ["A-1", "Soap", text]], ";")
    assert faults(data) == [(2, "material", "not_in_vocabulary")]


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("yes", "no"), ("ja", "nein"), ("oui", "non"), ("sì", "no"), ("sí", "no"), ("ja", "nee"), ("tak", "nie"),
        ("ano", "ne"), ("ja", "nej"), ("kyllä", "ei"), ("sim", "não"),
    ],
)  # fmt: skip
def test_yes_and_no_are_read_in_many_languages(yes: str, no: str) -> None:
    table = [["SKU", "Name", "Reusable"], ["A-1", "Soap", yes.title()], ["A-2", "Gel", no]]
    assert [row["reusable"] for row in values(delimited(table))] == [True, False]


@pytest.mark.parametrize("nothing", ["brak danych", "nie dotyczy", "neuvedeno", "ej relevant", "okänd"])
def test_no_answer_is_none_in_polish_czech_and_swedish(nothing: str) -> None:
    table = [["SKU", "Name", "Reusable", "Packaging weight (g)"], ["A-1", "Soap", nothing, "12"]]
    assert faults(delimited(table)) == []


def test_service_packaging_is_sales_packaging() -> None:
    (row,) = values(delimited([["SKU", "Name", "Verpackungsebene"], ["A-1", "Becher", "Serviceverpackung"]]))
    assert row["packaging_level"] == "sales"


@pytest.mark.parametrize(("cell", "share"), [("30% PCR", 30), ("45 % Rezyklat", 45), ("30 % recycled", 30)])
def test_a_share_says_what_it_is_of_in_its_cell(cell: str, share: float) -> None:
    table = [["SKU", "Name", "Recycled content"], ["A-1", "Soap", cell], ["A-2", "Gel", "50%"]]
    assert [row["recycled_content_percent"] for row in values(delimited(table))] == [share, 50]


@pytest.mark.parametrize("cell", ["100% virgin", "30 % glass", "12 g PCR"])
def test_a_share_of_something_else_stays_a_fault(cell: str) -> None:
    table = [["SKU", "Name", "Recycled content"], ["A-1", "Soap", cell], ["A-2", "Gel", "50%"]]
    assert [code for _, _, code in faults(delimited(table))] == ["unknown_unit"]
