"""Decides whether a company needs an authorised representative, by where it sits and how it sells.

Article 45(3) of Regulation (EU) 2025/40: a producer that sits in another Member State and sells directly to end users
(Article 3(1)(15)(c) and (d)) appoints one for its extended producer responsibility in each Member State that it sells
to. For a producer of a third country each Member State decides, and outside the Union each country by its own law
(`representatives.csv`). What the company has not answered stays open: each answer that it could give is tried, and
where they lead to different ends, the question that decides is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, get_args

from compliance.catalogue import Jurisdiction, pinned
from compliance.scopes import is_in_union
from compliance.tables import RULES, Row, is_confidence, record_of_row, refuse, rows
from schemas.companies import ProfileFields, ProfileQuestion, Representative
from schemas.messages import ORIGINAL, Message, translate
from schemas.normalise import country_of

PINNED: Final = RULES / "catalogue" / "representatives.csv"
QUESTIONS: Final = RULES / "catalogue" / "profile_questions.csv"
PRODUCER: Final = "Regulation (EU) 2025/40, Article 3(1)(15)"
_SOURCE: Final = "http://data.europa.eu/eli/reg/2025/40/oj"

Answer = Literal["yes", "no", "unknown"]
_Seat = Literal["here", "member_state", "third_country"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: what a jurisdiction asks of producers of another Member State, and of those of a third country.

    Confidence, source and note are of the second, the national answer; outside the Union both are the same.
    """

    from_member_state: Answer
    from_third_country: Answer
    applies_from: date | None
    article: str | None
    national_law: str | None
    confidence: str
    source_url: str | None
    note: str | None


@cache
def representatives() -> Mapping[str, Rule]:
    """Return the rows that come with the release, by jurisdiction code."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, Rule]:
    """Return the rows of a file. Raise `TableError` with every fault, including a jurisdiction without a row."""
    table, known = rows(path), [entry.code for entry in pinned()]
    codes = [row["code"] for row in table]
    faults = [f"{code} has no row." for code in known if code not in codes]
    faults += [f"{code} stands {codes.count(code)} times." for code in dict.fromkeys(codes) if codes.count(code) > 1]
    faults += [f"{row['code']}: {fault}." for row in table for fault in _faults(row, known)]
    refuse(path.name, faults)
    answers = ("from_member_state", "from_third_country")
    return MappingProxyType(
        {row["code"]: record_of_row(Rule, row, **{name: row[name] for name in answers}) for row in table}
    )


def _faults(row: Row, known: Sequence[str]) -> Iterator[str]:
    if row["code"] not in known:
        yield "the catalogue has no such row"
    if not {row["from_member_state"], row["from_third_country"]} <= set(get_args(Answer)):
        yield "an answer is yes, no or unknown"
    if is_in_union(row["code"]) != bool(row["article"] and row["applies_from"]):
        yield "article and day are said of the Union, and of nothing else"
    if not is_in_union(row["code"]) and row["from_member_state"] != row["from_third_country"]:
        yield "outside the Union both answers are the same"
    if not is_confidence(row["confidence"]) or (row["from_third_country"] != "unknown") == (
        row["confidence"] in ("unknown", "unverified")
    ):
        yield "an answer, and only an answer, is known more or less surely"


def published_entry(entry: Jurisdiction, today: date) -> dict[str, object]:
    """Return an entry of the catalogue as the jurisdiction list publishes it, with what it asks of producers elsewhere.

    `authorised_representative_required` is yes where some producer from elsewhere needs one, no where none does.
    """
    rule = representatives().get(entry.code)
    answers = (rule.from_member_state, rule.from_third_country) if rule else ("unknown", "unknown")
    required = "yes" if "yes" in answers else "no" if set(answers) == {"no"} else "unknown"
    names = ("required", "from_member_state", "from_third_country")
    asked = zip(names, (required, *answers), strict=True)
    return entry.as_dict(today) | {f"authorised_representative_{name}": answer for name, answer in asked}


@cache
def questions() -> Mapping[str, Mapping[str, str]]:
    """Return the questions that fill a profile, by field: their law, and the question in each language."""
    return {row["field"]: row for row in rows(QUESTIONS)}


def question(field: str, lang: str) -> ProfileQuestion:
    """Return the question of a field of the profile in a language of `LANGUAGES`."""
    row = questions()[field]
    return {"field": field, "ask": row[f"ask_{lang}"], "reference": row["reference"]}


class _Case(NamedTuple):
    """What a rule comes to for a seat and a way of selling, why, and the law; `is_national` if it is a country's."""

    answer: Answer
    reason: Message
    reference: str | None
    is_national: bool = False


def representative(code: str, profile: ProfileFields, lang: str = ORIGINAL) -> Representative | None:
    """Return whether the company of a profile needs one in a jurisdiction; None for one that has no row."""
    rule = representatives().get(code)
    if rule is None:
        return None
    seat, direct, in_union = profile["seat"], profile["sells_directly_abroad"], is_in_union(code)
    cases = [
        _case(rule, one_seat, in_union=in_union, sells_directly=one_direct)
        for one_seat in _seats(code, seat)
        for one_direct in ((True, False) if direct is None else (direct,))
    ]
    case = max(reversed(cases), key=lambda each: each.is_national)
    if len({each.answer for each in cases}) == 1:
        return _published(rule, case, [], lang)
    asks = [question("seat", lang)] if seat is None else []
    asks += [question("sells_directly_abroad", lang)] if direct is None and in_union else []
    reason = Message("The answer depends on what the company's profile does not say.")
    return _published(rule, _Case("unknown", reason, rule.article), asks, lang)


def _seats(code: str, seat: str | None) -> tuple[_Seat, ...]:
    """Return where the company may sit, seen from a jurisdiction."""
    if seat is None:
        return get_args(_Seat)
    if country_of(seat) == country_of(code):
        return ("here",)
    return ("member_state",) if is_in_union(seat) else ("third_country",)


def _case(rule: Rule, seat: _Seat, *, in_union: bool, sells_directly: bool) -> _Case:
    if seat == "here":
        here = Message("The company has its seat here; only a producer from elsewhere appoints one.")
        return _Case("no", here, rule.article)
    if in_union and not sells_directly:
        nobody = Message("A company with its seat elsewhere is a producer here only if it sells directly to end users.")
        return _Case("no", nobody, PRODUCER)
    if in_union and seat == "member_state":
        by_article = Message("A producer of another Member State that sells directly to end users appoints one.")
        return _Case(rule.from_member_state, by_article, rule.article)
    reason = {
        "yes": Message("The law here asks producers of other countries to appoint one."),
        "no": Message("The law here does not ask producers of other countries to appoint one."),
        "unknown": Message("What the law here asks of producers of other countries is not known; ask the register."),
    }[rule.from_third_country]
    return _Case(rule.from_third_country, reason, rule.national_law, is_national=True)


def _published(rule: Rule, case: _Case, asks: list[ProfileQuestion], lang: str) -> Representative:
    by_union = case.reference is not None and not case.is_national
    return {
        "required": "depends" if case.answer == "unknown" else case.answer,
        "reason": translate(case.reason, lang),
        "asks": asks,
        "applies_from": rule.applies_from if by_union and case.answer != "no" else None,
        "reference": case.reference,
        "confidence": rule.confidence if case.is_national else "primary" if by_union else "ours",
        "source_url": rule.source_url if case.is_national else _SOURCE if by_union else None,
        "note": rule.note if case.is_national else None,
    }
