"""Decides which economic operator a company is for a packaging and a market, and whether it is the producer there.

Articles 3(1)(13) to (18), 15(12) and 21 of Regulation (EU) 2025/40, and Recommendation 2003/361/EC for what a
micro-enterprise is. There is no default: a fact that is missing is tried with every value that it can have, and where
these lead to different roles, the role is undecided and the question is asked. Packaging that the company unpacks
(Article 3(1)(15)(e)) is no packaging that it sells, and is not judged here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from typing import Final, NamedTuple

from compliance.representatives import questions as profile_questions
from compliance.scopes import is_in_union
from compliance.tables import RULES, Row, cited, rows, words
from schemas.messages import translate
from schemas.normalise import country_of

FOLDER: Final = RULES / "roles"
PRODUCTS: Final = "products"
UNDECIDED: Final = "undecided"
MET, OPEN, NOT_RECORDED, UPCOMING = "met", "open", "not_recorded", "upcoming"
"""States of a duty: the record shows that it is met, or that it is not; the record cannot show it; it applies later."""

Facts = Mapping[str, str | None]
"""Codes by fact, of `questions.csv` and `seat` and `size` of the profile; null is not answered."""


class Decision(NamedTuple):
    """A role, or whether the company is producer; its reasons, keys that are several where each of them may be the one.

    `relieved`: a supplier has the duties of Article 15. `sits`: of a producer, here, in the union, or beyond it.
    `asks` are the facts that would decide what is undecided; none where an answer that was given leaves it open.
    """

    answer: str
    reasons: tuple[str, ...]
    relieved: bool = False
    sits: str = ""
    asks: tuple[str, ...] = ()

    @property
    def outcome(self) -> tuple[str, bool, str]:
        """Return what follows from it, whatever the reason."""
        return self.answer, self.relieved, self.sits


_OUTSIDE: Final = Decision("none", ("outside",))
"""The answer in markets to which the regulation does not apply."""


@dataclass(frozen=True, slots=True)
class Roles:
    """What a company is for one packaging in one market."""

    market: str
    operator: Decision
    producer: Decision


class _MissingFact(Exception):  # noqa: N818  (a question, which the caller answers)
    def __init__(self, fact: str) -> None:
        self.fact = fact


@cache
def questions() -> Mapping[str, Row]:
    """Return the questions that decide, by fact, in the order in which they are asked."""
    return {row["fact"]: row for row in rows(FOLDER / "questions.csv")}


@cache
def _reasons() -> Mapping[str, Row]:
    return {row["key"]: row for row in rows(FOLDER / "reasons.csv")}


@cache
def _duties() -> tuple[Row, ...]:
    return tuple(rows(FOLDER / "duties.csv"))


def decide(market: str, facts: Facts) -> Roles:
    """Return the roles in a market, a code of the catalogue, by the facts that are answered."""
    if not is_in_union(market):
        return Roles(market, _OUTSIDE, _OUTSIDE)
    return Roles(market, _try(_operator, market, facts), decide_producer(market, facts))


def decide_producer(market: str, facts: Facts) -> Decision:
    """Return whether the company is the producer in a market, by Article 3(1)(15)."""
    return _try(partial(_producer, market), market, facts) if is_in_union(market) else _OUTSIDE


def _try(rule: Callable[[Facts], Decision], market: str, facts: Facts) -> Decision:
    """Return the decision, which every value of a missing fact leads to, else the questions that lead to one."""
    try:
        return rule(facts)
    except _MissingFact as missing:
        fact = missing.fact
    branches = [_try(rule, market, {**facts, fact: value}) for value in _values(fact, market, facts)]
    outcomes = {branch.outcome for branch in branches}
    if len(outcomes) == 1 and branches[0].answer != UNDECIDED:
        reasons = dict.fromkeys(reason for branch in branches for reason in branch.reasons)
        return branches[0]._replace(reasons=tuple(reasons))
    asks = {ask for branch in branches for ask in branch.asks}
    if len({(branch.outcome, branch.asks) for branch in branches}) > 1:
        asks.add(fact)
    if not asks:  # whatever the value, an answer that was given leaves it open
        return branches[0]
    order = ("seat", "size", *questions())
    return Decision(UNDECIDED, ("open",), asks=tuple(sorted(asks, key=order.index)))


def _values(fact: str, market: str, facts: Facts) -> tuple[str, ...]:
    """Return values that stand for all that a fact can have: of countries each that a rule tells from the others."""
    if fact == "size":
        return ("micro", "small")
    if fact == "seat" or fact.endswith("country"):
        answered = {country_of(value) for name, value in facts.items() if value and _is_country(name)}
        elsewhere = next(code for code in ("DE", "FR", "IT", "ES", "PL") if code not in {*answered, country_of(market)})
        return tuple(dict.fromkeys((country_of(market), elsewhere, *sorted(answered), "US")))
    return words(questions()[fact]["values"])


def _is_country(fact: str) -> bool:
    return fact == "seat" or fact.endswith("country")


def _need(facts: Facts, fact: str) -> str:
    """Return an answer, of a country the one that its territories belong to."""
    value = facts.get(fact)
    if value is None:
        raise _MissingFact(fact)
    return country_of(value) if _is_country(fact) else value


def _operator(facts: Facts) -> Decision:
    """Return manufacturer, importer, distributor or supplier. Raise `_MissingFact`."""
    mark = _need(facts, "mark")
    if mark == "own":
        return _of_own_mark(facts)
    makes = _makes(facts)
    if mark == "other" and makes:
        return _of_supplier(facts)
    if makes:
        return Decision("manufacturer", ("makes",))
    if mark == "none" and _need(facts, "specified_by") == "own":
        return Decision(UNDECIDED, ("no_mark",))
    if _need(facts, "modifies") == "yes":
        if _need(facts, "size") == "micro" and is_in_union(_need(facts, "supplier_country")):
            return Decision("manufacturer", ("micro_modifies",), relieved=True)
        return Decision("manufacturer", ("modifies",))
    if not is_in_union(_need(facts, "supplier_country")) and is_in_union(_need(facts, "seat")):
        return Decision("importer", ("imports",))
    return Decision("distributor", ("trades",))


def _makes(facts: Facts) -> bool:
    """Return whether the company makes the packaging, or packs the product: both make a manufacturer."""
    return _need(facts, "made_by") == "own" or (_need(facts, "kind") == PRODUCTS and _need(facts, "packed_by") == "own")


def _of_own_mark(facts: Facts) -> Decision:
    if _need(facts, "made_by") == "own":
        return Decision("manufacturer", ("own_mark",))
    of_others = facts.get("specified_by") == "other" and facts.get("packed_by") == "other"
    if _need(facts, "size") == "micro":
        supplier = _need(facts, "supplier_country")
        if is_in_union(supplier) and supplier == _need(facts, "seat"):
            return Decision("distributor", ("micro_same_state",))
        if is_in_union(supplier):
            return Decision("manufacturer", ("micro_modifies" if of_others else "micro_union",), relieved=True)
    return Decision("manufacturer", ("own_mark_on_others" if of_others else "own_mark",))


def _of_supplier(facts: Facts) -> Decision:
    """Return the role of a company that makes or packs under somebody else's mark."""
    if _need(facts, "owner_is_micro") == "yes" and is_in_union(_need(facts, "seat")):
        if _need(facts, "owner_country") == _need(facts, "seat"):
            return Decision("manufacturer", ("owner_is_micro",))
        return Decision("manufacturer", ("owner_is_micro_elsewhere",))
    return Decision("supplier", ("supplies",))


