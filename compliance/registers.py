"""Judges what is missing before a company sells in a market: its registration, and its representative's mandate.

Articles 44(2), 44(4) and 45(3) of Regulation (EU) 2025/40. Where the company is producer, `compliance.roles` says;
where that is undecided, so is this, with the same questions. Until a Member State has the register of Article 44, its
national one counts. Days are ISO texts, both ends of a time included.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple  # Any: what a company holds, of `schemas.registers`

from compliance.representatives import representatives
from compliance.roles import UNDECIDED, Decision
from compliance.scopes import is_in_union
from compliance.tables import RULES, Row, cited, rows
from schemas.normalise import country_of

FOLDER: Final = RULES / "registers"
READY, MISSING, NOT_NEEDED, OUTSIDE = "ready", "missing", "not_needed", "outside"
"""States of a market beside `UNDECIDED`; outside the Union the market's own law decides."""
Held = Mapping[str, Any]
"""What a company holds in a market: `registrations`, `representative`, `certification`."""


class Need(NamedTuple):
    """A registration or a representative: met, missing or open; `reason` is a key of `needs.csv`."""

    need: str
    state: str
    reason: str


class Standing(NamedTuple):
    """The state of a market, what is needed there, and the facts that would decide it where it is undecided."""

    state: str
    needs: tuple[Need, ...] = ()
    asks: tuple[str, ...] = ()


def market_of(code: str) -> str:
    """Return the market that has a register of its own: in the Union the Member State, else the market itself."""
    return country_of(code) if is_in_union(code) else code


def judge(market: str, producers: Sequence[Decision], held: Held, register: str | None, today: date) -> Standing:
    """Return how the company stands in a market, a code of `market_of`.

    `producers` are the decisions on its packaging there, or that by its own answers; `register` is the catalogue's name
    of the register, None where none is known.
    """
    if not is_in_union(market):
        return Standing(OUTSIDE)
    made = [decision for decision in producers if decision.answer == "yes"]
    if not made:
        asks = dict.fromkeys(ask for decision in producers for ask in decision.asks)
        is_open = any(decision.answer == UNDECIDED for decision in producers)
        return Standing(UNDECIDED, asks=tuple(asks)) if is_open else Standing(NOT_NEEDED)
    needs = tuple(_needs(market, made[0].sits, held, register, today.isoformat()))
    states = {need.state for need in needs}
    return Standing(MISSING if "missing" in states else UNDECIDED if "open" in states else READY, needs)


def _needs(market: str, sits: str, held: Held, register: str | None, today: str) -> Iterator[Need]:
    reason = _reason(held["registrations"], "valid_from", "valid_to", today)
    yield _need("registration", "unknown" if reason == "none" and register is None else reason)
    row = representatives()[market]
    rule = {"union": row["from_member_state"], "beyond": row["from_third_country"]}.get(sits, "no")
    if rule != "no":
        representative = held["representative"]
        reason = _reason([representative] if representative else [], "mandate_from", "mandate_to", today)
        yield _need("representative", "unknown" if reason != "met" and rule == "unknown" else reason)


def _need(need: str, reason: str) -> Need:
    return Need(need, {"met": "met", "unknown": "open"}.get(reason, "missing"), f"{need}.{reason}")


def _reason(records: Iterable[Held], since: str, until: str, today: str) -> str:
    """Return met where one of the records is in force, else whether one begins later, has ended, or none is there."""
    standings = {_in_time(record[since], record[until], today) for record in records}
    return next((reason for reason in ("met", "later", "ended") if reason in standings), "none")


def _in_time(since: str, until: str | None, today: str) -> str:
    return "later" if today < since else "ended" if until is not None and until < today else "met"


def in_force(held: Held, today: date) -> list[Held]:
    """Return the registrations that are valid on a day."""
    day = today.isoformat()
    return [each for each in held["registrations"] if _in_time(each["valid_from"], each["valid_to"], day) == "met"]


def has_mandate(held: Held, today: date) -> bool:
    """Return whether the representative's mandate is valid on a day."""
    one = held["representative"]
    return bool(one) and _in_time(one["mandate_from"], one["mandate_to"], today.isoformat()) == "met"


def is_certified(standing: Standing, held: Held, today: date) -> bool:
    """Return whether a named person's self-certification stands: the record does not speak against it on a day."""
    signed = held["certification"]
    return standing.state == READY and signed is not None and signed["signed_on"] <= today.isoformat()


@cache
def _sentences() -> Mapping[str, Row]:
    return {row["key"]: row for row in rows(FOLDER / "needs.csv")}


def sentence(key: str, lang: str) -> str:
    """Return the sentence of a reason, a state or the self-certification in a language."""
    return _sentences()[key][lang]


def in_words(need: Need, lang: str) -> dict[str, str]:
    """Return a need as it is answered, with its sentence and article in a language."""
    reference = cited(_sentences()[need.reason]["article"], lang)
    said = {"sentence": sentence(need.reason, lang), "reference": reference}
    return {"need": need.need, "state": need.state, **said}
