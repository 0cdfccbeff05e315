"""What a material's text says beside its material is graded as if it were given, by every engine (decisions §13)."""

from pathlib import Path

import orjson
import pytest

import schemas
from compliance.grading import grade
from compliance.grading.many.regrade import grade_block
from compliance.rule_rows import RuleSet
from compliance.ruleset import load, versions
from compliance.tables import rows
from compliance.words import material_of, resolve_material
from schemas.fields import COMPONENT
from schemas.vocabularies import VOCABULARIES
from schemas.words import words

TABLE = Path(schemas.__file__).with_name("words.csv")
RULES, BEFORE = load(), load(versions()[0])


def bottle(text: str, **more: object) -> dict[str, object]:
    part = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": text, "weight_g": 20, **more}
    return {"packaging_format": "bottle", "packaging_level": "sales", "components": [part]}


def bare(text: str | None, material: str = "plastic", **more: object) -> dict[str, object]:
    return {"material": material, "material_subtype": text, "weight_grams": 20, "packaging_format": "bottle", **more}


def answer(record: dict[str, object], rules: RuleSet = RULES) -> tuple[object, ...]:
    found = grade(record, rules)
    return found.grade, found.score, found.provisional


@pytest.mark.parametrize("text", ["PET schwarz", "PET black", "PET noir", "rPET schwarz 30 %", "PET / schwarz"])
def test_a_black_bottle_is_black_whatever_the_door(text: str) -> None:
    given = answer(bottle("PET", colour="dark"))
    assert given != answer(bottle("PET"))
    assert answer(bottle(text)) == given
    assert answer(bare(text)) == given


def test_a_colour_that_is_given_stands_above_the_text() -> None:
    assert answer(bottle("PET schwarz", colour="transparent")) == answer(bottle("PET", colour="transparent"))


def test_a_metallised_label_is_metallised() -> None:
    def labelled(text: str, **more: object) -> dict[str, object]:
        label = {"component_type": "label", "material_family": "plastic", "polymer_or_grade": text, "weight_g": 1}
        record = bottle("PET", colour="transparent")
        return {**record, "components": [*record["components"], {**label, **more}]}  # type: ignore[misc]

    given = answer(labelled("OPP", metallised=True))
    assert given != answer(labelled("OPP"))
    assert answer(labelled("OPP metallisiert")) == answer(labelled("OPP métallisé")) == given


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Weißglas", {}),  # colourless by its name
        ("Glas weiß", {}),  # white glass has no colour
        ("Glas grün", {"colour": "transparent_coloured"}),
        ("PET clear", {"colour": "transparent"}),
        ("PET light blue", {"colour": "transparent"}),
        ("PET transparent grün", {"colour": "transparent_coloured"}),
        ("HDPE dunkelgrün", {"colour": "dark"}),
        ("PET rot", {}),  # clear or opaque: nothing says which
        ("PET opak schwarz", {}),  # two that differ
        ("Karton braun", {}),
        ("PET noir de carbone", {"colour": "carbon_black"}),
        ("metallisiert", {}),  # a layer of its own
        ("no such stuff black", {}),
    ],
)
def test_what_a_text_says(text: str, facts: dict[str, str]) -> None:
    assert dict(material_of(text, RULES).facts) == facts


def test_every_word_for_a_colour_that_files_may_use_gives_it_in_a_text_too() -> None:
    different = {}
    for word, colour in words("colour").items():
        if word.replace(" ", "_") in VOCABULARIES["colour"]:
            continue
        said = dict(material_of(f"PET {word}", RULES).facts)
        if said != {"colour": colour}:
            different[word] = said
    assert different == {}


def test_every_word_that_imports_take_for_a_family_is_one_of_the_rule_set() -> None:
    for vocabulary in ("material", "material_family"):
        listed = [row["word"] for row in rows(TABLE) if row["vocabulary"] == vocabulary]
        assert len(listed) > 100
        assert [word for word in listed if resolve_material(word, RULES) is None] == []


def test_facts_are_fields_of_a_part_and_the_earlier_rules_read_none() -> None:
    assert {fact.field for fact in RULES.word_facts.values()} <= set(COMPONENT)
    assert BEFORE.word_facts == {}
    assert answer(bottle("PET schwarz"), BEFORE) == answer(bottle("PET"), BEFORE)


def test_arrays_read_texts_as_the_kernel_does() -> None:
    texts = ["PET schwarz", "OPP metallisiert", "Glas weiß", "Weißblech", "PP opak", "PET", "HDPE carbon black", None]
    cases = [(text, family) for text in texts for family in ("plastic", "metal")]
    bodies = [
        {"component_type": "body", "material_family": family, "polymer_or_grade": text, "weight_g": 20.0}
        for text, family in cases
    ]
    stored = [(None, None, "bottle", "sales", None, None, None, orjson.dumps([body]).decode()) for body in bodies]
    expected = [answer(bare(text, family, packaging_level="sales")) for text, family in cases]
    assert grade_block(stored, RULES) == expected
