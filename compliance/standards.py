"""Loads standards that take precedence over a rule-set's rules and that nobody here has read: notes beside a grade.

The rows are `en18120.csv`; a rule-set without that table says nothing. No grade depends on it.
"""

from compliance.rule_notes import StandardPart
from compliance.ruleset import RuleSet


def unread_parts(stream: str | None, rules: RuleSet) -> list[StandardPart]:
    """Return the parts that take precedence over the rules of a recycling stream."""
    return [part for part in rules.en18120 if part.say and stream in part.streams]


def unread(stream: str | None, rules: RuleSet) -> list[str]:
    """Return the sentences beside a grade of a recycling stream, in English; none for a stream without a standard."""
    return [part.say for part in unread_parts(stream, rules)]
