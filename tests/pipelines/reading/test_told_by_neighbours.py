"""Columns whose neighbours or cells say what they are, and refusals that suggest no unit as a name."""

import json

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.writing import Table, delimited, read, values

BOM = [
    ["100200", "VP-001", "Faltschachtel 200x100", "1", "ST", "32"],
    ["100200", "VP-002", "Etikett", "2", "ST", "1.5"],
]


def issues(table: Table) -> list[dict[str, object] | None]:
    with pytest.raises(ReadingRefused) as refused:
        read(delimited(table))
    return [None if issue.answer is None else dict(issue.answer) for issue in refused.value.issues]


@pytest.mark.parametrize("header", [["Part number", "Part description"], ["Item no", "Item description"]])
def test_a_description_of_what_the_code_is_of_is_its_name(header: list[str]) -> None:
    table = [[*header, "Packaging weight (g)"], ["P-1", "Bracket", "12"], ["P-2", "Screw", "30"]]
    assert [row["name"] for row in values(delimited(table))] == ["Bracket", "Screw"]


def test_formats_over_levels_beside_formats_are_the_levels() -> None:
    table = [
        ["Artikelnummer", "Bezeichnung", "Verpackungsart", "Packmittel", "Material"],
        ["A-1", "Saft", "Primär", "Flasche", "PET"], ["A-2", "Umkarton", "Sekundär", "Karton", "Wellpappe"],
    ]  # fmt: skip
    rows = values(delimited(table))
    assert [(row["packaging_level"], row["packaging_format"]) for row in rows] == [
        ("sales", "Flasche"), ("grouped", "Karton"),
    ]  # fmt: skip


def test_a_bill_of_materials_without_names_asks_for_them_and_reads_its_parts() -> None:
    titles = ["Material", "Komponente", "Objektkurztext", "Komponentenmenge", "Mengeneinheit", "Gewicht (g)"]
    table = [[*titles, "Packstoff"], [*BOM[0], "GD2"], [*BOM[1], "PP"]]
    [answer] = issues(table)
    assert answer == {"columns": {"name": None}}
    upload, typed = read(delimited(table), answer)
    assert "Objektkurztext" in str(upload.source)
    assert [about["kind"] for about in upload.source["asked"]] == ["quantity"]
    answered = values(delimited(table), {**answer, **upload.source["asked"][0]["answer"]})
    parts = json.loads(str(answered[0]["components"]))
    assert [(part["component_type"], part["weight_g"]) for part in parts] == [("body", 32), ("label", 3)]
    assert typed.values["components"].to_list() == [None]


def test_units_and_quantities_are_suggested_as_no_name_and_no_code() -> None:
    header = ["Material", "Werk", "Position", "Komponente", "Positionsbezeichnung", "Menge", "ME"]
    rows = [[code, "1000", "0010", part, text, "1", "ST"] for code, part, text, *_ in BOM]
    assert issues([header, *rows]) == [{"columns": {"name": None}}]
    assert issues([["Materialart", "Menge in kg"], ["Glas", "1200"], ["Kunststoffe", "800"]]) == [None, None]


def test_a_code_is_found_above_a_line_of_units() -> None:
    table = [
        ["Artikel", "Bezeichnung", "Verpackungsgewicht", "Rezyklatanteil"], ["", "", "kg", "%"],
        ["A-1", "Box", "0.12", "70"], ["A-2", "Beutel", "0.004", "10"],
    ]  # fmt: skip
    assert [(row["sku_code"], row["weight_grams"]) for row in values(delimited(table))] == [("A-1", 120), ("A-2", 4)]


def test_the_months_of_an_italian_year_are_added_up() -> None:
    months = ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"]
    table = [["Codice articolo", "Descrizione", *(f"Vendite IT {month} 2025" for month in months)]]
    (row,) = values(delimited([*table, ["A-1", "Passata", *("100" for _ in months)]]))
    assert row["volumes"] == '{"IT/2025/0":1200}'
