"""Lists the design rules that fired on a stored row: those of its grade's trace that no other rule overruled."""

from collections.abc import Iterable
from functools import lru_cache

from compliance.grading.assessment import assess
from compliance.grading.rows import Inputs, deciding, record_of
from compliance.ruleset import RuleSet


def fired_rules(rows: Iterable[Inputs], rules: RuleSet) -> list[list[str]]:
    """Return the ids of the rules that fired on each row of `GRADED_INPUTS`, in the order of the ids."""
    return [list(_fired(deciding(row), rules)) for row in rows]


@lru_cache(maxsize=32_768)
def _fired(row: Inputs, rules: RuleSet) -> tuple[str, ...]:
    found = set[str]()
    for unit in assess(record_of(row), rules).units:
        for part in unit.outcomes:
            found.update(rule.rule_id for rule in part.standing)
        if (unlisted := unit.unlisted(rules)) is not None:
            found.add(unlisted.rule_id)
    return tuple(sorted(found))
