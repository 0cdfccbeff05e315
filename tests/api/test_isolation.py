"""Two companies: every id of one, tried by the other at every operation, is unknown."""

import pytest


@pytest.fixture
def other(join):
    return join()


def test_every_id_of_one_company_is_unknown_to_the_other(caller, other):
    sku = caller.made()
    file = caller.request("POST", "/imports?filename=a.csv", content=b"sku_code;name\nI-1;Bottle\n").json()
    paths = caller.http.app.openapi()["paths"]
    operations = [(method, path) for path, methods in paths.items() for method in methods if "{" in path]
    assert operations
    body = {"sku_code": sku["sku_code"], "name": "Taken over"}
    for method, path in operations:
        for identifier in (sku["id"], file["id"]):
            own = path.removeprefix("/api/v1").replace("{id}", identifier)
            foreign = other.request(method.upper(), own, json=body)
            assert (foreign.status_code, foreign.json()["error"]) == (404, "not_found"), (method, path)
    assert caller.get(f"/imports/{file['id']}").status_code == 200
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["name"] == "Bottle"


def test_lists_show_the_caller_own_rows_only(caller, other):
    sku = caller.made()
    assert other.get("/skus").json() == {"data": [], "pagination": {"limit": 50, "offset": 0, "total": 0}}
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
