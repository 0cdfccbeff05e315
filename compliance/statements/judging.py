"""Compares claims with provisions, slot by slot: a provision says so, denies it, or does not decide it.

Supported needs a provision that agrees in every slot; contradicted one that differs in exactly one in which the law is
exhaustive. A word that no slot, scope or admission of that provision takes up leaves it undecided. An exception makes
a rule conditional, keeps *all* from being supported, and turns the answer round for the case that it names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, Literal

from compliance.statements.claims import Amount, Claim, Moment
from compliance.statements.facts import Exemption, Fact, Groups, load
from compliance.statements.words import CLASSES, CorpusName, kinds, within

Verdict = Literal["supported", "contradicted", "not_covered"]
Agreement = bool | None
"""Whether a provision agrees with a claim in one slot; None where it does not decide it."""

_OPPOSITE: Final = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_COMPARABLE: Final = frozenset({"all", "each", "all_packaging", "all_operator", "rule", "now", "only", "no_exception"})
"""Marks that a comparison takes into account; any other leaves a claim undecided."""
_ENDS: Final = ("until", "before")
_SPARED: Final = {"forbid": False, "oblige": False, "holds": False, "exempt": True, "permit": True}
"""What a claim says of a case that is spared from a rule → whether that is so."""
_BY_RULE: Final[dict[str, dict[str | None, bool]]] = {
    "forbid": {"forbid": True, "holds": True, "permit": False, "exempt": False},
    "oblige": {"oblige": True, "holds": True, "exempt": False},
    "permit": {"permit": True, "forbid": False},
    "endeavour": {"endeavour": True, "oblige": False},
    "optional": {"permit": True, "oblige": False, "forbid": False},
    "define": {None: True, "holds": True, "oblige": True, "isnot": False, "exempt": False},
    "untrue": {
        None: False, "holds": False, "oblige": False, "forbid": False, "permit": False, "isnot": True, "exempt": True,
    },
    "unbanned": {"forbid": False},
    "unrequired": {"oblige": False, "holds": False, "exempt": True},
}  # fmt: skip
"""The rule of a provision → what a claim demands → whether that agrees."""
_ABSENT: Final = ("untrue", "unbanned", "unrequired")
"""Rules of what the law does not say."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer of one provision to one claim."""

    fact: Fact
    answer: Agreement = None
    exemptions: tuple[Exemption, ...] = ()
    """What limits the answer."""
    firm: bool = False
    """Whether it is an exception or an untruth, beside which nothing counts as said."""
    lean: Agreement = None
    """What it says of the part for which it holds, where a claim is wider."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with the answers that it rests on; none where the statement is not covered."""

    verdict: Verdict
    comparisons: tuple[Comparison, ...] = ()


_UNDECIDED: Final = Judgement("not_covered")
_NOTHING: Final[frozenset[str]] = frozenset()


def judge(claims: Sequence[Claim], corpus: CorpusName, today: date, *, denied: bool = False) -> Judgement:
    """Judge claims together by the provisions on a UTC day; `denied` where the statement says that they are not so."""
    if any(claim.unclear or claim.unlisted for claim in claims):
        return _UNDECIDED
    parts = [_judge_one(claim, corpus, today) for claim in claims]
    verdicts = {part.verdict for part in parts}
    if "not_covered" in verdicts:
        return _UNDECIDED
    verdict: Verdict = "contradicted" if "contradicted" in verdicts else "supported"
    comparisons = tuple(comparison for part in parts if part.verdict == verdict for comparison in part.comparisons)
    if denied:
        verdict = "supported" if verdict == "contradicted" else "contradicted"
    return Judgement(verdict, comparisons)


