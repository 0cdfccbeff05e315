"""Every material word keeps what it names, alone and with a colour or a metallisation, wherever it stands in a file.

The grade of what is read is that of a record in which the same facts are given (decisions §13).
"""

import json
from collections.abc import Iterator
from typing import Any  # Any: a record as JSON

import pytest

from compliance.grading import grade
from compliance.grading.units import GENERIC
from compliance.ruleset import RULES as FOLDER
from compliance.ruleset import load, versions
from compliance.tables import rows as table
from compliance.words import normalise, resolve_material
from pipelines.reading.words import code_by_rules, facts_of_text, family_of_detail, read_material
from tests.pipelines.reading.writing import delimited, read, workbook

RULES = load()
LANGUAGES = ("en", "de", "fr", "xx")
COLOURS, METALS = ("schwarz", "black", "noir"), ("metallisiert", "metallised", "métallisé")
NAMED = "bottle"


def listed() -> list[str]:
    """The material words of our lists in English, German and French, that a file can have as a material."""
    known = [row["alias"] for row in table(FOLDER / versions()[-1] / "polymer_aliases.csv") if row["lang"] in LANGUAGES]
    return [word for word in dict.fromkeys(known) if _family(word) is not None]


def _family(word: str) -> str | None:
    found = read_material(word, "material_family")
    return None if found is None else found.family


WORDS = listed()


def texts() -> Iterator[tuple[str, str, dict[str, object]]]:
    """Each word as it is, with a colour and with a metallisation: the text, the word, what the addition gives."""
    for at, word in enumerate(WORDS):
        code = resolve_material(word, RULES)
        implied = {} if code is None else RULES.materials[code].implied
        yield word, word, {}
        if RULES.dropped_words["colour"].isdisjoint(normalise(word).split()):
            yield f"{word} {COLOURS[at % 3]}", word, {} if "colour" in implied else {"colour": "dark"}
        yield f"{word} {METALS[at % 3]}", word, {"metallised": True}


CASES = list(texts())


def by_part_column(cells: list[str]) -> list[dict[str, Any]]:
    header = ["sku_code", "name", "packaging_format", "Packaging type 1", "Material 1", "Weight 1 (g)"]
    lines = [[f"S{at}", "n", NAMED, "", cell, "20"] for at, cell in enumerate(cells)]
    return _parts([header, *lines])


def by_long_table(cells: list[str]) -> list[dict[str, Any]]:
    header = ["sku_code", "name", "packaging_format", "component_type", "material_family", "component_weight_g"]
    lines = [[f"S{at}", "n", NAMED, "body", cell, "20"] for at, cell in enumerate(cells)]
    return _parts([header, *lines])


def by_components_sheet(cells: list[str]) -> list[dict[str, Any]]:
    skus = [["sku_code", "name", "packaging_format"], *([f"S{at}", "n", NAMED] for at in range(len(cells)))]
    header = ["sku_code", "component_type", "material_family", "weight_g"]
    lines = [[f"S{at}", "body", cell, 20] for at, cell in enumerate(cells)]
    _, found = read(workbook({"SKUs": skus, "components": [header, *lines]}))
    return _graphs(found, len(cells))


def _parts(lines: list[list[str]]) -> list[dict[str, Any]]:
    _, found = read(delimited(lines))
    return _graphs(found, len(lines) - 1)


def _graphs(found: Any, expected: int) -> list[dict[str, Any]]:
    assert found.errors.rows() == []
    graphs = [json.loads(text) for text in found.values["components"]]
    assert len(graphs) == expected
    return [{"packaging_format": NAMED, "components": graph} for graph in graphs]


def graded(record: dict[str, Any]) -> tuple[object, ...]:
    found = grade(record, RULES)  # type: ignore[arg-type]
    return found.grade, found.score, found.provisional


def test_the_lists_have_words() -> None:
    assert len(WORDS) > 1_000
    assert {"Weißblech", "fer blanc", "OPP", "Kunststoff", "tissu"} <= {*WORDS}


@pytest.mark.parametrize("door", [by_part_column, by_long_table, by_components_sheet], ids=lambda door: door.__name__)
def test_a_part_keeps_the_kind_and_what_is_said_of_it(door: Any) -> None:
    records = door([text for text, _, _ in CASES])
    plain: dict[str, dict[str, Any]] = {}
    different = []
    for record, (text, word, more) in zip(records, CASES, strict=True):
        [part] = record["components"]
        first = plain.setdefault(word, part)
        given = {**record, "components": [{**first, **more}]}
        code = resolve_material(word, RULES)
        kept = code is None or not RULES.materials[code].specified or "polymer_or_grade" in part
        if part["material_family"] != first["material_family"] or any(part.get(name) != more[name] for name in more):
            different.append((text, part))
        elif graded(record) != graded(given) or not (kept or part["material_family"] in GENERIC):
            different.append((text, part, graded(record), graded(given)))
    assert different == []


