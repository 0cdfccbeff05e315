"""API keys: their form, the answers to bad ones, scopes, and who is given one."""

import re
from uuid import uuid4

import pytest

from tests.contract.outside import good, refused

WITHOUT = ("X-Correlation-Id", "Date")


def told(answer):
    """All that a caller can see of an answer but what names the single request."""
    body = {name: value for name, value in answer.json().items() if name != "correlationId"}
    headers = {name: value for name, value in answer.headers.items() if name.title() not in WITHOUT}
    return answer.status_code, body, headers


@pytest.mark.promise("KEY-01", "TOK-15")
def test_a_key_has_its_form_and_its_own_client_id(caller):
    assert re.fullmatch(r"svc_[A-Za-z0-9_-]{32,}", caller.key)
    assert re.fullmatch(r"[0-9a-f-]{36}", caller.client_id)
    assert caller.get("/skus").status_code == 200
    [listed] = caller.server.place.pcds("key", "list", "--company", caller.company)["keys"]
    assert listed["client_id"] == caller.client_id
    assert caller.key not in str(listed)


@pytest.mark.promise("KEY-02", "CNV-09", "SVC-07")
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": ""}, {"X-API-Key": "key_abc"}, {"Authorization": "Basic eDp5"}])
def test_no_key_and_a_value_without_the_prefix_are_missing(shop, headers):
    caller = shop.with_headers(**headers)
    for method, path in (
        ("GET", "/skus"),
        ("POST", "/skus"),
        ("GET", f"/skus/{uuid4()}"),
        ("POST", "/imports"),
        ("GET", "/brands"),
        ("PUT", f"/skus/{uuid4()}/volumes"),
        ("GET", "/audit-log"),
    ):
        answer = caller.request(method, path)
        refused(answer, 401, "missing_api_key")
        assert answer.headers["WWW-Authenticate"]


@pytest.mark.promise("KEY-03", "CNV-09")
def test_an_unknown_and_a_revoked_key_are_told_the_same(caller):
    assert caller.get("/skus").status_code == 200
    caller.server.place.pcds("key", "revoke", caller.client_id)
    unknown = caller.with_headers(**{"X-API-Key": f"svc_{'x' * 43}"})
    for method, path in (("GET", "/skus"), ("POST", "/skus"), ("GET", "/audit-log"), ("POST", "/skus/batch")):
        revoked = caller.request(method, path, json={})
        refused(revoked, 401, "invalid_api_key")
        assert revoked.headers["WWW-Authenticate"]
        assert told(revoked) == told(unknown.request(method, path, json={}))


@pytest.mark.promise("KEY-06", "TOK-12")
def test_a_read_only_key_and_its_token_cannot_write(caller):
    sku = caller.made()
    reader = caller.server.keyed(caller.company, scopes="read")
    for reading in (reader, reader.bearing()):
        assert reading.get("/skus").status_code == 200
        assert reading.data(f"/skus/{sku['id']}")["id"] == sku["id"]
        for method, path in (
            ("POST", "/skus"),
            ("PUT", f"/skus/{sku['id']}"),
            ("POST", "/skus/batch"),
            ("PUT", f"/skus/{sku['id']}/volumes"),
            ("POST", f"/skus/{sku['id']}/files"),
            ("POST", "/imports?filename=a.csv"),
        ):
            refused(reading.request(method, path, json={}), 403, "insufficient_scope")
    assert good(caller.get("/skus"))["pagination"]["total"] == 1


@pytest.mark.promise("KEY-04")
@pytest.mark.parametrize("plan", ["starter", "growth", "professional", "enterprise"])
def test_the_operator_issues_keys_on_enterprise_or_by_an_override(place, plan):
    company = place.pcds("company", "add", "--name", f"Company {uuid4()}", "--plan", plan)["id"]
    status, said = place.command("key", "issue", "--company", company, "--json")
    assert status == (0 if plan == "enterprise" else 1), said
    assert place.pcds("key", "issue", "--company", company, "--allow-any-plan")["scopes"] == ["read", "write"]
