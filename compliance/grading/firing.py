"""Step 5 of grading.md: which rows of the tables speak of a part, and whether their conditions hold.

What does not depend on weights is found once for each part in a stream (`View`) and kept; the shares that decide
the rest are weighed for each unit. What follows from the rows that fire is in `compliance.grading.listing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.grading.components import Part
from compliance.grading.units import Unit
from compliance.ruleset import Material, Rule, RuleSet
from compliance.ruleset_checks import BODY_WIDE

CLASSES: Final = (
    frozenset({"body", "coating", "liner", "tie_layer", "varnish"}),
    frozenset({"cap", "closure", "spout", "pump", "valve", "handle", "seal"}),
    frozenset({"label", "sleeve"}),
    frozenset({"ink", "adhesive"}),
)
"""Types whose rows may stand for each other by analogy (step 6): layers, attachments, decoration, consumables."""
LAYER_CLASS: Final = CLASSES[0]
CLASS_OF: Final = {component_type: members for members in CLASSES for component_type in members}
_CACHED: Final = 65_536


class Context(NamedTuple):
    """What conditions of a part ask of its unit; a fact that no row asks of the part is left None."""

    form: str | None = None
    layers_recorded: bool | None = None
    colour: frozenset[str] | None = None
    additives: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A part as a stream sees it.

    `rows` are those of its type and code, each with whether its condition holds (None: nobody gave the attribute);
    `analogies` the same for rows that would apply by analogy. `bounded` are the rows whose share must be weighed,
    each with whether it is an analogy; answers about shares come in this order.
    """

    part: Part
    component_type: str
    stream: str
    context: Context
    rows: tuple[tuple[Rule, bool | None], ...]
    analogies: tuple[tuple[Rule, bool | None], ...]
    bounded: tuple[tuple[Rule, bool], ...]


@lru_cache(maxsize=_CACHED)
def rows_of(rules: RuleSet, stream: str, component_type: str, material: Material) -> tuple[Rule, ...]:
    """The rows of the stream, and of any, that speak of parts of this type and code."""
    targets = rules.targets[stream]
    return tuple(
        rule
        for rule in rules.rules.values()
        if rule.stream in (stream, "any") and rule.asks_type(component_type) and rule.asks_code(material, targets)
    )


@lru_cache(maxsize=_CACHED)
def analogies_of(rules: RuleSet, stream: str, component_type: str, material: Material) -> tuple[Rule, ...]:
    """The rows of the stream that list this code by name for another type of the class (step 6, second case)."""
    others = CLASS_OF[component_type] - {component_type}
    targets = rules.targets[stream]
    return tuple(
        rule
        for rule in rules.rules.values()
        if rule.stream == stream
        and rule.lists == "always"
        and rule.named
        and not rule.types.isdisjoint(others)
        and rule.asks_code(material, targets)
    )


@lru_cache(maxsize=_CACHED)
def view(rules: RuleSet, stream: str, component_type: str, part: Part, context: Context) -> View:
    """The part in a stream; `context` as `context_of` restricts it."""
    assert part.material is not None
    direct = [r for r in rows_of(rules, stream, component_type, part.material) if r.recordable]
    analogous: Sequence[Rule] = ()
    if not part.is_carried and not any(rule.lists == "always" for rule in direct):
        analogous = analogies_of(rules, stream, component_type, part.material)
    return View(
        part=part,
        component_type=component_type,
        stream=stream,
        context=context,
        rows=tuple((rule, _condition(rule, component_type, part, context)) for rule in direct),
        analogies=tuple((rule, _condition(rule, component_type, part, context)) for rule in analogous),
        bounded=(
            *((rule, False) for rule in direct if rule.bounded),
            *((rule, True) for rule in analogous if rule.bounded),
        ),
    )


def _condition(rule: Rule, component_type: str, part: Part, context: Context) -> bool | None:
    """Whether the row's condition holds; None where nobody gave the attribute."""
    if not rule.field:
        return True
    if rule.attribute_of == "unit" or is_body_wide(rule, component_type):
        value = getattr(context, rule.field)
    else:
        value = part.fields.get(rule.field)
    return None if value is None else rule.met_by(value)


def is_body_wide(rule: Rule, component_type: str) -> bool:
    """Whether the row asks what one body component says for the whole body."""
    return rule.field in BODY_WIDE and (rule.attribute_of == "body" or component_type == "body")


@lru_cache(maxsize=_CACHED)
def facts_asked(rules: RuleSet, stream: str, component_type: str) -> frozenset[str]:
    """The facts of the unit that rows ask of parts of this type, analogies included."""
    kin = CLASS_OF[component_type]
    return frozenset(
        rule.field
        for rule in rules.rules.values()
        if rule.stream in (stream, "any")
        and (not rule.types.isdisjoint(kin) or "*" in rule.types)
        and (rule.attribute_of == "unit" or is_body_wide(rule, component_type))
    )


@lru_cache(maxsize=_CACHED)
def context_of(rules: RuleSet, stream: str, component_type: str, facts: Context) -> Context:
    """The facts of a unit that matter to parts of a type; the others are None, so that views are shared."""
    asked = facts_asked(rules, stream, component_type)
    return Context(
        form=facts.form if "form" in asked else None,
        layers_recorded=facts.layers_recorded if "layers_recorded" in asked else None,
        colour=facts.colour if "colour" in asked else None,
        additives=facts.additives if "additives" in asked else None,
    )


def facts_of(unit: Unit) -> Context:
    """What conditions may ask of the unit; colour and additives of one body component hold for the body."""
    colours: frozenset[str] | None = None
    additives: frozenset[str] | None = None
    for part, matched in zip(unit.parts, unit.types, strict=True):
        if matched == "body":
            if "colour" in part.fields:
                colours = (colours or frozenset()) | {str(part.fields["colour"])}
            if "additives" in part.fields:
                given = part.fields["additives"]
                assert isinstance(given, frozenset)
                additives = given if additives is None else additives | given
    return Context(unit.form, unit.layers_recorded(), colours, additives)


def shares_held(unit: Unit, views: Sequence[View], total: float, rules: RuleSet) -> list[tuple[bool, ...]]:
    """For each view, whether the share of each of its bounded rows lies within the row's bounds."""
    known: dict[tuple[Rule, object], bool] = {}
    answers = []
    for seen in views:
        answer = []
        for rule, by_analogy in seen.bounded:
            scope: object = CLASS_OF[seen.component_type] if by_analogy else None
            key = (rule, (scope, seen.part.material) if rule.share_basis == "code" else scope)
            held = known.get(key)
            if held is None:
                share = 100 * _weight_counted(rule, unit, seen, by_analogy, rules) / total
                held = known[key] = rule.low <= share < rule.high
            answer.append(held)
        answers.append(tuple(answer))
    return answers


def _weight_counted(rule: Rule, unit: Unit, seen: View, by_analogy: bool, rules: RuleSet) -> float:
    """The grams that the row counts: its own types and codes, one code of those, or the target groups."""
    targets = rules.targets[seen.stream]
    kin = CLASS_OF[seen.component_type] if by_analogy else frozenset[str]()
    weight = 0.0
    for part, matched, grams in zip(unit.parts, unit.types, unit.grams, strict=True):
        material = part.material
        if not grams or material is None:
            continue
        if rule.share_basis == "target":
            counted = material.group in targets
        elif rule.share_basis == "code" and material is not seen.part.material:
            counted = False
        else:
            counted = (matched in kin or rule.asks_type(matched)) and rule.asks_code(material, targets)
        if counted:
            weight += grams
    return weight
