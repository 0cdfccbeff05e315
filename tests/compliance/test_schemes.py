"""Other schemes' ratings: the tables of the UK's RAM, what follows from them, and what could never follow."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compliance.catalogue import pinned
from compliance.material_path import material_paths
from compliance.rollup.categories import category
from compliance.ruleset import load
from compliance.schemes import rating, settling
from compliance.schemes.rating import FOLDER, rate, read, units_of
from compliance.schemes.settling import values
from compliance.tables import TableError
from tests.compliance.records import RECORDS

RULES = load()
RAM = {scheme.version: scheme for scheme in rating.versions() if scheme.key == "uk_ram"}
NOT_IN_A_RECORD = {
    "RAM-AUTO-004": "no field holds electrical parts or batteries",
    "RAM-AUTO-005": "no field holds whether UK law restricts the format",
    "RAM-FLEX-002 1.1": "a take-back scheme is the producer's evidence, not a fact of the packaging",
}
"""Rows that no record can make fire, with the reason."""


def part(kind, family, text, grams=10, **facts):
    line = {"component_type": kind, "material_family": family, "polymer_or_grade": text, "weight_g": grams, "id": kind}
    return line | facts


def pack(text, *components, **facts):
    return {"packaging_format": text, "packaging_level": "sales", "components": list(components), **facts}


PET, BOARD, FILM = part("body", "plastic", "PET"), part("body", "paper", "PAP21", 90), part("body", "plastic", "LDPE")
SVHC = {"svhc": {"status": "above_limit"}}
FIRING = {
    "RAM-AUTO-001": pack("bottle", PET | {"substances": SVHC}),
    "RAM-AUTO-002": pack("box", BOARD, pfas={"status": "above_limit"}),
    "RAM-AUTO-003": pack("box", BOARD, part("ink", "other", None, None, ink_type="non_eupia")),
    "RAM-PAPER-001": pack("box", BOARD),
    "RAM-PAPER-002": pack("box", part("body", "paper", "WAXED_PAPER")),
    "RAM-PAPER-003": pack("box", BOARD | {"coating_type": "wax"}),
    "RAM-PAPER-004": pack("wrap", part("body", "paper", "GLASSINE")),
    "RAM-PAPER-005": pack("wrap", BOARD | {"coating_type": "silicone"}),
    "RAM-PAPER-006": pack("bag", part("body", "paper", "WET_STRENGTH")),
    "RAM-PAPER-007": pack("box", BOARD | {"metallised": True}),
    "RAM-FIBRE-001": pack("beverage carton", BOARD, part("coating", "plastic", "LDPE", 20)),
    "RAM-FIBRE-002": pack("cup", BOARD, part("coating", "plastic", "LDPE", 10)),
    "RAM-FIBRE-003": pack("box", BOARD, part("coating", "plastic", "PVDC", 10)),
    "RAM-RIGID-001": pack("tub", part("body", "plastic", "PP")),
    "RAM-RIGID-002": pack("blister", part("body", "plastic", "PVC")),
    "RAM-RIGID-003": pack("cup", part("body", "plastic", "PS")),
    "RAM-RIGID-004": pack("cup", part("body", "bio_based", "PLA")),
    "RAM-RIGID-005": pack("jar", part("body", "plastic", "PMMA")),
    "RAM-RIGID-006": pack("tray", PET | {"colour": "carbon_black"}),
    "RAM-RIGID-007": pack("bottle", PET | {"colour": "opaque"}),
    "RAM-RIGID-008": pack("bottle", PET, part("sleeve", "plastic", "PVC", 1)),
    "RAM-RIGID-009": pack("tub", part("body", "plastic", "PP", additives=["oxo_degradable"])),
    "RAM-RIGID-010": pack("bottle", PET, part("cap", "metal", "ALU", 1)),
    "RAM-FLEX-001": pack("pouch", FILM),
    "RAM-FLEX-002": pack("pouch", part("body", "plastic", "PET/PE")),
    "RAM-FLEX-003": pack("bag", FILM | {"colour": "carbon_black"}),
    "RAM-FLEX-004": pack("pouch", FILM, part("tie_layer", "metal", "ALU", 1)),
    "RAM-STEEL-001": pack("can", part("body", "metal", "STEEL")),
    "RAM-ALU-001": pack("can", part("body", "metal", "ALU")),
    "RAM-GLASS-001": pack("jar", part("body", "glass", "GL71")),
    "RAM-GLASS-002": pack("jar", part("body", "glass", "BOROSILICATE")),
    "RAM-GLASS-003": pack("bottle", part("body", "glass", "GLASS"), part("closure", "other", "CERAMIC", 1)),
    "RAM-WOOD-001": pack("box", part("body", "wood", "WOOD")),
    "RAM-OTHER-001": pack("bag", part("body", "textile", "COTTON")),
}
"""A record for each row, in which it fires."""


def rated(record, version):
    return [rate(unit, RAM[version], RULES) for unit in units_of(record, RULES)]


def standing(record, version):
    return {row.rule.rule_id: row.rating.name for each in rated(record, version) for row in each.standing}


def rows() -> Iterator[tuple[str, str]]:
    for version, scheme in RAM.items():
        for row in scheme.rules:
            yield version, row.rule.rule_id


@pytest.mark.parametrize(("version", "rule_id"), list(rows()))
def test_every_row_fires_somewhere_or_says_why_not(version, rule_id):
    why_not = NOT_IN_A_RECORD.get(f"{rule_id} {version}") or NOT_IN_A_RECORD.get(rule_id)
    row = next(row for row in RAM[version].rules if row.rule.rule_id == rule_id)
    assert row.rule.recordable == (why_not is None)
    if row.rule.recordable:
        assert standing(FIRING[rule_id], version).get(rule_id) == row.rating.name


@pytest.mark.parametrize("version", RAM)
def test_whatever_the_declaration_takes_the_scheme_has_a_category_and_a_row_for(version):
    scheme, market = RAM[version], next(each for each in pinned() if each.code == RAM[version].market)
    for path in material_paths():
        found = category(path, market)
        if found and found.code not in ("PL", "composite"):
            assert scheme.category(found.code, path), path
    for key, found in scheme.rules_by_category.items():
        base = [row for row in found if row.rule.asks_type("body") and not row.rule.field and row.rule.recordable]
        for material in RULES.materials.values():
            assert any(row.rule.asks_code(material, frozenset()) for row in base), (key, material.code)


@pytest.mark.parametrize(
    ("record", "rating_1_1", "rating_2027"),
    [
        (FIRING["RAM-PAPER-001"], "green", "green"),
        (pack("box", BOARD, part("coating", "plastic", "LDPE", 4)), "green", "green"),  # 4.3 % of the weight
        (FIRING["RAM-FIBRE-002"], "amber", "amber"),
        (FIRING["RAM-FLEX-001"], "red", "amber"),
        (pack("bottle", PET, part("cap", "plastic", "PVC", 2, separable=True)), "red", "red"),
        (pack("can", part("body", "metal", "ALU"), pfas={"status": "above_limit"}), "green", "red"),
        (pack(None, PET), None, None),
        (pack("jar", part("body", "plastic", None)), None, None),
        (pack("jar", part("body", "glass", None), part("closure", "metal", "STEEL", None)), None, None),
        ({"material": "glass", "weight_grams": 3, "markets": ["GB-SCT", "FR"]}, "green", "green"),
    ],
)
def test_packs_and_their_ratings(record, rating_1_1, rating_2027):
    [in_2026], [in_2027] = (
        settling.published_schemes(record, RULES, 2026),
        settling.published_schemes(record, RULES, 2027),
    )
    assert (in_2026["version"], in_2026["rating"]) == ("1.1", rating_1_1)
    assert (in_2027["version"], in_2027["rating"]) == ("2027", rating_2027)
    assert in_2026["rating"] or in_2026["open"], "what has no rating says what would give one"


def test_a_scheme_speaks_of_its_market_and_years_only():
    board = FIRING["RAM-PAPER-001"]
    assert settling.published_schemes(board | {"markets": ["FR"]}, RULES, 2026) == []
    assert settling.published_schemes(board, RULES, 2024) == []
    assert rating.of_market("FR", 2026) is None
    for field, value in (("packaging_level", "transport"), ("reusable", True)):
        assert settling.published_schemes(board | {field: value}, RULES, 2026) == []
        assert settling.part_ratings(board | {field: value}, RAM["1.1"], RULES) == []


def test_parts_are_rated_with_what_they_stay_on_and_medicines_have_their_own_codes():
    bottle = pack("bottle", PET, part("cap", "plastic", "PVC", 1, separable=True), part("label", "plastic", "PP", 1))
    assert [(each.component_type, each.code) for each in settling.part_ratings(bottle, RAM["1.1"], RULES)] == [
        ("body", "G"),
        ("label", "G"),
        ("cap", "R"),
    ]
    medical = settling.part_ratings(bottle | {"use_contexts": ["pharmaceutical"]}, RAM["1.1"], RULES)
    assert [each.code for each in medical] == ["G-M", "G-M", "R-M"]


@pytest.mark.parametrize(("version", "count"), [("1.1", 18), ("2027", 20)])
def test_a_rating_that_rests_on_memory_is_unverified(version, count):
    """Issue 37: 18 of 33 rules, 20 of 36; each takes its source when one is found."""
    scheme = RAM[version]
    assert sum(row.is_unverified for row in scheme.rules) == count
    can = pack("can", part("body", "metal", "aluminium", 15))
    tray = pack("tray", part("body", "plastic", "PP", 15))
    for record, unverified in ((can, True), (tray, False)):
        [entry] = [each for each in settling.published_schemes(record, RULES, scheme.years[0]) if each["rating"]]
        assert (entry["version"], entry["unverified"]) == (version, unverified)
        assert [each.is_unverified for each in settling.part_ratings(record, scheme, RULES)] == [unverified]
    [unrated] = settling.published_schemes(pack("tray", part("body", "plastic", None, 15)), RULES, scheme.years[0])
    assert (unrated["rating"], unrated["unverified"]) == (None, False)


def test_an_open_fact_is_asked_with_what_it_could_do_in_the_callers_language():
    bottle = pack("bottle", PET)
    [entry] = settling.published_schemes(bottle, RULES, 2026)
    colour = entry["open"][0]
    assert (entry["rating"], colour["field"], colour["component_id"]) == ("green", "colour", "body")
    assert colour["could_become"] == ["amber", "red"]
    [german] = settling.published_schemes(bottle, RULES, 2026, "de")
    assert colour["ask"].startswith("What colour")
    assert german["open"][0]["ask"].startswith("Welche Farbe")
    [settled] = settling.published_schemes(
        pack("bottle", PET | {"colour": "transparent", "additives": []}), RULES, 2026
    )
    assert settled["open"] == []


def severity(found):
    return max((each.rating.severity for each in found if each.rating), default=None)


@given(RECORDS, st.sampled_from(list(RAM)), st.data())
def test_a_fact_more_never_improves_a_rating(record, version, data):
    """Nobody gains by telling: an attribute given where there was none, or a substance declared."""
    before = rated(record, version)
    if not before or any(each.rating is None for each in before):
        return
    place = data.draw(st.sampled_from([None, *range(len(record.get("components", ())))]))
    if place is None:
        other = record | {"pfas": {"status": "above_limit"}, "svhc": {"status": "above_limit"}}
    else:
        line = record["components"][place]
        asked = [name for name in ("colour", "metallised", "additives") if line.get(name) is None]
        if not asked:
            return
        field = data.draw(st.sampled_from(asked))
        value = data.draw(st.sampled_from(values(RAM[version], field, RULES)))
        graph = list(record["components"])
        graph[place] = line | {field: list(value) if isinstance(value, frozenset) else value}
        other = record | {"components": graph}
    assert severity(rated(other, version)) >= severity(before)


@given(RECORDS, st.sampled_from([2026, 2027]))
def test_any_record_has_a_rating_or_says_what_it_lacks(record, year):
    for entry in settling.published_schemes(record, RULES, year):
        names = [rating.name for rating in RAM[entry["version"]].ratings]
        assert entry["rating"] in names or entry["open"]
        for fact in entry["open"]:
            assert fact["could_become"], fact
            assert set(fact["could_become"]) <= set(names) - {entry["rating"]}
            assert fact["ask"] != fact["field"], "a question, not a name"


def test_a_table_that_contradicts_itself_is_refused_whole(tmp_path: Path):
    folder = tmp_path / "some_scheme" / "1"
    folder.mkdir(parents=True)
    for table in (FOLDER / "uk_ram" / "1.1").iterdir():
        text = table.read_text(encoding="utf-8")
        (folder / table.name).write_text(text.replace("WOOD-001,wood,", "WOOD-001,timber,"), encoding="utf-8")
    with pytest.raises(TableError, match=r"some_scheme 1: .*RAM-WOOD-001"):
        read(folder)
