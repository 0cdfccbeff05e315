"""Statements against the law and the plans: none is answered wrongly; and what no wording may change.

`statements.csv` has the statements with their truth: true, false, partly (half-true), open (nothing of ours says).
`supported` is wrong of all but a true one, `contradicted` of all but a false one; undecided is never wrong. `origin`
says who wrote it: the five tables that were here before, `law` (132 from the regulation's text, by others), `own1` to
`own7`, and `attack` to `attack3` (to break the check). Rows whose truth was another before say why in `note`.
`statement_matrix.csv` has the verdicts on sentence patterns with each class and each actor, read by eye once: what it
does not name is undecided. `statement_triples.csv` has sentences in three languages, which have one verdict.
"""

import csv
import re
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compliance.ruleset import load
from compliance.statements import facts
from compliance.statements.answers import Frame, answer, claim_of, vocabulary
from compliance.statements.words import FOLDER, mark_figures
from compliance.tables import rows, words
from tests.compliance.statement_changes import changed, shortened
from tests.drawing import examples
from tests.pace import is_within

TODAY = date(2026, 11, 26)


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()))


CASES = table("statements.csv")
ORIGINS = sorted({(row["origin"], row["corpus"]) for row in CASES})


def verdict(statement: str, lang: str = "en", corpus: str = "regulation") -> str:
    return answer(statement, lang, corpus, TODAY).verdict


def is_wrong(truth: str, verdict: str) -> bool:
    return truth != {"supported": "true", "contradicted": "false"}.get(verdict, truth)


@pytest.mark.parametrize(("origin", "corpus"), ORIGINS)
def test_no_statement_is_answered_wrongly(origin: str, corpus: str):
    """Each statement by itself: the list of the wrong ones is empty."""
    held = [row for row in CASES if (row["origin"], row["corpus"]) == (origin, corpus)]
    found = [(row["truth"], verdict(row["statement"], row["lang"], corpus), row["statement"]) for row in held]
    assert [case for case in found if is_wrong(case[0], case[1])] == []


def test_six_in_ten_are_decided_with_the_right_article_and_quickly():
    """Issue 37: of the decidable, of all those that were not written to break the check; and 20 ms a statement."""
    held = [row for row in CASES if not row["origin"].startswith("attack")]
    begin = process_time()
    answers = [(row, answer(row["statement"], row["lang"], row["corpus"], TODAY)) for row in held]
    assert is_within((process_time() - begin) / len(held), 0.02)
    decidable = [said.verdict != "not_covered" for row, said in answers if row["truth"] in ("true", "false")]
    assert sum(decidable) / len(decidable) >= 0.6
    by_article = [(article, said) for row, said in answers if (article := _article(row)) and row["truth"] != "open"]
    among = [
        any(re.match(rf"{article}\b", own.text) for fact in said.provisions for own in fact.references)
        for article, said in by_article
    ]
    assert len(among) > 500
    assert sum(among) / len(among) >= 0.9


def _article(row: dict[str, str]) -> str | None:
    hit = re.search(r"Art\.? ?(\d+)|^(\d+)(?:\(|$)", row["note"])
    return next(filter(None, hit.groups()), None) if hit and row["corpus"] == "regulation" else None


@pytest.mark.parametrize("statement", ["einwegkunststoffgetrankeflaschen" * 31, "Verpackung " * 90, "10 % " * 200])
def test_the_longest_statement_takes_no_longer(statement: str):
    verdict(statement, "de")  # which reads the tables
    begin = process_time()
    verdict(statement, "de")
    assert is_within(process_time() - begin, 0.02)


def test_the_table_has_what_it_had():
    """Those that several tables have stand once."""
    assert len(CASES) >= 2700
    assert len({(row["statement"], row["corpus"]) for row in CASES}) == len(CASES)
    assert Counter(row["lang"] for row in CASES).keys() == {"en", "fr", "de"}
    assert sum(row["note"].startswith("Relabelled") for row in CASES) == 17


def test_the_truth_matrix_stands_as_it_was_read():
    kinds = {"{c}": ("class", "format"), "{a}": ("actor",)}
    by_slot = {
        slot: [
            words(row["en"])[0]
            for row in rows(FOLDER / "lexicon.csv")
            if row["kind"] in of_slot and row["en"] and row["corpus"] != "service"
        ]
        for slot, of_slot in kinds.items()
    }
    read = defaultdict[str, dict[str, str]](dict)
    for row in table("statement_matrix.csv"):
        read[row["pattern"]] |= dict.fromkeys(words(row["words"]), row["verdict"])
    assert len(read) >= 37
    for pattern, by_word in read.items():
        slot = "{c}" if "{c}" in pattern else "{a}"
        for word in by_slot[slot]:
            said = pattern.replace(slot, word.capitalize() if slot == "{a}" else word)
            said = said[0].upper() + said[1:]
            assert verdict(said) == by_word.get(word, "not_covered"), said


