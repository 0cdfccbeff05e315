"""What holds for every request: correlation, unknown paths and methods, the error body, its codes."""

import re
from uuid import uuid4

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.shapes import faults

STATUSES = {
    "missing_api_key": {401},
    "invalid_api_key": {401},
    "rate_limited": {429},
    "invalid_token": {401},
    "insufficient_scope": {403},
    "invalid_request": {400},
    "invalid_client": {401},
    "unsupported_grant_type": {400},
    "invalid_scope": {400},
    "not_found": {404, 405},
    "invalid_body": {400, 415},
    "payload_too_large": {413},
    "idempotency_key_reuse": {409},
    "plan_limit_reached": {403},
    "version_conflict": {412},
    "not_conform": {409},
    "already_declared": {409},
    "sku_code_taken": {409},
    "sku_code_former": {409},
    "name_taken": {409},
    "code_taken": {409},
    "not_implemented": {501},
    "internal_error": {500, 503},  # 503 where it passes (decisions §13, Operation)
}
"""Each code of the contract, and of decisions § 12, with the statuses that it may be sent with."""


@pytest.mark.promise("CNV-05", "CNV-06")
def test_every_answer_has_a_correlation_id(shop):
    for path in ("/skus", "/nowhere", f"/skus/{uuid4()}", "/jurisdictions", "/skus?limit=x"):
        fresh = shop.get(path)
        given = shop.get(path, headers={"X-Correlation-Id": "order-7/b"})
        assert fresh.headers["X-Correlation-Id"]
        assert given.headers["X-Correlation-Id"] == "order-7/b"
        if given.is_error:
            assert given.json()["correlationId"] == "order-7/b"
            assert fresh.json()["correlationId"] == fresh.headers["X-Correlation-Id"]
    assert shop.get("/skus", headers={"X-Correlation-Id": "x" * 128}).headers["X-Correlation-Id"] == "x" * 128
    for strange in ("x" * 129, "two words", "é".encode(), ""):
        kept = shop.get("/skus", headers={"X-Correlation-Id": strange}).headers["X-Correlation-Id"]
        assert re.fullmatch(r"[\x21-\x7e]{1,128}", kept)
        assert kept not in ("x" * 129, strange)


@pytest.mark.promise("CNV-07", "SVC-11")
def test_what_is_not_there_is_not_found(shop):
    for path in (
        "/nowhere",
        "/skus/",
        "/hooks",
        "/skus/not-a-uuid",
        "/skus/%00",
        "/imports/1",
        "/beta/skus",
        "/skus/not-a-uuid/files",
        "/api/v2/skus",
        f"/skus/{uuid4()}/nothing",
    ):
        refused(shop.get(path), 404, "not_found")
    refused(shop.put("/skus/not-a-uuid/volumes", []), 404, "not_found")


@pytest.mark.promise("CNV-08")
def test_a_wrong_method_is_told_the_right_ones(shop):
    for method, path, right in (
        ("DELETE", "/skus", {"GET", "POST"}),
        ("POST", f"/skus/{uuid4()}", {"GET", "PATCH", "PUT"}),
        ("GET", "/oauth/token", {"POST"}),
        ("PATCH", "/imports", {"GET", "POST"}),
        ("PUT", "/jurisdictions", {"GET"}),
        ("GET", f"/skus/{uuid4()}/volumes", {"PUT"}),
    ):
        answer = shop.request(method, path)
        refused(answer, 405, "not_found")
        allowed = {word.strip() for word in answer.headers["Allow"].split(",")} - {"HEAD", "OPTIONS"}
        assert allowed == right, (method, path)


@pytest.mark.promise("SKU-01")
def test_what_was_made_is_where_the_answer_says(shop):
    sku = shop.made(components=[{"component_type": "body", "material_family": "glass"}])
    for path, body in (
        ("/skus", {"sku_code": "L-1", "name": "L"}),
        ("/brands", {"name": "L"}),
        ("/suppliers", {"name": "L"}),
        ("/exports", {"format": "csv"}),
        ("/supplier-requests", {"sku_code": sku["sku_code"]}),
        ("/skus/changes", {"ids": [sku["id"]], "fields": {"packaging_level": "sales"}}),
        (f"/skus/{sku['id']}/doc-drafts", {}),
    ):
        made = shop.post(path, body)
        assert made.status_code in (201, 202), made.text
        assert shop.get(made.headers["Location"].removeprefix("/api/v1")).status_code == 200, path
    updated = shop.post("/skus", {"sku_code": "L-1", "name": "M"})
    assert (updated.status_code, "Location" in updated.headers) == (200, False)


