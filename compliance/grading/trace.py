"""Builds the published trace of a grade: units, parts, rules, missing, open and assumed facts (step 7e, step 8).

It reports the findings of `compliance.grading.assessment` and decides nothing.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from compliance.grading.assessment import Assessment, UnitAssessment, rounded_score
from compliance.grading.components import lines
from compliance.grading.firing import RANK, rows_for_type
from compliance.grading.provisional import Judgement, judge, open_facts
from compliance.grading.questions import missing_fields, published_open_facts
from compliance.rule_rows import Material, Rule
from compliance.ruleset import RuleSet
from schemas.messages import Figure, Message, message_of
from schemas.rules import GradeComponent, GradeRule, GradeTrace, GradeUnit
from schemas.skus.types import Component, Sku

SCHEME: Final = "eu"
"""The scheme of these grades: Article 6 and Annex II of Regulation (EU) 2025/40."""


def explain(record: Sku, rules: RuleSet, day: RuleSet | None = None) -> GradeTrace:
    """Return the `grade_trace` of a record (decisions §9, §12), ready for JSON; questions as in `build_trace`."""
    return build_trace(judge(record, rules), record, rules, day or rules)


def build_trace(judged: Judgement, record: Sku, rules: RuleSet, day: RuleSet) -> GradeTrace:
    """Return the trace of a record that `rules` already judged; the questions are those of the day's rule-set.

    A caller that knows the record's versions fills `previous`.
    """
    facts = open_facts(record, judged.assessment, rules) if judged.provisional else []
    return {**traced_but_open(judged, record, rules, day), "open": published_open_facts(facts, record, day)}


def traced_but_open(judged: Judgement, record: Sku, rules: RuleSet, day: RuleSet) -> GradeTrace:
    """Return the trace without open facts: finding those of many records would take longer than all else."""
    assessed, provisional = judged
    body = assessed.units[0] if assessed.units else None
    limited = body.result.limited if body else None
    return {
        "scheme": SCHEME,
        "ruleset_version": rules.version,
        "indicative": True,
        "provisional": provisional,
        "reason": _reason(assessed, rules, provisional=provisional),
        "stream": body.stream if body else None,
        "weight_share_percent": rounded_score(body.result.kept) if body else None,
        "limited_features": limited,
        "cap": None if limited is None else rules.cap(limited),
        "units": [_unit(unit, lines(record), rules) for unit in assessed.units],
        "missing": missing_fields(assessed.missing, record, day),
        "open": [],
        "previous": None,
        "assumptions": list(dict.fromkeys(text for unit in assessed.units for text in _assumptions(unit, rules))),
    }


def _reason(assessed: Assessment, rules: RuleSet, *, provisional: bool) -> Message:
    """Return one sentence for the grade as it is."""
    if assessed.why_none:
        return assessed.why_none
    if assessed.missing and assessed.result.grade == "not_assessed":
        return Message("Not assessed, because facts are missing: {fields}.", fields=", ".join(assessed.missing))
    deciding = next((unit for unit in assessed.units if unit.result == assessed.result), assessed.units[0])
    where = "" if deciding is assessed.units[0] else Message(" of the separate {unit}", unit=deciding.unit.name)
    strict = [rule for found in _rules_by_member(deciding, rules) for rule, overruled in found if not overruled]
    if assessed.result.grade == "not_assessed":
        if deciding.stream is None:
            return Message("Not assessed, because no recycling stream is known for this material.")
        tests = [rule for rule in strict if rule.effect == "not_assessed"]
        return Message("Not assessed, because a test would have to decide: {features}.", features=_named(tests))
    if reds := [rule for rule in strict if rule.effect == "disqualify"]:
        about = {"of_unit": where, "features": _named(reds)}
        if provisional:
            return Message(
                "Not recyclable, because of the design{of_unit}: {features}; facts that are not given could change it.",
                **about,
            )
        return Message("Not recyclable, because of the design{of_unit}: {features}.", **about)
    limited = deciding.result.limited
    about = {
        "grade": assessed.result.grade,
        "score": Figure(str(rounded_score(assessed.result.score))),
        "of_unit": where,
        "kept": Figure(str(rounded_score(deciding.result.kept))),
        "limits": Message("1 limited feature") if limited == 1 else Message("{count} limited features", count=limited),
        "cap": Figure(f"{rules.cap(limited or 0):g}"),
    }
    if provisional:
        return Message(
            "{grade} with {score} points{of_unit}: recycling keeps {kept} % of the weight, and with {limits} the score "
            "is at most {cap}; facts that are not given could change it.",
            **about,
        )
    return Message(
        "{grade} with {score} points{of_unit}: recycling keeps {kept} % of the weight, and with {limits} the score "
        "is at most {cap}.",
        **about,
    )


def _named(found: Sequence[Rule]) -> str:
    return "; ".join(dict.fromkeys(f"{rule.feature} ({rule.rule_id})" for rule in found))


def _rules_by_member(assessed: UnitAssessment, rules: RuleSet) -> list[list[tuple[Rule, bool]]]:
    """Return the rules traced on each member and its carried parts, each with whether it is overruled."""
    unlisted = assessed.unlisted(rules)
    traced_on: list[list[tuple[Rule, bool]]] = [[] for _ in assessed.unit.members]
    for owner, found in zip(assessed.unit.owners, assessed.outcomes, strict=False):
        on_owner = traced_on[owner]
        on_owner += [(rule, False) for rule in found.standing]
        on_owner += [(rule, True) for rule in found.overruled]
        if found.effect.unlisted and unlisted:
            on_owner.append((unlisted, False))
    return traced_on


def _unit(assessed: UnitAssessment, stored_lines: Sequence[Component], rules: RuleSet) -> GradeUnit:
    components: list[GradeComponent] = []
    by_member = _rules_by_member(assessed, rules)
    for place, (member, found) in enumerate(zip(assessed.unit.members, by_member, strict=True)):
        share = 100 * assessed.unit.grams[place] / assessed.total if assessed.stream else None
        components.append(
            {
                "component_id": None if member.index is None else stored_lines[member.index].get("id"),
                "component_type": member.part.component_type,
                "resolved_material": member.part.material.code if member.part.material else None,
                "share_percent": rounded_score(share),
                "effect": min((rule.effect for rule, over in found if not over), key=RANK.__getitem__, default="none"),
                "rules": [_rule(rule, overruled=over) for rule, over in dict.fromkeys(found)],
            }
        )
    return {
        "unit": assessed.unit.name,
        "component_ids": [component["component_id"] for component in components],
        "grade": assessed.result.grade,
        "score": rounded_score(assessed.result.score),
        "components": components,
    }


def _rule(rule: Rule, *, overruled: bool) -> GradeRule:
    return {
        "rule_id": rule.rule_id,
        "verdict": "overruled" if overruled else rule.verdict,
        "text": rule.feature,
        "source": rule.source_url,
        "basis": None if rule.published else rule.basis or None,
        "confidence": None if rule.published else rule.confidence or None,
    }


def _assumptions(assessed: UnitAssessment, rules: RuleSet) -> Iterator[Message]:
    """Yield the assumptions: for attributes that are not given, and for facts that no record has."""
    if assessed.stream is None:
        return
    for place, found in enumerate(assessed.outcomes):
        member = assessed.unit.members[assessed.unit.owners[place]]
        for field in dict.fromkeys(rule.field for rule in found.open):
            waiting = ", ".join(rule.rule_id for rule in found.open if rule.field == field)
            if field == "svhc":
                yield Message("No substance of very high concern is declared: taken as absent (ANY-003).")
            elif field in rules.makes_provisional:
                yield Message("{fact} is not given: {rules} was not applied.", fact=member.field(field), rules=waiting)
            elif field == "form":
                yield Message(
                    "The form of the {unit} is not known: {rules} was not applied.",
                    unit=assessed.unit.name,
                    rules=waiting,
                )
            else:
                yield message_of(f"The {field} of the {assessed.unit.name} is not known: {waiting} was not applied.")
    for part, matched in zip(assessed.unit.parts, assessed.unit.types, strict=True):
        assert part.material is not None
        yield from _not_recorded(rules, assessed.stream, matched, part.material)


@lru_cache(maxsize=4096)
def _not_recorded(rules: RuleSet, stream: str, component_type: str, material: Material) -> tuple[Message, ...]:
    """Return the facts assumed false for any part of this type and material, because no record has them."""
    return tuple(
        Message(
            "No record holds what {rule_id} asks ({feature}): taken as not so.",
            rule_id=rule.rule_id,
            feature=rule.feature,
        )
        for rule in rows_for_type(rules, stream, component_type)
        if not rule.recordable and rule.asks_code(material, rules.targets[stream])
    )