def _judge_one(claim: Claim, corpus: CorpusName, today: date) -> Judgement:
    compared = [compare(claim, fact, today) for fact in load(corpus) if fact.rule]
    says = [comparison for comparison in compared if comparison.answer]
    denies = [comparison for comparison in compared if comparison.answer is False]
    if says:
        return _UNDECIDED if any(comparison.firm for comparison in denies) else Judgement("supported", tuple(says))
    agrees = any(comparison.lean for comparison in compared)
    if agrees:
        denies = [comparison for comparison in denies if comparison.firm]
    if not denies and (claim.universal or not agrees):
        denies = [
            comparison for comparison in compared if comparison.lean is False
        ]  # what is wrong of a part is wrong of all
    return Judgement("contradicted", tuple(denies)) if denies and not claim.ahead else _UNDECIDED


def compare(claim: Claim, fact: Fact, today: date) -> Comparison:
    """Compare one provision with a claim."""
    undecided = Comparison(fact)
    own = _NOTHING.union(*(within()[name] for name in claim.about))
    held = own.union(*(within()[name] for name in claim.lent))
    cited = _is_cited(claim, fact)
    if own and not cited and all(map(own.isdisjoint, (*fact.needs, *fact.scope))):
        return undecided  # another part of the statement speaks of it
    if not _met(fact.needs[1:] if cited else fact.needs, held) or claim.marks - _COMPARABLE:
        return undecided
    if ("universal" in fact.flags and not claim.universal) or ("each" in fact.flags and "each" not in claim.marks):
        return undecided
    if (exemption := _exemption(claim, fact, held)) is not None:
        return _exempted(claim, fact, exemption)
    missing = [group for group in fact.scope if not _met((group,), held)]
    covered = frozenset().union(*fact.needs, *fact.scope, fact.admits, fact.actors)
    extra = _untaken(claim, covered, fact) - fact.wider
    if missing and "strict" in fact.flags and "all_packaging" in claim.marks and not extra and not claim.classes:
        holds = claim.demand in ("forbid", "oblige", "holds", None)
        return Comparison(fact, False, firm=True) if holds else undecided
    narrower = bool(extra) and "*" in fact.admits and all(kinds()[name] in CLASSES for name in extra)
    if (extra and not narrower) or not _in_order(claim, fact):
        return undecided
    if "total" in fact.flags and claim.demand != "exempt" and set(claim.classes) - covered:
        return undecided
    comparison = _sum(claim, fact, today)
    part_of = {name for name in claim.about if name in fact.wider and not within()[name] & covered}
    may_leave_out = claim.of_rule and not claim.universal and not claim.classes
    unsaid = may_leave_out and all(group in fact.unsaid for group in missing)
    within_scope = bool(fact.scope) and not missing  # a wider class only tells more of what is in the scope
    if not ((part_of and not within_scope) or (missing and not unsaid) or _lacks_bound(claim, fact)):
        return comparison
    if comparison.answer is None and comparison.lean:
        return comparison
    spares_some = claim.demand in ("exempt", "permit") and not claim.universal  # wine, among drinks, is exempt
    met = frozenset().union(*fact.needs, *(group for group in fact.scope if group not in missing))
    other = any(name not in fact.wider and not within()[name] & met for name in claim.classes)
    open_part = spares_some or (comparison.answer is False and (narrower or other))
    return replace(comparison, answer=None, lean=None if open_part else comparison.answer)


def _sum(claim: Claim, fact: Fact, today: date) -> Comparison:
    """Sum the slots up: all agree, exactly one differs, or undecided."""
    undecided = Comparison(fact)
    demand = _demand(claim, fact)
    times = _times(claim, fact, today, opposed=demand is False)
    slots = [demand, *_amounts(claim, fact), *times, *_references(claim, fact), *_actors(claim, fact)]
    if None in slots or slots.count(False) > 1:
        return undecided
    start = fact.dates.get("from") or fact.dates.get("by")
    future = start is not None and start > today and "law" not in fact.flags
    future = future and not claim.moments and "now" not in claim.marks and not claim.of_rule
    beyond_only = "only" in claim.marks and not _is_exclusive(claim, fact)
    if False in slots:
        later = False in times and claim.demand in ("oblige", "holds")  # it only has to be recyclable from 2030
        not_yet = future and demand is False and claim.demand in ("exempt", "permit")
        return (
            undecided if (beyond_only and not later) or not_yet else Comparison(fact, False, firm=fact.rule == "untrue")
        )
    spared = tuple(exemption for exemption in fact.exemptions if exemption.holds == "spared")
    if spared and "no_exception" in claim.marks:
        return Comparison(fact, False, spared, firm=True)
    limited = claim.universal and (
        "average" in fact.flags or any(exemption.holds in ("spared", "open") for exemption in fact.exemptions)
    )
    if "denies" in fact.flags and (beyond_only or any(moment.role == "from_only" for moment in claim.moments)):
        return undecided
    if limited or future or beyond_only or "denies" in fact.flags:
        return Comparison(fact, lean=True)
    return Comparison(fact, True, fact.exemptions)


