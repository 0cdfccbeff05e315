"""Tables with a line for each part: the column that names the part, in nine languages, and fields of the parts."""

import json

import pytest

from tests.pipelines.reading.writing import Table, delimited, read, values

LINES = [["A-1", "Soap", "PET", "24"], ["A-1", "Soap", "PP", "5"], ["A-1", "Soap", "HDPE", "1"]]


def with_parts(header: str, *names: str) -> Table:
    lines = [[*line[:2], name, *line[2:]] for line, name in zip(LINES, names, strict=True)]
    return [["SKU", "Name", header, "Material", "Weight (g)"], *lines]


def types(table: Table, mapping: dict[str, object] | None = None) -> list[str]:
    (row,) = values(delimited(table), mapping)
    return [part["component_type"] for part in json.loads(str(row["components"]))]


@pytest.mark.parametrize(
    "header",
    [
        "Elemento del envase", "Element opakowania", "Součást obalu", "Förpackningsdel", "Verpakkingselement",
        "Elemento imballaggio", "Constituant", "Packungsbestandteil", "packagingMaterialElementCode",
    ],
)  # fmt: skip
def test_the_column_of_parts_is_known_in_nine_languages(header: str) -> None:
    assert types(with_parts(header, "body", "cap", "label")) == ["body", "cap", "label"]


def test_a_column_that_names_parts_is_asked_about_where_its_header_is_unknown() -> None:
    table = with_parts("Zzyx", "Bottle", "Cap", "Label")
    source = read(delimited(table))[0].source
    (about,) = source["asked"]
    assert (about["header"], about["could_be"], about["answer"]) == (
        "Zzyx", ["component_type"], {"columns": {"component_type": "C"}},
    )  # fmt: skip
    assert (source["ignored"], values(delimited(table))[0].get("components")) == ([], None)
    assert types(table, about["answer"]) == ["body", "cap", "label"]


def test_lines_whose_parts_nothing_names_are_bodies() -> None:
    assert types(with_parts("Remark", "new", "old", "new")) == ["body", "body", "body"]


def test_a_share_that_differs_between_the_parts_of_a_sku_is_the_parts() -> None:
    header = ["SKU", "Name", "Component", "Component material", "Component weight (g)", "Recycled content %"]
    lines = [["A-1", "Milk", "Bottle", "HDPE", "28", "30"], ["A-1", "Milk", "Cap", "PP", "2", "0"]]
    (row,) = values(delimited([header, *lines]))
    parts = json.loads(str(row["components"]))
    assert [part["recycled_content_percent"] for part in parts] == [30, 0]
    assert row.get("recycled_content_percent") is None


def test_a_share_that_all_parts_of_a_sku_repeat_stays_the_skus() -> None:
    header = ["SKU", "Name", "Component", "Component material", "Component weight (g)", "Recycled content %"]
    lines = [["A-1", "Milk", "Bottle", "HDPE", "28", "30"], ["A-1", "Milk", "Cap", "PP", "2", "30"]]
    (row,) = values(delimited([header, *lines]))
    assert row["recycled_content_percent"] == 30


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("Återanvändbar", "reusable"), ("Opakowanie wielokrotnego użytku", "reusable"),
        ("Opakovaně použitelný obal", "reusable"), ("Herbruikbare verpakking", "reusable"),
        ("A contatto con alimenti", "food_contact"), ("Livsmedelskontakt", "food_contact"),
        ("Contact met levensmiddelen", "food_contact"), ("Statiegeld (ja/nee)", "reuse_deposit_system"),
        ("Kaucja (tak/nie)", "reuse_deposit_system"), ("Pant (ja/nej)", "reuse_deposit_system"),
        ("Záloha", "reuse_deposit_system"), ("Andel återvunnet material (%)", "recycled_content_percent"),
        ("Obsah recyklátu (%)", "recycled_content_percent"), ("PackagingMaterialCode", "material"),
        ("Verpackungsmaterialart", "material"), ("Packmittelart", "packaging_format"),
    ],
)  # fmt: skip
def test_fields_have_their_words_in_nine_languages(header: str, field: str) -> None:
    cell = {"material": "PET", "packaging_format": "bottle", "recycled_content_percent": "30"}.get(field, "1")
    source = read(delimited([["SKU", "Name", header], ["A-1", "Soap", cell]], ";"))[0].source
    assert field in [column["field"] for column in source["columns"]]


@pytest.mark.parametrize("header", ["Popis", "Opis", "Produktnamn", "Produktbeschreibung", "Beskrivning"])
def test_a_description_is_the_name_where_no_other_is(header: str) -> None:
    (row,) = values(delimited([["SKU", header, "Packaging weight (g)"], ["A-1", "Soap", "12"]]))
    assert row["name"] == "Soap"


@pytest.mark.parametrize(
    "word",
    [
        "box insert", "can end", "pallet cover", "carton divider", "Flasche Boden", "fond de boîte", "Zakje", "Bolsa",
        "Sacchetto", "torebka", "sáček", "påse",
    ],
)  # fmt: skip
def test_a_piece_whose_type_its_word_does_not_say_is_asked_about(word: str) -> None:
    table = [["SKU", "Name", "Component", "Material", "Weight (g)"], ["A-1", "Soap", "Box", "paper", "30"]]
    upload, typed = read(delimited([*table, ["A-1", "Soap", word, "paper", "4"]]))
    assert [(about["kind"], about["text"]) for about in upload.source["asked"]] == [("value", word)]
    assert (typed.errors.height, typed.values["components"].to_list()) == (0, [None])


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("flaska", "body"), ("láhev", "body"), ("kelímek", "body"), ("doosje", "body"), ("kapsyl", "cap"),
        ("pumpička", "pump"), ("flip top cap", "cap"), ("jar seal", "seal"), ("narrow neck bottle", "body"),
    ],
)  # fmt: skip
def test_words_for_parts_are_known(word: str, kind: str) -> None:
    assert types(with_parts("Component", word, "cap", "label"))[0] == kind
