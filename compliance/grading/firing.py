"""Step 5 of grading.md: finds the table rows that apply to a part, and whether their conditions hold.

Results that do not depend on weights are computed once for each distinct part and stream, and cached; the shares that
decide the rest are computed for each unit. `outcome` applies the rows that fire.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.grading.units import Part, Unit
from compliance.rule_rows import Material, Rule, Value
from compliance.ruleset import BODY_WIDE, RuleSet

CLASSES: Final = (
    frozenset({"body", "coating", "liner", "tie_layer", "varnish"}),
    frozenset({"cap", "closure", "spout", "pump", "valve", "handle", "seal"}),
    frozenset({"label", "sleeve"}),
    frozenset({"ink", "adhesive"}),
)
"""Types whose rows may be used for each other by analogy (step 6): layers, attachments, decoration, consumables."""
LAYER_CLASS: Final = CLASSES[0]
ATTACHMENTS: Final = CLASSES[1]
WALL: Final = LAYER_CLASS - {"liner"}
"""The layers to which a row about an attachment may apply by analogy: an induction seal is no wall."""
CLASS_OF: Final = {component_type: members for members in CLASSES for component_type in members}
_CACHED: Final = 65_536


class Facts(NamedTuple):
    """The facts of a unit that conditions may read; None is a fact that is not given."""

    form: str | None
    layers_recorded: bool
    colour: frozenset[str] | None
    additives: frozenset[str] | None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The recordable rows that apply to one material in one type of part, in one stream.

    `analogies` are the rows that would apply by analogy (step 6). `bounded` are the rows whose share must be weighed,
    each with whether it is an analogy; answers about shares come in this order. `own` are the attributes that the rows
    read from the part, `unit` those that they read from its unit.
    """

    stream: str
    component_type: str
    material: Material
    is_carried: bool
    direct: tuple[Rule, ...]
    analogies: tuple[Rule, ...]
    bounded: tuple[tuple[Rule, bool], ...]
    own: tuple[str, ...]
    unit: tuple[str, ...]


class Face(NamedTuple):
    """All that rows can read of a part: equal faces are graded alike, so that results are cached by face.

    `own` and `unit` are the answers to the rows' attributes, in their order; None is an attribute that is not given.
    `coded_by_text` matters when an attribute is tried that could give the part its code (step 8).
    """

    rows: Rows
    own: tuple[Value | None, ...]
    unit: tuple[Value | None, ...]
    coded_by_text: bool

    def with_answer(self, field: str, value: Value, *, of_unit: bool) -> "Face":
        """Return the face as if one more attribute were given, by the part or by its unit."""
        if of_unit:
            return self._replace(unit=_replaced(self.unit, self.rows.unit.index(field), value))
        return self._replace(own=_replaced(self.own, self.rows.own.index(field), value))


def _replaced(answers: tuple[Value | None, ...], place: int, value: Value) -> tuple[Value | None, ...]:
    return (*answers[:place], value, *answers[place + 1 :])


@lru_cache(maxsize=4096)
def rows_for_type(rules: RuleSet, stream: str, component_type: str) -> tuple[Rule, ...]:
    """Return the rows of the stream, and of any stream, for parts of a type, whatever their code."""
    return tuple(r for r in rules.rules.values() if r.stream in (stream, "any") and r.asks_type(component_type))


@lru_cache(maxsize=4096)
def _rows_for_kin(rules: RuleSet, stream: str, component_type: str) -> tuple[Rule, ...]:
    """Return the rows of the stream that always list codes by name for another type of the class."""
    others = CLASS_OF[component_type] - {component_type}
    apart = component_type in WALL and not rules.attachments_speak_for_layers
    return tuple(
        rule
        for rule in rules.rules.values()
        if rule.stream == stream
        and rule.lists == "always"
        and rule.materials
        and not rule.types.isdisjoint(others)
        and not (apart and not rule.types.isdisjoint(ATTACHMENTS))
    )


