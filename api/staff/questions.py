"""What a GraphQL request asks: read here by the library that Dagster reads it with, so that both see the same.

What is passed on is made anew from what was read; nothing that the reading left out goes along.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from graphql.error import GraphQLError
from graphql.language import FieldNode, OperationDefinitionNode, OperationType, parse

MAX_BYTES: Final = 2**20
"""Of one request; the largest of Dagster's own pages has some 20 KiB."""
_MOST_TOKENS: Final = 20_000
_LONGEST_NAME: Final = 100
"""Of a mutation, as the log tells it: Dagster's own are far shorter."""
_OF_A_BACKFILL: Final = {"partitionNames", "partitionsByAssets", "assetSelection"}
_PERSON: Final = "user"
"""The tag that Dagster shows as *Launched by*."""


class Unreadable(ValueError):  # noqa: N818  (an answer, not a fault of the program)
    """It is no GraphQL request."""


@dataclass(frozen=True, slots=True)
class Question:
    """A document with its variables. `kinds`: query, mutation, subscription; `acts`: the names of what it changes."""

    query: str
    variables: Mapping[str, Any] | None
    operation: str | None
    kinds: frozenset[str]
    acts: tuple[str, ...]

    def named(self, email: str) -> "Question":
        """The same, its runs tagged with the member who asks, whatever the page has said."""
        named = {name: _named(value, email) for name, value in (self.variables or {}).items()}
        return replace(self, variables=named or self.variables)

    def body(self, *, operation_name: str = "operationName") -> dict[str, Any]:
        """The request as it is passed on."""
        return {"query": self.query, "variables": self.variables, operation_name: self.operation}


def of_bytes(data: bytes) -> Question:
    """The question of a request's body. Raises `Unreadable`."""
    try:
        return of(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise Unreadable from None


def of(given: object) -> Question:
    """The question of a decoded request. Raises `Unreadable`."""
    if not isinstance(given, dict):
        raise Unreadable
    query, variables = given.get("query"), given.get("variables")
    operation = given.get("operationName", given.get("operation_name"))
    if not isinstance(query, str) or not isinstance(variables, dict | None) or not isinstance(operation, str | None):
        raise Unreadable
    try:
        document = parse(query, no_location=True, max_tokens=_MOST_TOKENS)
    except (GraphQLError, RecursionError):
        raise Unreadable from None
    operations = [each for each in document.definitions if isinstance(each, OperationDefinitionNode)]
    acts = [
        chosen.name.value[:_LONGEST_NAME]
        for each in operations if each.operation is OperationType.MUTATION
        for chosen in each.selection_set.selections if isinstance(chosen, FieldNode)
    ]  # fmt: skip
    kinds = frozenset(each.operation.value for each in operations)
    return Question(query, variables, operation, kinds, tuple(acts))


def _named(value: Any, email: str) -> Any:
    """A variable, with the tag where it says what to launch: known by its form, as a page may name it as it likes."""
    if isinstance(value, list):
        return [_named(each, email) if isinstance(each, dict) else each for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() & _OF_A_BACKFILL:
        return _tagged(value, "tags", email)
    if "strategy" in value:
        return _tagged(value, "extraTags", email)
    metadata = value.get("executionMetadata") or {}
    if "selector" not in value or not isinstance(metadata, dict):
        return value
    return value | {"executionMetadata": _tagged(metadata, "tags", email)}


def _tagged(value: dict[str, Any], tags: str, email: str) -> dict[str, Any]:
    given = value.get(tags) or []
    others = [tag for tag in given if not (isinstance(tag, dict) and tag.get("key") == _PERSON)]
    return value | {tags: [*others, {"key": _PERSON, "value": email}]}