def _met(groups: Groups, held: frozenset[str]) -> bool:
    return not any(map(held.isdisjoint, groups))


def _untaken(claim: Claim, covered: Iterable[str], fact: Fact) -> set[str]:
    """Return the content of a claim that nothing takes up, but words for the law that lays the provision down."""
    taken = frozenset(covered)
    acts = {reference.text for reference in fact.references if reference.kind == "act"}
    laws = {"law_word", *(f"act_{act.replace('/', '_')}" for act in acts), *(["ppwr"] if "2025/40" in acts else [])}
    return {
        name
        for name in claim.about.keys() - laws
        if not within()[name] & taken and not (fact.actors and kinds()[name] == "actor")
    }


def _is_cited(claim: Claim, fact: Fact) -> bool:
    """Return whether a claim names a provision by its article alone."""
    return "cited" in fact.flags and any(
        reference.kind != "act" and reference in fact.references for reference in claim.references
    )


def _lacks_bound(claim: Claim, fact: Fact) -> bool:
    """Return whether a claim leaves out the bound of the rule."""
    if not fact.bounds or claim.of_rule or "unbound" in fact.flags or fact.rule in ("untrue", "unbanned"):
        return False
    return not any(amount.alike(fact.bounds) for amount in claim.amounts)


def _in_order(claim: Claim, fact: Fact) -> bool:
    """Return whether the actors of a claim stand in the order in which the law names giver and receiver."""
    for flag in fact.flags:
        kind, _, names = flag.partition(":")
        one, _, other = names.partition("<")
        if kind == "order" and _place(claim, one, -1) > _place(claim, other, 10**6):
            return False
        if kind == "after" and _place(claim, one, 10**6) <= claim.verb:
            return False
    return True


def _place(claim: Claim, name: str, absent: int) -> int:
    return min((at for own, at in claim.about.items() if name in within()[own]), default=absent)


def _is_exclusive(claim: Claim, fact: Fact) -> bool:
    """Return whether a provision is only about what a claim says it is only about."""
    return any(f"only:{name}" in fact.flags for name in within().get(claim.only, ()))


def _exemption(claim: Claim, fact: Fact, held: frozenset[str]) -> Exemption | None:
    """Return the exception that a claim speaks of: the one with most conditions; a bound of its own must be said."""
    one_pack = any(amount.operator in ("", "case") for amount in claim.amounts)
    if "outside" in fact.flags and one_pack and _side(claim, fact.bounds[0]) == "beyond":
        return Exemption((), frozenset(), "outside", None, fact.sentence, fact.source)
    cases = [
        exemption
        for exemption in fact.exemptions
        if exemption.when
        and _met(exemption.when, held)
        and held.isdisjoint(exemption.unless)
        and (exemption.bound is None or _side(claim, exemption.bound) is not None)
    ]
    names = frozenset().union(*(within()[name] for name in claim.about))

    def nearness(exemption: Exemption) -> tuple[int, bool, int, bool]:
        depth = sum(max((len(within()[name]) for name in group & names), default=0) for group in exemption.when)
        return len(exemption.when), exemption.bound is not None, depth, exemption.holds in ("spared", "outside")

    return max(cases, key=nearness, default=None)


