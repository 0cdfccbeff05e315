"""Steps 5 and 6 of grading.md for one part: which rows apply, and the result where no row lists its material.

An `Effect` has everything that the score needs from a part; the rows are kept for the trace. `compliance.grading.score`
adds up the effects of a unit's parts.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from compliance.grading.firing import LAYER_CLASS, Face, conditions, is_body_wide
from compliance.rule_rows import Rule
from compliance.ruleset import RuleSet

STRICTNESS: Final = ("disqualify", "not_assessed", "removed_limited", "limited", "removed", "none")
"""The effects, strictest first."""
RANK: Final = {effect: rank for rank, effect in enumerate(STRICTNESS)}
_CACHED: Final = 65_536


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
def open_fields(rules: RuleSet, found: Outcome, component_type: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the open attributes that can make a grade provisional: the part's own, and the body's."""
    relevant = [rule for rule in found.open if rule.field in rules.makes_provisional]
    body = frozenset(rule.field for rule in relevant if is_body_wide(rule, component_type))
    return frozenset(rule.field for rule in relevant if not is_body_wide(rule, component_type)), body
