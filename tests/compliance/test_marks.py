"""What is printed on a pack, by hand; each row with the article that decides, read from (EU) 2025/40."""

from datetime import date

import pytest

from compliance import marks
from compliance.marks import Facts, asks, judge_claim, judge_mark, labels, said, state_of, timing
from compliance.tables import RULES, rows, words
from schemas.words import fold

DAY = date(2026, 11, 28)


def mark(text, carrier="printed", *, of_epr=None):
    return {"mark": text, "carrier": carrier, "of_epr": of_epr}


def printed(*texts, claims=(), changes_on=None):
    of_texts = [text if isinstance(text, dict) else mark(text) for text in texts]
    return {"marks": of_texts, "claims": list(claims), "changes_on": changes_on}


def claim(**answers):
    return {"text": "C", "property": "recycled_content", "about": "unit", "exceeds": True, "proof_id": "P"} | answers


WORKED = [
    # what is printed -> key, answer, reason, article
    (mark("Green Dot"), "green_dot", "change", "epr", "12(9)"),
    (mark("DER GRÜNE  PUNKT"), "green_dot", "change", "epr", "12(9)"),
    (mark("Zelený bod"), "green_dot", "change", "epr", "12(9)"),
    (mark("Point Vert", "digital"), "green_dot", "clear", "digital", "12(9)"),
    (mark("Green Dot", of_epr=False), "green_dot", "change", "epr", "12(9)"),  # the table knows it
    (mark("Triman"), "triman", "clear", "sorting", "12(9)"),
    (mark("Triman", of_epr=True), "triman", "clear", "sorting", "12(9)"),
    (mark("Info-Tri"), "info_tri", "clear", "sorting", "12(9)"),
    (mark("Tidyman"), "tidyman", "clear", "disposal", "12(9)"),
    (mark("PAP 21"), "material_code", "clear", "material", "12(9)"),
    (mark("C/PAP 84"), "material_code", "clear", "material", "12(9)"),
    (mark("1 PET"), "material_code", "clear", "material", "12(9)"),
    (mark("DPG-Logo"), "deposit", "clear", "deposit", "12(1), 12(10)"),
    (mark("Statiegeld"), "deposit", "clear", "deposit", "12(1), 12(10)"),
    (mark("FSC Mix"), "fsc", "clear", "other", "12(9)"),
    (mark("Möbiusschleife"), "mobius", "clear", "recycling", "12(9)"),
    (mark("Interseroh"), "scheme_logo", "depends", "depends", "12(9)"),
    (mark("Interseroh", of_epr=True), "scheme_logo", "change", "epr", "12(9)"),
    (mark("Interseroh", "digital", of_epr=True), "scheme_logo", "clear", "digital", "12(9)"),
    (mark("RESY", of_epr=False), "resy", "clear", "other", "12(9)"),
    (mark("LUCID number"), "epr_number", "depends", "depends", "12(9)"),
    (mark("Sun over a pine"), None, "depends", "unknown", "12(9)"),
    (mark("Sun over a pine", of_epr=True), None, "change", "epr", "12(9)"),
    (mark("Sun over a pine", of_epr=False), None, "clear", "other", "12(9)"),
]


@pytest.mark.parametrize("row", WORKED, ids=lambda row: str(row[0]))
def test_a_mark(row):
    of_row, key, answer, reason, article = row
    judged = judge_mark(of_row)
    assert (judged.key, judged.answer, judged.reason) == (key, answer, reason)
    assert said(judged.reason, "en")["reference"] == f"Regulation (EU) 2025/40, Article {article}"


def test_only_a_printed_mark_of_responsibility_ends_in_the_union_and_nothing_is_assumed():
    green, doubtful, allowed = printed("Green Dot", "Triman"), printed("Triman", "Pine"), printed("Pfand", "Tidyman")
    for what, states in (  # in the Union, no market known, outside it
        (green, ("change", "depends", "outside")),
        (doubtful, ("depends", "depends", "outside")),
        (printed("Pine", "Green Dot"), ("change", "depends", "outside")),
        (allowed, ("clear", "clear", "outside")),
        (printed(), ("clear", "clear", "outside")),  # somebody looked: nothing is printed
        (printed() | {"marks": None}, ("not_recorded", "not_recorded", "outside")),
        (None, ("not_recorded", "not_recorded", "outside")),
    ):
        assert tuple(state_of(what, in_union=union) for union in (True, None, False)) == states
    for what, union, questions in ((green, None, ["ask.markets"]), (green, True, []), (allowed, None, [])):
        assert asks(state_of(what, in_union=union), in_union=union) == questions
    assert asks(state_of(None, in_union=None), in_union=None) == ["ask.marks"]


@pytest.mark.parametrize(
    ("changes_on", "day", "is_timed"),
    [
        (None, "2026-11-28", "open"),
        ("2027-01-15", "2026-11-28", "in_time"),
        ("2027-02-12", "2027-02-11", "in_time"),  # the first pack without it is of the day itself
        ("2027-02-13", "2026-11-28", "late"),
        (None, "2027-02-12", "late"),
        ("2027-01-15", "2027-02-12", "late"),  # it was planned, and the mark is still recorded
    ],
)
def test_the_artwork_is_in_time_by_its_day(changes_on, day, is_timed):
    assert timing(printed("Green Dot", changes_on=changes_on), date.fromisoformat(day)) == is_timed