def _exempted(claim: Claim, fact: Fact, exemption: Exemption) -> Comparison:
    """Judge what a claim says of a case in which the rule does not hold."""
    undecided = Comparison(fact)
    if exemption.holds not in ("spared", "outside"):
        return undecided
    own = frozenset().union(*fact.needs, *fact.scope, fact.admits, fact.wider)
    for name in _untaken(claim, frozenset().union(*exemption.when), fact) - own:
        if kinds()[name] != "ruletopic" or not within()[name] & own:
            return undecided
    if "only" in claim.marks or any(_role(moment, claim, fact) in _ENDS for moment in claim.moments):
        return undecided
    demand = claim.demand or ("holds" if claim.amounts or claim.of_rule else "")
    if claim.demand == "permit" and any(
        amount.operator[:1] == _allowed(limit, fact)[:1] != ""
        for amount in claim.amounts
        for limit in amount.alike(fact.values)
    ):
        demand = "holds"  # wine may have at most so much: the limit is said to hold
    answer = _SPARED.get(demand)
    if answer is None:
        return undecided
    if exemption.bound is not None and _side(claim, exemption.bound) == "beyond":
        return Comparison(fact, False if answer else None, (exemption,), firm=True)
    bounds = (exemption.bound,) if exemption.bound else fact.bounds
    others = [amount for amount in claim.amounts if not amount.alike(bounds)]
    if answer and not all(
        any(amount.within(value).quantity.equals(value.quantity) for value in fact.values) for amount in others
    ):
        return undecided
    return Comparison(fact, answer, (exemption,), firm=True)


def _allowed(own: Amount, fact: Fact) -> str:
    """Return the comparison of the values that a rule allows."""
    return _OPPOSITE.get(own.operator, "") if fact.rule == "forbid" else own.operator


def _demand(claim: Claim, fact: Fact) -> Agreement:
    """Compare what is demanded."""
    demand = claim.demand
    by_rule = _BY_RULE[fact.rule]
    agrees = by_rule.get(demand)
    if "of" in fact.flags and demand is None and claim.references and not claim.amounts and not claim.moments:
        return True  # it says where a rule is laid down
    if "cite" in fact.flags:
        return None
    if "rule" in fact.flags:
        of_rule = (
            demand in ("holds", "exempt")
            or (claim.of_rule and demand is None)
            or (_is_cited(claim, fact) and demand == "forbid")
        )
        return by_rule.get(demand or "holds") if of_rule and not claim.amounts else None
    if fact.values and not any(amount.alike(fact.values) for amount in claim.amounts):
        of_rule = fact.rule in ("forbid", "oblige") and claim.of_rule and demand in ("holds", "exempt", None)
        return agrees if of_rule or "bare" in fact.flags or fact.rule in ("untrue", "unbanned") else None
    if "case" in fact.flags and demand not in ("forbid", "permit"):
        return None
    if fact.values and fact.rule in ("forbid", "oblige", "define") and demand not in ("exempt", "endeavour", "isnot"):
        turned = any(
            amount.operator[:1] + own.operator[:1] in ("<>", "><") for amount in claim.amounts for own in fact.values
        )
        decides = demand != "permit" or fact.rule == "forbid" or turned or "limit" in fact.flags
        return True if decides else None  # the figures decide
    if fact.rule == "oblige" and "present" in fact.flags and demand in (None, "isnot"):
        return demand is None  # the manufacturer draws it up
    if fact.rule == "permit" and demand == "forbid" and not claim.moments and "now" not in claim.marks:
        return None
    return agrees


def _amounts(claim: Claim, fact: Fact) -> list[Agreement]:
    """Compare each figure with the rule's values, or else with its bounds."""
    answers: list[Agreement] = []
    capped = claim.of_rule and claim.demand != "forbid"  # capped at, limited to: the figure itself
    for said in claim.amounts:
        amount = replace(said, operator="") if capped and said.operator in ("to", "case", "at") else said
        if "anyfigure" in fact.flags and amount.quantity.dimension in ("percent", "months"):
            continue
        if amount.operator == "to":
            answers.append(None)
        elif values := amount.alike(fact.values):
            other = amount.is_part and "part" not in fact.flags and amount.quantity.dimension == "percent"
            answers.append(None if other else _value(amount.within(values[0]), values, claim, fact))
        elif bounds := amount.alike(fact.bounds):
            answers.append({"inside": True, "equal": True, "beyond": False}.get(_side(claim, bounds[0]) or ""))
        else:
            answers.append(None)
    return answers