@lru_cache(maxsize=_CACHED)
def rows_of(rules: RuleSet, stream: str, component_type: str, material: Material, is_carried: bool) -> Rows:
    """Return the rows that apply to a material in a type of part."""
    targets = rules.targets[stream]
    direct = tuple(
        rule
        for rule in rows_for_type(rules, stream, component_type)
        if rule.recordable and rule.asks_code(material, targets)
    )
    analogies: tuple[Rule, ...] = ()
    if not is_carried and not any(rule.lists == "always" for rule in direct):
        kin = _rows_for_kin(rules, stream, component_type)
        analogies = tuple(rule for rule in kin if rule.asks_code(material, targets))
    asking = [rule for rule in (*direct, *analogies) if rule.field]
    return Rows(
        stream=stream,
        component_type=component_type,
        material=material,
        is_carried=is_carried,
        direct=direct,
        analogies=analogies,
        bounded=(
            *((rule, False) for rule in direct if rule.bounded),
            *((rule, True) for rule in analogies if rule.bounded),
        ),
        own=_fields(rule for rule in asking if not asks_unit(rule, component_type)),
        unit=_fields(rule for rule in asking if asks_unit(rule, component_type)),
    )


def _fields(asking: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.field for rule in asking))


def asks_unit(rule: Rule, component_type: str) -> bool:
    """Return whether the unit answers the row: for its form and layers, and for attributes of the whole body."""
    return rule.attribute_of == "unit" or is_body_wide(rule, component_type)


def is_body_wide(rule: Rule, component_type: str) -> bool:
    """Return whether the row reads an attribute that one body component gives for the whole body."""
    return rule.field in BODY_WIDE and (rule.attribute_of == "body" or component_type == "body")


def face(rules: RuleSet, stream: str, component_type: str, part: Part, facts: Facts) -> Face:
    """Return the part as the rows of a stream read it in its unit."""
    assert part.material is not None
    rows = rows_of(rules, stream, component_type, part.material, part.is_carried)
    unit = tuple([getattr(facts, field) for field in rows.unit]) if rows.unit else ()
    return Face(rows, tuple(map(part.fields.get, rows.own)), unit, part.coded_by_text)


def conditions(seen: Face) -> tuple[tuple[bool | None, ...], tuple[bool | None, ...]]:
    """Return for each direct row and each analogy whether its condition holds; None where an attribute is not given."""
    own, unit = dict(zip(seen.rows.own, seen.own, strict=True)), dict(zip(seen.rows.unit, seen.unit, strict=True))

    def met(rule: Rule) -> bool | None:
        if not rule.field:
            return True
        value = (unit if asks_unit(rule, seen.rows.component_type) else own)[rule.field]
        return None if value is None else rule.met_by(value)

    return tuple(map(met, seen.rows.direct)), tuple(map(met, seen.rows.analogies))


def facts_of(unit: Unit) -> Facts:
    """Return the unit's facts for conditions; colour and additives of one body component apply to the body."""
    colours: frozenset[str] | None = None
    additives: frozenset[str] | None = None
    for part, matched in zip(unit.parts, unit.types, strict=True):
        if matched == "body":
            if (colour := part.fields.get("colour")) is not None:
                colours = (colours or frozenset()) | {str(colour)}
            if (entries := part.fields.get("additives")) is not None:
                assert isinstance(entries, frozenset)
                additives = entries if additives is None else additives | entries
    return Facts(unit.form, unit.layers_recorded(), colours, additives)


def shares_held(unit: Unit, faces: Sequence[Face], total: float, rules: RuleSet) -> list[tuple[bool, ...]]:
    """Return, for each face, whether the share of each of its bounded rows lies within the row's bounds."""
    shares: dict[tuple[Rule, object], bool] = {}
    answers: list[tuple[bool, ...]] = []
    for seen in faces:
        rows = seen.rows
        answer = []
        for rule, by_analogy in rows.bounded:
            scope = CLASS_OF[rows.component_type] if by_analogy else None
            key = (rule, (scope, rows.material) if rule.share_basis == "code" else scope)
            in_band = shares.get(key)
            if in_band is None:
                share = 100 * weight_counted(rule, unit, rows, by_analogy, rules) / total
                in_band = shares[key] = rule.low <= share < rule.high
            answer.append(in_band)
        answers.append(tuple(answer))
    return answers


def weight_counted(rule: Rule, unit: Unit, rows: Rows, by_analogy: bool, rules: RuleSet) -> float:
    """Return the grams that the row counts: its own types and codes, one code of those, or the target groups."""
    targets = rules.targets[rows.stream]
    kin = CLASS_OF[rows.component_type] if by_analogy else frozenset[str]()
    weight = 0.0
    for part, matched, grams in zip(unit.parts, unit.types, unit.grams, strict=True):
        material = part.material
        if not grams or material is None:
            continue
        if rule.share_basis == "target":
            counted = material.group in targets
        elif rule.share_basis == "code" and material is not rows.material:
            counted = False
        else:
            counted = (matched in kin or rule.asks_type(matched)) and rule.asks_code(material, targets)
        if counted:
            weight += grams
    return weight


