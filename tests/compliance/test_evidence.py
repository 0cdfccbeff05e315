"""Which articles concern a pack and what is shown of it, by hand; each read from Regulation (EU) 2025/40."""

import re
from datetime import date

import pytest

from compliance import evidence
from compliance.evidence import Facts, by_article, file_state, judge
from compliance.tables import RULES, rows
from schemas.files import ARTICLES, EVIDENCE_STATES
from schemas.vocabularies import TYPES

DAY = date(2026, 11, 28)
JAR = Facts(food_contact=True, reusable=False, reuse_deposit_system=False, packaging_level="sales",
            packaging_format="jar", use_contexts=("food",), material="glass", plastic="no")  # fmt: skip
PACKS = {
    # what it is: its facts, what is not plain `missing` or `later`, by article; and why
    "a glass jar of jam": (JAR, {
        5: "missing",  # 5(4), and 5(5) as it touches food; both since 12 August 2026
        6: "later",  # 6(2)(a) and 6(3) from 1 January 2030
        7: "not_concerned",  # 7(1): plastic parts
        8: "not_concerned",  # 8(1): the Commission reviews
        9: "not_concerned",  # 9(1): none of its formats
        10: "later",  # 10(1) by 1 January 2030
        11: "not_concerned",  # 11(1): not reusable
        12: "later",  # 12(1) from 12 August 2028
    }),
    "a PET bottle, of whose deposit nothing is said": (
        JAR._replace(packaging_format="bottle", use_contexts=("beverage",), material="plastic", plastic="yes",
                     reuse_deposit_system=None),
        {5: "missing", 6: "later", 7: "later", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "not_concerned", 12: "open"},  # 12(1): no label under a deposit and return system
    ),
    "a pallet box of wood, in a pool": (
        Facts(food_contact=False, reusable=True, reuse_deposit_system=True, packaging_level="transport",
              packaging_format="crate", use_contexts=("industrial",), material="wood", plastic="no"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "missing", 12: "later"},  # 6(11)(g) is of sales packaging; 11(3); 12(2)
    ),
    "a pallet of wood of which nobody says that it is for re-use": (
        Facts(food_contact=False, packaging_level="transport", packaging_format="pallet", use_contexts=("industrial",),
              material="wood", plastic="no"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "open", 12: "open"},  # 12(2) asks a label of reusable transport packaging
    ),
    "a tea bag of paper": (
        JAR._replace(packaging_format="tea bag", use_contexts=("beverage",), material="paper"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "later", 10: "later",
         11: "not_concerned", 12: "later"},  # 9(1) by 12 February 2028
    ),
    "a capsule of aluminium": (
        JAR._replace(packaging_format="capsule", material="metal"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "not_concerned", 12: "later"},  # 9(2)(a): of material other than metal
    ),
    "a capsule of plastic": (
        JAR._replace(packaging_format="capsule", material="plastic", plastic="yes"),
        {5: "missing", 6: "later", 7: "later", 8: "not_concerned", 9: "open", 10: "later",
         11: "not_concerned", 12: "later"},  # 9(2): where a Member State requires it
    ),
    "a carrier bag of paper": (
        JAR._replace(packaging_format="carrier bag", material="paper"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "not_concerned", 12: "later"},  # 9(2)(a): plastic carrier bags
    ),
    "a bag for a beverage": (
        JAR._replace(packaging_format="bag", use_contexts=("beverage",), material="paper"),
        {5: "missing", 6: "later", 7: "not_concerned", 8: "not_concerned", 9: "open", 10: "later",
         11: "not_concerned", 12: "later"},  # 9(1), 3(1)(1)(f): where it is permeable
    ),
    "a blister of tablets": (
        JAR._replace(food_contact=False, packaging_format="blister", use_contexts=("pharmaceutical",),
                     material="plastic", plastic="yes"),
        {5: "missing", 6: "open", 7: "open", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "not_concerned", 12: "later"},  # 6(11)(a) and 7(4)(a): immediate packaging of a medicinal product
    ),
    "a box of thin wood with a plastic window of 2 %": (
        JAR._replace(packaging_format="box", material="wood", plastic="small"),
        {5: "missing", 6: "open", 7: "not_concerned", 8: "not_concerned", 9: "not_concerned", 10: "later",
         11: "not_concerned", 12: "later"},  # 6(11)(g); 7(5)(b)
    ),
    "a pack of which only the code is known": (
        Facts(place="unknown"),
        {5: "missing", 6: "later", 7: "open", 8: "not_concerned", 9: "open", 10: "later", 11: "open", 12: "open"},
    ),
    "the jar, sold in Great Britain alone": (
        JAR._replace(place="out"), dict.fromkeys(ARTICLES, "not_concerned"),  # 4(1)
    ),
}  # fmt: skip
REASONS = {
    "a glass jar of jam": {"recycled": "no.plastic", "biobased": "no.biobased", "compostability": "no.compostability",
                           "reuse": "no.reuse"},
    "a PET bottle, of whose deposit nothing is said": {"labels": "ask.material.deposit"},
    "a pallet box of wood, in a pool": {"pfas": "no.food", "recycled": "no.plastic"},
    "a pallet of wood of which nobody says that it is for re-use": {"reuse": "ask.reuse", "labels": "ask.reuse"},
    "a capsule of aluminium": {"compostability": "no.states"},
    "a capsule of plastic": {"compostability": "ask.states"},
    "a carrier bag of paper": {"compostability": "no.states"},
    "a bag for a beverage": {"compostability": "ask.beverage_bag"},
    "a blister of tablets": {"recyclability": "ask.medicinal", "recycled": "ask.recycled_medicinal"},
    "a box of thin wood with a plastic window of 2 %": {"recyclability": "ask.lightweight", "recycled": "no.small"},
    "a pack of which only the code is known": {
        "pfas": "ask.food", "recycled": "ask.plastic", "compostability": "ask.format", "reuse": "ask.reuse",
        "labels": "ask.material.level"},
}  # fmt: skip


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack(pack):
    facts, states = PACKS[pack]
    judged = judge(facts, {}, DAY)
    assert by_article(judged) == states
    reasons = {need.key: need.reason for need in judged}
    for key, reason in REASONS.get(pack, {}).items():
        assert reasons[key] == reason


