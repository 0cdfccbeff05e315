"""Every list of the interface with every filter, page by page: what a total counts is what the pages hold."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle
from typing import Any
from uuid import uuid4

import pytest

from tests.api.portfolios import BODY, counted, run, sent, weighed
from tests.openapi import document
from warehouse.accounts import keys

V1 = "/api/v1"
SIZE = 2
LISTS = {
    path.removeprefix(V1): {one["name"]: one["schema"] for one in found["get"]["parameters"] if one["in"] == "query"}
    for path, found in document()["paths"].items()
    if "get" in found and any(one["name"] == "offset" for one in found["get"].get("parameters", ()))
}
NO_FILTERS = {"limit", "offset", "include", "cursor", "sort"}
ELSEWHERE = {"q": "Filter", "ends_within": 400, "since": "2020-01-01", "until": "2100-01-01"}
"""Values of filters that are no field of an item; `updated_since` and the rest are in the items."""
FIELDS = {"doc_status": "doc_status", "market": "markets", "grade": "recyclability_grade", "action": "action"}
"""The field of an item whose values a filter takes, where it has another name."""
LONG = {"/skus", "/imports", "/components", "/audit-log", "/figures/tonnes", "/supplier-requests"}
"""Lists of which this company has three pages and more."""


@pytest.fixture
def stocked(caller, pool):
    """A company with something in each list, and a request after the other by another key: one alone is limited."""
    for number in range(7):
        made = caller.made(
            sku_code=f"F-{number}",
            name=f"Filter {number}",
            material="plastic" if number % 2 else "glass",
            markets=["DE"] if number % 2 else ["FR", "DE"],
            components=[BODY] if number < 6 else [],
            food_contact=bool(number % 2),
        )
        rows = [
            {"market": code, "year": year, "units_placed": 1_000 * (number + 1)}
            for code in ("DE", "FR", "ES", "AT")
            for year in (2024, 2025)
        ]
        assert caller.put(f"/skus/{made['id']}/volumes", rows).status_code == 200
        part = {"component_type": "body", "material_family": "plastic"}
        for path, body in (
            ("/components", part | {"code": f"C-{number}"}),
            ("/brands", {}),
            ("/sites", {"roles": ["manufacturing"]}),
        ):
            answer = caller.post(path, {"name": f"Filter {number}", **body})
            assert answer.status_code == 201, answer.text
    for number in range(5):
        run(caller, sent(caller, f"sku_code,name\nI-{number},Imported"))
        asked = {"supplier_name": "Caps AG" if number % 2 else "Labels", "sku_codes": [f"F-{number}"]}
        assert caller.post("/supplier-enquiries", asked).status_code == 201
    items = caller.get("/skus").json()["data"]
    for item in items[:5]:
        assert caller.post(f"/skus/{item['id']}/doc-drafts", {}).status_code in (200, 201)
    counted(caller)
    weighed(caller)
    for form in ("json", "csv"):
        for year in (2024, 2025):
            body = {"market": "DE" if year == 2025 else "AT", "year": year, "format": form}
            assert caller.post("/declarations", body).status_code == 201
    others = []
    for _ in range(8):
        client, key, now = uuid4(), keys.new_key(), datetime.now(UTC)
        with pool.company(caller.company) as connection:
            keys.issue(connection, caller.company, client, key=key, name="erp", scopes=("read",), at=now)
        others.append(replace(caller, client_id=client, key=key))
    return cycle(others)


def page(stocked, path: str, **params: Any) -> tuple[list[Any], int]:
    answer = next(stocked).get(path, params=params)
    assert answer.status_code == 200, (path, params, answer.text)
    body = answer.json()
    return body["data"], body["pagination"]["total"]


def test_a_filter_takes_a_market_as_writes_do(stocked, caller):
    """A subdivision that the catalogue does not serve is kept, and so asked for, as its country."""
    lists = ("/skus", "/figures/tonnes", "/figures/uncounted", "/declarations")
    for path in (*lists, "/figures/undecided", "/figures/obligations"):
        of_country, _ = page(stocked, path, market="DE")
        assert of_country or path not in lists, path
        assert page(stocked, path, market="de_by")[0] == of_country, path
    made = caller.made(sku_code="BY", name="Bavaria", markets=["DE-BY"])
    assert made["sku_code"] in {sku["sku_code"] for sku in page(stocked, "/skus", market="DE-BY")[0]}


def values_of(schema: dict[str, Any], name: str, items: list[Any]) -> Iterator[Any]:
    """Values to filter by: those of the items, those that the document lists, and a text that some names have."""
    if name in ELSEWHERE:
        yield ELSEWHERE[name]
        return
    field = FIELDS.get(name, name if name != "updated_since" else "updated_at")
    found = [item.get(field) for item in items if isinstance(item, dict)]
    if name == "actor":
        found = [item["actor"]["name"] for item in items]
    flat = [each for value in found for each in (value if isinstance(value, list) else [value]) if each is not None]
    listed = [*dict.fromkeys(flat)][:3] or enumerated(schema)[:6]
    yield from listed


def enumerated(schema: dict[str, Any]) -> list[Any]:
    if "$ref" in schema:
        return enumerated(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for inner in (*schema.get("anyOf", ()), schema.get("items", {})):
        if found := enumerated(inner) if inner else []:
            return found
    return list(schema.get("enum", ()))


def paged(stocked, path: str, **filters: Any) -> list[Any]:
    """All items of a list by pages of two, each of which tells the same total."""
    first, total = page(stocked, path, limit=SIZE, offset=0, **filters)
    found = list(first)
    while len(found) < total:
        more, same = page(stocked, path, limit=SIZE, offset=len(found), **filters)
        assert same == total, (path, filters)
        assert more, (path, filters, f"an empty page at {len(found)} of {total}")
        assert len(more) == min(SIZE, total - len(found)), (path, filters)
        found += more
    assert page(stocked, path, limit=SIZE, offset=total, **filters) == ([], total)
    return found


@pytest.mark.long
def test_pages_hold_what_their_total_counts(stocked):
    whole: dict[str, int] = {}
    for path, parameters in LISTS.items():
        if "{" in path:
            continue
        items, total = page(stocked, path, limit=200)
        whole[path] = len(items)
        assert len(items) == min(total, 200), path
        for name, schema in parameters.items():
            if name in NO_FILTERS:
                continue
            for value in values_of(schema, name, items):
                given = {name: str(value).lower() if isinstance(value, bool) else value}
                found = paged(stocked, path, **given)
                at_once, total = page(stocked, path, limit=200, **given)
                assert (found, len(found)) == (at_once, total), (path, given)
                assert all(item in items for item in found) or path == "/audit-log", (path, given)
    assert {path for path in LONG if whole[path] <= 2 * SIZE} == set(), "three pages each"
