"""A NUL, which no database stores, in every text that can be sent: each is a 4xx that says so, or is read without it.

What can be sent is read from what is declared: the document's parameters and bodies, the routes of the pages and what
their modules ask a form or an address for, the tools' arguments.
"""

import ast
import copy
import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from types import ModuleType
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.api.asking import ask
from tests.api.people import added, hidden, signed_in
from tests.connector.oauth.authorising import at_home
from tests.openapi import document
from warehouse.accounts import keys

DOCUMENT = document()
ENDING = ("/sign-out", "/account/leave", "/account/sessions", "/staff/sign-out")
"""What ends the session with which the rest is tried; none of them reads a text beside `csrf`."""
NUL = "a\0b"
REST = [
    (method, path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if path.startswith("/api/")
]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = DOCUMENT["components"]["schemas"][name]
    return schema


def sample(schema: dict[str, Any], depth: int = 0) -> Any:
    """A value with everything that a schema names, as deep as any body is."""
    schema = resolved(schema)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            parts = [resolved(each) for each in schema[choice]]
            found = next((each for each in parts if each.get("type") != "null"), parts[0])
            return sample(found, depth)
    if "example" in schema or "const" in schema:
        return copy.deepcopy(schema.get("example", schema.get("const")))
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object" if depth < 8:
            named = schema.get("properties", {})
            free = {"key": "text"} if not named and schema.get("additionalProperties") else {}
            return {name: sample(each, depth + 1) for name, each in named.items()} | free
        case "array" if depth < 8:
            return [sample(schema.get("items", {}), depth + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "string":
            return {"uuid": str(uuid4()), "date": "2026-01-01", "date-time": "2026-01-01T00:00:00Z"}.get(
                schema.get("format", ""), "text"
            )
    return None


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each text of a JSON value."""
    match value:
        case dict():
            for name, part in value.items():
                yield from places(part, (*way, name))
        case list():
            for number, part in enumerate(value):
                yield from places(part, (*way, number))
        case str():
            yield way


def with_nul(value: Any, way: tuple[Any, ...]) -> Any:
    if not way:
        return NUL
    changed = copy.copy(value)
    changed[way[0]] = with_nul(value[way[0]], way[1:])
    return changed


def asked_names(endpoint: Any) -> set[str]:
    """The names that the module of an endpoint asks a form, an address or a part for."""
    return names_in(inspect.getmodule(endpoint))


@cache
def names_in(module: ModuleType | None) -> set[str]:
    tree = ast.parse(inspect.getsource(module))
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="get" | "getlist" | "pop"), args=[ast.Constant(value=str(name)), *_]):
                found.add(name)
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                found.add(name)
    return {name for name in found if name.isascii() and name.replace("_", "").replace(".", "").isalnum()}


def pages_of(routes: Any) -> Iterator[tuple[str, str, Any]]:
    """Every route of a page, of sign-ins and of staff: method, path and endpoint."""
    for route in routes:
        if getattr(route, "methods", None) and not route.path.startswith(("/api/", "/dagster", "/.well-known")):
            for method in route.methods & {"GET", "POST"}:
                yield method, route.path, route.endpoint


@pytest.fixture
def everything(caller, pool, database, monkeypatch):
    """Ids of real records by the part of the path before them, and a person who may do everything."""
    monkeypatch.setattr("warehouse.suppliers.ANSWERS_PER_MINUTE", 100_000)
    with psycopg.connect(database.owner_url) as owner:
        opened = keys.Window(caller.client_id, 1_000_000, datetime(2026, 1, 1, tzinfo=UTC), None)
        keys.put(owner, caller.company, opened)
    asked = ask(caller, pool)
    person = signed_in(caller, pool, "administrator")
    imported = caller.post("/imports", None, params={"filename": "a.csv"}, content=b"sku_code;name\nB;b\n;c\n")
    ids = {
        "skus": asked.sku_id,
        "items": asked.sku_id,
        "imports": imported.json()["id"],
        "webhooks": caller.post("/webhooks", {"url": "https://erp.example/x"}).json()["data"]["id"],
        "supplier-data": asked.token,
    }
    return ids, person


def placed(path: str, ids: dict[str, str]) -> str:
    """The path with real ids where there are any."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        if part.startswith("{"):
            parts[at] = ids.get(parts[at - 1], str(uuid4()))
    return "/".join(parts)


def test_every_parameter_of_the_interface(caller, everything):
    ids, _ = everything
    for method, path, operation in REST:
        body = {"json": {}} if method in {"post", "put", "patch"} else {}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "header":
                continue  # a header with NUL is no HTTP: tests/api/server
            way, query = placed(path, ids), {}
            if parameter["in"] == "path":
                way = path.replace(f"{{{parameter['name']}}}", "a%00b")
            else:
                query = {parameter["name"]: NUL}
            way = placed(way, ids).removeprefix("/api/v1")
            answer = caller.request(method.upper(), way, params=query, **body)
            assert answer.status_code < 500, (method, path, parameter["name"], answer.text)


@pytest.mark.parametrize("operation", [one for one in REST if "requestBody" in one[2]], ids=lambda one: one[1])
def test_every_text_of_every_body_of_the_interface(caller, everything, operation):
    method, path, described = operation
    ids, _ = everything
    contents = described["requestBody"]["content"]
    way = placed(path, ids).removeprefix("/api/v1")
    for kind, content in contents.items():
        whole = sample(content["schema"])
        if kind == "application/json":
            for place in places(whole):
                answer = caller.request(method.upper(), way, json=with_nul(whole, place))
                assert answer.status_code < 500, (path, place, answer.text)
            named = caller.request(method.upper(), way, json={NUL: 1} | (whole if isinstance(whole, dict) else {}))
            assert named.status_code < 500, (path, named.text)
        elif kind == "multipart/form-data":
            for name in [*whole, NUL]:
                file = {"file": ("a.csv", b"sku_code,name\nA,b")} if name != "file" else {"file": (NUL, b"x")}
                data = {} if name == "file" else {name: NUL}
                answer = caller.request(method.upper(), way, data={"type": "test_report"} | data, files=file)
                assert answer.status_code < 500, (path, name, answer.text)
        elif kind == "application/x-www-form-urlencoded":
            for name in whole:
                answer = caller.request(method.upper(), way, data={"grant_type": "client_credentials", name: NUL})
                assert answer.status_code < 500, (path, name, answer.text)


def test_every_name_that_a_page_asks_for(everything, caller):
    ids, person = everything
    csrf = {"csrf": hidden(person.get("/people").text)["csrf"]}
    tried = 0
    for method, path, endpoint in pages_of(caller.http.app.routes):
        if path in ENDING:
            continue
        if "{" in path:
            answer = person.get(path[: path.index("{")] + "a%00b")
            assert answer.status_code < 500, (method, path)
        names = sorted(asked_names(endpoint) - {"csrf"})
        if not names:
            continue
        for sent in [dict.fromkeys(names, NUL)] if method == "GET" else [{name: NUL} for name in names]:
            tried += len(sent)
            way = placed(path, ids)
            answer = person.get(way, params=sent) if method == "GET" else person.post(way, csrf | sent)
            # A service without workers is not ready, whatever it is asked.
            assert answer.status_code < 500 or path == "/readyz", (method, path, sent)
            if answer.status_code == 404:
                break  # no such record here: nothing is read
    assert tried > 200


def test_what_the_token_endpoint_of_assistants_is_sent(caller):
    whole = {
        "grant_type": "authorization_code",
        "client_id": "c",
        "code": "c",
        "code_verifier": "v" * 43,
        "redirect_uri": "https://a.example/b",
        "resource": "r",
        "refresh_token": "t",
        "token": "t",
    }
    for path in ("/oauth/token", "/oauth/revoke"):
        for grant in ("authorization_code", "refresh_token"):
            for name in whole:
                sent = {**whole, "grant_type": grant, name: NUL}
                answer = caller.http.post(path, data=sent, headers={"X-Forwarded-For": caller.address})
                assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request"), (path, name)


def test_json_within_a_part_and_a_text_that_no_check_sees(caller, everything, monkeypatch):
    _, person = everything
    for mapping in ({"columns": {NUL: "name"}}, {"columns": {"a": NUL}}, {"values": {"material": {NUL: "glass"}}}):
        parts = {"file": ("a.csv", b"sku_code,name\nA,b"), "mapping": (None, json.dumps(mapping))}
        assert caller.request("POST", "/imports", files=parts).status_code < 500
    csrf = {"csrf": hidden(person.get("/people").text)["csrf"]}
    assert person.post("/keys/test", csrf | {"name": NUL}).status_code == 400, "a text that the page does not look at"
    monkeypatch.setattr("schemas.normalise.texts.control_in", lambda _: None)
    for text in (NUL, "half \ud800"):
        body = json.dumps({"sku_code": "A", "name": text}).encode()
        assert caller.request("POST", "/skus", content=body).status_code == 400


def test_every_argument_of_every_tool(caller, pool):
    assistant = at_home(caller.http, caller.address, added(pool, caller.company))
    token = assistant.connected()["access_token"]
    tools = assistant.call(token).json()["result"]["tools"]
    assert len(tools) >= 20
    for tool in tools:
        for name in tool["inputSchema"]["properties"]:
            params = {"name": tool["name"], "arguments": {name: NUL}}
            answer = assistant.call(token, "tools/call", params).json()["result"]
            assert answer["isError"], (tool["name"], name)
            assert "U+0000" in answer["content"][0]["text"], (tool["name"], name, answer)
