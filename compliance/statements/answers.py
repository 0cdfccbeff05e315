"""Answers a statement: verdict, the sentence that was judged, exceptions, what was not understood, provisions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from math import log
from typing import Annotated, Final, Literal, LiteralString, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from compliance.statements.claims import Amount, Claim, Moment, read
from compliance.statements.facts import Exemption, Fact, amount, load, published
from compliance.statements.judging import Verdict, is_part_of, judge
from compliance.statements.words import FOLDER, CorpusName, Day, Lang, Reference, fold, kinds, within
from compliance.tables import rows, words

PROVISIONS: Final = 3
"""How many provisions stand in an answer (decisions §13)."""
Demand = Literal["forbid", "oblige", "permit", "exempt", "holds", "endeavour", "isnot"]
Who = Literal[
    "commission", "manufacturer", "supplier", "importer", "distributor", "final_distributor", "takeaway_business",
    "producer", "auth_rep", "fulfilment", "platform", "member_state",
]  # fmt: skip
ROLES: Final = ("from", "by", "in", "until", "before", "after")
"""What the day of a frame can be to its rule."""
_DEMANDS: Final[dict[str | None, str]] = {
    "forbid": "is prohibited",
    "oblige": "is required",
    "permit": "is allowed",
    "exempt": "is exempt",
    "holds": "applies",
    "endeavour": "is to be striven for",
    "isnot": "is not so",
    None: "is so",
}
_SIGNS: Final = {">=": "at least ", ">": "more than ", "<=": "at most ", "<": "less than "}
_ROLES: Final = {"": "on", "bis": "until or by", "latest": "at the latest by", "from_only": "only from"}
_MARKS: Final = {
    "all": "all",
    "each": "each",
    "only": "only",
    "all_packaging": "packaging",
    "all_operator": "operators",
    "now": "now",
    "no_exception": "without exception",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement is answered with."""

    verdict: Verdict
    read_as: str
    """The sentence that was judged, in our words."""
    exemptions: tuple[Exemption, ...]
    """What limits the verdict."""
    not_understood: tuple[str, ...]
    """The words that kept a verdict back."""
    deciding: tuple[Fact, ...]
    provisions: tuple[Fact, ...]


def answer(statement: str, lang: Lang, corpus: CorpusName, today: date, claim: Claim | None = None) -> Answer:
    """Answer a statement on a UTC day by its words, or by the claim into which its sender has put it."""
    claims, denied = ([claim], False) if claim else read(statement, lang, corpus)
    judgement = judge(claims, corpus, today, denied=denied)
    deciding = {comparison.fact.sentence: comparison.fact for comparison in judgement.comparisons}
    provisions = {fact.sentence: fact for fact in (*deciding.values(), *nearest(statement, claims, corpus))}
    return Answer(
        verdict=judgement.verdict,
        read_as=("It is not so: " if denied else "") + " ".join(map(sentence, claims)),
        exemptions=published(exemption for comparison in judgement.comparisons for exemption in comparison.exemptions),
        not_understood=tuple(dict.fromkeys(word for part in claims for word in part.unlisted)),
        deciding=tuple(deciding.values()),
        provisions=tuple(provisions.values())[:PROVISIONS],
    )


def sentence(claim: Claim) -> str:
    """Return what a claim says as a sentence, so that its sender sees whether it is what was meant."""
    names = sorted(claim.about, key=lambda name: claim.about[name])
    about = [f"only {_labels()[name]}" if name == claim.only else _labels()[name] for name in names]
    reach = [text for mark, text in _MARKS.items() if mark in claim.marks and not (mark == "only" and claim.only)]
    figures = [f"{_SIGNS.get(amount.operator, '')}{amount.quantity.written}" for amount in claim.amounts]
    dates = [f"{_ROLES.get(moment.role, moment.role)} {moment.day}" for moment in claim.moments]
    cited = [f"{reference.kind} {reference.text.upper()}" for reference in claim.references if reference.kind != "act"]
    said = "; ".join(
        [", ".join([*reach, *about]) or "it", ", ".join([_DEMANDS[claim.demand], *figures, *dates, *cited])]
    )
    left = f" (not judged: {claim.unclear})" if claim.unclear else ""
    return f"{said[:1].upper()}{said[1:]}{left}."