STRICTNESS: Final = ("disqualify", "not_assessed", "removed_limited", "limited", "removed", "none")
"""The effects, strictest first."""
RANK: Final = {effect: rank for rank, effect in enumerate(STRICTNESS)}


class Effect(NamedTuple):
    """The effect of a part on its unit.

    `removed` is the part of its weight that is removed; `limited` names its limited features; `unlisted` says that its
    share together with the other unlisted parts decides (ANY-011c and d).
    """

    disqualified: bool
    not_assessed: bool
    removed: float
    limited: frozenset[tuple[str, str | None]]
    unlisted: bool


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The rows that fired on a part: those that apply and those overruled.

    `open` are the rows that depend on a missing attribute, although type, code and share hold.
    """

    effect: Effect
    standing: tuple[Rule, ...]
    overruled: tuple[Rule, ...]
    open: tuple[Rule, ...]
    by_analogy: bool


@lru_cache(maxsize=_CACHED)
def outcome(rules: RuleSet, seen: Face, bands: tuple[bool, ...]) -> Outcome:
    """Return the rows' result for a part whose bounded rows hold as `held` says, in the order of `Rows.bounded`."""
    of_rows = seen.rows
    met, met_by_analogy = conditions(seen)
    answers = dict(zip(of_rows.bounded, bands, strict=True))
    rows = [(rule, m, answers.get((rule, False), True)) for rule, m in zip(of_rows.direct, met, strict=True)]
    fired = [rule for rule, m, holds in rows if m and holds]
    unlisted = by_analogy = False
    if not of_rows.is_carried:
        listing = [
            holds for rule, m, holds in rows if rule.lists == "always" or (rule.lists == "fired" and m and holds)
        ]
        in_target = of_rows.material.group in rules.targets[of_rows.stream]
        if listing:
            fired += [] if any(listing) else [rules.rules["ANY-012"]]
        elif in_target and (of_rows.component_type in LAYER_CLASS or not of_rows.analogies):
            fired.append(rules.rules["ANY-011b"])
        elif of_rows.analogies:
            by_analogy = True
            analogies = [
                (rule, m, answers.get((rule, True), True))
                for rule, m in zip(of_rows.analogies, met_by_analogy, strict=True)
            ]
            rows += analogies
            fired += [rule for rule, m, holds in analogies if m and holds]
            fired.append(rules.rules["ANY-011a"])
            fired += [] if any(holds for _, _, holds in analogies) else [rules.rules["ANY-012"]]
        else:
            unlisted = True
    standing, overruled = _strictest(fired)
    return Outcome(
        effect=_effect(standing, of_rows.component_type, unlisted=unlisted),
        standing=standing,
        overruled=overruled,
        open=() if of_rows.is_carried else tuple(rule for rule, m, holds in rows if m is None and holds),
        by_analogy=by_analogy,
    )


def _strictest(fired: list[Rule]) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return the strictest row for each parameter (of equals the smaller rule_id), and the overruled others."""
    if len({rule.parameter for rule in fired}) == len(fired):
        return tuple(fired), ()
    stands: dict[str, Rule] = {}
    for rule in sorted(fired, key=lambda rule: (RANK[rule.effect], rule.rule_id)):
        stands.setdefault(rule.parameter, rule)
    standing = tuple(rule for rule in fired if stands[rule.parameter] is rule)
    return standing, tuple(rule for rule in fired if stands[rule.parameter] is not rule)


def _effect(standing: tuple[Rule, ...], component_type: str, *, unlisted: bool) -> Effect:
    effects = {rule.effect for rule in standing}
    limiting = [rule for rule in standing if rule.effect in ("limited", "removed_limited")]
    return Effect(
        disqualified="disqualify" in effects,
        not_assessed="not_assessed" in effects,
        removed=max((rule.removed for rule in standing), default=0.0),
        limited=frozenset((rule.rule_id, None if rule.bounded else component_type) for rule in limiting),
        unlisted=unlisted,
    )


@lru_cache(maxsize=_CACHED)
def open_fields(rules: RuleSet, result: Outcome, component_type: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the open attributes that can make a grade provisional: the part's own, and the body's."""
    relevant = [rule for rule in result.open if rule.field in rules.makes_provisional]
    body = frozenset(rule.field for rule in relevant if is_body_wide(rule, component_type))
    return frozenset(rule.field for rule in relevant if not is_body_wide(rule, component_type)), body
