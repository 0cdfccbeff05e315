"""Parameters that cannot be read: the contract's issues, in the contract's order, from the framework's errors."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.api.portfolios import run
from tests.openapi import document
from warehouse.accounts.keys import new_key

NO_INTEGER = {"field": "limit", "code": "invalid_type", "message": "Send a whole number."}
TWICE = "This parameter is given twice with different values; send it once."
NO_TRUTH = "This parameter is true, false, 1 or 0."
SKU = {"sku_code": "A", "name": "Bottle"}
UNKNOWN = "0b5ac2f0-0000-4000-8000-000000000000"


def said(answer: Any) -> tuple[int, str, Any]:
    return answer.status_code, answer.json()["error"], answer.json().get("details")


@pytest.mark.parametrize(
    "path",
    ["/skus", "/components", "/sites", "/brands", "/docs", "/audit-log", "/jurisdictions", f"/imports/{UNKNOWN}"],
)
def test_every_list_refuses_a_limit_that_is_no_integer_with_one_issue(caller: Caller, path: str) -> None:
    for value in ("x", "", "1.5", "1e2", "٣", "9" * 1001):
        assert said(caller.get(path, params={"limit": value, "offset": value})) == (400, "invalid_body", [NO_INTEGER])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/skus?material=plastic&material=glass", "material"),
        ("/skus?market=DE&grade=A&market=FR", "market"),
        ("/skus?limit=5&limit=6", "limit"),
        ("/skus?q=water&q=", "q"),
        ("/figures/tonnes?year=2025&year=2026", "year"),
        ("/audit-log?action=sku.created&action=sku.updated", "action"),
        ("/components?q=a&q=b", "q"),
        ("/jurisdictions?limit=1&limit=2", "limit"),
    ],
)
def test_a_parameter_of_one_value_with_two_is_refused_and_none_is_dropped(caller: Caller, path: str, name: str) -> None:
    refused = (400, "invalid_body", [{"field": name, "code": "invalid_format", "message": TWICE}])
    assert said(caller.get(path)) == refused


def test_what_may_repeat_what_says_the_same_and_what_is_unknown_is_taken(caller: Caller) -> None:
    for query in ("sku_code=A&sku_code=B", "include=volumes&include=components", "grade=A&grade=A", "x=1&x=2"):
        assert caller.get(f"/skus?{query}").status_code == 200, query


def test_a_number_of_any_size_is_clamped(caller: Caller) -> None:
    assert caller.get(f"/skus?limit={'9' * 999}&offset=-{'9' * 999}").json()["pagination"] == {
        "limit": 200,
        "offset": 0,
        "total": 0,
    }


@pytest.mark.parametrize(("query", "message"), [("yes", NO_TRUTH), ("", NO_TRUTH), ("1&dry_run=0", TWICE)])
def test_a_dry_run_that_cannot_be_read_writes_nothing(caller: Caller, query: str, message: str) -> None:
    refused = (400, "invalid_body", [{"field": "dry_run", "code": "invalid_format", "message": message}])
    assert said(caller.post(f"/skus?dry_run={query}", SKU)) == refused
    assert said(caller.post(f"/skus/batch?dry_run={query}", {"skus": [SKU]})) == refused
    file = b"sku_code;name\nA;n\n"
    assert said(caller.request("POST", f"/imports?filename=a.csv&dry_run={query}", content=file)) == refused
    assert caller.get("/skus").json()["pagination"]["total"] == 0


def test_a_dry_run_in_the_body_of_a_batch_must_agree_with_the_parameter(caller: Caller) -> None:
    answer = caller.post("/skus/batch?dry_run=0", {"skus": [SKU], "dry_run": True})
    assert said(answer)[2] == [{"field": "dry_run", "code": "invalid_format", "message": TWICE}]


WRITES = [
    (method.upper(), path)
    for path, methods in document()["paths"].items()
    for method in methods
    if method not in ("get", "head") and path != "/api/v1/oauth/token"
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_every_write_refuses_a_parameter_that_it_does_not_have(caller: Caller, method: str, path: str) -> None:
    """So that no misspelt `dry_run` writes; a write that is added tomorrow is in this list."""
    if path.startswith("/api/supplier-data"):
        return  # tests/api/test_supplier_data.py has a token
    place = path.removeprefix("/api/v1").replace("{id}", UNKNOWN)
    answer = caller.request(method, f"{place}?dryrun=1&zz=2", json={})
    assert said(answer)[:2] == (400, "invalid_body")
    faults = {fault["field"]: fault for fault in said(answer)[2]}
    assert {fault["code"] for fault in faults.values()} == {"unknown_field"}
    assert set(faults) == {"dryrun", "zz"}
    declared = {each["name"] for each in document()["paths"][path][method.lower()].get("parameters", ())}
    assert ("dry_run" in faults["dryrun"]["message"]) == ("dry_run" in declared)


def test_a_dry_run_said_in_one_place_and_silent_in_the_other_is_a_dry_run(caller: Caller) -> None:
    text = b"sku_code;name;weight_grams\nA;n;x\n"
    made = caller.request("POST", "/imports?filename=a.csv&dry_run=1", content=text).json()["id"]
    run(caller, made)
    sent = (("", {"dry_run": True}, 202), ("?dry_run=1", {}, 202), ("?dry_run=1", {"dry_run": False}, 400))
    for operation, more in (("repeat", {}), ("corrections", {"cells": [{"line": 2, "column": "C", "value": "5"}]})):
        for query, body, expected in sent:
            answer = caller.request("POST", f"/imports/{made}/{operation}{query}", json=body | more)
            assert answer.status_code == expected, (operation, query, answer.text)
            assert answer.json().get("dry_run", True) is True


def test_who_may_not_call_is_told_that_before_any_fault_of_a_parameter(join: Callable[..., Caller]) -> None:
    reader, writer = join(scopes=("read",)), join(scopes=("write",))
    stranger = replace(reader, key=new_key())
    faulty = [("POST", "/skus?dry_run=x"), ("PUT", "/skus/x?dry_run=x"), ("PUT", "/skus/x/volumes")]
    for method, path in faulty:
        assert said(stranger.request(method, path, json=SKU))[:2] == (401, "invalid_api_key")
        assert said(reader.request(method, path, json=SKU))[:2] == (403, "insufficient_scope")
    for path in ("/skus?limit=x", "/skus/x", "/imports/x", "/audit-log?since=x"):
        assert said(stranger.get(path))[:2] == (401, "invalid_api_key")
        assert said(writer.get(path))[:2] == (403, "insufficient_scope")


def test_a_malformed_id_is_an_unknown_one_and_told_after_a_body_that_is_no_json(caller: Caller) -> None:
    for path in ("/skus/x", f"/skus/{UNKNOWN}"):
        assert said(caller.get(path)) == (404, "not_found", None)
        assert said(caller.request("PUT", path, json=SKU)) == (404, "not_found", None)
        assert said(caller.request("PUT", path, content=b"{"))[:2] == (400, "invalid_body")
    assert said(caller.request("PUT", "/skus/x?dry_run=x", json=SKU)) == (404, "not_found", None)


ANY_TEXT = {"q", "actor", "sku_code", "supplier_name", "category_code", "flag", "rule"}
"""Parameters of reads that may be any text."""


def test_a_read_refuses_a_value_that_its_parameter_cannot_have(join: Callable[..., Caller]) -> None:
    tried = set()
    for path, methods in document()["paths"].items():
        caller, place = join(), path.removeprefix("/api/v1").replace("{id}", UNKNOWN)
        for parameter in methods.get("get", {}).get("parameters", []):
            name = parameter["name"]
            if parameter["in"] != "query" or name in ANY_TEXT:
                continue
            for value in ("no-such-value", ""):
                status, code, details = said(caller.get(place, params={name: value}))
                assert (status, code) == (400, "invalid_body"), (path, name, value)
                assert {each["field"].partition("[")[0] for each in details} == {name}
            tried.add(name)
    assert tried > {"market", "grade", "status", "state", "since", "sku_id", "half", "include", "cursor", "columns"}


def test_a_parameter_that_a_read_does_not_know_is_ignored(caller: Caller) -> None:
    caller.post("/skus", SKU)
    for path in ("/skus", "/audit-log", "/imports", "/figures/tonnes"):
        plain, other = (caller.get(path, params=params).json() for params in ({}, {"statuss": "active"}))
        assert {**other, "as_of": None} == {**plain, "as_of": None}, path


@pytest.mark.parametrize(("path", "body"), [("/skus", b"\x00"), ("/skus/no-id/archive", b"{}")])
def test_an_unknown_parameter_is_told_before_what_else_a_write_has_wrong(
    caller: Caller, path: str, body: bytes
) -> None:
    """Two refusals of one request are one answer, whichever comes first."""
    headers = {"X-API-Key": caller.key, "Content-Type": "application/json", "X-Forwarded-For": caller.address}
    refused = caller.http.post(f"/api/v1{path}?surprise=1", content=body, headers=headers)
    assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, "surprise")