def _amount(figure: str) -> Amount:
    return amount(fold(figure))


def _moment(when: str) -> Moment:
    role, _, day = when.partition(":")
    moment = Moment(Day(*map(int, day.split("-"))), role)
    moment.day.first.isoformat()  # which a day that no calendar has cannot be
    return moment


def _parsed_by(parse: Callable[[str], object], sentence: LiteralString) -> AfterValidator:
    """Return a validator that refuses a text that cannot be parsed."""

    def check(sent: str) -> str:
        try:
            parse(sent)
        except (ValueError, KeyError, TypeError):
            raise PydanticCustomError("invalid_format", sentence, {"sent": sent}) from None
        return sent

    return AfterValidator(check)


class Frame(BaseModel):
    """What a statement says, put into a frame by its sender."""

    model_config = ConfigDict(extra="forbid")

    about: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=80)]],
        Field(description="Nouns and qualities: shipping carton, reusable.", max_length=12),
    ]
    demand: Annotated[Demand | None, Field(description="holds: the rule applies; isnot: it is not so.")] = None
    figure: Annotated[
        Annotated[str, _parsed_by(_amount, "{sent} is no figure; send one such as >=30 %, 25 ppb or 5 years.")] | None,
        Field(description="Such as >=30 %, 25 ppb.", max_length=60),
    ] = None
    when: Annotated[
        Annotated[str, _parsed_by(_moment, "{sent} is no day; send one such as from:2030, by:2028-02-12.")] | None,
        Field(description="Such as from:2030.", pattern=f"^({'|'.join(ROLES)}):[0-9]{{4}}", max_length=20),
    ] = None
    every: Annotated[bool, Field(description="It says so of all of them.")] = False
    who: Annotated[Who | None, Field(description="Who is bound.")] = None


def claim_of(frame: Frame, lang: Lang, corpus: CorpusName) -> Claim:
    """Return the claim of a frame; words that no list has are kept, so that nothing is judged without them."""
    about: dict[str, int] = {}
    marks: set[str] = {"all"} if frame.every else set()
    unlisted: list[str] = []
    unclear = ""
    for phrase in (*frame.about, *([frame.who] if frame.who else [])):
        if phrase in kinds():
            about.setdefault(phrase, len(about))
            continue
        [part, *others] = read(phrase, lang, corpus)[0]
        for name in sorted(part.about, key=lambda name: part.about[name]):
            about.setdefault(name, len(about))
        marks |= part.marks
        unlisted += part.unlisted
        if others or part.demand or part.amounts or part.moments or part.unclear or not (part.about or part.unlisted):
            unclear = f"{phrase}: only what it is about stands there"
    if any(kinds()[name] == "ruletopic" for name in about):
        marks.add("rule")
    return Claim(
        about=about,
        demand=frame.demand,
        marks=frozenset(marks),
        amounts=(_amount(frame.figure),) if frame.figure else (),
        moments=(_moment(frame.when),) if frame.when else (),
        unlisted=tuple(unlisted),
        unclear=unclear,
        verb=-1,
    )


@lru_cache(maxsize=2)
def vocabulary(corpus: CorpusName) -> frozenset[str]:
    """Return the words of the published sentences: those by which a word that nobody listed may be counted.

    A statement's own words may name persons and have no bound; these name nobody and are a few hundred.
    """
    sentences = {
        text
        for fact in load(corpus)
        for text in (fact.sentence, *(exemption.sentence for exemption in fact.exemptions))
    }
    return frozenset(re.findall(r"[a-z]{3,}", fold(" ".join(sentences))))


@lru_cache(maxsize=1)
def _labels() -> dict[str, str]:
    """Return the label of every concept whose phrases are its members, the first English phrase of any other."""
    lexicon = rows(FOLDER / "lexicon.csv")
    return {row["concept"]: row["label"] or next(iter(words(row["en"])), row["concept"]) for row in lexicon}


_WIDER: Final = 0.4
"""What a wider concept counts beside the same one: wine is also a beverage."""
_WORD: Final = 1.5
"""What an unlisted word counts that a sentence has."""
_ARTICLE: Final = 3.0
_FIGURE: Final = 1.0
_DATE: Final = 0.4
_MISSING: Final = 0.7
"""What a needed concept takes away where a claim lacks it."""
_LETTERS: Final = 5
"""The first letters by which an unlisted word is looked up in the sentences themselves."""
_PACKAGING: Final = re.compile(r"\b(packag|emball|verpack|ppwr)")
_GENERAL: Final = ("scope", "definition_packaging", "national")
"""Provisions for a statement about packaging that shares nothing with any."""