@pytest.mark.promise("CNV-04")
def test_an_unknown_query_parameter_is_ignored_by_reads_and_refused_by_writes(shop):
    sku = shop.made()
    assert shop.data("/skus", sku_code=sku["sku_code"], colour="red") == shop.data("/skus", sku_code=sku["sku_code"])
    body = {"sku_code": sku["sku_code"], "name": "N"}
    for query, nearest in (("verbose=1", "dry_run"), ("dryrun=1", "dry_run"), ("DRY-RUN=true", "dry_run")):
        [fault] = refused(shop.post(f"/skus?{query}", body), 400, "invalid_body")
        assert (fault["field"], fault["code"]) == (query.partition("=")[0], "unknown_field")
        assert nearest in fault["message"]
    assert good(shop.get(f"/skus/{sku['id']}"))["data"]["name"] == sku["name"], "nothing was written (decisions §13)"


@pytest.mark.promise("ERR-01", "ERR-02")
def test_an_error_names_each_fault_in_words(shop):
    body = {"sku_code": "E", "name": "", "weight_grams": -1, "components": [{"component_type": "hat"}]}
    answer = shop.post("/skus", body)
    assert answer.headers["Content-Type"].startswith("application/json")
    assert faults("Error", answer.json()) == []
    issues = refused(answer, 400, "invalid_body")
    assert {issue["field"] for issue in issues} == {"name", "weight_grams", "components[0].component_type"}
    assert all(issue["code"] and " " in issue["message"] and "row" not in issue for issue in issues)
    assert "details" not in shop.get(f"/skus/{uuid4()}").json()


@pytest.mark.promise("ERR-14", "ERR-06")
def test_what_is_no_json_is_an_invalid_body(shop):
    for path in ("/skus", "/skus/batch"):
        for content in (b"", b"{", b"\xff\xfe", b"{'a': 1}", b'{"sku_code": NaN}', b"[" * 100_000):
            assert codes(shop.request("POST", path, content=content)) == ["invalid_format"], content[:20]
    assert codes(shop.post("/skus", [])) == ["invalid_type"]


@pytest.mark.promise("ERR-04", "ERR-13", "SVC-06")
def test_the_document_names_the_codes_of_the_contract_with_their_statuses(shop):
    document = good(shop.get("/openapi.json"))
    seen = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                for code in response.get("content", {}).get("application/json", {}).get("examples", {}):
                    if int(status) >= 400 and path.startswith("/api/v1"):
                        assert int(status) in STATUSES[code], (path, code, status)
                        seen.add(code)
    assert set(STATUSES) - seen <= {"not_implemented"}
    schemas = document["components"]["schemas"]
    listed = schemas["Issue"]["properties"]["code"]
    listed = schemas[listed["$ref"].rpartition("/")[2]] if "$ref" in listed else listed
    assert {"required", "unknown_field", "invalid_gtin", "pfas_food_contact_prohibited", "duplicate_row"} <= set(
        listed["enum"]
    )


@pytest.mark.processes
@pytest.mark.promise("ERR-10", "CNV-05")
def test_a_fault_shows_nothing_of_itself_and_is_found_in_the_log(place, database, shop):
    """A deployment whose database has none of our tables: every question to it is a fault."""
    empty = database.with_name("postgres")
    elsewhere = place.shifted(DATABASE_URL=empty.owner_url, PCDS_APP_DATABASE_URL=empty.app_url)
    with elsewhere.serving() as server:
        lost = shop.at(server)
        for answer in (lost.get("/skus"), lost.post("/skus", {"sku_code": "F", "name": "F"})):
            refused(answer, 500, "internal_error")
            body = answer.json()
            assert {"error", "correlationId", "message"} == set(body)
            assert not re.search(r"pcds_|psycopg|function|\brelation|SELECT|Traceback|\.py", answer.text)
            assert body["correlationId"] in server.log.read_text(encoding="utf-8")
