"""Material and format words: what resolves, and that nothing near does."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.ruleset import load
from compliance.words import nearest_materials, normalise, resolve_format, resolve_material

RULES = load()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rPET 100%", "PET"),
        ("PE-HD weiß", "HDPE"),
        ("♶", "LDPE"),
        ("verre blanc", "GL70"),
        ("EVOH coex", "EVOH"),
        ("LDPE/EVOH/LLDPE", "PE/EVOH/PE"),
        ("LDPE / LLDPE", "PE"),
        ("C/PAP 81", "C81"),
        ("Polypropylene (PP)", "PP"),
        ("Kunststoff: PP, weiß", "PP"),
        ("Aluminium (metal)", "ALU"),
        ("PE (LDPE)", "LDPE"),
        ("paper, kraft", "KRAFT"),
        ("Polyethylene (PET)", None),
        ("PP, PE", None),
        ("composite (paper)", None),
        ("carton + PE", None),
        ("PE/carton", None),
        ("Alu carton", None),
        ("carton PAP 21", "PAP21"),
        ("carton recyclé", "CARDBOARD"),
        ("PET / amber", "PET"),
        ("PET?", None),
        ("PET*", None),
        ("PETT", None),
        ("PET/mystery", None),
        ("", None),
    ],
)
def test_a_material_text_resolves_exactly_or_not_at_all(text, code):
    assert resolve_material(text, RULES) == code


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Bouteille", "bottle"),
        ("pot de yaourt", "pot"),
        ("bottle with cap", "bottle"),
        ("Frischhaltefolie", "stretch_wrap"),
        ("stand up pouch", "pouch"),
        ("bottle?", None),
        ("thing", None),
    ],
)
def test_a_format_text_resolves_by_its_longest_known_word(text, key):
    found = resolve_format(text, RULES)
    assert (found.key if found else None) == key


def test_every_alias_resolves_to_its_own_code():
    assert [alias for alias, code in RULES.aliases.items() if resolve_material(alias, RULES) != code] == []


def test_the_nearest_words_are_three_and_known():
    assert len(nearest_materials("polypropilene", RULES)) == 3
    assert nearest_materials("polypropilene", RULES)[0] == "polypropylene"


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_and_never_fails(text):
    once = normalise(text)
    assert normalise(once) == once
    resolve_material(text, RULES)
    resolve_format(text, RULES)


def test_facts_of_a_text_come_in_one_order_in_every_run():
    code = "from compliance import ruleset; from compliance.words import material_of; "
    code += "print(*material_of('PET black metallised', ruleset.load()).facts)"
    seeded = {**os.environ, "PYTHONHASHSEED": "1"}  # by this seed the set of both names begins with the other one
    told = subprocess.run([sys.executable, "-c", code], env=seeded, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["colour", "metallised"]
