"""The files of `senders/`: what a person reads in each is what the importer reads, without being told anything."""

from collections.abc import Callable

import pytest

from tests.pipelines.reading.senders import (
    dutch,
    english,
    french,
    german,
    later,
    products,
    schemes,
    southern,
    systems,
)
from tests.pipelines.reading.senders.judged import judge
from tests.pipelines.reading.senders.sent import Sent
from tests.pipelines.reading.writing import delimited, read

FILES = [
    *french.FILES,
    *german.FILES,
    *english.FILES,
    *southern.FILES,
    *dutch.FILES,
    *later.FILES,
    *systems.FILES,
    *schemes.FILES,
    *products.FILES,
]
Build = Callable[[], Sent]


@pytest.mark.parametrize("build", FILES, ids=lambda build: f"{build.__module__.rsplit('.')[-1]}-{build.__name__}")
def test_a_file_is_read_as_a_person_reads_it(build: Build) -> None:
    sent = build()
    assert judge(sent, None if sent.refused else sent.mapping).differences == []


@pytest.mark.parametrize("build", [build for build in FILES if build().mapping], ids=lambda build: build.__name__)
def test_a_file_that_only_its_sender_can_explain_is_read_with_a_mapping(build: Build) -> None:
    sent = build()
    judged = judge(sent, sent.mapping)
    assert (judged.differences, judged.columns_right) == ([], judged.columns)


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        (["SKU", "Description"], ["sku_code", "name"]),
        (["SKU", "Name", "Description"], ["sku_code", "name", "description"]),
        (["Supplier SKU", "Item name"], ["sku_code", "name"]),
        (["SKU", "Supplier SKU", "Item name"], ["sku_code", "name"]),
    ],
)
def test_a_key_without_a_column_is_read_from_what_stands_for_it(header: list[str], fields: list[str]) -> None:
    upload, _ = read(delimited([header, [f"cell {at}" for at in range(len(header))]]))
    assert [column["field"] for column in upload.source["columns"]] == fields


@pytest.mark.parametrize(
    ("header", "cell", "told"),
    [
        ("Matériau", "80% PE, 20% carton", ["write the one that weighs most, or composite"]),
        ("pfas_status", "n.d.", ["not determined or not detected", "absent"]),
        ("GTIN", "36000291452", ["036000291452"]),
    ],
)
def test_what_has_two_readings_is_asked_about_with_both(header: str, cell: str, told: list[str]) -> None:
    errors = read(delimited([["SKU", "Name", header], ["A", "a", cell]]))[1].errors
    assert errors.height == 1
    assert all(words in errors["message"][0] for words in told)


@pytest.mark.parametrize("answer", ["n/a", "k.A.", "s.o.", "-", "n.v.t.", "s/d", "NC"])
def test_a_word_for_no_answer_leaves_the_field_as_it_is(answer: str) -> None:
    header = ["SKU", "Name", "Weight (g)", "Food contact", "Material", "GTIN"]
    rows = read(delimited([header, ["A", "a", *[answer] * 4]]))[1]
    assert rows.errors.height == 0
    assert [name for name in rows.presence.columns if rows.presence[name][0]] == ["sku_code", "name"]


@pytest.mark.parametrize(
    ("header", "fields"),
    [("material_subtype", ["material_subtype"]), ("Material code", ["material", "material_subtype"])],
)
def test_a_field_by_its_own_name_says_nothing_of_another(header: str, fields: list[str]) -> None:
    rows = read(delimited([["SKU", "Name", header], ["A", "a", "PAP 21"]]))[1]
    assert sorted(set(rows.values.columns) - {"row", "line", "sheet", "sku_code", "name"}) == fields


@pytest.mark.parametrize("number", ["1", "01", "21", "5.0"])
def test_a_bare_number_names_no_material(number: str) -> None:
    """It may be a resin code, and as well a line of the sender's own list: the file must say which."""
    rows = read(delimited([["SKU", "Name", "Material grade"], ["A", "a", number]]))[1]
    assert "material" not in rows.values.columns
    assert rows.values["material_subtype"].to_list() == [number]
    upload, told = read(delimited([["SKU", "Name", "Material"], ["A", "a", number]]))
    if number == "5.0":
        assert told.errors["code"].to_list() == ["not_in_vocabulary"]
    else:  # a number of Decision 97/129/EC (decisions §13, *Code lists*)
        assert [(asked["kind"], asked["could_be"]) for asked in upload.source["asked"]] == [
            ("list", ["97_129", "ours"])
        ]
        assert "material" not in told.values.columns


@pytest.mark.parametrize(
    ("header", "read_as"),
    [
        (["Weight", "Packaging Weight (g)"], {"weight_grams": "D"}),
        (["Gewicht", "Verpackungsgew."], {"weight_grams": "D"}),
        (["UNIT_WEIGHT", "PKG_WEIGHT"], {"weight_grams": "D"}),
        (["weight_grams", "Packaging weight"], {"weight_grams": "C"}),
        (["Material", "Verpackungsmaterial"], {"material": "D"}),
    ],
)
def test_what_names_the_packaging_stands_above_what_does_not(header: list[str], read_as: dict[str, str]) -> None:
    cells = ["glass", "paper"] if "Material" in header else ["1", "2"]
    upload, _ = read(delimited([["SKU", "Name", *header], ["A", "a", *cells]]))
    assert {column["field"]: column["column"] for column in upload.source["columns"][2:]} == read_as


def test_a_weight_of_the_product_is_never_that_of_its_packaging() -> None:
    head = [
        "SKU",
        "Name",
        "Poids net (g)",
        "Peso confezione",
        "Gross weight",
        "Artikelgewicht",
        "Secondary pack weight",
    ]
    upload, _ = read(delimited([head, ["A", "a", 500, 500, 520, 500, 210]]))
    assert [column["field"] for column in upload.source["columns"]] == ["sku_code", "name"]
