"""Bounds what a GraphQL document asks for before it is passed on: Dagster itself answers whatever it can parse.

Fragments count as often as they are used. The largest of Dagster's own pages has 11 levels, 639 fields and 4 aliases;
GraphQL's introspection a few levels more (`tests/api/test_staff.py` measures both on the installed release).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from graphql.language import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

MAX_DEPTH: Final = 24
MAX_FIELDS: Final = 1_000
MAX_ALIASES: Final = 20
"""Fields under another name, and fields that a selection repeats: each has Dagster answer the same once more."""
MAX_COST: Final = 2_000_000
"""Fields, each times the limits of the lists that it is in."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a selection asks for: levels, fields, aliases, and fields times the limits around them."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    cost: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Return what both ask for beside each other."""
        return Cost(
            max(self.depth, other.depth),
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.cost + other.cost,
        )

    def within(self, limit: int) -> "Cost":
        """Return what a field asks for that has this selection, so many times."""
        return Cost(self.depth + 1, self.fields + 1, self.aliases, 1 + limit * self.cost)


_UNBOUNDED: Final = Cost(depth=MAX_DEPTH + 1)
"""Of a fragment that contains itself, which GraphQL refuses as well."""


def is_bounded(document: DocumentNode, variables: Mapping[str, object]) -> bool:
    """Return whether all operations of a document together stay within the bounds."""
    asked = cost_of(document, variables)
    return (
        asked.depth <= MAX_DEPTH
        and asked.fields <= MAX_FIELDS
        and asked.aliases <= MAX_ALIASES
        and asked.cost <= MAX_COST
    )


def cost_of(document: DocumentNode, variables: Mapping[str, object]) -> Cost:
    """Return what all operations of a document ask for."""
    counting = _Counting(document, variables)
    operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
    for operation in operations:
        counting.know_defaults(operation)
    return sum((counting.of(each.selection_set) for each in operations), Cost())


class _Counting:
    """Counts each fragment once, however often it is used."""

    def __init__(self, document: DocumentNode, variables: Mapping[str, object]) -> None:
        self._variables = dict(variables)
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        self._counted: dict[str, Cost] = {}

    def know_defaults(self, operation: OperationDefinitionNode) -> None:
        """Take the defaults of the variables that were not sent."""
        for each in operation.variable_definitions:
            if isinstance(each.default_value, IntValueNode):
                self._variables.setdefault(each.variable.name.value, int(each.default_value.value))

    def of(self, selection: SelectionSetNode) -> Cost:
        """Return what a selection asks for."""
        found = sum((self._of_part(each) for each in selection.selections), Cost())
        names = Counter(_names(selection))
        return found + Cost(aliases=names.total() - len(names))

    def _of_part(self, part: object) -> Cost:
        match part:
            case FieldNode():
                inner = self.of(part.selection_set) if part.selection_set else Cost()
                return inner.within(self._limit(part)) + Cost(aliases=part.alias is not None)
            case InlineFragmentNode():
                return self.of(part.selection_set)
            case FragmentSpreadNode():
                return self._of_fragment(part.name.value)
        return Cost()

    def _of_fragment(self, name: str) -> Cost:
        if name not in self._counted:
            self._counted[name] = _UNBOUNDED  # what it has while it is counted, where it contains itself
            fragment = self._fragments.get(name)  # GraphQL refuses a name that the document lacks
            self._counted[name] = self.of(fragment.selection_set) if fragment else Cost()
        return self._counted[name]

    def _limit(self, field: FieldNode) -> int:
        """Return how many of what it selects a field asks for; 1 where it does not say."""
        for argument in field.arguments:
            if argument.name.value.lower().endswith("limit"):
                given = argument.value
                value = self._variables.get(given.name.value) if isinstance(given, VariableNode) else None
                if isinstance(given, IntValueNode):
                    value = int(given.value)
                if isinstance(value, int):
                    return max(value, 1)
        return 1


def _names(selection: SelectionSetNode, condition: str = "") -> Iterator[tuple[str, str]]:
    """Yield what a selection repeats if it has it twice: its fields by the type they are of, its fragments."""
    for part in selection.selections:
        match part:
            case FieldNode():
                yield condition, (part.alias or part.name).value
            case FragmentSpreadNode():
                yield "...", part.name.value
            case InlineFragmentNode():
                named = part.type_condition.name.value if part.type_condition else condition
                yield from _names(part.selection_set, named)
