"""Parses GraphQL requests with the library that Dagster uses, so that both read the same, and bounds what they ask for.

The forwarded request is rebuilt from the parsed one; nothing that parsing left out is forwarded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson
from graphql.error import GraphQLError
from graphql.language import (
    DocumentNode,
    FieldNode,
    OperationDefinitionNode,
    OperationType,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    parse,
    visit,
)

from api.staff import graphql_cost

MAX_BYTES: Final = 2**20
"""Largest request; the largest of Dagster's own pages has some 20 KiB."""
_MAX_TOKENS: Final = 20_000
_MAX_NAME_LENGTH: Final = 100
"""Characters of a mutation's name in the log: Dagster's own names are far shorter."""
TAGS: Final = {
    "executionParams": "executionMetadata",
    "executionParamsList": "executionMetadata",
    "backfillParams": "tags",
    "reexecutionParams": "extraTags",
}
"""Arguments that describe a launch, and where the tags of its runs are in each."""
LAUNCHES: Final = frozenset(
    {
        "launchRun",
        "launchPipelineExecution",
        "launchMultipleRuns",
        "launchRunReexecution",
        "launchPipelineReexecution",
        "launchPartitionBackfill",
        "reexecutePartitionBackfill",
    }
)
_USER_TAG: Final = "user"
"""The tag that Dagster shows as *Launched by*."""


class Unreadable(ValueError):  # noqa: N818  (an answer, not a fault of the program)
    """The text is no GraphQL request, or one that asks for too much; `key` is the text that says what is right."""

    def __init__(self, key: str = "dagster.unreadable") -> None:
        super().__init__(key)
        self.key = key


class Untaggable(ValueError):  # noqa: N818  (an answer, not a fault of the program)
    """The request launches by a value within the query, to which no user tag can be added; a variable can have it."""


@dataclass(frozen=True, slots=True)
class GraphqlRequest:
    """A document with its variables.

    `kinds`: query, mutation, subscription; `mutations`: their names; `launches`: the arguments that describe
    a launch, each with its variable, None where it is written out.
    """

    query: str
    variables: Mapping[str, object] | None
    operation: str | None
    kinds: frozenset[str]
    mutations: tuple[str, ...]
    launches: frozenset[tuple[str, str | None]] = frozenset()

    def tagged_with(self, email: str) -> "GraphqlRequest":
        """Return the same request, its runs tagged with the member, whatever tag was sent. Raise `Untaggable`."""
        variables = dict(self.variables or {})
        for argument, variable in self.launches:
            if variable is None:
                raise Untaggable
            variables[variable] = _tag_variable(variables.get(variable), TAGS[argument], email)
        return replace(self, variables=variables if self.launches else self.variables)

    def body(self, *, operation_name: str = "operationName") -> dict[str, object]:
        """Return the request that is forwarded."""
        return {"query": self.query, "variables": self.variables, operation_name: self.operation}


def parse_bytes(data: bytes) -> GraphqlRequest:
    """Parse a body. Raise `Unreadable`."""
    try:
        return parse_request(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise Unreadable from None


def parse_request(sent: object) -> GraphqlRequest:
    """Parse a decoded body. Raise `Unreadable`."""
    if not isinstance(sent, dict):
        raise Unreadable
    query, variables = sent.get("query"), sent.get("variables")
    operation = sent.get("operationName", sent.get("operation_name"))
    if not isinstance(query, str) or not isinstance(variables, dict | None) or not isinstance(operation, str | None):
        raise Unreadable
    try:
        document = parse(query, no_location=True, max_tokens=_MAX_TOKENS)
        is_bounded = graphql_cost.is_bounded(document, variables or {})
    except (GraphQLError, RecursionError):
        raise Unreadable from None
    if not is_bounded:
        raise Unreadable("dagster.too_much")
    operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
    mutations = [
        field.name.value[:_MAX_NAME_LENGTH]
        for each in operations
        if each.operation is OperationType.MUTATION
        for field in each.selection_set.selections
        if isinstance(field, FieldNode)
    ]
    kinds = frozenset(each.operation.value for each in operations)
    return GraphqlRequest(query, variables, operation, kinds, tuple(mutations), _launches(document))


def _launches(document: DocumentNode) -> frozenset[tuple[str, str | None]]:
    """Return the launching arguments anywhere in the document. A variable with a default counts as written out."""
    found, written_out = set(), set()

    class LaunchFinder(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            if node.name.value in LAUNCHES:
                for argument in node.arguments:
                    variable = argument.value.name.value if isinstance(argument.value, VariableNode) else None
                    found.add((argument.name.value, variable))

        def enter_variable_definition(self, node: VariableDefinitionNode, *_: object) -> None:
            if node.default_value is not None:
                written_out.add(node.variable.name.value)

    visit(document, LaunchFinder())
    return frozenset(
        (argument, None if variable in written_out else variable) for argument, variable in found if argument in TAGS
    )


def _tag_variable(value: object, tags_path: str, email: str) -> object:
    """Return a variable's value with the tag; Dagster refuses a value without the expected form."""
    if isinstance(value, list):
        return [_tag_variable(each, tags_path, email) for each in value]
    if not isinstance(value, dict):
        return value
    if tags_path != "executionMetadata":
        return _with_user_tag(value, tags_path, email)
    metadata = value.get(tags_path) or {}
    return value | {tags_path: _with_user_tag(metadata, "tags", email)} if isinstance(metadata, dict) else value


def _with_user_tag(value: dict[str, object], tags: str, email: str) -> dict[str, object]:
    sent = value.get(tags) or []
    sent = sent if isinstance(sent, list) else [sent]  # GraphQL reads one value as a list where a list is expected
    others = [tag for tag in sent if not (isinstance(tag, dict) and tag.get("key") == _USER_TAG)]
    return value | {tags: [*others, {"key": _USER_TAG, "value": email}]}
