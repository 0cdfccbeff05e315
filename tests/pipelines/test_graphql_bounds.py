"""What a GraphQL request may ask of Dagster, and that Dagster's own pages ask for far less."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dagster_webserver
import pytest
from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLSyntaxError,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    Visitor,
    get_introspection_query,
    parse,
    visit,
)

from pipelines.engine.graphql_bounds import MAX_ALIASES, MAX_COST, MAX_DEPTH, MAX_FIELDS, Asked, parse_bounded

LIST = "runsOrError(limit: %d) { ... on Runs { results { id } } }"
DEEP = "{ a " * (MAX_DEPTH + 1) + "}" * (MAX_DEPTH + 1)
DOUBLING = "{ ...F0 }" + "".join(
    f" fragment F{n} on Query {{ a {{ ...F{n + 1} }} b {{ ...F{n + 1} }} }}" for n in range(12)
)

CHAIN = "".join(f"fragment F{n} on Query {{ ...F{n + 1} }} " for n in range(1_500)) + "fragment F1500 on Query { a }"


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("{" + " ".join(f"a{n}: {LIST % 1}" for n in range(21)) + "}", None),
        ("{" + "version " * 22 + "}", None),
        ("{" + "... on Query { version } " * 22 + "}", None),
        ("{" + "...F " * 22 + "} fragment F on Query { version }", None),
        ("".join(f"query Q{n} {{ a: version }} " for n in range(21)), None),
        (DEEP, None),
        (f"{DOUBLING} fragment F12 on Query {{ version }}", None),
        ("{ ...F } fragment F on Query { a { ...F } }", None),
        ("{ ...F } fragment F on Query { ...F }", None),
        ("{ ...F0 } " + CHAIN, None),
        ("{" + " ".join(f"f{n}" for n in range(MAX_FIELDS + 1)) + "}", None),
        ("{" + LIST % 10**9 + "}", None),
        ("query($n: Int) {" + (LIST % 1).replace("1", "$n") + "}", {"n": 10**9}),
        ("query($n: Int) {" + (LIST % 1).replace("1", "$n") + "}", {"n": 1e9}),
        ("query($n: Int = 1000000000) {" + (LIST % 1).replace("1", "$n") + "}", {}),
        ("{ a(limit: 2000) { b(limit: 2000) { c } } }", None),
    ],
)
def test_a_query_that_would_keep_dagster_busy_is_refused(query: str, variables: dict[str, object] | None) -> None:
    with pytest.raises(GraphQLError, match="at most 20 aliases"):
        parse_bounded(query, variables or {})


def queries_of_dagsters_pages() -> Iterator[str]:
    """Every query of the installed release's pages, with the fragments that it uses."""
    built = Path(dagster_webserver.__file__).parent / "webapp" / "build"
    texts: dict[str, dict[str, str]] = {"fragment": {}, "query": {}, "mutation": {}, "subscription": {}}
    for file in built.rglob("*.js"):
        source = file.read_text(errors="replace")
        for found in re.finditer(r'"\\n\s*(query|mutation|subscription|fragment) (\w+)((?:[^"\\]|\\.)*)"', source):
            text = f"{found[1]} {found[2]}{found[3]}".replace("\\n", " ").replace('\\"', '"')
            with suppress(GraphQLSyntaxError):
                parse(text)
                texts[found[1]][found[2]] = text
    for kind in ("query", "mutation", "subscription"):
        for text in texts[kind].values():
            used: dict[str, str] = {}
            waiting = [text]
            while waiting:
                for name in re.findall(r"\.\.\.(\w+)", waiting.pop()):
                    if name in texts["fragment"] and name not in used:
                        used[name] = texts["fragment"][name]
                        waiting.append(used[name])
            yield text + " ".join(used.values())


class AddTypenames(Visitor):
    """Adds `__typename` to each selection but an operation's own, as the client of Dagster's pages does (Apollo)."""

    def leave_selection_set(self, node: SelectionSetNode, _key: object, parent: object, *_: object) -> object:
        if isinstance(parent, OperationDefinitionNode):
            return None
        name = FieldNode(name=NameNode(value="__typename"), arguments=[], selection_set=None, alias=None)
        names = [each.name.value for each in node.selections if isinstance(each, FieldNode)]
        return None if "__typename" in names else SelectionSetNode(selections=[*node.selections, name])


def test_every_query_of_dagsters_own_pages_is_far_within_the_bounds() -> None:
    asked = [Asked(visit(parse(query), AddTypenames()), {}) for query in queries_of_dagsters_pages()]
    assert len(asked) > 150
    assert max(each.depth for each in asked) <= MAX_DEPTH * 0.6
    assert max(each.fields for each in asked) <= MAX_FIELDS * 0.6
    assert max(each.aliases for each in asked) <= MAX_ALIASES * 0.6
    assert max(each.cost for each in asked) <= MAX_COST / 4
    parse_bounded(get_introspection_query(), {})  # its playground asks for the schema
