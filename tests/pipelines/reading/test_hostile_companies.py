"""Tables as companies have them, each class once: what is certain is read, the rest is asked or said, nothing is false.

The right value of each was decided before it was read.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.pipelines.reading.writing import Table, delimited, faults, read, values, workbook

HEAD = ["SKU", "Name"]


def table(text: str) -> bytes:
    """A table of lines with `|` between the cells."""
    return delimited([line.split("|") for line in text.strip().splitlines()])


def asked(data: bytes) -> list[str | None]:
    return [question["text"] or question["header"] for question in read(data)[0].source["asked"]]


def parts(data: bytes, mapping: Mapping[str, object] | None = None) -> list[list[tuple[Any, ...]]]:
    """Type, family and weight of each part, by line."""
    graphs = [json.loads(str(row.get("components") or "[]")) for row in values(data, mapping)]
    return [
        [(part["component_type"], part.get("material_family"), part.get("weight_g")) for part in graph]
        for graph in graphs
    ]


@pytest.mark.parametrize("header", ["Țara", "Ţara", "ȚARĂ", "Țara de vânzare", "Tara de vanzare"])
def test_the_romanian_word_for_country_is_no_tare(header: str) -> None:
    [row] = values(table(f"Cod articol|Denumire|{header}|Greutate ambalaj (g)|Material\nA|Borcan|România|180|sticlă"))
    assert (row["markets"], row["weight_grams"], row["material"]) == ("{RO}", 180, "glass")


@pytest.mark.parametrize("header", ["Maße", "Maß", "Ár", "Çap", "Tara (kg)"])
def test_words_that_accents_make_others_are_none_of_ours(header: str) -> None:
    data = table(f"SKU|Name|Packaging weight (g)|{header}\nA|Jar|180|1990")
    read_as = {column["header"]: column["field"] for column in read(data)[0].source["columns"]}
    assert (read_as.get(header), faults(data)) == (None, [])
    assert values(data)[0]["weight_grams"] == 180


@pytest.mark.parametrize(
    ("field", "header", "cell", "held"),
    [
        ("food_contact", "Food contact", "direct", True),
        ("food_contact", "Lebensmittelkontakt", "kein Kontakt", False),
        ("food_contact", "Contact alimentaire", "contact direct", True),
        ("reusable", "Mehrweg", "MW", True),
        ("reusable", "MW/EW", "EW", False),
        ("reusable", "Reusable", "returnable", True),
        ("reusable", "Reutilizabil", "nu", False),
        ("food_contact", "Contact alimentar", "da", True),
    ],
)
def test_words_of_answers_are_certain(field: str, header: str, cell: str, held: bool) -> None:
    assert values(delimited([[*HEAD, header], ["A", "Jar", cell]]))[0][field] is held


def test_an_indirect_contact_stays_a_fault() -> None:
    assert faults(table("SKU|Name|Food contact\nA|Jar|indirect")) == [(2, "food_contact", "invalid_type")]


def test_weights_of_materials_that_the_rules_name_are_parts() -> None:
    data = table("SKU|Name|Weißglas (g)|Polystyrol (g)|PA (kg)|Deckel Stahl (g)\nA|Honig|180|3|0,002|8")
    assert parts(data) == [
        [("body", "glass", 180), ("body", "plastic", 3), ("body", "plastic", 2), ("cap", "metal", 8)]
    ]
    assert parts(table("SKU|Name|Weißglas (g)\nA|Honig|180")) == [[("body", "glass", 180)]]


@pytest.mark.parametrize("headers", ["Cotton (g)|Wool (g)", "Salt (g)|Wax (g)"])
def test_what_a_product_is_of_is_no_packaging(headers: str) -> None:
    data = table(f"SKU|Name|Packaging weight (g)|{headers}\nA|Shirt|12|150|30")
    assert (parts(data), values(data)[0]["weight_grams"]) == ([[]], 12)


@pytest.mark.parametrize("share", ["davon PET (g)", "dont PET (g)", "of which PET (g)", "di cui PET (g)"])
def test_a_material_within_another_column_is_not_weighed_twice(share: str) -> None:
    data = table(f"SKU|Name|Kunststoff (g)|{share}|Glas (g)\nA|Saft|12|5|1")
    assert parts(data) == [[("body", "plastic", 12), ("body", "glass", 1)]]
    assert [entry["header"] for entry in read(data)[0].source["ignored"]] == [share]


@pytest.mark.parametrize("recycled", ["rPET (g)", "recycelter Kunststoff (g)"])
def test_a_recycled_material_beside_others_may_be_within_them(recycled: str) -> None:
    data = table(f"SKU|Name|PET (g)|{recycled}|Glas (g)\nA|Saft|12|5|1")
    assert (values(data), len(faults(data))) == ([], 1)


def test_weights_below_words_of_parts_belong_to_their_materials() -> None:
    head = "Flasche (g)|Verschluss (g)|Etikett (g)|Material Flasche|Material Verschluss|Material Etikett"
    data = table(f"SKU|Name|{head}\nA|Bier|350|2|1|Glas|Weißblech|Papier")
    assert parts(data) == [[("body", "glass", 350), ("closure", "metal", 2), ("label", "paper", 1)]]


def test_packaging_with_a_number_is_the_kind_of_its_part() -> None:
    head = "Packaging 1|Material 1|Weight 1 (g)|Packaging 2|Material 2|Weight 2 (g)"
    data = table(f"SKU|Name|{head}\nA|Wine|Bottle|glass|500|Cap|steel|5\nB|Wine|Bag|PE|20|Box|cardboard|90")
    assert parts(data) == [[("body", "glass", 500), ("cap", "metal", 5)], []]
    assert asked(data) == ["Bag"]


def test_ticks_under_materials_tell_those_of_parts() -> None:
    data = table("SKU|Name|Component|Glass|Plastic|Weight (g)\nA|Jar|body|x||180\nA|Jar|cap||✓|8")
    assert parts(data) == [[("body", "glass", 180), ("cap", "plastic", 8)]]


def test_a_bound_of_one_metal_is_a_bound_of_their_sum() -> None:
    data = table("SKU|Name|Pb (ppm)|Cd (ppm)|Hg (ppm)|Cr6 (ppm)\nA|Jar|10|2|0.1|<1\nB|Jar|10|2|0.1|1")
    assert [row["heavy_metals_sum_ppm"] for row in values(data)] == ["<13.1", "13.1"]


def test_an_item_with_a_material_and_no_weight_has_a_bill_of_materials() -> None:
    lines = "0|A-1|Honey|glass|\n1|A-1-B|Glass jar|glass|180\n1|A-1-L|Lid|steel|8"
    data = table(f"Level|Item|Description|Material|Weight (g)\n{lines}")
    assert parts(data) == [[("body", "glass", 180), ("cap", "metal", 8)]]


@pytest.mark.parametrize(("units", "is_read"), [(12_000, True), (1_200, True), (12, False)])
def test_a_weight_that_units_would_make_nothing_is_that_of_one(units: int, is_read: bool) -> None:
    lines = f"A|Jar|180|DE|2025|{units}\nB|Jar|170|DE|2025|{units}"
    rows = values(table(f"SKU|Name|Packaging weight (g)|Country|Year|Units placed on the market\n{lines}"))
    assert [row.get("weight_grams") for row in rows] == ([180, 170] if is_read else [None, None])


def test_units_that_are_no_divisor_are_asked_about_beside_a_year() -> None:
    data = table("SKU|Name|Verpackungsgewicht (g)|Land|Jahr|Menge\nA|Jar|180|DE|2025|1200\nB|Jar|170|DE|2025|1300")
    assert asked(data) == ["“Menge”"]


def test_halves_of_a_year_are_asked_about_and_added_up() -> None:
    data = table("SKU|Name|Markets|H1 2025|H2 2025|Packaging weight (g)\nA|Jar|DE|10|5|180\nB|Jar|GB|10|5|180")
    [question] = read(data)[0].source["asked"]
    assert question["text"] == "“H1 2025”, “H2 2025”"
    assert [row["volumes"] for row in values(data, question["answer"])] == [
        '{"DE/2025/0":15}',
        '{"GB/2025/1":10,"GB/2025/2":5}',
    ]


@pytest.mark.parametrize(
    "title",
    [
        "Sales 1.1.-30.6.2025",
        "Absatz 01-06/2025",
        "Sales YTD 2025",
        "Absatz KW 1-26 2025",
        "Data until 30.06.2025",
        "Sales first 9 months 2025",
    ],
)
def test_a_title_of_a_part_of_a_year_is_asked_about(title: str) -> None:
    data = table(f"{title}|||\nSKU|Name|Packaging weight (g)|Units DE\nA|Jar|180|10")
    assert (values(data)[0].get("volumes"), asked(data)) == (None, [title])


@pytest.mark.parametrize("title", ["Absatz 01.01.2025 - 31.12.2025", "Sales 1.1. - 31.12.2025", "Absatz 01-12/2025"])
def test_a_title_of_a_whole_year_says_the_year(title: str) -> None:
    data = table(f"{title}|||\nSKU|Name|Packaging weight (g)|Units DE\nA|Jar|180|10")
    assert values(data)[0]["volumes"] == '{"DE/2025/0":10}'


def test_a_unit_on_a_sheet_before_the_table_counts() -> None:
    sheets: Mapping[str, Table] = {
        "Notes": [["Packaging data"], ["All weights in kg"]],
        "Data": [["SKU", "Name", "Packaging weight", "Material"], ["A", "Jar", 0.18, "glass"]],
    }
    assert values(workbook(sheets))[0]["weight_grams"] == 180


@pytest.mark.parametrize(
    "total", ["Ø||150|", "Σ||300|", "Mittelwert||150|", "Count|2||", "Subtotal glass|2 items|300|"]
)
def test_signs_and_words_of_totals_are_no_items(total: str) -> None:
    rows = values(table(f"SKU|Name|Packaging weight (g)|Material\nA1|Jar|180|glass\nA2|Jar|120|glass\n{total}"))
    assert [row["sku_code"] for row in rows] == ["A1", "A2"]


@pytest.mark.parametrize("cell", ["PL i CZ", "SE och NO", "RO și BG", "HU és AT", "CZ a SK", "FI ja SE", "IT e FR"])
def test_markets_that_a_word_joins_are_two(cell: str) -> None:
    first, _, second = cell.split()
    assert values(delimited([[*HEAD, "Markets"], ["A", "Jar", cell]]))[0]["markets"] == f"{{{first},{second}}}"


def test_a_question_about_fractions_names_only_numbers() -> None:
    lines: Sequence[str] = ["A|Jar|> 50", "B|Jar|0.5"]
    [question] = read(table("SKU|Name|Recycled content %\n" + "\n".join(lines)))[0].source["asked"]
    assert (question["kind"], question["text"]) == ("fraction", "0.5")
