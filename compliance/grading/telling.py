"""Reduces a trace to one value: equal values mean equal traces except for the rule-set's version.

Regrading uses it to ask for a million records whether a new rule-set changes their trace. Where the values differ, the
traces themselves are compared (`compliance.grading.trace`): a difference may not appear in them.
"""

from collections.abc import Hashable, Iterator
from functools import lru_cache

from compliance.grading.assessment import Assessment, UnitAssessment
from compliance.grading.firing import Rows, rows_for_type
from compliance.grading.listing import Outcome
from compliance.rule_rows import Material, Rule
from compliance.ruleset import RuleSet

_CACHED = 65_536


def explanation(assessed: Assessment, rules: RuleSet) -> Hashable:
    """Return everything that a trace follows from except grade, score, and the open facts of a provisional one."""
    return assessed.why_none, tuple(assessed.missing), tuple(_unit(unit, rules) for unit in assessed.units)


def _unit(assessed: UnitAssessment, rules: RuleSet) -> Hashable:
    limited = assessed.result.limited
    unlisted = assessed.unlisted(rules)
    return (
        assessed.stream,
        assessed.unit.name,
        assessed.result,
        None if limited is None else rules.cap(limited),
        None if unlisted is None else _rule(unlisted),
        tuple(
            (member.index, member.part.component_type, member.part.material.code if member.part.material else None)
            for member in assessed.unit.members
        ),
        tuple(_outcome(found) for found in assessed.outcomes),
        tuple(_asked(assessed, rules)),
    )


def _asked(assessed: UnitAssessment, rules: RuleSet) -> Iterator[Hashable]:
    """Yield the assumptions: for open attributes, and for facts that no record has."""
    if assessed.stream is None:
        return
    for found in assessed.outcomes:
        yield _open(found, rules)
    for part, matched in zip(assessed.unit.parts, assessed.unit.types, strict=True):
        assert part.material is not None
        yield _unrecordable(rules, assessed.stream, matched, part.material)


def told_of_part(rules: RuleSet, found: Outcome, rows: Rows) -> tuple[Hashable, ...]:
    """Return all that a trace says of one part whatever its weight, and its effect."""
    return (
        rows.stream,
        rows.component_type,
        rows.material.code,
        found.effect,
        found.by_analogy,
        _outcome(found),
        _open(found, rules),
        _unrecordable(rules, rows.stream, rows.component_type, rows.material),
    )


def told_of_unlisted(rules: RuleSet) -> Hashable:
    """Return all that a trace says of parts that no row lists, and what their rows do."""
    few, many = rules.rules["ANY-011c"], rules.rules["ANY-011d"]
    return tuple((_rule(rule), rule.low, rule.high, rule.removed) for rule in (few, many))


def _open(found: Outcome, rules: RuleSet) -> Hashable:
    return tuple((rule.field, rule.rule_id, rule.field in rules.makes_provisional) for rule in found.open)


@lru_cache(maxsize=_CACHED)
def _outcome(found: Outcome) -> Hashable:
    return (tuple(map(_rule, found.standing)), tuple(map(_rule, found.overruled)), found.effect.unlisted)


@lru_cache(maxsize=_CACHED)
def _unrecordable(rules: RuleSet, stream: str, component_type: str, material: Material) -> Hashable:
    targets = rules.targets[stream]
    return tuple(
        (rule.rule_id, rule.feature)
        for rule in rows_for_type(rules, stream, component_type)
        if not rule.recordable and rule.asks_code(material, targets)
    )


def _rule(rule: Rule) -> Hashable:
    return rule.rule_id, rule.verdict, rule.feature, rule.source_url, rule.effect, rule.basis, rule.confidence
