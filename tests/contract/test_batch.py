"""Many SKUs in one body, and the plans' bounds on how many a company holds."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.shapes import faults


def rows(number: int, prefix: str = "R") -> list[dict[str, str]]:
    return [{"sku_code": f"{prefix}-{index}", "name": "Row"} for index in range(number)]


@pytest.mark.promise("BAT-02", "BAT-03", "BAT-04", "IMP-23")
def test_rows_are_decided_one_by_one(caller):
    held = caller.made(sku_code="HELD", name="Held")
    sent = [
        {"sku_code": "NEW", "name": "New"},
        {"sku_code": "HELD", "name": "Changed"},
        {"sku_code": "HELD-2", "name": "Bad", "gtin": "1"},
        {"sku_code": "NEW", "name": "Twice"},
        {"sku_code": "ODD", "name": "Odd", "sky": "blue"},
        "no object",
        {"name": "No code"},
    ]
    answer = good(caller.post("/skus/batch", {"skus": sent}))
    assert answer["dry_run"] is False
    assert answer["summary"] == {"total": 7, "created": 1, "updated": 1, "unchanged": 0, "rejected": 5}
    results = answer["results"]
    assert [row["index"] for row in results] == list(range(7))
    assert [fault for row in results for fault in faults("BatchRow", row)] == []
    assert [[issue["code"] for issue in row["errors"]] for row in results] == [
        [],
        [],
        ["invalid_gtin"],
        ["duplicate_sku_code"],
        ["unknown_field"],
        ["invalid_type"],
        ["required"],
    ]
    assert results[1]["id"] == held["id"]
    assert {item["sku_code"]: item["name"] for item in caller.data("/skus")} == {"NEW": "New", "HELD": "Changed"}


@pytest.mark.promise("BAT-01", "PAR-03")
def test_a_batch_has_a_dry_run_in_its_body(caller):
    body = {"skus": rows(2), "dry_run": True}
    dry = good(caller.post("/skus/batch", body))
    assert (dry["dry_run"], dry["summary"]["created"]) == (True, 2)
    assert [row["id"] for row in dry["results"]] == [None, None]
    assert good(caller.get("/skus"))["pagination"]["total"] == 0
    assert codes(caller.post("/skus/batch", {"skus": rows(1), "dry_run": "yes"})) == ["invalid_type"]


@pytest.mark.promise("BAT-01", "BAT-04", "END-04")
def test_a_batch_is_refused_whole_for_what_lies_above_its_rows(caller):
    assert good(caller.post("/skus/batch", {"skus": rows(1000)}))["summary"]["created"] == 1000
    assert good(caller.post("/skus/batch", {"skus": rows(1000)}))["summary"]["unchanged"] == 1000
    assert codes(caller.post("/skus/batch", {"skus": rows(1001)})) == ["too_long"]
    assert codes(caller.post("/skus/batch", {"skus": rows(1), "mode": "fast"})) == ["unknown_field"]
    assert codes(caller.post("/skus/batch", {})) == ["required"]
    assert codes(caller.post("/skus/batch", rows(1))) == ["invalid_type"]


@pytest.mark.promise("PLN-01", "PLN-02", "PLN-03", "SKU-02", "ERR-08")
def test_the_plan_counts_new_skus_alone_and_refuses_whole_bodies(service):
    caller = service.joined("starter")
    assert good(caller.post("/skus/batch", {"skus": rows(98)}))["summary"]["created"] == 98
    again = good(caller.post("/skus/batch", {"skus": [*rows(98), *rows(2, "S")]}))
    assert (again["summary"]["unchanged"], again["summary"]["created"]) == (98, 2)
    twice = rows(1, "T") * 2 + rows(1, "U")
    for answer in (
        caller.post("/skus/batch", {"skus": twice}),
        caller.post("/skus/batch", {"skus": twice, "dry_run": True}),
    ):
        [issue] = refused(answer, 403, "plan_limit_reached")
        assert {name: issue[name] for name in ("code", "limit", "held", "new")} == {
            "code": "plan_limit_reached",
            "limit": 100,
            "held": 100,
            "new": 2,
        }
    for path in ("/skus", "/skus?dry_run=1"):
        [issue] = refused(caller.post(path, {"sku_code": "V", "name": "V"}), 403, "plan_limit_reached")
        assert (issue["limit"], issue["held"], issue["new"]) == (100, 100, 1)
    assert good(caller.post("/skus", {"sku_code": "R-1", "name": "Renamed"}))["outcome"] == "updated"
    assert good(caller.get("/skus"))["pagination"]["total"] == 100


@pytest.mark.promise("PLN-02")
@pytest.mark.parametrize(("plan", "limit"), [("growth", 1000), ("professional", 10_000), ("enterprise", None)])
def test_each_plan_has_its_number(service, plan, limit):
    caller = service.joined(plan)
    lines = "".join(f"L-{number};Line\n" for number in range(10_001))
    sent = {"content": f"sku_code;name\n{lines}".encode(), "params": {"filename": "a.csv"}}
    answer = caller.request("POST", "/imports", **sent)
    if limit is None:
        assert caller.finished(good(answer)["poll_url"])["counts"]["created"] == 10_001
    else:
        [issue] = refused(answer, 403, "plan_limit_reached")
        assert (issue["limit"], issue["held"], issue["new"]) == (limit, 0, 10_001)


@pytest.mark.promise("PLN-04")
def test_writers_at_once_never_pass_the_plan_together(service):
    caller = service.joined("starter")
    good(caller.post("/skus/batch", {"skus": rows(95)}))
    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(lambda n: caller.post("/skus", {"sku_code": f"X-{n}", "name": "X"}), range(20)))
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [403] * 15
    assert good(caller.get("/skus"))["pagination"]["total"] == 100


@pytest.mark.promise("ERR-07")
def test_two_mebibytes_are_taken_and_one_byte_more_is_not(shop):
    limit = 2 * 2**20
    for method, path, body in (
        ("POST", "/skus", b'{"sku_code": "B", "name": "B"}'),
        ("POST", "/skus/batch", b'{"skus": []}'),
        ("PUT", f"/skus/{shop.made(sku_code=f'B-{uuid4()}')['id']}/volumes", b"[]"),
    ):
        answer = shop.request(method, path, content=body.ljust(limit))
        assert answer.status_code in (200, 201, 400), answer.text
        refused(shop.request(method, path, content=body.ljust(limit + 1)), 413, "payload_too_large")