def _producer(market: str, facts: Facts) -> Decision:
    """Return whether the company is the producer in a market of the Union: yes or no. Raise `_MissingFact`.

    Of a product the owner of the mark is first; of what is filled or used empty, who first supplies it in the country.
    """
    seat = _need(facts, "seat")
    if seat != country_of(market):
        if _need(facts, "sells_directly_abroad") == "no":
            return Decision("no", ("not_direct",))
        reason = "direct_packed" if _need(facts, "kind") == PRODUCTS else "direct_empty"
        return Decision("yes", (reason,), sits="union" if is_in_union(seat) else "beyond")
    if _need(facts, "kind") != PRODUCTS:
        first = _need(facts, "made_by") == "own" or _need(facts, "supplier_country") != country_of(market)
        return Decision("yes", ("first_empty",), sits="here") if first else Decision("no", ("not_first",))
    return (
        Decision("yes", ("first_packed",), sits="here") if _is_first(market, facts) else Decision("no", ("not_first",))
    )


def _is_first(market: str, facts: Facts) -> bool:
    """Return whether a company that sits in a market is the first there with the packed product."""
    mark = _need(facts, "mark")
    packs = _need(facts, "packed_by") == "own"
    if mark == "other" and packs:  # for the owner of the mark, unless that makes the company the manufacturer
        return _of_supplier(facts).reasons == ("owner_is_micro",)
    if packs:
        return True
    supplier_is_here = _need(facts, "supplier_country") == country_of(market)
    if mark == "own":
        return not supplier_is_here or _need(facts, "made_by") == "own" or _need(facts, "size") != "micro"
    return not supplier_is_here


