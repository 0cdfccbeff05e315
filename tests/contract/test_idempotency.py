"""Idempotency-Key: the same request again is answered again and done once."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.outside import codes, good, refused
from tests.contract.samples import PDF


def total(caller) -> int:
    return int(good(caller.get("/skus"))["pagination"]["total"])


def writes(caller, key: str):
    """Every write of the interface, each to be sent as often as wanted with one key."""
    sku, headers = caller.made(), {"Idempotency-Key": key}
    own = {"sku_code": sku["sku_code"], "name": "Again"}
    file = {"file": ("a.pdf", PDF, "application/pdf")}
    return {
        "POST /skus": lambda: caller.post("/skus", {"sku_code": "IDM", "name": "I"}, headers=headers),
        "PUT /skus/{id}": lambda: caller.put(f"/skus/{sku['id']}", own, headers=headers),
        "PUT volumes": lambda: caller.put(
            f"/skus/{sku['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 1}], headers=headers
        ),
        "POST batch": lambda: caller.post(
            "/skus/batch", {"skus": [own, {"sku_code": "B", "name": "B", "x": 1}]}, headers=headers
        ),
        "POST files": lambda: caller.request(
            "POST", f"/skus/{sku['id']}/files", headers=headers, files=file, data={"type": "packaging_photo"}
        ),
        "POST imports": lambda: caller.request(
            "POST", "/imports?filename=a.csv", headers=headers, content=b"sku_code;name\nIMP;I\n"
        ),
    }


@pytest.mark.promise("IDM-01", "IDM-03")
def test_every_write_sent_again_gets_its_first_answer(caller):
    for name, write in writes(caller, "one key for all, as each path has its own").items():
        first, again = write(), write()
        assert first.is_success, (name, first.text)
        assert (again.status_code, again.content) == (first.status_code, first.content), name
        assert again.headers["Content-Type"] == first.headers["Content-Type"]
        assert again.headers["Idempotent-Replayed"] == "true"
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["X-Correlation-Id"] != first.headers["X-Correlation-Id"]
    actions = [entry["action"] for entry in caller.data("/audit-log", limit=200)]
    assert actions.count("technical_file.uploaded") == 1
    assert actions.count("import.submitted") == 1


@pytest.mark.promise("IDM-01")
def test_a_replay_does_not_undo_what_came_between(caller):
    headers = {"Idempotency-Key": str(uuid4())}
    first = caller.post("/skus", {"sku_code": "R", "name": "First"}, headers=headers)
    caller.made(sku_code="R", name="Second")
    again = caller.post("/skus", {"sku_code": "R", "name": "First"}, headers=headers)
    assert (again.status_code, again.content) == (201, first.content)
    assert caller.data("/skus")[0]["name"] == "Second"


@pytest.mark.promise("IDM-02")
def test_another_payload_is_refused(caller):
    headers = {"Idempotency-Key": "reused"}
    good(caller.post("/skus", {"sku_code": "A", "name": "A"}, headers=headers))
    refused(caller.post("/skus", {"sku_code": "B", "name": "B"}, headers=headers), 409, "idempotency_key_reuse")
    same = caller.request("POST", "/skus", headers=headers, content=b'{ "name":"A",\n"sku_code" : "A" }')
    assert same.headers["Idempotent-Replayed"] == "true", "the payload is what the JSON says, not how it is spaced"
    sku, files = caller.data("/skus")[0], {"file": ("a.pdf", PDF, "application/pdf")}
    for data, form in (
        (PDF, {"type": "packaging_photo"}),
        (PDF, {"type": "test_report"}),
        (PDF + b"\n", {"type": "packaging_photo"}),
    ):
        files = {"file": ("a.pdf", data, "application/pdf")}
        answer = caller.request("POST", f"/skus/{sku['id']}/files", headers=headers, files=files, data=form)
        assert answer.status_code == (201 if (data, form["type"]) == (PDF, "packaging_photo") else 409)
    for content, status in ((b"sku_code;name\nX;X\n", 202), (b"sku_code;name\nY;Y\n", 409)):
        answer = caller.request("POST", "/imports?filename=a.csv", headers=headers, content=content)
        assert answer.status_code == status
    assert total(caller) <= 2


@pytest.mark.promise("IDM-05")
def test_a_key_belongs_to_company_method_and_path(caller, other):
    headers = {"Idempotency-Key": "shared"}
    sku = caller.made()
    body = {"sku_code": sku["sku_code"], "name": "N"}
    answers = [
        caller.post("/skus", body, headers=headers),
        caller.put(f"/skus/{sku['id']}", body, headers=headers),
        other.post("/skus", {"sku_code": "O", "name": "O"}, headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 201]
    assert not any("Idempotent-Replayed" in answer.headers for answer in answers)


@pytest.mark.promise("IDM-06")
def test_twins_at_the_same_time_are_one_write(caller):
    headers, body = {"Idempotency-Key": str(uuid4())}, {"sku_code": "T", "name": "T"}
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda _: caller.post("/skus", body, headers=headers), range(12)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 11
    assert [entry["action"] for entry in caller.data("/audit-log")].count("sku.created") == 1


@pytest.mark.promise("IDM-07")
def test_a_dry_run_does_not_use_the_key_up(caller):
    headers, body = {"Idempotency-Key": "dry"}, {"sku_code": "D", "name": "D"}
    dry = good(caller.post("/skus?dry_run=true", body, headers=headers))
    assert (dry["dry_run"], total(caller)) == (True, 0)
    wet = caller.post("/skus", body, headers=headers)
    assert (wet.status_code, "Idempotent-Replayed" in wet.headers, total(caller)) == (201, False, 1)


@pytest.mark.promise("IDM-08")
def test_a_refusal_is_not_kept_and_a_rejected_row_is(caller):
    headers = {"Idempotency-Key": "corrected"}
    assert codes(caller.post("/skus", {"sku_code": "C"}, headers=headers)) == ["required"]
    assert caller.post("/skus", {"sku_code": "C", "name": "C"}, headers=headers).status_code == 201
    batch = {"skus": [{"sku_code": "X", "name": "X", "gtin": "1"}]}
    first, again = (caller.post("/skus/batch", batch, headers=headers) for _ in range(2))
    assert good(first)["summary"]["rejected"] == 1
    assert again.content == first.content


@pytest.mark.promise("LIM-04", "IDM-01")
def test_a_key_is_any_text_of_1_to_255_characters(caller):
    for key in ("k" * 255, '"quoted, as the draft has it"', "{}[]; =", "é".encode()):
        body = {"sku_code": f"K-{uuid4()}", "name": "K"}
        first, again = (caller.post("/skus", body, headers={"Idempotency-Key": key}) for _ in range(2))
        assert first.status_code == 201, (key, first.text)
        assert again.content == first.content
    for key in ("k" * 256, ""):
        assert codes(caller.post("/skus", {"sku_code": "K", "name": "K"}, headers={"Idempotency-Key": key}))


@pytest.mark.processes
@pytest.mark.promise("IDM-04", "LIM-04")
def test_after_24_hours_from_the_first_answer_the_key_is_free(caller, place, tomorrow):
    headers, body = {"Idempotency-Key": "daily"}, {"sku_code": "A", "name": "A"}
    first = caller.post("/skus", body, headers=headers)
    with place.shifted(PCDS_TEST_CLOCK_OFFSET=86_400 - 3600).serving() as nearly:
        again = caller.at(nearly).post("/skus", body, headers=headers)
        assert (again.status_code, again.content) == (201, first.content), "and this replay prolongs nothing"
    late = caller.at(tomorrow).post("/skus", {"sku_code": "A", "name": "Another"}, headers=headers)
    assert (late.status_code, late.json()["outcome"]) == (200, "updated")
