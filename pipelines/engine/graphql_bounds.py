"""Bounds what a GraphQL request asks for: Dagster itself answers whatever it can parse.

Fragments count as often as they are used, and all operations of a document together. The largest of Dagster's own pages
has 11 levels, 4 aliases and 1 046 fields, with the `__typename` that its client adds to each selection; introspection
has a few levels more (`tests/pipelines/test_graphql_bounds.py` measures both on the installed release). The rule of
graphene for the depth follows fragments as often as they double, so it is no bound itself.
"""

from collections.abc import Mapping
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
    value_from_ast_untyped,
)

MAX_DEPTH: Final = 24
MAX_FIELDS: Final = 2_000
MAX_ALIASES: Final = 20
"""Fields under another name, and what a selection repeats: each has Dagster answer the same once more."""
MAX_COST: Final = 2_000_000
"""Fields, each times the limits of the lists that it is in."""
_MAX_TOKENS: Final = 20_000
TOO_MUCH: Final = (
    f"The query asks for too much at once. Send at most {MAX_ALIASES} aliases or repeated fields, {MAX_DEPTH} levels "
    f"and {MAX_FIELDS} fields, and lower limits: what they multiply is at most {MAX_COST} fields."
)


def parse_bounded(query: str, variables: Mapping[str, object]) -> DocumentNode:
    """Return the parsed document. Raise `GraphQLError` where it is none, or asks for too much."""
    try:
        document = parse(query, no_location=True, max_tokens=_MAX_TOKENS)
        Asked(document, variables)
    except RecursionError:
        raise GraphQLError(TOO_MUCH) from None
    return document


def operations_of(document: DocumentNode) -> list[OperationDefinitionNode]:
    """Return a document's queries, mutations and subscriptions."""
    return [part for part in document.definitions if isinstance(part, OperationDefinitionNode)]


class Asked:
    """What a document asks for: levels, fields, aliases, and fields times the limits around them.

    Counting ends with `GraphQLError` as soon as a bound is passed, so that it costs no more than what it permits.
    """

    def __init__(self, document: DocumentNode, variables: Mapping[str, object]) -> None:
        """Count; a variable that was not sent has its default."""
        self.depth = self.fields = self.aliases = 0
        self.cost = 0.0
        operations = operations_of(document)
        declared = [variable for operation in operations for variable in operation.variable_definitions]
        with_default = [(part.variable.name.value, part.default_value) for part in declared if part.default_value]
        self._variables = {name: value_from_ast_untyped(value) for name, value in with_default} | {**variables}
        fragments = [part for part in document.definitions if isinstance(part, FragmentDefinitionNode)]
        self._fragments = {fragment.name.value: fragment.selection_set for fragment in fragments}
        for operation in operations:
            self._count(operation.selection_set, 1, 1, set())

    def _count(self, selection: SelectionSetNode, depth: int, times: float, seen: set[str], of_type: str = "") -> None:
        """Count a selection that is asked for so many times; `seen` are the names in it, by the type they are of."""
        for part in selection.selections:
            match part:
                case FieldNode():
                    name = f"{of_type}.{(part.alias or part.name).value}"
                    self.aliases += (part.alias is not None) + (name in seen)
                    self.fields, self.cost, self.depth = self.fields + 1, self.cost + times, max(self.depth, depth)
                    seen.add(name)
                    many = self.fields > MAX_FIELDS or self.aliases > MAX_ALIASES
                    if many or self.depth > MAX_DEPTH or self.cost > MAX_COST:
                        raise GraphQLError(TOO_MUCH)
                    if part.selection_set is not None:
                        self._count(part.selection_set, depth + 1, times * self._limit(part), set())
                case InlineFragmentNode():
                    condition = part.type_condition
                    self._count(part.selection_set, depth, times, seen, condition.name.value if condition else of_type)
                case FragmentSpreadNode():
                    name = f"...{part.name.value}"
                    self.aliases += name in seen
                    seen.add(name)
                    if (fragment := self._fragments.get(part.name.value)) is not None:  # GraphQL refuses unknown names
                        self._count(fragment, depth, times, set())

    def _limit(self, field: FieldNode) -> float:
        """Return how many of what it selects a field asks for; 1 where it does not say."""
        for argument in field.arguments:
            if argument.name.value.lower().endswith("limit"):
                value = value_from_ast_untyped(argument.value, self._variables)
                if isinstance(value, int | float):  # GraphQL takes 1e9 for a whole number, too
                    return max(value, 1)
        return 1
