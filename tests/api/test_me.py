"""GET /me: who asks and what they may; and what a key that only reads may post."""

from importlib.metadata import version
from uuid import uuid4

import pytest

from tests.api.test_tokens import token
from warehouse.companies import queries


def me(caller) -> dict:
    answer = caller.get("/me")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


@pytest.mark.parametrize(("plan", "limit"), [("starter", 100), ("growth", 1_000), ("enterprise", None)])
def test_company_plan_limits_and_use_are_those_that_writes_meet(join, plan, limit):
    caller = join(plan=plan)
    before = me(caller)
    skus = [caller.made() for _ in range(3)]
    caller.post(f"/skus/{skus[0]['id']}/archive", {})
    caller.post("/webhooks", {"url": "https://erp.example/hooks"})
    caller.post("/exports", {"format": "csv"})
    files = {"file": ("a.pdf", b"%PDF-1.7\n%%EOF\n", "application/pdf")}
    stored = caller.request("POST", f"/skus/{skus[1]['id']}/files", files=files, data={"type": "packaging_photo"})
    after = me(caller)
    assert after["company"] == {
        "id": str(caller.company),
        "name": before["company"]["name"],
        "plan": plan,
        "is_sandbox": False,
    }
    assert after["credential"] == {"client_id": str(caller.client_id), "name": "erp", "scopes": ["read", "write"]}
    assert after["limits"]["skus"] == {"limit": limit, "used": 2}
    assert after["limits"]["webhooks"] == {"limit": 10, "used": 1}
    assert after["limits"]["open_exports"] == {"limit": 5, "used": 1}
    size = stored.json()["data"]["size_bytes"] if stored.status_code == 201 else 0
    assert after["limits"]["storage_bytes"]["used"] == before["limits"]["storage_bytes"]["used"] + size
    assert after["limits"]["audit_log"] is (plan == "enterprise")
    requests = after["limits"]["requests_per_minute"]
    assert (before["limits"]["requests_per_minute"]["used"], requests["limit"]) == (1, 120)
    assert requests["used"] == 9
    assert (after["interface_version"], after["build"]) == ("1.8.0", version("packaging-compliance-data-service"))


def test_a_token_is_told_its_own_scopes(caller):
    reading = token(caller, scope="read")
    answer = caller.http.get("/api/v1/me", headers={"Authorization": f"Bearer {reading}"})
    assert answer.json()["data"]["credential"]["scopes"] == ["read"]


def test_a_read_key_exports_and_asks_what_if_and_writes_nothing(join, pool):
    reader = join(scopes=("read",))
    body = {"sku_code": "A", "name": "Jar", "material": "glass"}
    asked = reader.post("/skus/what-if", body)
    assert (asked.status_code, asked.json()["outcome"]) == (200, "created")
    assert reader.post(f"/skus/{uuid4()}/what-if", body).status_code == 404
    assert reader.post("/skus/what-if", {"sku_code": "A"}).status_code == 400
    assert reader.post("/exports", {"format": "csv"}).status_code == 202
    for path in ("/skus", "/brands", "/webhooks", "/skus/batch"):
        assert reader.post(path, body).json()["error"] == "insufficient_scope"
    with pool.company(reader.company) as conn:
        assert queries.counters(conn).skus == 0
    assert join(scopes=("write",)).post("/skus/what-if", body).json()["error"] == "insufficient_scope"
