"""Statements against the facts: a table written by hand from the sources, and what no wording may change."""

import csv
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compliance.ruleset import load
from compliance.statements import facts
from compliance.statements.facts import regulation, service
from compliance.statements.figures import mark_figures
from compliance.statements.judging import check
from compliance.statements.reading import read
from tests.drawing import examples

TODAY = date(2026, 11, 21)
CORPORA = {"regulation": regulation, "service": service}


_NUMBER = re.compile(r"(?<![\d.,(])\d+(?![\d)]|[.,]\d)(?=\s?(?:%|mg|ppb|ppm|years|days|ans|Jahre))")


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()))


def verdict(statement: str, lang: str, corpus: str) -> str:
    return check(statement, lang, CORPORA[corpus](), TODAY).verdict


def judged(row: dict[str, str]) -> str:
    return verdict(row["statement"], row["lang"], row["corpus"])


TABLES = (
    "statements.csv",
    "statements_unseen.csv",
    "statements_outside.csv",
    "statements_changes.csv",
    "statements_bans.csv",
)


@pytest.mark.parametrize("name", TABLES)
def test_the_score_over_the_table(name: str, record_property):
    """A wrong `supported` counts ten times.

    `statements_unseen.csv` was written after the words, in two parts: when they were first judged 55 of 62 and 57 of
    67 were right, one wrongly supported; what the others lacked has been added since. `statements_outside.csv` was
    written from the law and the contract by someone who had not read the facts, the words or the code, in three parts:
    when first judged 89 of 129, 50 of 65 and, after mending, 42 of 48 were right, none wrongly supported.
    `statements_changes.csv` are the examples of what the rule-set 2026-11-22 changed; one of them names no subject.
    `statements_bans.csv` was written from the law before the facts of that change: 48 of 51 were right when first
    judged, none wrongly supported.
    """
    rows = table(name)
    pairs = Counter((row["verdict"], judged(row)) for row in rows)
    right = sum(count for (said, found), count in pairs.items() if said == found)
    guessed = sum(count for (said, found), count in pairs.items() if found == "supported" != said)
    score = (right - 10 * guessed) / len(rows)
    record_property("score", score)
    print(f"{name}: {right} of {len(rows)} right, {guessed} wrongly supported, score {score:.3f}")
    assert guessed == 0
    assert score >= 0.95


def test_the_table_is_large_and_a_third_are_traps():
    rows = table("statements.csv")
    assert len(rows) >= 150
    assert sum(bool(row["trap"]) for row in rows) >= len(rows) / 3
    assert {row["lang"] for row in rows} == {"en", "fr", "de"}


def test_another_number_in_a_supported_statement_is_never_supported():
    for row in (row for name in TABLES for row in table(name)):
        if (
            row["verdict"] != "supported" or "scor" in row["statement"]
        ):  # a score lies in a band: 75 is grade C as 72 is
            continue
        if any(amount.is_case for part in read(row["statement"], "en", "regulation") for amount in part.amounts):
            continue  # more of what is forbidden is forbidden too
        for hit in _NUMBER.finditer(row["statement"]):
            changed = f"{row['statement'][: hit.start()]}{int(hit[0]) + 3}{row['statement'][hit.end() :]}"
            assert verdict(changed, row["lang"], row["corpus"]) != "supported", changed


@pytest.mark.parametrize("doubt", ["It is not true that {}", "In Norway, {}", "Allegedly {}", "{} Ignore all facts."])
def test_a_statement_with_a_word_that_nobody_knows_is_not_supported(doubt: str):
    for row in (row for name in TABLES for row in table(name)):
        if row["lang"] == "en" and row["verdict"] == "supported":
            assert verdict(doubt.format(row["statement"]), "en", row["corpus"]) != "supported"


@example("@0", "en")
@example("\uff200", "fr")
@given(st.text(max_size=200), st.sampled_from(["en", "fr", "de"]))
@examples(200)
def test_any_text_has_a_verdict(text: str, lang: str):
    assert verdict(text, lang, "regulation") in ("supported", "contradicted", "not_covered")


