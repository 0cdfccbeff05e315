"""v1 only grows: the document is held against the last released one, and the guard itself against what it must see."""

import copy
from collections.abc import Callable, Iterator

import pytest

from tests.openapi import document
from tools.additive import breaks, differences
from tools.record_release import last

CURRENT = document()
Mutation = Callable[[], dict]
Named = tuple[str, Mutation]
AtPath = tuple[str, Iterator[Named]]
"""A path, and what is changed in what its operations take and answer."""


SETTLED = {
    "POST /api/v1/imports: 202.source.components.sheet may be null on one side only.",
    "POST /api/v1/oauth/token: 400.details[] may be object 2 on one side only.",
    "POST /api/v1/skus/batch: 200.results[].errors[] may be object 1 on one side only.",
    # Bounds of numbers (decisions §13): weights at most 1e9 g, units at most 1e12.
    "POST /api/v1/skus: body.weight_grams: maximum differs.",
    "POST /api/v1/skus/batch: body.skus[].components[].weight_g: maximum differs.",
    "POST /api/v1/skus/batch: body.skus[].weight_grams: maximum differs.",
    "PUT /api/v1/skus/{id}/volumes: body[].units_placed: maximum differs.",
    # `/readyz` says `degraded` where a part is away (decisions §13, Operation); both answer with one schema.
    "GET /healthz: 200.status: degraded is a code on one side only.",
}
"""What is not additive and was decided all the same: the entry `more` behind a hundred faults (decisions §12), the
sheet of a CSV's components, whose description has always said that it is null, and what decisions §13 settles."""


def test_the_document_only_adds_to_the_released_one():
    assert set(breaks(last(), CURRENT)) <= SETTLED


def test_a_document_adds_nothing_to_itself():
    assert breaks(CURRENT, copy.deepcopy(CURRENT)) == []


def at(document: dict, path: tuple) -> dict:
    for part in path:
        document = document[part]
    return document


def changed(document: dict, path: tuple, change: Callable[[dict], dict]) -> dict:
    """The document with one node changed; all that lies beside the way to it is shared."""
    if not path:
        return change(document)
    copied = copy.copy(document)
    copied[path[0]] = changed(copied[path[0]], path[1:], change)
    return copied


def without(path: tuple, name: object) -> Mutation:
    def rest(holder: dict) -> dict:
        if isinstance(holder, list):
            return [one for one in holder if one != name]
        return {key: value for key, value in holder.items() if key != name}

    return lambda: changed(CURRENT, path, rest)


def with_value(path: tuple, name: str, value: object) -> Mutation:
    return lambda: changed(CURRENT, path, lambda holder: holder | {name: value})


def schemas_of(holder: dict, path: tuple) -> Iterator[tuple]:
    for kind, content in holder.get("content", {}).items():
        if "schema" in content:
            yield (*path, "content", kind, "schema")


def reached(path: tuple, seen: set) -> Iterator[tuple]:
    """The place of every schema from here on, each component once."""
    schema = at(CURRENT, path)
    if "$ref" in schema:
        path = ("components", "schemas", schema["$ref"].rpartition("/")[2])
        schema = at(CURRENT, path)
    if path in seen:
        return
    seen.add(path)
    yield path
    for name in schema.get("properties", {}):
        yield from reached((*path, "properties", name), seen)
    for place in range(len(schema.get("anyOf", ()))):
        yield from reached((*path, "anyOf", place), seen)
    if "items" in schema:
        yield from reached((*path, "items"), seen)


def of_operations() -> Iterator[AtPath]:
    for path in CURRENT["paths"]:
        yield path, of_path(path)


def of_path(path: str) -> Iterator[Named]:
    yield f"{path} gone", without(("paths",), path)
    for method, operation in CURRENT["paths"][path].items():
        place = ("paths", path, method)
        named = f"{method} {path}"
        yield f"{named} gone", without(place[:2], method)
        yield f"{named} renamed", with_value(place, "operationId", "renamed")
        yield f"{named} no longer stable", with_value(place, "x-stability", "beta")
        for index, parameter in enumerate(operation.get("parameters", ())):
            yield f"{named} without {parameter['name']}", without((*place, "parameters"), parameter)
            if not parameter["required"]:
                yield (
                    f"{named} asks for {parameter['name']}",
                    with_value((*place, "parameters", index), "required", True),
                )
        for status, answer in operation["responses"].items():
            answers = (*place, "responses")
            yield f"{named} never {status}", without(answers, status)
            for code in answer.get("x-error-codes", ()):
                yield f"{named} {status} without {code}", without((*answers, status, "x-error-codes"), code)
            for header in answer["headers"]:
                yield f"{named} {status} without {header}", without((*answers, status, "headers"), header)