def duties(roles: Roles, today: date, *, has_declaration: bool | None, lang: str) -> list[dict[str, str | None]]:
    """Return the duties of the roles, each with article, day and state; `has_declaration` is None where none is asked.

    `applies_from` is null where no day is known yet; `due_on` is the next day of a duty of every year.
    """
    held = {roles.operator.answer}
    if roles.producer.answer == "yes":
        held |= {"producer", roles.producer.sits}
    entries: list[dict[str, str | None]] = []
    for row in _duties():
        of_article_15 = row["article"].startswith("15(")
        if held.isdisjoint(words(row["roles"])) or (of_article_15 and roles.operator.relieved):
            continue
        state = NOT_RECORDED
        if row["key"] == "declare" and has_declaration is not None:
            state = MET if has_declaration else OPEN
        entries.append(
            {
                "duty": row["key"],
                "sentence": row[lang],
                "reference": _reference(row["article"], lang),
                "applies_from": row["from"] or None,
                "due_on": _next(row["due"], today),
                "state": UPCOMING if today.isoformat() < row["from"] else state,
            }
        )
    return entries


def _next(month_day: str, today: date) -> str | None:
    if not month_day:
        return None
    day = f"{today.year}-{month_day}"
    return day if day >= today.isoformat() else f"{today.year + 1}-{month_day}"


def _reference(article: str, lang: str) -> str | None:
    return cited(article, lang) if article else None


def in_words(decision: Decision, lang: str) -> dict[str, object]:
    """Return a decision as it is answered, with its reason, its article and its questions in a language."""
    reasons = [_reasons()[key] for key in decision.reasons]
    articles = dict.fromkeys(reason["article"] for reason in reasons if reason["article"])
    return {
        "answer": decision.answer,
        "reason": (reasons[0] if len(reasons) == 1 else _reasons()["any"])[lang],
        "reference": _reference(", ".join(articles), lang),
        "supplier_has_article_15": decision.relieved,
        "asks": [ask(fact, lang) for fact in decision.asks],
    }


def ask(fact: str, lang: str) -> dict[str, str]:
    """Return the question that a fact answers, with the law that asks it."""
    if (row := questions().get(fact)) is None:
        question = profile_questions(lang)[fact]
        return {"fact": fact, "ask": question["ask"], "reference": translate(question["reference"], lang)}
    return {"fact": fact, "ask": row[f"ask_{lang}"], "reference": _reference(row["article"], lang) or ""}