def _value(amount: Amount, own: Sequence[Amount], claim: Claim, fact: Fact) -> Agreement:
    """Compare a figure of a claim with the rule's: the same line, another, or a value on one side of it."""
    line, value = own[0], amount.quantity.value
    same = amount.quantity.equals(line.quantity)
    if amount.operator == "at":
        return True if same and line.operator[:1] == ">" else None
    if claim.demand == "exempt" or fact.rule not in ("forbid", "oblige", "define"):
        return True if same else (False if fact.rule in ("endeavour", "permit") else None)
    if len(own) > 1 and not line.operator:
        if any(amount.quantity.equals(bound.quantity) for bound in own):
            return True
        of_line = claim.demand not in ("forbid", "permit") and (fact.rule != "forbid" or claim.of_rule)
        return False if of_line and not amount.operator else None
    if len(own) > 1:
        return _in_band(amount, own, same=same)
    barred = line if fact.rule == "forbid" else replace(line, operator=_OPPOSITE.get(line.operator, ""))
    of_one_pack = not amount.operator and claim.demand in ("forbid", "permit") and not claim.of_rule
    if amount.operator == "case" or of_one_pack:
        if fact.rule == "define":
            return line.holds(value)
        if line.operator:
            if claim.demand == "permit":
                return False if barred.holds(value) else None
            return barred.holds(value) if claim.demand == "forbid" else None
    if not amount.operator:  # 15 microns are no bag of below 15 microns, though they are its limit
        is_outside = fact.rule == "define" and not line.holds(value) and not claim.of_rule
        return None if same and is_outside else same
    if not line.operator:
        return None
    return _region(amount, barred, claim, fact, same=same)


def _in_band(amount: Amount, own: Sequence[Amount], *, same: bool) -> Agreement:
    """Compare a figure with a rule that has two lines, such as a grade."""
    lies = all(bound.holds(amount.quantity.value) for bound in own)
    if amount.operator == "case":
        return lies
    if same:
        return True if amount.operator in ("", own[0].operator) else None
    return None if amount.operator[:1] == "<" or (lies and not amount.operator) else False


def _region(amount: Amount, barred: Amount, claim: Claim, fact: Fact, *, same: bool) -> Agreement:
    """Compare all values on one side of a claim's figure with those that a rule bars."""
    is_barred = barred.holds(amount.quantity.value)
    if claim.demand == "forbid":
        if amount.operator[0] != barred.operator[0]:
            return False if same or is_barred != (amount.operator[0] == ">") else None
        if same:
            return True if amount.operator == barred.operator else None
        return None if is_barred else False
    allowed = _OPPOSITE[barred.operator]
    if amount.operator[0] != allowed[0]:
        return False
    if claim.demand == "permit" and "nopermit" in fact.flags:
        return None if not is_barred or amount.operator == allowed else False
    if same:
        return True if amount.operator == allowed else None
    return False


def _side(claim: Claim, bound: Amount) -> str | None:
    """Return where a claim's figure lies to a bound: equal, inside, beyond; None where it has none or lies narrower."""
    amount = next((amount.within(bound) for amount in claim.amounts if amount.alike((bound,))), None)
    if amount is None:
        return None
    same = amount.quantity.equals(bound.quantity)
    if amount.operator in ("", "case"):
        if same and not amount.operator:
            return None
        return "inside" if bound.holds(amount.quantity.value) else "beyond"
    if same and amount.operator in (bound.operator, bound.operator[:1]):
        return "equal"  # below 100 m2 is as good as up to 100 m2
    if amount.operator[0] != bound.operator[0]:
        return None
    further = amount.quantity.value - bound.quantity.value
    return "beyond" if (further > 0 if bound.operator[0] == "<" else further < 0) else None


