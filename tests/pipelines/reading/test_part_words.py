"""Words of parts: a rigid packaging is the body, a film or an unknown word is asked, never a body (decisions §13)."""

import json
from typing import Any  # Any: a graph as JSON

import pytest

from compliance.ruleset import load
from pipelines.reading.upload import Upload
from pipelines.reading.words import part_type
from schemas.vocabularies import VOCABULARIES
from schemas.words import code_of
from tests.pipelines.reading.writing import delimited, read, workbook

RULES = load()
LONG = [
    ["sku_code", "name", "gtin", "component_type", "material_family", "component_weight_g"],
    ["TEA", "Tea", "4006381333931", "Karton", "paper", "22"],
    ["TEA", "Tea", "4006381333931", "Film", "plastic", "3"],
    ["JAR", "Honey", "", "jar", "glass", "200"],
]
BY_FORMAT = [
    ["Référence", "Désignation", "Type d'emballage", "Matériau", "Poids (g)"],
    ["TEA", "Tea", "Boîte", "Carton", "22"],
    ["TEA", "Tea", "Film", "PP", "3"],
    ["JAR", "Honey", "Bocal", "Verre", "200"],
    ["JAR", "Honey", "Couvercle", "Métal", "5"],
]
WIDE = [
    ["sku_code", "name", *(f"{what} {n}" for n in (1, 2) for what in ("Packaging type", "Material", "Weight (g)"))],
    ["TEA", "Tea", "Box", "paper", "22", "Film", "plastic", "3"],
    ["JAR", "Honey", "Jar", "glass", "200", "", "metal", "5"],
]
SHEETS = {
    "SKUs": [["sku_code", "name"], ["TEA", "Tea"], ["JAR", "Honey"]],
    "components": [
        ["sku_code", "component_type", "material_family", "weight_g"],
        ["TEA", "box", "paper", 22],
        ["TEA", "Film", "plastic", 3],
        ["JAR", "jar", "glass", 200],
    ],
}
FILES = {"long": delimited(LONG), "format": delimited(BY_FORMAT), "wide": delimited(WIDE), "sheet": workbook(SHEETS)}


def types(rows: Any) -> dict[str, list[str] | None]:
    graphs = dict(zip(rows.values["sku_code"], rows.values["components"], strict=True))
    return {
        code: None if text is None else [part["component_type"] for part in json.loads(text)]
        for code, text in graphs.items()
    }


def asked(upload: Upload) -> list[str]:
    return [question["text"] for question in upload.source["asked"]]


@pytest.mark.parametrize("layout", FILES)
def test_a_film_is_asked_about_and_its_graph_waits(layout: str) -> None:
    upload, rows = read(FILES[layout])
    assert asked(upload) == ["Film"]
    assert (rows.errors.height, rows.rejected, rows.values.height) == (0, 0, 2)
    found = types(rows)
    assert found["TEA"] is None
    assert (found["JAR"] or [])[0] == "body"
    assert rows.values.filter(rows.values["sku_code"] == "TEA")["name"][0] == "Tea"


@pytest.mark.parametrize("layout", FILES)
def test_the_answer_of_the_question_settles_it(layout: str) -> None:
    [question] = read(FILES[layout])[0].source["asked"]
    assert (question["kind"], question["could_be"][0]) == ("value", "sleeve")
    upload, rows = read(FILES[layout], question["answer"])
    assert (asked(upload), rows.errors.height) == ([], 0)
    assert types(rows)["TEA"] == ["body", "sleeve"]


def test_a_word_that_no_list_has_is_asked_where_it_was_a_body() -> None:
    for table in (WIDE, BY_FORMAT):
        upload, rows = read(delimited([[cell.replace("Film", "Dingsda") for cell in line] for line in table]))
        assert asked(upload) == ["Dingsda"]
        assert upload.source["asked"][0]["could_be"] == list(VOCABULARIES["component_type"])
        assert types(rows)["TEA"] is None


def test_an_unknown_word_of_the_field_itself_is_a_fault_and_asked() -> None:
    upload, rows = read(delimited([[cell.replace("Film", "Dingsda") for cell in line] for line in LONG]))
    assert rows.errors.select("field", "value", "code").rows() == [("component_type", "Dingsda", "not_in_vocabulary")]
    assert asked(upload) == ["Dingsda"]


def test_no_word_at_all_is_the_body() -> None:
    upload, rows = read(delimited([[cell.replace("Film", "") for cell in line] for line in WIDE]))
    assert (asked(upload), types(rows)["TEA"]) == ([], ["body", "body"])


def test_every_word_of_a_format_is_a_part_or_is_asked() -> None:
    """Over all words of the table: a rigid packaging is the body, a part is that part, a film is never a body."""
    wrong = {}
    for word, found in RULES.formats.items():
        listed = code_of(word, "component_type") or code_of(found.key, "component_type")
        expected = listed or (None if found.form in (None, "film") else "body")
        if part_type(word) != expected:
            wrong[word] = (found.key, part_type(word))
    inserts = {"corrugated_sheet", "loose_fill", "protective_foam", "spool", "rack", "dispenser", "cutlery", "pallet"}
    assert {key for key, kind in wrong.values() if kind is not None} == set()
    assert {key for key, _ in wrong.values()} == inserts


@pytest.mark.parametrize(
    "word",
    [
        *("Film", "Folie", "foil", "wrap", "Flowpack", "slip sheet", "Schrumpffolie"),
        *("bag", "Beutel", "bolsa", "sacchetto", "busta", "zak"),
        *("window", "Fenster", "Sichtfenster", "fenêtre", "ventana", "finestra", "Sprühkopf", "spray head"),
    ],
)
def test_films_foils_wraps_and_sheets_are_open(word: str) -> None:
    assert part_type(word) is None


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("Flasche", "body"),
        ("bocal", "body"),
        ("can", "body"),
        ("Barquette / Coque", "body"),
        ("Schraubverschluss", "cap"),
        ("Deckelfolie", "seal"),
        ("Étiquettes", "label"),
        *((word, "body") for word in ("main body", "Hauptkörper", "corpo principale", "butelka", "emmer")),
        *((word, "cap") for word in ("Schraubdeckel", "nakrętka", "schroefdop", "tapadera", "bouchon à vis")),
        *((word, "label") for word in ("Rückenetikett", "etiqueta frontal", "etykieta")),
        *((word, "pump") for word in ("lotion pump", "Schaumpumpe", "pompka", "doseerpomp")),
        *((word, "valve") for word in ("degassing valve", "Aerosolventil", "zaworek")),
    ],
)
def test_words_that_are_known(word: str, kind: str) -> None:
    assert part_type(word) == kind


def test_the_parts_of_a_list_of_parts_are_what_their_descriptions_say() -> None:
    """Exports of bills of materials: the parent is the SKU, `Component` a number; the description was not read."""
    heads = (
        ["Parent item", "Parent description", "Component item", "Component description", "Material", "Weight (g)"],
        ["Kopfmaterial", "Kopfmaterialbezeichnung", "Komponente", "Komponentenbezeichnung", "Werkstoff", "Gewicht (g)"],
    )
    parts = [["500001", "Bottle 250 ml", "HDPE", "22"], ["500007", "Pump", "PP", "9"], ["500010", "Label", "PP", "1"]]
    for head in heads:
        _, rows = read(delimited([head, *(["FG-1", "Shampoo", *part] for part in parts)]))
        assert types(rows) == {"FG-1": ["body", "pump", "label"]}