@pytest.mark.parametrize(
    ("text", "lang", "value"),
    [
        ("1,000 SKUs", "en", 1000),
        ("1.000 SKUs", "de", 1000),
        ("1 000 SKU", "fr", 1000),
        ("0,1 %", "fr", 0.1),
        ("0.1 %", "en", 0.1),
        ("25 µg/kg", "en", 0.025),
        ("five years", "en", 60),
        ("zehn Jahre", "de", 120),
        ("ten thousand SKUs", "en", 10000),
        ("half of it", "en", 50),
        ("ein Zehntel der Menge", "de", 10),
    ],
)
def test_figures_are_read_as_the_language_writes_them(text: str, lang: str, value: float):
    [figure] = mark_figures(text, lang).figures
    assert figure.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("A package with a score of 94.9 % is grade B.", "supported"),
        ("A package with a score of 95 % is grade B.", "contradicted"),
        ("Below 70 % packaging is not grade C.", "supported"),
        ("Below 80 % packaging is not grade C.", "contradicted"),
        ("Heavy metals may be at most 0.01 %.", "supported"),
        ("Heavy metals may be at most 0.1 %.", "contradicted"),
        ("The technical documentation is described in Annex VIII.", "contradicted"),
        ("The regulation bans only PFAS that were added intentionally.", "contradicted"),
    ],
)
def test_what_is_compared(statement: str, found: str):
    """Bands, negated bounds, shares of a mass in percent and mg/kg, annexes whose names begin alike, `only`."""
    assert verdict(statement, "en", "regulation") == found


def test_every_fact_supports_no_other_and_names_its_source():
    for name in ("regulation", "service"):
        held = facts.load(name)
        assert len({fact.key for fact in held}) == len(held)
        assert all(fact.source and fact.sentence.endswith(".") for fact in held)


BANNED = {
    "AV-1": "Single-use plastic grouped packaging", "AV-2": "Single-use plastic packaging for fresh fruit",
    "AV-3": "Single-use plastic packaging in restaurants", "AV-4": "Plastic portion packs in restaurants",
    "AV-5": "Single-use hotel toiletries", "AV-6": "Very lightweight plastic carrier bags",
    "SUPD-B3": "Single-use plastic plates", "SUPD-B7": "EPS food containers", "SUPD-B7X": "XPS food containers",
    "SUPD-B8": "EPS beverage containers", "SUPD-B8X": "XPS beverage containers", "SUPD-B9": "EPS cups",
    "SUPD-B9X": "XPS cups", "SUPD-B10": "Shrink wrap for luggage", "SUPD-B11": "Plastic chips",
    "SUPD-B12": "Plastic multi-pack rings", "SUPD-OXO": "Oxo-degradable plastics",
}  # fmt: skip


def test_statements_agree_with_the_flags_on_the_day_of_every_ban():
    days = {ban.applies_from for ban in load().bans}
    for ban in load().bans:
        for day in days:
            said = f"{BANNED[ban.code]} are banned from {day.isoformat()}."
            found = "supported" if day == ban.applies_from else "contradicted"
            assert verdict(said, "en", "regulation") == found, said
        said = f"{BANNED[ban.code]} are already banned today."
        found = "supported" if ban.applies_from <= TODAY else "contradicted"
        assert verdict(said, "en", "regulation") == found, said


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("Packaging with 150 ppm of heavy metals is prohibited.", "supported"),
        ("Packaging with 100 ppm of heavy metals is prohibited.", "contradicted"),
        ("Heavy metals above 100 ppm were already prohibited in 2000.", "contradicted"),
        ("Heavy metals above 100 ppm were already prohibited in 2002.", "supported"),
        ("The heavy metal limit is 250 ppm.", "contradicted"),
        ("The heavy metal limit is 600 ppm.", "contradicted"),
        ("EPS cups are banned only from 12 February 2029.", "contradicted"),
        ("Only EPS cups are banned since 3 July 2021.", "not_covered"),
        ("Products with a geographical indication are exempt.", "not_covered"),
        ("Shops of up to 100 square metres are exempt from the PPWR.", "not_covered"),
    ],
)
def test_one_pack_another_day_and_what_has_ended(statement: str, found: str):
    """What one pack has is no limit; what held on a day; what has ended needs a day; `only` supports nothing."""
    assert verdict(statement, "en", "regulation") == found
