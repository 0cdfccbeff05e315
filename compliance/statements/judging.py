"""Compares a statement with facts: each fact supports it, contradicts it, or does not concern it.

Supported needs, for every part, one fact that says all of it, and no unknown word. Contradicted needs a fact about
exactly that part which says otherwise. In all other cases the statement is not covered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal

from compliance.statements.facts import Corpus, Fact
from compliance.statements.figures import Lang, Reference, kinds
from compliance.statements.reading import Amount, Moment, Reading, complement, read

Verdict = Literal["supported", "contradicted", "not_covered"]
Held = Literal["says", "denies"] | None
"""The result of one comparison of a statement with a fact; None where the fact does not decide it."""

MOST_UNKNOWN: Final = 1
"""Unknown words that a contradiction may have; a support may have none."""
_SAME_ROLE: Final = {"from": {"", "from", "by"}, "by": {"", "by", "before", "until"}, "until": {"", "until", "by"}}
"""The role of a fact's date → the roles that a statement may use for it."""
_OPPOSED: Final = {
    "forbid": {"permit", "exempt"},
    "require": {"forbid", "exempt"},
    "permit": {"forbid"},
    "exempt": {"require", "forbid"},
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and its facts; no facts where the statement is not covered."""

    verdict: Verdict
    facts: tuple[Fact, ...]


def check(statement: str, lang: Lang, corpus: Corpus, today: date) -> Judgement:
    """Judge a statement by the facts on a UTC day; `lang` is its stated language."""
    judged = [_part(part, corpus, today) for part in read(statement, lang, corpus.name)]
    verdicts = {judgement.verdict for judgement in judged}
    if "not_covered" in verdicts and verdicts != {"not_covered", "contradicted"}:
        return Judgement("not_covered", ())
    if "contradicted" in verdicts:
        return Judgement("contradicted", _facts(judged, "contradicted"))
    return Judgement("not_covered" if verdicts != {"supported"} else "supported", _facts(judged, "supported"))


def nearest(statement: str, lang: Lang, corpus: Corpus, most: int) -> list[Fact]:
    """Return the facts that share most with a statement, to name where none decides it; they say nothing about it."""
    found: dict[str, Fact] = {}
    for part in read(statement, lang, corpus.name):
        for fact in corpus.about(part.topics | part.lent):
            found.setdefault(fact.sentence, fact)
    return list(found.values())[:most]


def _facts(judged: Sequence[Judgement], verdict: Verdict) -> tuple[Fact, ...]:
    found = [fact for judgement in judged if judgement.verdict == verdict for fact in judgement.facts]
    return tuple(dict.fromkeys(found))


def _part(part: Reading, corpus: Corpus, today: date) -> Judgement:
    judged = [(fact, _held(part, fact, today)) for fact in corpus.about(part.topics | part.lent)]
    says = [fact for fact, answer in judged if answer == "says"]
    denies = [fact for fact, answer in judged if answer == "denies"]
    if says and any(fact.claim == "untrue" for fact in denies):
        return Judgement("not_covered", ())
    if says:
        return Judgement("supported", tuple(says)) if not part.unknown else Judgement("not_covered", ())
    if denies and len(part.unknown) <= MOST_UNKNOWN:
        return Judgement("contradicted", tuple(denies))
    return Judgement("not_covered", ())


def _held(part: Reading, fact: Fact, today: date) -> Held:
    """Compare one fact with a part of a statement."""
    if fact.claim == "define" and part.negated and part.amounts and all(amount.operator for amount in part.amounts):
        part = _turned(part)
    named = part.topics | part.lent
    if not all(need & named for need in fact.needs) or part.claim == "unclear":
        return None
    needed = frozenset().union(*fact.needs)
    beyond = {topic for topic in part.topics - needed - fact.allows if kinds()[topic] == "topic"}
    wider = bool(beyond & fact.excludes)
    if (beyond - fact.excludes) or not _speaks_of_then(part, fact, today):
        return None
    if fact.claim == "untrue" and fact.amounts and not part.amounts:
        return None  # a fact about an untrue figure decides nothing without a figure
    if any(len(need & part.topics) > 1 and not need & fact.allows for need in fact.needs):
        return None  # two alternatives of one condition: the fact applies to either
    spared = fact.claim == "exempt" and not fact.amounts and part.claim == "require"  # of any figure
    answers = [
        *(_amount(amount, part, fact) for amount in ([] if spared else part.amounts)),
        *(_moment(moment, part, fact) for moment in part.moments),
        *(_reference(reference, fact) for reference in part.references),
        *_claimed(part, fact),
        *_timely(part, fact, today),
    ]
    if None in answers:
        return None
    if wider:
        return "denies" if "says" in answers or fact.claim in ("define", "untrue") else None
    if not answers:
        return None
    if "denies" in answers:
        return "denies"
    return None if part.only and "only" not in fact.allows else "says"


def _speaks_of_then(part: Reading, fact: Fact, today: date) -> bool:
    """Return whether a fact that has ended may count: only for a statement that has a date."""
    ends = [day for role, day in fact.dates if role == "until"]
    return not ends or max(ends) >= today or bool(part.moments)


def _turned(part: Reading) -> Reading:
    """Return the same statement without its negation: what is not grade C below 70 % is grade C from 70 %."""
    turned = tuple(replace(amount, operator=complement(amount.operator)) for amount in part.amounts)
    return replace(part, negated=False, amounts=turned)


def _amount(amount: Amount, part: Reading, fact: Fact) -> Held:
    """Compare a quantity: the fact's own, another one, or a kind that the fact does not give."""
    alike = [
        own
        for own in fact.amounts
        if amount.quantity.within(own.quantity.dimension).dimension == own.quantity.dimension
    ]
    if not alike:
        return None
    amount = replace(amount, quantity=amount.quantity.within(alike[0].quantity.dimension))
    if len(alike) > 1 and all(own.operator for own in alike):  # a range: a value lies in it or not
        return (
            None if amount.operator else "says" if all(own.holds(amount.quantity.value) for own in alike) else "denies"
        )
    own = next((own for own in alike if own.quantity.equals(amount.quantity)), None)
    if amount.is_case and part.claim == fact.claim == "forbid":
        return "denies" if any(own.holds(amount.quantity.value) for own in alike) else "says"
    if own is None:
        return "denies"
    if not amount.operator or not own.operator:
        return "denies" if part.claim == "permit" and fact.claim == "forbid" and not amount.operator else "says"
    asked = complement(amount.operator) if part.claim == "forbid" else amount.operator
    if asked == own.operator:
        return "says"
    if part.claim == fact.claim == "forbid" and asked.rstrip("=") == own.operator:
        return None  # "above 25 ppb is prohibited" is true, and leaves out that 25 ppb is prohibited too
    if part.claim is None and fact.claim == "forbid":
        return None if complement(asked) == own.operator else "denies"
    return "denies"


def _moment(moment: Moment, part: Reading, fact: Fact) -> Held:
    """Compare a date: the fact's own as precisely as it is written, another one, or none that the fact has."""
    if not fact.dates:
        return None
    begins = [day for role, day in fact.dates if role == "from"]
    if part.now and not moment.role and begins:  # "already banned in 2010"
        return "says" if min(begins) <= moment.day.first else "denies"
    met = [role for role, day in fact.dates if moment.day.covers(day)]
    if not met:
        return "denies"
    if any(moment.role in _SAME_ROLE[role] for role in met):
        return "says"
    return "denies" if moment.role in ("until", "before") and part.claim == fact.claim else None


def _reference(reference: Reference, fact: Fact) -> Held:
    """Compare an article, annex or act: the fact's, another, or one more precise than the fact's."""
    alike = [own.text for own in fact.references if own.kind == reference.kind]
    if not alike:
        return None
    if any(own == reference.text or _part_of(own, reference.text) for own in alike):
        return "says"
    return None if any(_part_of(reference.text, own) for own in alike) else "denies"


def _part_of(reference: str, other: str) -> bool:
    """Return whether one article or annex is part of the other: `5(5)(a)` of `5(5)`, not `annex viii` of `annex v`."""
    return reference.startswith((f"{other}(", f"{other} "))


def _claimed(part: Reading, fact: Fact) -> list[Held]:
    """Compare the demand: nothing to compare, the same, or the opposite."""
    if fact.claim == "untrue":
        forbidden = part.claim == "forbid" and not part.amounts and not part.only
        denied = part.negated or part.claim == "exempt" or forbidden
        return ["says" if denied else "denies"]
    if part.negated:
        return ["denies"]
    compared = any(amount.operator for amount in part.amounts)
    if fact.claim == "define":
        alike = part.claim is None or part.claim == "require" or (part.claim == "permit" and bool(part.amounts))
        return (["says"] if part.claim is None else []) if alike else [None]
    if part.claim is None and fact.claim == "exempt":
        return ["denies" if "applies" in part.topics else None]
    if part.claim is None:
        return [] if fact.claim in ("forbid", "require") else [None]
    if part.claim == fact.claim:
        return ["says"]
    if compared and fact.claim in ("forbid", "require") and part.claim != "exempt":
        return []  # "below 25 ppb is allowed" and "below 30 % is prohibited" are judged by their figures
    return ["denies" if part.claim in _OPPOSED[fact.claim] else None]


def _timely(part: Reading, fact: Fact, today: date) -> list[Held]:
    """Compare a claim about the present with this day."""
    begins = [day for role, day in fact.dates if role != "until"]
    if not part.now or not begins or any(not moment.role for moment in part.moments):
        return []
    return ["denies" if min(begins) > today else "says"]
