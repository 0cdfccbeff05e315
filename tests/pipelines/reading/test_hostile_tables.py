"""Tables as programs and suppliers make them, each class once; the right value of each was decided before."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pipelines.reading.grid import ReadingRefused
from tests.pipelines.reading.test_hostile_companies import asked, parts, table
from tests.pipelines.reading.writing import Table, faults, read, values, workbook

PARTS = "SKU|Name|Component|Material|Weight (g)"


def ignored(data: bytes) -> list[str]:
    return [entry["header"] for entry in read(data)[0].source["ignored"]]


def row_of(data: bytes, mapping: Mapping[str, object] | None = None) -> dict[str, Any]:
    [row] = values(data, mapping)
    return row


@pytest.mark.parametrize(
    ("header", "cell", "family"),
    [
        ("Recycling code", "07", "plastic"),
        ("Recycling code", "90", "composite"),
        ("Material (97/129)", "1", "plastic"),
        ("Material (97/129/CE)", "71", "glass"),
        ("RIC", "05", "plastic"),
        ("Codice riciclo", "C/PAP 84", "paper"),
    ],
)
def test_a_column_that_names_the_decision_has_its_codes(header: str, cell: str, family: str) -> None:
    data = table(f"SKU|Name|Packaging weight (g)|{header}\nA|Jar|180|{cell}\nB|Lid|8|40")
    assert [row["material"] for row in values(data)] == [family, "metal"]


@pytest.mark.parametrize("cell", ["România", "RO", "Rumänien"])
def test_tara_without_its_accent_is_the_country_over_countries(cell: str) -> None:
    row = row_of(table(f"Cod articol|Denumire|Tara|Greutate ambalaj (g)\nA|Borcan|{cell}|180"))
    assert (row["markets"], row["weight_grams"]) == ("{RO}", 180)
    assert row_of(table("Cod articol|Denumire|Tara (g)\nA|Borcan|180"))["weight_grams"] == 180


def test_a_sum_that_is_less_than_its_metals_is_a_fault() -> None:
    data = table("SKU|Name|Pb (ppm)|Cd (ppm)|Sum of heavy metals (ppm)\nA|Jar|10|2|14\nB|Jar|100|<1|14\nC|Jar||2|2")
    assert [(row["sku_code"], row["heavy_metals_sum_ppm"]) for row in values(data)] == [("A", "14"), ("C", "2")]
    assert faults(data) == [(3, "heavy_metals_sum_ppm", "conflicting_declaration")]
    assert ignored(data) == ["Pb (ppm)", "Cd (ppm)"]


@pytest.mark.parametrize("share", ["% 1", "%1"])
def test_a_percent_sign_before_a_number_is_the_share_of_that_part(share: str) -> None:
    head = f"SKU|Name|Material 1|{share}|Material 2|{share.replace('1', '2')}|Packaging weight (g)"
    data = table(f"{head}\nA|Brick|paper|75|PE|25|20\nB|Brick|paper|75|PE|35|20")
    assert parts(data) == [[("body", "paper", 15), ("body", "plastic", 5)]]
    assert [code for _, _, code in faults(data)] == ["out_of_range"]


@pytest.mark.parametrize(
    "head",
    ["Comp #1|Mat #1|Wt #1 (g)|Comp #2|Mat #2|Wt #2 (g)", "comp_1|mat_1|weight_1|comp_2|mat_2|weight_2"],
)
def test_short_words_of_numbered_parts_are_read(head: str) -> None:
    assert parts(table(f"SKU|Name|{head}\nA|Honey|Jar|glass|180|Lid|steel|8")) == [
        [("body", "glass", 180), ("cap", "metal", 8)]
    ]


def test_a_unit_in_brackets_behind_a_program_s_name_is_its_unit() -> None:
    head = "GTIN|tradeItemDescription|packagingMaterialCompositionQuantity (GRM)|packagingMaterialTypeCode"
    row = row_of(table(f"{head}\n4006381333931|Jar|180|GLASS"))
    assert (row["weight_grams"], row["material"]) == (180, "glass")


@pytest.mark.parametrize("header", ["g", "g/unit", "kg"])
def test_a_header_that_is_a_unit_alone_is_asked_about(header: str) -> None:
    assert asked(table(f"SKU|Name|Material|{header}\nA|Jar|glass|180")) == [header]


PLACED = "SKU|Name|Country|Year|Units placed on the market|Packaging weight (g)|Material"


def test_units_of_lines_are_read_beside_weights() -> None:
    lines = "A|Jar|DE|2025|12000|180|glass\nA|Jar|FR|2025|900|180|glass\nB|Lid|FR|2025|5000|8|steel"
    rows = values(table(f"{PLACED}\n{lines}"))
    assert [(row["weight_grams"], json.loads(str(row["volumes"]))) for row in rows] == [
        (180, {"DE/2025/0": 12000, "FR/2025/0": 900}),
        (8, {"FR/2025/0": 5000}),
    ]


@pytest.mark.parametrize("lines", ["A|Jar|DE|2025|12000|2160000|glass\nB|Lid|FR|2025|500|4000|steel"])
def test_a_weight_of_all_units_of_a_line_is_asked_about(lines: str) -> None:
    data = table(f"{PLACED}\n{lines}")
    assert [row.get("weight_grams") for row in values(data)] == [None, None]
    assert asked(data) == ["“Packaging weight (g)”"]


def test_units_of_lines_of_a_month_stay_a_question() -> None:
    lines = "A|Jar|DE|2025|1|12000|180|glass\nA|Jar|DE|2025|2|12000|180|glass"
    with pytest.raises(ReadingRefused):
        read(table(f"{PLACED.replace('Year', 'Year|Month')}\n{lines}"))


def test_units_of_one_market_on_two_lines_are_a_fault() -> None:
    lines = "A|Jar|DE|2025|retail|12000|180|glass\nA|Jar|DE|2025|online|900|180|glass"
    data = table(f"{PLACED.replace('Year', 'Year|Channel')}\n{lines}")
    assert (values(data), {code for _, _, code in faults(data)}) == ([], {"duplicate_row"})


@pytest.mark.parametrize("mark", ['"', "ditto", "Idem", "dto.", "s. oben", "〃"])
def test_a_ditto_is_what_stands_above(mark: str) -> None:
    quoted = mark.replace('"', '""""') if mark == '"' else mark
    data = f"{PARTS.replace('|', ',')}\nA,Honey,Jar,glass,180\n{quoted},{quoted},Lid,{quoted},8\n".encode()
    assert parts(data) == [[("body", "glass", 180), ("cap", "glass", 8)]]