@pytest.mark.parametrize(
    ("held", "state"),
    [
        ({"metals": "held", "pfas": "held"}, "held"),
        ({"metals": "held"}, "missing"),
        ({"metals": "held", "pfas": "ends"}, "ends"),
        ({"metals": "ended", "pfas": "held"}, "ended"),
        ({"metals": "partial", "pfas": "held"}, "partial"),
    ],
)
def test_an_article_is_as_the_worst_of_what_it_asks(held, state):
    assert by_article(judge(JAR, held, DAY))[5] == state


def test_evidence_that_is_held_before_its_day_counts_and_what_is_asked_stays_asked_without_it():
    assert by_article(judge(JAR, {"recyclability": "held"}, DAY))[6] == "held"
    pharma = PACKS["a blister of tablets"][0]
    assert by_article(judge(pharma, {"recyclability": "ended"}, DAY))[6] == "open"
    assert by_article(judge(pharma, {"recyclability": "ends"}, DAY))[6] == "ends"
    assert by_article(judge(JAR, {"reuse": "held"}, DAY))[11] == "not_concerned"  # a file of an article of none


@pytest.mark.parametrize(
    ("day", "article", "state"),
    [
        ("2029-12-31", 6, "later"),
        ("2030-01-01", 6, "missing"),
        ("2028-08-11", 12, "later"),
        ("2028-08-12", 12, "missing"),
    ],
)
def test_what_is_asked_later_is_missing_from_its_day(day, article, state):
    assert by_article(judge(JAR, {}, date.fromisoformat(day)))[article] == state


@pytest.mark.parametrize(
    ("expires_on", "state"),
    [(None, "valid"), ("2027-01-28", "valid"), ("2027-01-27", "ends"), ("2026-11-28", "ends"), ("2026-11-27", "ended")],
)
def test_a_file_ends_within_sixty_days_and_its_last_day_is_valid(expires_on, state):
    assert file_state(expires_on, DAY) == state


