"""Decides whether a company needs an authorised representative, by where it sits and how it sells.

Article 45(3) of Regulation (EU) 2025/40: a producer that sits in another Member State and sells directly to end users
(Article 3(1)(15)(c) and (d)) appoints one for its extended producer responsibility in each Member State that it sells
to. For a producer of a third country each Member State decides, and outside the Union each country by its own law
(`representatives.csv`). What the company has not answered stays open: each answer that it could give is tried, and
where they lead to different ends, the question that decides is asked.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from compliance.catalogue import Jurisdiction, rows_by_code
from compliance.scopes import is_in_union
from compliance.tables import RULES, Row, is_confidence, rows
from schemas.companies import ProfileFields, ProfileQuestion, Representative, Required
from schemas.messages import ORIGINAL, Message, translate
from schemas.normalise import country_of

PINNED: Final = RULES / "catalogue" / "representatives.csv"
QUESTIONS: Final = RULES / "catalogue" / "profile_questions.csv"
PRODUCER: Final = "Regulation (EU) 2025/40, Article 3(1)(15)"
_SOURCE: Final = "http://data.europa.eu/eli/reg/2025/40/oj"
_SEATS: Final = ("DE", "FR", "JP", "US")
"""Two Member States and two third countries: of each kind one that is not the jurisdiction itself."""
_REQUIRED: Final[Mapping[str, Required]] = {"yes": "yes", "no": "no", "unknown": "depends"}


@cache
def representatives() -> Mapping[str, Row]:
    """Return the rows that come with the release, by jurisdiction code; empty cells are not said."""
    return read(PINNED)


def read(path: Path) -> Mapping[str, Row]:
    """Return the rows of a file. Raise `TableError` with every fault, including a jurisdiction without a row.

    A row says yes, no or unknown of producers of another Member State, and of those of a third country. Its law,
    confidence, source and note are those of the second, the national answer; outside the Union both are the same.
    """
    return rows_by_code(path, _faults)


def _faults(row: Row, entry: Jurisdiction) -> Iterator[str]:
    in_union, national = entry.region == "eu", row["from_third_country"]
    if not {row["from_member_state"], national} <= _REQUIRED.keys():
        yield "an answer is yes, no or unknown"
    if in_union != bool(row["article"] and row["applies_from"]):
        yield "article and day are said of the Union, and of nothing else"
    if not in_union and row["from_member_state"] != national:
        yield "outside the Union both answers are the same"
    is_open = row["confidence"] in ("unknown", "unverified")
    if not is_confidence(row["confidence"]) or is_open != (national == "unknown"):
        yield "an answer, and only an answer, is known more or less surely"


def published_entry(entry: Jurisdiction, today: date) -> dict[str, object]:
    """Return an entry of the catalogue as the jurisdiction list publishes it, with what it asks of producers elsewhere.

    `authorised_representative_required` is yes where some producer from elsewhere needs one, no where none does.
    """
    row = representatives().get(entry.code, {})
    answers = [row.get(name, "unknown") for name in ("from_member_state", "from_third_country")]
    required = "yes" if "yes" in answers else "no" if set(answers) == {"no"} else "unknown"
    return {
        **entry.as_dict(today),
        "authorised_representative_required": required,
        "authorised_representative_from_member_state": answers[0],
        "authorised_representative_from_third_country": answers[1],
    }


@cache
def questions(lang: str) -> Mapping[str, ProfileQuestion]:
    """Return the questions that fill a profile, by field, in a language of `LANGUAGES`."""
    return {
        row["field"]: {"field": row["field"], "ask": row[f"ask_{lang}"], "reference": row["reference"]}
        for row in rows(QUESTIONS)
    }


def representative(code: str, profile: ProfileFields, lang: str = ORIGINAL) -> Representative | None:
    """Return whether the company of a profile needs one in a jurisdiction; None for one that has no row."""
    row = representatives().get(code)
    if row is None:
        return None
    seat, direct, in_union = profile["seat"], profile["sells_directly_abroad"], is_in_union(code)
    elsewhere = [country for country in _SEATS if country != country_of(code)]
    cases = [
        _case(row, one_seat, sells_directly=one_direct)
        for one_seat in ((code, *elsewhere) if seat is None else (seat,))
        for one_direct in ((False, True) if direct is None else (direct,))
    ]
    answer = cases[-1]  # the reason of a company from elsewhere that sells directly is the one that tells most
    if len({case["required"] for case in cases}) > 1:
        answer = _answer("unknown", Message("The answer depends on what the company's profile does not say."), row)
        open_fields = {"seat": seat is None, "sells_directly_abroad": direct is None and in_union}
        answer["asks"] = [questions(lang)[field] for field, is_open in open_fields.items() if is_open]
    return {**answer, "reason": translate(answer["reason"], lang)}


def _case(row: Row, seat: str, *, sells_directly: bool) -> Representative:
    """Return the answer for a company that sits somewhere and sells in one way or the other."""
    code, national = row["code"], row["from_third_country"]
    if country_of(seat) == country_of(code):
        here = Message("The company has its seat here; only a producer from elsewhere appoints one.")
        return _answer("no", here, row)
    if is_in_union(code) and not sells_directly:
        nobody = Message("A company with its seat elsewhere is a producer here only if it sells directly to end users.")
        return {**_answer("no", nobody, row), "reference": PRODUCER}
    if is_in_union(code) and is_in_union(seat):
        by_article = Message("A producer of another Member State that sells directly to end users appoints one.")
        return _answer(row["from_member_state"], by_article, row)
    reason = {
        "yes": Message("The law here asks producers of other countries to appoint one."),
        "no": Message("The law here does not ask producers of other countries to appoint one."),
        "unknown": Message("What the law here asks of producers of other countries is not known; ask the register."),
    }[national]
    return {
        **_answer(national, reason, row),
        "applies_from": None,
        "reference": row["national_law"] or None,
        "confidence": row["confidence"],
        "source_url": row["source_url"] or None,
        "note": row["note"] or None,
    }


def _answer(answer: str, reason: Message, row: Row) -> Representative:
    """Return an answer by the article of the Regulation, which a row outside the Union does not have."""
    return {
        "required": _REQUIRED[answer],
        "reason": reason,
        "asks": [],
        "applies_from": None if answer == "no" else row["applies_from"] or None,
        "reference": row["article"] or None,
        "confidence": "primary" if row["article"] else "ours",
        "source_url": _SOURCE if row["article"] else None,
        "note": None,
    }