def test_a_ditto_below_no_value_stays() -> None:
    assert row_of(table("SKU|Name|Material\nA|ditto|glass"))["name"] == "ditto"


def test_a_pallet_is_no_part_of_what_is_sold() -> None:
    data = table("SKU|Name|Packaging type|Material|Weight (g)\nA|Honey|Jar|glass|180\nA|Honey|Pallet|wood|25000")
    assert (parts(data), asked(data)) == ([[]], ["Pallet"])


@pytest.mark.parametrize("header", ["Alternative", "Variante", "Option"])
def test_alternatives_of_different_parts_are_not_added_up(header: str) -> None:
    data = table(f"{PARTS}|{header}\nA|Honey|Jar|glass|180|1\nA|Honey|Jar|PET|30|2\nB|Jam|Jar|glass|150|1")
    assert parts(data) == [[], [("body", "glass", 150)]]
    assert len(asked(data)) == 1


def test_revisions_of_different_parts_are_their_own() -> None:
    data = table(f"{PARTS}|Revision\nA|Honey|Jar|glass|180|A\nA|Honey|Lid|steel|8|B")
    assert (parts(data), asked(data)) == ([[("body", "glass", 180), ("cap", "metal", 8)]], [])


def test_a_part_that_is_obsolete_is_not_added_to_its_successor() -> None:
    data = table(f"{PARTS}|Status\nA|Honey|Jar|glass|180|obsolete\nA|Honey|Jar|glass|170|active")
    assert (parts(data), len(asked(data))) == ([[]], 1)


@pytest.mark.parametrize(
    ("header", "first", "second", "field"),
    [
        ("Packaging weight {} (g)", "180", "170", "weight_grams"),
        ("Recycled content {} (%)", "30", "40", "recycled_content_percent"),
        ("Reusable {}", "yes", "no", "reusable"),
    ],
)
def test_columns_of_one_market_each_are_asked_about(header: str, first: str, second: str, field: str) -> None:
    data = table(f"SKU|Name|{header.format('DE')}|{header.format('FR')}\nA|Jar|{first}|{second}")
    assert row_of(data).get(field) is None
    assert asked(data) == ["de", "fr"]


@pytest.mark.parametrize("mark", ["{}. ", "{}) ", "({}) "])
def test_headers_that_are_numbered_are_read_without_their_numbers(mark: str) -> None:
    names = ["SKU", "Name", "Packaging weight (g)", "Material"]
    for marks in ("1234", "abcd"):
        head = "|".join(mark.format(at) + name for at, name in zip(marks, names, strict=True))
        row = row_of(table(f"{head}\nA|Jar|180|glass"))
        assert (row["sku_code"], row["weight_grams"], row["material"]) == ("A", 180, "glass")


def test_a_title_that_is_filled_into_each_column_is_one() -> None:
    lines: Table = [
        ["Packaging declaration 2025"],
        ["SKU", "Name", "Packaging", "Packaging"],
        [None, None, "Material", "Weight"],
        [None, None, None, "kg"],
        ["A-1", "Jar", "glass", 0.18],
    ]
    row = row_of(workbook({"Data": lines}))
    assert (row["material"], row["weight_grams"]) == ("glass", 180)


def test_a_header_below_two_titles_is_told_apart_by_them() -> None:
    head = "|Verpackung||Produkt|\nArtikelnummer|Gewicht (g)|Material|Bezeichnung|Gewicht (g)"
    row = row_of(table(f"{head}\nA|180|Glas|Honig|500"))
    assert (row["weight_grams"], row["material"], row["name"]) == (180, "glass", "Honig")


def test_the_weight_of_the_united_kingdom_s_report_is_asked_about_beside_its_classes() -> None:
    head = "SKU|Product name|Packaging class|Packaging material|Packaging material weight"
    assert asked(table(f"{head}\n1|Soup|P1|PL|12")) == ["kg"]


@pytest.mark.parametrize(("header", "cell"), [("Metalli pesanti (ppm)", "12"), ("Metale ciężkie (mg/kg)", "12")])
def test_heavy_metals_in_more_languages(header: str, cell: str) -> None:
    assert row_of(table(f"SKU|Name|{header}\nA|Jar|{cell}"))["heavy_metals_sum_ppm"] == "12"