def test_a_deciding_exemption_is_asked_with_the_field_that_answers_it():
    dangerous = judge(JAR._replace(use_contexts=("dangerous_goods",), plastic="yes"), {}, DAY)
    assert {need.key: need.reason for need in dangerous if need.state == "open"} == {
        "recyclability": "ask.dangerous", "recycled": "ask.recycled_dangerous"}  # fmt: skip
    transported = JAR._replace(use_contexts=("dangerous_goods",), packaging_level="transport", plastic="yes")
    reasons = {need.key: need.reason for need in judge(transported, {}, DAY)}  # as its grade and its averages have it
    assert (reasons["recyclability"], reasons["recycled"]) == ("no.dangerous", "no.recycled_dangerous")
    compostable = judge(JAR._replace(packaging_format="tea bag", plastic="yes"), {}, DAY)
    assert {need.reason for need in compostable if need.state == "open"} == {"ask.compostable"}  # 7(4)(e)
    assert evidence.why("ask.food", "en")["field"] == "food_contact"
    assert evidence.why("", "en") == {"reason": None, "field": None}


@pytest.mark.parametrize(("need", "exemption"), [("recyclability", "6(11)(e)"), ("recycled", "7(4)(g)")])
def test_an_exemption_that_no_field_can_decide_is_said(need, exemption):
    assert all(exemption in (evidence.said(need, lang)["sentence"] or "") for lang in ("en", "fr", "de"))


def test_the_days_are_those_of_the_limits():
    limits = {row["code"]: row["applies_from"] for row in rows(RULES / "2026-11-26" / "limits.csv")}
    for need, code in (
        ("metals", "heavy_metals_sum"),
        ("pfas", "pfas_sum"),
        ("recycled", "rc_rest_2030"),
        ("compostability", "compostable"),
        ("minimisation", "minimisation"),
        ("labels", "label_material"),
    ):
        assert evidence.said(need, "en")["applies_from"] == limits[code], need


def test_each_type_of_file_has_one_row_and_shows_the_article_that_its_own_source_names():
    assert tuple(evidence.types()) == tuple(TYPES)
    own = {row["code"]: row["source"] for row in rows(RULES.parents[1] / "schemas" / "technical_file_types.csv")}
    for code, row in evidence.types().items():
        of_regulation = own[code].partition("2025/40")[2]
        named = {int(number) for number in re.findall(r"Articles? (\d+)", of_regulation)}
        if row["need"]:
            assert int(evidence.needs()[row["need"]]["article"]) in named, code
        else:
            assert not named & set(ARTICLES), code
        assert bool(row["alone"]) <= bool(row["need"])
        assert row["source"]
    shown = {row["need"] for row in evidence.types().values()} - {""}
    assert set(evidence.needs()) - shown == {"biobased", "labels"}


def test_every_text_is_in_each_language_with_its_source_and_every_answer_is_used():
    for name in ("needs", "answers"):
        for row in rows(evidence.FOLDER / f"{name}.csv"):
            assert all(row[column] for column in ("key", "source", "en", "fr", "de")), row["key"]
    table = rows(evidence.FOLDER / "answers.csv")
    assert {row["answer"] for row in table} == {"no", "ask"}
    assert all(row["key"].startswith(f"{row['answer']}.") for row in table)
    facts = [JAR._replace(**change) for change in (
        {"place": "out"}, {"food_contact": False}, {"food_contact": None}, {"reusable": None}, {"reusable": True},
        *({"use_contexts": (context,), "plastic": "yes"} for context in ("pharmaceutical", "dangerous_goods")),
        {"use_contexts": ("dangerous_goods",), "packaging_level": "transport", "plastic": "yes"},
        {"material": "wood"}, {"plastic": "small"}, {"plastic": "unknown"}, {"plastic": "unweighed"},
        {"packaging_format": "tea bag", "plastic": "yes"}, {"packaging_format": None}, {"packaging_format": "capsule"},
        {"packaging_format": "capsule", "material": "metal"},
        {"packaging_format": "bag", "use_contexts": ("beverage",)},
        {"packaging_level": None}, {"packaging_level": "transport"},
        {"packaging_format": "bottle", "use_contexts": ("beverage",), "reuse_deposit_system": None},
    )]  # fmt: skip
    used = {need.reason for one in facts for need in judge(one, {}, DAY)} - {""}
    assert used == {row["key"] for row in table}
    assert (evidence.articles(), evidence.STATES) == (list(ARTICLES), EVIDENCE_STATES)