def test_a_sku_without_parts_keeps_the_whole_text() -> None:
    lines = [[f"S{at}", "n", NAMED, text, "20"] for at, (text, _, _) in enumerate(CASES)]
    _, found = read(delimited([["sku_code", "name", "packaging_format", "Material", "Verpackungsgewicht (g)"], *lines]))
    refused = {int(code[1:]) for code in found.errors["sku_code"]}
    rows = {int(row["sku_code"][1:]): row for row in found.values.to_dicts()}
    plain: dict[str, dict[str, Any]] = {}
    different = [CASES[at] for at in refused if family_of_detail(CASES[at][1]) is not None]
    for at, (text, word, more) in enumerate(CASES):
        if at in refused:
            continue
        row = rows[at]
        record = {"material": row["material"], "material_subtype": row["material_subtype"], "weight_grams": 20.0}
        first = plain.setdefault(word, record)
        part = {"component_type": "body", "material_family": first["material"], "weight_g": 20.0, **more}
        given = {"packaging_format": NAMED, "components": [{**part, "polymer_or_grade": first["material_subtype"]}]}
        kept = not more or (record["material"], record["material_subtype"]) == (first["material"], text)
        if not kept or graded({**record, "packaging_format": NAMED}) != graded(given):
            different.append((text, word, record))
    assert different == []


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Weißblech", ("metal", "tinplate")),
        ("Alu", ("metal", "aluminium")),
        ("Acier", ("metal", "steel")),
        ("OPP metallisiert", ("plastic", "OPP metallisiert")),
        ("PET schwarz", ("plastic", "PET schwarz")),
        ("Kunststoff / PET / schwarz", ("plastic", "PET / schwarz")),
        ("Kunststoff schwarz", ("plastic", "Kunststoff schwarz")),
        ("Metall", ("metal", None)),
        ("Glas", ("glass", None)),
    ],
)
def test_what_a_text_becomes(text: str, stored: tuple[str, str | None]) -> None:
    _, found = read(delimited([["sku_code", "name", "material"], ["A", "a", text]]))
    row = found.values.to_dicts()[0]
    assert (row["material"], row.get("material_subtype")) == stored


def test_own_words_and_values_of_a_mapping_keep_what_the_text_names() -> None:
    cells = ["Weißblech", "Dose D7", "PET schwarz"]
    lines = [["sku_code", "name", "material"], *([f"S{at}", "n", cell] for at, cell in enumerate(cells))]
    words = {"Weißblech": "metal", "Dose D7": "Alu", "PET schwarz": "plastic"}
    _, found = read(delimited(lines), {"values": {"material": words}})
    kept = [("metal", "tinplate"), ("metal", "aluminium"), ("plastic", "PET schwarz")]
    assert found.values.select("material", "material_subtype").rows() == kept
    _, found = read(delimited(lines), {"values": {"material": {**words, "Weißblech": "composite"}}})
    assert found.values.select("material", "material_subtype").row(0) == ("composite", None)


@pytest.mark.parametrize(
    ("text", "family", "code"),
    [
        *((word, "other", "CERAMIC") for word in ("Keramik", "céramique", "ceramica", "keramiek", "ceramika")),
        *((word, "other", "RUBBER") for word in ("Gummi", "rubber", "caoutchouc", "gomma", "guma")),
        *((word, "paper", "PAP20") for word in ("Wellkarton E-Welle", "E-Welle", "carton ondulé cannelure B")),
        *((word, "paper", "PAP20") for word in ("cartón ondulado canal E", "golfkarton B-golf", "tektura falista")),
        *((word, "paper", "CARDBOARD") for word in ("Recyclingkarton", "carton 300 g/m²", "carton 250-300 gsm")),
        *((word, "plastic", "LDPE") for word in ("LDPE 50µ", "LDPE 50 µm", "LDPE 0,05 mm", "LDPE 50 my")),
        ("PET 12µ/PE 50µ", "plastic", "PET/PE"),
    ],
)
def test_words_of_exports_are_read(text: str, family: str, code: str) -> None:
    found = read_material(text, "material_family")
    assert (found and found.family, resolve_material(text, RULES)) == (family, code)


@pytest.mark.parametrize("text", ["Karton 80 g", "PE 50", "50 µm", "PET 30g, PP 2g", "Leder", "Schaumstoff"])
def test_what_is_no_certain_material_is_asked(text: str) -> None:
    assert read_material(text, "material_family") is None


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        *((word, "transparent_coloured") for word in ("transparent blue", "bleu transparent", "blu trasparente")),
        *((word, "transparent_coloured") for word in ("transparant blauw", "przezroczysty niebieski")),
        *((word, "dark") for word in ("czarny", "bleu foncé", "zwart", "negro")),
        *((word, None) for word in ("blau", "azul", "weiß/schwarz", "black opaque", "natural blue", "blue bottle")),
    ],
)
def test_a_colour_says_the_same_alone_and_in_a_material(text: str, colour: str | None) -> None:
    """`PET transparent blue` was transparent, which a coloured one is not."""
    assert code_by_rules(text, "colour") == colour
    if "bottle" not in text:
        assert facts_of_text(f"PET {text}").get("colour") == colour