def of_bodies() -> Iterator[AtPath]:
    seen: set = set()
    for path, methods in CURRENT["paths"].items():
        for method, operation in methods.items():
            for start in schemas_of(operation.get("requestBody", {}), ("paths", path, method, "requestBody")):
                for place in reached(start, seen):
                    yield path, of_request(place, at(CURRENT, place))


def of_request(place: tuple, schema: dict) -> Iterator[Named]:
    named = "request " + "/".join(map(str, place[2:]))
    for name in schema.get("properties", {}):
        yield f"{named} without {name}", without((*place, "properties"), name)
        if name not in schema.get("required", ()):
            yield f"{named} asks for {name}", with_value(place, "required", [*schema.get("required", ()), name])
    for code in schema.get("enum", ()):
        yield f"{named} without {code}", without((*place, "enum"), code)
    if isinstance(schema.get("type"), list):
        yield f"{named} not null", with_value(place, "type", [kind for kind in schema["type"] if kind != "null"])
    if schema.get("type") in ("string", ["string", "null"]) and "enum" not in schema and "format" not in schema:
        yield f"{named} shorter", with_value(place, "maxLength", schema.get("maxLength", 2) - 1)
        yield f"{named} with a pattern", with_value(place, "pattern", "^[a-z]")


def of_answers() -> Iterator[AtPath]:
    seen: set = set()
    for path, methods in CURRENT["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                for start in schemas_of(answer, ("paths", path, method, "responses", status)):
                    for place in reached(start, seen):
                        yield path, of_answer(place, at(CURRENT, place))


def of_answer(place: tuple, schema: dict) -> Iterator[Named]:
    named = "answer " + "/".join(map(str, place[2:]))
    for name in schema.get("properties", {}):
        yield f"{named} without {name}", without((*place, "properties"), name)
    for name in schema.get("required", ()):
        yield f"{named} perhaps without {name}", without((*place, "required"), name)
    for code in schema.get("enum", ()):
        yield f"{named} without {code}", without((*place, "enum"), code)
    if "enum" in schema and not schema.get("x-open"):
        yield f"{named} with a new code", with_value(place, "enum", [*schema["enum"], "new"])
    if schema.get("type") == "string" and "enum" not in schema:
        yield f"{named} may be null", with_value(place, "type", ["string", "null"])


def of_one(document: dict, path: str) -> dict:
    return document | {"paths": {name: methods for name, methods in document["paths"].items() if name == path}}


@pytest.mark.long
@pytest.mark.parametrize("mutations", [of_operations, of_bodies, of_answers])
def test_every_loss_and_every_new_demand_is_noticed(mutations: Callable[[], Iterator[AtPath]]):
    """At the path whose operations it concerns, which are compared alone."""
    unnoticed, tried = [], 0
    for path, names in mutations():
        for name, mutated in names:
            tried += 1
            if next(differences(of_one(CURRENT, path), of_one(mutated(), path)), None) is None:
                unnoticed.append(name)
    assert tried > 100
    assert not unnoticed


def test_what_v1_may_do_is_let_through():
    grown = copy.deepcopy(CURRENT)
    schemas = grown["components"]["schemas"]
    schemas["SkuInput"]["properties"]["shelf_life_days"] = {"type": ["integer", "null"]}
    schemas["SkuListItem"]["properties"]["shelf_life_days"] = {"type": ["integer", "null"]}
    schemas["SkuListItem"]["required"].append("shelf_life_days")
    schemas["ErrorCode"]["enum"].append("too_early")
    grown["paths"]["/api/v1/pallets"] = copy.deepcopy(grown["paths"]["/api/v1/skus"])
    assert breaks(CURRENT, grown) == []