def _times(claim: Claim, fact: Fact, today: date, *, opposed: bool) -> list[Agreement]:
    """Compare the dates, and a claim about the present with this day."""
    start, end = fact.dates.get("from") or fact.dates.get("by"), fact.dates.get("until")
    if fact.rule in _ABSENT:
        return [None if _role(moment, claim, fact) in _ENDS else True for moment in claim.moments]
    if claim.moments:
        return [_moment(moment, claim, fact, start, end, opposed=opposed) for moment in claim.moments]
    if "now" in claim.marks:
        runs = (start is None or start <= today) and (end is None or today <= end)
        return [runs] if fact.dates else []
    return [None] if end is not None and end < today else []


def _role(moment: Moment, claim: Claim, fact: Fact) -> str:
    """Return the role of a date; German has one word for until and by."""
    if moment.role != "bis":
        return moment.role
    ends = "until" in fact.dates and "internal" not in fact.flags  # that a later figure overtakes its own is no end
    return "until" if ends or claim.demand is not None else "by"


def _moment(
    moment: Moment, claim: Claim, fact: Fact, start: date | None, end: date | None, *, opposed: bool
) -> Agreement:
    """Compare a date with the days on which a rule begins and ends."""
    day, role = moment.day, _role(moment, claim, fact)
    if start is None and end is None:
        return None
    before_start = start is not None and day.first > start
    if role == "until" and end is not None and not opposed and "internal" not in fact.flags:
        return day.covers(end) or day.covers(end + timedelta(days=1))
    if role == "until" or (role == "before" and opposed):
        return True if opposed and before_start else None
    begins = start is not None and day.covers(start)
    early = start is not None and not begins and day.first < start
    if opposed or role in ("in", "", "after"):
        return begins or ((start is None or day.first >= start) and (end is None or day.first <= end))
    if start is None or (fact.rule == "permit" and not (begins or _is_exclusive(claim, fact))):
        return None  # what is allowed from later on may be allowed before
    if role == "latest" and "later" in fact.flags:
        return False if early else None
    if role == "before" and "by" not in fact.dates:
        return None  # no deadline
    if role in ("by", "before", "latest"):
        return True if begins else (False if early else None)
    return begins


def _references(claim: Claim, fact: Fact) -> list[Agreement]:
    """Compare each article, annex or act: the provision's, another, or one more precise."""
    answers: list[Agreement] = []
    for reference in claim.references:
        alike = [own.text for own in fact.references if own.kind == reference.kind]
        if any(own == reference.text or is_part_of(own, reference.text) for own in alike):
            answers.append(True)
        else:
            answers.append(None if not alike or any(is_part_of(reference.text, own) for own in alike) else False)
    return answers


def is_part_of(reference: str, other: str) -> bool:
    """Return whether one article or annex is part of the other: `5(5)(a)` of `5(5)`, not `annex viii` of `annex v`."""
    return reference.startswith((f"{other}(", f"{other} "))


def _actors(claim: Claim, fact: Fact) -> list[Agreement]:
    """Compare who is bound: nobody that is named, all operators, or actors."""
    actors = {name for name in claim.about if kinds()[name] == "actor"}
    if "all_operator" in claim.marks and fact.actors:
        return [None if actors or "actors" not in fact.flags else False]
    if not fact.actors or not actors:
        return []
    if "producer" in actors - fact.actors:
        return [None]  # in everyday speech a manufacturer
    if len(actors) > 1 and not any(flag.startswith("order:") for flag in fact.flags):
        return [None]  # who does what to whom
    if all(within()[actor] & fact.actors for actor in actors):
        return [True]
    bound = [own for own in fact.actors for actor in actors if within()[actor] & fact.actors or actor in within()[own]]
    return [None if bound or "actors" not in fact.flags else False]  # distributors: final ones are among them