LATER = ("own3", "own4", "attack", "attack2", "attack3")
TRUE = [row for row in CASES if (row["lang"], row["corpus"], row["truth"]) == ("en", "regulation", "true")]


def supported() -> list[str]:
    """Return the true statements whose changes were read: rows of `statement_changes.csv` without a change.

    They are a sample; those of all others are tried by hand when words or facts change.
    """
    return [row["statement"] for row in table("statement_changes.csv") if row["change"] == "none"]


def test_a_changed_statement_is_supported_only_where_it_was_read_as_true():
    """`statement_changes.csv` has what stays supported of all changes, read by eye once.

    Changes are another figure, year, demand or comparison, a quantifier, an added condition, a word left out.
    """
    read = {row["statement"] for row in table("statement_changes.csv")}
    assert [said for said in supported() if verdict(said) != "supported"] == []
    still = [
        change
        for said in supported()
        for change in (*changed(said), *shortened(said))
        if change not in read and verdict(change) == "supported"
    ]
    assert still == []


@pytest.mark.parametrize("doubt", ["In Norway, {}", "Allegedly {}", "{} Ignore all facts."])
def test_a_statement_with_a_word_that_nobody_listed_is_not_judged(doubt: str):
    for said in supported():
        told = answer(doubt.format(said), "en", "regulation", TODAY)
        assert told.verdict == "not_covered", told
        assert told.not_understood or "a national rule" in told.read_as.lower(), "no rule of the Union has a country"


@pytest.mark.parametrize("triple", table("statement_triples.csv"), ids=lambda triple: triple["en"])
def test_a_sentence_has_one_verdict_in_every_language(triple: dict[str, str]):
    verdicts = {lang: verdict(said, lang) for lang, said in triple.items()}
    assert len(set(verdicts.values())) == 1, verdicts


def test_a_denied_statement_has_the_other_verdict():
    assert verdict("It is not true that heavy metals may exceed 100 ppm.") == "supported"
    assert verdict("Es stimmt nicht, dass Schwermetalle 100 mg/kg nicht überschreiten dürfen.", "de") == "contradicted"


@example("@0", "en")
@example("\uff200", "fr")
@given(st.text(max_size=200), st.sampled_from(["en", "fr", "de"]))
@examples(200)
def test_any_text_has_a_verdict(text: str, lang: str):
    told = answer(text, lang, "regulation", TODAY)
    assert told.verdict in ("supported", "contradicted", "not_covered")
    assert told.read_as.endswith(".")


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
        ("by 1 June", "en", 601),
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
        ("Heavy metals may be at most 0.01 %.", "supported"),
        ("Heavy metals may be at most 0.1 %.", "contradicted"),
        ("The technical documentation is described in Annex V.", "not_covered"),
        ("Packaging with 150 ppm of heavy metals is prohibited.", "supported"),
        ("Packaging with 100 ppm of heavy metals is prohibited.", "contradicted"),
        ("Heavy metals above 100 ppm were already prohibited in 2000.", "contradicted"),
        ("Heavy metals above 100 ppm were already prohibited in 2002.", "supported"),
        ("The heavy metal limit is 250 ppm.", "contradicted"),
        ("EPS cups are banned only from 12 February 2029.", "contradicted"),
        ("Only EPS cups are banned since 3 July 2021.", "not_covered"),
        ("Products with a geographical indication are exempt.", "not_covered"),
        ("All PFAS are banned in all packaging.", "contradicted"),
        ("Recyclability grades already apply today.", "contradicted"),
        ("Each PET bottle must contain 25 % recycled content.", "contradicted"),
    ],
)
def test_what_is_compared(statement: str, found: str):
    """Bands, regions beside a limit, one pack, what held on a day, annexes whose names begin alike, `only`, `all`."""
    assert verdict(statement) == found


def test_exceptions_qualify_and_turn_the_answer_round():
    """Decisions §13: supported carries its exceptions, *all* is never supported, the exempt case is contradicted."""
    general = answer("Packaging must be recyclable from 12 August 2026.", "en", "regulation", TODAY)
    assert general.verdict == "supported"
    assert any("dangerous goods" in exemption.sentence for exemption in general.exemptions)
    assert verdict("All packaging must be recyclable from 12 August 2026.") == "not_covered"
    turned = answer("Dangerous goods packaging must be recyclable.", "en", "regulation", TODAY)
    assert turned.verdict == "contradicted"
    assert [exemption.source for exemption in turned.exemptions] == ["Regulation (EU) 2025/40, Article 6(11)(f)"]


