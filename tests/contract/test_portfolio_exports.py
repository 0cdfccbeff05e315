"""Our own exports of the whole portfolio, run by the orchestration; tests/api has what the files contain."""

import io
import zipfile

import pytest

from tests.contract.outside import good, refused, until


@pytest.mark.promise("EXP-02")
def test_an_export_is_a_write_with_its_key_its_dry_run_and_its_bound(service, caller, other):
    dry = caller.post("/exports", {"format": "csv"}, params={"dry_run": "true"})
    assert (dry.status_code, dry.json()["dry_run"], dry.json()["data"]["id"]) == (200, True, None)
    assert good(caller.get("/exports"))["data"] == []
    first, again = (caller.post("/exports", {"format": "csv"}, headers={"Idempotency-Key": "night"}) for _ in range(2))
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    refused(caller.post("/exports", {"format": "csv", "what": 1}), 400, "invalid_body")
    [issue] = refused(caller.post("/exports", {"format": "ods"}), 400, "invalid_body")
    assert issue["field"] == "format"
    reader = service.keyed(caller.company, scopes="read")  # an export changes no record
    answers = [reader.post("/exports", {"format": "parquet"}) for _ in range(4)]
    while answers[-1].status_code == 202 and len(answers) < 40:  # one that is finished meanwhile makes room
        answers.append(reader.post("/exports", {"format": "parquet"}))
    assert {answer.status_code for answer in answers[:-1]} == {202}
    assert len(answers) > 4
    refused(answers[-1], 429, "rate_limited")
    last = f"/exports/{good(reader.get('/exports'))['data'][0]['id']}"
    for path in (last, f"{last}/file"):
        refused(other.get(path), 404, "not_found")
    until(lambda: good(caller.get(last))["data"]["status"] == "completed")
    with zipfile.ZipFile(io.BytesIO(caller.get(f"{last}/file").content)) as archive:
        assert archive.namelist() == ["skus.parquet", "components.parquet", "volumes.parquet"]
