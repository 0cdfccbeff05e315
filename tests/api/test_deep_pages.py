"""Deep pages of SKUs: wherever a page lies, it is the slice of the one order that the whole list has."""

import psycopg
import pytest

CODES = [f"D-{number:04d}" for number in range(2350)]
OFFSETS = [0, 999, 1000, 1100, 1174, 1175, 1176, 1300, 2149, 2150, 2151, 2300, 2349, 2350, 2351, 10**6]


@pytest.fixture
def listed(caller, join, database):
    """Three batches of one instant each, some single SKUs, and another company's; ids in the list's order."""
    other = join()
    for start in range(0, len(CODES), 1000):
        rows = [{"sku_code": code, "name": "Bottle"} for code in CODES[start : start + 1000]]
        assert caller.post("/skus/batch", {"skus": rows}).json()["summary"]["created"] == len(rows)
        other.post("/skus/batch", {"skus": rows[:200]})
    with psycopg.connect(database.owner_url) as owner:
        query = "SELECT id::text FROM skus WHERE company_id = %s ORDER BY created_at DESC, id"
        return [identity for (identity,) in owner.execute(query, [caller.company])]


def _page(caller, **params):
    answer = caller.get("/skus", params=params)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return [item["id"] for item in body["data"]], body["pagination"]


def test_every_page_is_its_slice_of_the_whole(caller, listed):
    for limit in (1, 50, 200):
        for offset in OFFSETS:
            found, pagination = _page(caller, limit=limit, offset=offset)
            assert found == listed[offset : offset + limit], (limit, offset)
            assert pagination == {"limit": limit, "offset": offset, "total": len(listed)}


def test_walking_the_pages_meets_every_sku_once(caller, listed):
    walked = [identity for offset in range(0, 2400, 200) for identity in _page(caller, limit=200, offset=offset)[0]]
    assert walked == listed


def test_filters_hold_deep_down_too(caller, listed):
    half = sorted(CODES)[::2]
    for code in half[:3]:
        caller.post("/skus", {"sku_code": code, "name": "Renamed"})
    everything = {"updated_since": "2000-01-01T00:00:00Z"}
    assert _page(caller, offset=2000, **everything)[0] == listed[2000:2050]
    found, pagination = _page(caller, offset=1000, sku_code=CODES[:1200:400])
    assert (found, pagination["total"]) == ([], 3)
    renamed = caller.get("/skus", params={"sku_code": half[:3]}).json()["data"]
    since = min(item["updated_at"] for item in renamed)
    assert _page(caller, updated_since=since)[1]["total"] == 3