def test_provisions_stand_in_every_answer_about_packaging():
    """Three at most, with article and exceptions; also where no word but packaging is understood."""
    for said in ("Verpackungen sind hübsch.", "Packaging should be beautiful.", "The limit was 100 ppm from 1998"):
        assert answer(said, "en", "regulation", TODAY).provisions, said
    told = answer("Food packaging may contain 30 ppb of a single PFAS.", "en", "regulation", TODAY)
    assert len(told.provisions) == 3
    first = told.provisions[0].as_provision()
    assert (first["article"], first["source"]) == ("Article 5(5)(a)", "Regulation (EU) 2025/40, Article 5(5)(a)")
    assert first["dates"] == [{"role": "from", "date": "2026-08-12"}]
    assert any("cosmetics" in exception["sentence"] for exception in first["exceptions"])


def test_the_sentence_that_was_judged_is_told():
    said = "From 2030 at least 40 % of transport packaging must be reusable."
    assert answer(said, "en", "regulation", TODAY).read_as == (
        "Transport packaging, reusable; is required, at least 40 %, from 2030."
    )
    said = "Ohne Mandarinen dürfen Schwermetalle 100 mg/kg nicht überschreiten."
    assert answer(said, "de", "regulation", TODAY).not_understood == ("mandarinen",)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (
            Frame(about=["pfas", "single", "food"], demand="permit", figure="30 ppb", when="in:2027"),
            "contradicted",
        ),
        (
            Frame(about=["Rezyklat", "kontaktsensitiv PP"], demand="oblige", figure="25 %", when="in:2040"),
            "supported",
        ),
        (Frame(about=["label", "e-commerce packaging"], demand="oblige", when="from:2028-08-12"), "supported"),
        (Frame(about=["declaration of conformity", "draw up"], demand="oblige", who="manufacturer"), "supported"),
        (Frame(about=["declaration of conformity", "draw up"], demand="oblige", who="importer"), "contradicted"),
        (Frame(about=["recyclable", "mandarins"], demand="oblige"), "not_covered"),
        (Frame(about=["must be recyclable"]), "not_covered"),
    ],
)
def test_a_claim_is_judged_by_the_same_judge(frame: Frame, found: str):
    claim = claim_of(frame, "en", "regulation")
    assert answer("whatever", "en", "regulation", TODAY, claim).verdict == found


def test_a_claim_on_all_meets_the_exceptions():
    claim = claim_of(
        Frame(about=["recyclable"], demand="oblige", when="from:2026-08-12", every=True), "en", "regulation"
    )
    assert answer("whatever", "en", "regulation", TODAY, claim).verdict == "not_covered"


@pytest.mark.parametrize(("figure", "when"), [("many", None), ("5 bananas", None), (None, "from:2030-13")])
def test_a_claim_with_no_figure_or_day_is_refused(figure: str | None, when: str | None):
    with pytest.raises(ValueError, match="send one such as"):
        claim_of(Frame(about=["recyclable"], figure=figure, when=when), "en", "regulation")


def test_words_that_are_counted_are_our_own():
    """No label of `/metrics` can have more words than our sentences, and none that names a caller."""
    assert {"packaging", "recyclable"} <= vocabulary("regulation")
    assert len(vocabulary("regulation")) < 2000


def test_every_fact_has_its_own_key_and_names_its_source():
    for corpus in ("regulation", "service"):
        held = facts.load(corpus)
        assert len({fact.key for fact in held}) == len(held)
        assert all(fact.source and fact.sentence.endswith(".") for fact in held)
    assert all(fact.source_url for fact in facts.load("regulation"))


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
    """On its own day a ban is never contradicted, on another never supported; more are decided than not."""
    days = {ban.applies_from for ban in load().bans}
    decided = Counter[bool]()
    for ban in load().bans:
        for day in days:
            found = verdict(f"{BANNED[ban.code]} are banned from {day.isoformat()}.")
            decided[found != "not_covered"] += 1
            assert found != ("contradicted" if day == ban.applies_from else "supported"), (ban.code, day)
        found = verdict(f"{BANNED[ban.code]} are already banned today.")
        assert found != ("contradicted" if ban.applies_from <= TODAY else "supported"), ban.code
    assert decided[True] > decided[False]
