"""Two companies in one database; every id of one at every operation of the other is tests/contract/test_isolation."""

import pytest


@pytest.fixture
def other(join):
    return join()


def test_lists_show_the_caller_own_rows_only(caller, other):
    sku = caller.made()
    listed = other.get("/skus").json()
    assert (listed["data"], listed["pagination"]) == ([], {"limit": 50, "offset": 0, "total": 0})
    assert other.get("/skus", params={"sku_code": sku["sku_code"]}).json()["pagination"]["total"] == 0


def test_the_same_code_is_another_sku_in_another_company(caller, other):
    sku = caller.made()
    theirs = other.post("/skus", {"sku_code": sku["sku_code"], "name": "Theirs"})
    assert theirs.status_code == 201
    assert theirs.json()["data"]["id"] != sku["id"]


def test_a_refused_key_leaves_no_company_on_the_connection(caller, other):
    caller.made()
    for _ in range(5):
        assert caller.get("/skus").json()["pagination"]["total"] == 1
        assert caller.http.get("/api/v1/skus", headers={"X-API-Key": "svc_unknown"}).status_code == 401
        assert other.get("/skus").json()["pagination"]["total"] == 0