def test_the_deadline_and_the_days_of_labels_are_those_of_the_limits():
    limits = {row["code"]: row["applies_from"] for row in rows(RULES / "2026-11-26" / "limits.csv")}
    assert marks.deadline() == limits["label_epr_symbol"] == "2027-02-12"
    for key, code in (
        ("material.needed", "label_material"),
        ("reusable.needed", "label_reusable"),
        ("recycled.needed", "label_recycled_claim"),
        ("deposit.depends", "label_drs"),
        ("claim.breach", "claims"),
    ):
        assert said(key, "en")["applies_from"] == limits[code], key


SALES = Facts("sales", reusable=False, reuse_deposit_system=False, packaging_format="jar", use_contexts=("food",))
BOTTLE = SALES._replace(packaging_format="bottle", use_contexts=("beverage",))
LABELS = [
    # what it is, what is printed, facts -> label: answer
    ("a jar", printed(), SALES, {"material": "needed"}),
    ("nothing recorded as printed", None, SALES, {"material": "needed"}),
    ("transport packaging", printed(), SALES._replace(packaging_level="transport"), {}),
    ("transport packaging of which nobody says it", printed(),  # 12(2) asks a label of reusable transport packaging too
     SALES._replace(packaging_level="transport", reusable=None), {"reusable": "depends"}),
    ("of e-commerce", printed(), SALES._replace(packaging_level="e_commerce"), {"material": "needed"}),
    ("of e-commerce, with deposit", printed("Pfand"), SALES._replace(packaging_level="e_commerce",
     reuse_deposit_system=True), {"material": "needed"}),
    ("no level", printed(), SALES._replace(packaging_level=None), {"material": "depends"}),
    ("no level, with deposit", printed("Pfand"), SALES._replace(packaging_level=None), {"material": "depends"}),
    ("a deposit mark", printed("Pfand"), BOTTLE._replace(reuse_deposit_system=None), {}),
    ("deposit without its mark", printed(), BOTTLE._replace(reuse_deposit_system=True), {"deposit": "depends"}),
    ("a bottle of which nobody says it", printed(), BOTTLE._replace(reuse_deposit_system=None),
     {"material": "depends"}),
    ("reusable, with deposit", printed(), BOTTLE._replace(reusable=True, reuse_deposit_system=True),
     {"reusable": "needed"}),
    ("it says its recycled content", printed(claims=[claim()]), SALES, {"material": "needed", "recycled": "needed"}),
    ("by a symbol", printed("Möbius loop with percentage"), SALES, {"material": "needed", "recycled": "needed"}),
    ("it says biobased", printed(claims=[claim(property="biobased")]), SALES,
     {"material": "needed", "biobased": "needed"}),
    ("Triman", printed("Triman"), SALES, {"material": "needed", "replaced": "depends"}),
    ("Triman by its record", printed(), SALES._replace(sorting_label_scheme="triman_fr"),
     {"material": "needed", "replaced": "depends"}),
    ("a material code by its record", None, SALES._replace(material_marking_applied=True),
     {"material": "needed", "replaced": "depends"}),
]  # fmt: skip


@pytest.mark.parametrize("row", LABELS, ids=lambda row: row[0])
def test_labels_that_come(row):
    _, what, facts, answers = row
    assert {label.label: label.answer for label in labels(what, facts)} == answers


def test_a_missing_fact_is_named():
    [label] = labels(None, SALES._replace(packaging_level=None))
    assert label.field == "packaging_level"
    [label] = labels(None, BOTTLE._replace(reuse_deposit_system=None))
    assert label.field == "reuse_deposit_system"
    [label] = labels(None, SALES._replace(packaging_format="tea bag"))  # 12(1) of packaging of Article 9(1)
    assert label.reason == "material.compostable"
    [label] = labels(None, SALES._replace(use_contexts=("pharmaceutical",)))
    assert (label.answer, said(label.reason, "en")["reference"][-7:]) == ("needed", " 12(11)")  # spared without space


@pytest.mark.parametrize(
    ("answers", "state", "reasons"),
    [
        ({}, "met", ["met"]),
        ({"exceeds": False}, "breach", ["breach"]),
        ({"exceeds": None}, "open", ["exceeds"]),
        ({"property": None, "exceeds": None}, "open", ["property", "exceeds"]),
        ({"about": None}, "missing", ["about"]),
        ({"proof_id": None}, "missing", ["proof"]),
        ({"exceeds": None, "about": None, "proof_id": None}, "missing", ["exceeds", "about", "proof"]),
        ({"property": "other", "proof_id": None}, "not_covered", ["not_covered"]),
    ],
)
def test_a_claim(answers, state, reasons):
    assert judge_claim(claim(**answers)) == (state, [f"claim.{reason}" for reason in reasons])
    assert state in marks.CLAIMS


def test_every_text_is_in_each_language_with_its_article_and_no_name_means_two_marks():
    sentences = rows(marks.FOLDER / "sentences.csv")
    assert all(row[name] for row in sentences for name in ("key", "article", "en", "fr", "de"))
    table = rows(marks.FOLDER / "marks.csv")
    assert all(row[name] for row in table for name in ("key", "kind", "names", "en", "fr", "de"))
    assert {row["kind"] for row in table} <= {row["key"] for row in sentences}
    names = [(fold(name), row["key"]) for row in table for name in words(row["names"])]
    assert len(dict(names)) == len({name for name, _ in set(names)}) == len(set(names))
    assert [row["key"] for row in table if row["kind"] == "epr"] == ["green_dot"]