@dataclass(frozen=True, slots=True)
class _Entry:
    fact: Fact
    concepts: frozenset[str]
    cases: frozenset[str]
    """The concepts of its exceptions alone, which count less."""
    beginnings: frozenset[str]
    """The first letters of the words of its sentence."""


def nearest(statement: str, claims: Sequence[Claim], corpus: CorpusName) -> list[Fact]:
    """Return the facts nearest to a statement, one for each sentence; none where it is about something else."""
    entries, rarity = _entries(corpus)
    asked = _Asked.of(claims)
    scored = [(_score(entry, asked, rarity), entry.fact) for entry in entries]
    ranked = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].key))
    by_sentence: dict[str, Fact] = {}
    for _, fact in ranked:
        by_sentence.setdefault(fact.sentence, fact)
    if not by_sentence and _PACKAGING.search(fold(statement)):
        return [entry.fact for entry in entries if entry.fact.key in _GENERAL]
    return list(by_sentence.values())


@dataclass(frozen=True, slots=True)
class _Asked:
    """What claims say together, for comparing it with each fact."""

    own: frozenset[str]
    """The concepts that they name."""
    near: frozenset[str]
    """Those, and the wider ones that they lie within."""
    beginnings: frozenset[str]
    """The first letters of their unlisted words."""
    references: tuple[Reference, ...]
    amounts: tuple[Amount, ...]
    moments: tuple[Moment, ...]
    of_rule: bool

    @classmethod
    def of(cls, claims: Sequence[Claim]) -> Self:
        own = frozenset(name for claim in claims for name in claim.about)
        return cls(
            own,
            own.union(*(within()[name] for name in own)),
            frozenset(word[:_LETTERS] for claim in claims for word in claim.unlisted if len(word) >= _LETTERS),
            tuple(reference for claim in claims for reference in claim.references),
            tuple(amount for claim in claims for amount in claim.amounts),
            tuple(moment for claim in claims for moment in claim.moments),
            any(claim.of_rule for claim in claims),
        )


def _score(entry: _Entry, asked: _Asked, rarity: dict[str, float]) -> float:
    """Return how much a fact shares with claims; 0 where nothing."""
    own, fact = asked.own, entry.fact
    about = sum(rarity[name] * (1 if name in own else _WIDER) for name in entry.concepts & asked.near)
    about += sum(rarity[name] * _WIDER for name in entry.cases & own)
    about += _WORD * len(asked.beginnings & entry.beginnings)
    cited = sum(
        any(
            own.kind == reference.kind and (own.text == reference.text or is_part_of(own.text, reference.text))
            for own in fact.references
        )
        for reference in asked.references
    )
    if not about and not cited and not asked.of_rule:
        return 0.0
    figures = sum(
        any(amount.within(own).quantity.equals(own.quantity) for own in (*fact.values, *fact.bounds))
        for amount in asked.amounts
    )
    dates = sum(moment.day.covers(day) for moment in asked.moments for day in fact.dates.values())
    missing = sum(not group & asked.near for group in fact.needs)
    return about + _ARTICLE * cited + _FIGURE * figures + _DATE * dates - _MISSING * missing


@lru_cache(maxsize=2)
def _entries(corpus: CorpusName) -> tuple[list[_Entry], dict[str, float]]:
    """Return the facts with their concepts and the beginnings of their words, and how rare each concept is."""
    entries = [
        _Entry(
            fact,
            fact.concepts,
            frozenset(
                name
                for exemption in fact.exemptions
                if exemption.sentence
                for group in exemption.when
                for name in group
            )
            - fact.concepts,
            frozenset(word[:_LETTERS] for word in re.findall(rf"[a-z]{{{_LETTERS},}}", fold(fact.sentence))),
        )
        for fact in load(corpus)
    ]
    names = [entry.concepts | entry.cases for entry in entries]
    counts = {name: sum(name in of_entry for of_entry in names) for name in frozenset().union(*names)}
    return entries, {name: log(1 + len(names) / count) for name, count in counts.items()}
