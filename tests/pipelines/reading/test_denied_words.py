"""Words that are denied, or stand beside another: `no cap` is no cap, `tray lid` is no tray."""

import json

import pytest

from compliance.ruleset import load
from compliance.words import resolve_format
from pipelines.reading.words import part_type
from tests.pipelines.reading.writing import delimited, read

RULES = load()


@pytest.mark.parametrize(
    "text",
    [
        "not a bottle", "no bottle", "keine Flasche", "pas de bouteille", "sin botella", "geen fles", "non-bottle",
        "Flasche nicht", "bottle or jar", "Flasche oder Glas", "bottle / jar", "bottle / film", "tray lid",
        "drum lid", "coffee cup lid", "screw cap jar", "Flasche Etikett", "bottle box", "Flasche Verschluss",
    ],
)  # fmt: skip
def test_a_format_that_is_denied_or_one_of_two_is_none(text: str) -> None:
    assert resolve_format(text, RULES) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("bottle without cap", "bottle"), ("Glas ohne Verschluss", "jar"), ("tray (no lid)", "tray"),
        ("bouteille sans bouchon", "bottle"), ("bottle, cap", "bottle"), ("Bottle + cap + label", "bottle"),
        ("no bottle, tray", "tray"), ("non-returnable bottle", "bottle"), ("bouteille non consignée", "bottle"),
        ("Becher / Cup", "cup"), ("Karton Schale", "tray"), ("bottle crate", "crate"), ("cup lid", "lid"),
    ],
)  # fmt: skip
def test_a_format_is_what_the_text_affirms(text: str, key: str) -> None:
    found = resolve_format(text, RULES)
    assert (found and found.key) == key


@pytest.mark.parametrize(
    "text",
    [
        "no cap", "without lid", "ohne Deckel", "not a label", "sans bouchon", "kein Etikett", "Bottle + cap",
        "Bottle / cap", "Bottle/cap", "Tray, lid", "tray film", "Folie Schale", "barquette film",
    ],
)  # fmt: skip
def test_a_part_that_is_denied_or_one_of_two_is_asked(text: str) -> None:
    assert part_type(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bottle label", "label"), ("Label (bottle)", "label"), ("tray lid", "cap"), ("Deckel Glas", "cap"),
        ("drum lid", "cap"), ("tube cap", "cap"), ("bouteille bouchon", "cap"), ("barquette opercule", "seal"),
        ("bottle pump", "pump"), ("bag handle", "handle"), ("Flasche Verschluss", "closure"),
        ("bottle without cap", "body"), ("Glas ohne Verschluss", "body"), ("Deckel / Verschluss", "cap"),
        ("Couvercle/Lid", "cap"), ("bottle or jar", "body"), ("Bottle 250 ml", "body"),
    ],
)  # fmt: skip
def test_a_part_beside_a_packaging_is_that_part(text: str, kind: str) -> None:
    assert part_type(text) == kind


def test_no_graph_is_made_of_a_part_that_is_not_there() -> None:
    table = [
        ["SKU", "Name", "Component", "Material", "Weight (g)"],
        ["A-1", "Juice", "Bottle", "PET", "20"],
        ["A-1", "Juice", "no cap", "PP", "1"],
        ["A-2", "Milk", "Bottle", "PET", "20"],
        ["A-2", "Milk", "bottle label", "PP", "1"],
    ]
    upload, rows = read(delimited(table))
    assert [about["text"] for about in upload.source["asked"]] == ["no cap"]
    graphs = {code: graph for code, graph in rows.values.select("sku_code", "components").rows() if graph}
    assert [part["component_type"] for part in json.loads(graphs["A-2"])] == ["body", "label"]
    assert "A-1" not in graphs


def test_a_question_about_several_parts_offers_these_first() -> None:
    head = ["SKU", "Name", "Component", "Material", "Weight (g)"]
    parts = [["A-1", "Juice", "Bottle", "PET", "20"], ["A-1", "Juice", "Label adhesive", "PP", "1"]]
    [about] = read(delimited([head, *parts]))[0].source["asked"]
    assert about["could_be"][:2] == ["label", "adhesive"]
