"""Headers with words that a dot shortens, and with a material and its grade: read where certain, else asked about."""

import pytest

from pipelines.reading.columns import open_column, recognise, substitute_column
from pipelines.reading.upload import read_upload
from tests.pipelines.reading.writing import TODAY


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Gew. (g)", "weight_grams"), ("Gew./Stk. (g)", "weight_grams"), ("Gewicht/Stk", "weight_grams"),
        ("Poids unit. (g)", "weight_grams"), ("Poids unit. emb. (g)", "weight_grams"), ("Wt. (g)", "weight_grams"),
        ("Pds. unit. (g)", "weight_grams"), ("Plast. PE (g)", "plastic_pe_weight_g"),
        ("Kunstst. PET (g)", "plastic_pet_weight_g"), ("Gew. Glas (g)", "glass_weight_g"),
        ("Plastique PE", "plastic_pe_weight_g"), ("Weight unit.", "weight_unit"), ("Unit.", "weight_unit"),
    ],
)  # fmt: skip
def test_a_shortened_word_means_what_the_whole_one_does(header: str, name: str) -> None:
    column = recognise(header, 3, "sku")
    assert column is not None
    assert (column.name, column.header, column.position) == (name, header, 3)


def test_a_unit_behind_a_shortened_word_counts() -> None:
    column = recognise("Gew. (kg)", 0, "component")
    assert column is not None
    assert (column.name, column.factor, column.has_unit) == ("weight_g", 1000, True)


@pytest.mark.parametrize(
    "header",
    [
        "Gew. netto (g)", "Gew. Prod. (g)", "Poids n. (g)", "Prix unit. (g)", "Gew. pro Kart. (g)", "Gewinde (g)",
        "Verre PE (g)", "Gew. Umkarton (g)", "Gew.", "Wt.", "Gew. (mm)", "Gew. xyz (g)", "Poids unit. xyz (g)",
    ],
)  # fmt: skip
def test_no_weight_is_taken_from_a_header_with_a_word_that_was_not_understood(header: str) -> None:
    assert recognise(header, 0, "sku") is None
    assert substitute_column(header) is None


@pytest.mark.parametrize("header", ["Gew.", "Wt.", "Poids unit. xyz (g)", "Gew. pro Kart. (g)"])
def test_a_weight_of_which_a_word_was_not_understood_is_asked_about(header: str) -> None:
    column = open_column(header, 0, "sku", loose=True)
    assert column is not None
    assert column.name == "weight_grams"
    assert column.header == header


def test_a_shortened_weight_alone_is_asked_about_and_not_stored() -> None:
    data = b"Code;Name;Verpackungsmaterial;Gew.\nA1;Becher;PP;28\n"
    source = read_upload(data, "x.csv", mapping=None, today=TODAY).source
    assert [(asked["header"], asked["could_be"]) for asked in source["asked"]] == [("Gew.", ["weight_grams"])]
    assert "weight_grams" not in {column["field"] for column in source["columns"]}


def test_one_material_with_its_grade_above_numbers_is_asked_about_and_read_when_settled() -> None:
    data = b"Code;Nom;Plastique PE\nA1;Pot;12,5\nA2;Sac;3,25\n"
    upload = read_upload(data, "x.csv", mapping=None, today=TODAY)
    [asked] = upload.source["asked"]
    assert (asked["header"], asked["answer"]) == ("Plastique PE", {"columns": {"plastic_pe_weight_g": "C"}})
    assert upload.source["ignored"] == []
    settled = read_upload(data, "x.csv", mapping=asked["answer"], today=TODAY)
    assert settled.source["asked"] == []
    assert "12,5" in str(settled.table.rows() if settled.components is None else settled.components.rows())


def test_one_material_with_its_grade_above_words_is_no_question() -> None:
    data = b"Code;Nom;Plastique PE\nA1;Pot;oui\nA2;Sac;non\n"
    assert read_upload(data, "x.csv", mapping=None, today=TODAY).source["asked"] == []


def test_two_materials_with_their_grades_are_weights() -> None:
    data = b"Code;Nom;Plastique PE;Plastique PET\nA1;Pot;12,5;1\n"
    upload = read_upload(data, "x.csv", mapping=None, today=TODAY)
    assert upload.source["asked"] == []
    assert upload.components is not None
    assert upload.components.select("plastic_pe_weight_g", "plastic_pet_weight_g").rows() == [("12,5", "1")]
