"""Exports of the whole portfolio from the request to the file, as an integrator meets them."""

import csv
import io
import zipfile
from uuid import uuid4

import pytest

from pipelines.writing.write import StorageFull
from tests.api.portfolios import BODY, exported

GERMAN = {"Accept-Language": "de"}


def good(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def asked(caller, **body):
    answer = caller.post("/exports", body)
    assert answer.status_code == 202, answer.text
    return answer.json()["data"]["id"]


@pytest.fixture
def other(join):
    return join()


@pytest.mark.promise("EXP-01")
def test_a_portfolio_is_asked_for_polled_and_downloaded(caller, other):
    caller.made(sku_code="X-1", name="=1+1", components=[BODY])
    other.made(sku_code="O-1")
    export = f"/exports/{asked(caller, format='csv')}"
    queued = good(caller.get(export))["data"]
    assert (queued["status"], queued["skus_total"], queued["file_url"]) == ("queued", 1, None)
    assert caller.get(f"{export}/file").status_code == 404
    assert exported(caller) == {"completed": 1, "failed": 0, "skus": 1}
    done = good(caller.get(export))["data"]
    assert (done["status"], done["rows"]) == ("completed", {"skus": 1, "components": 1, "volumes": 0})
    assert good(caller.get("/exports"))["data"] == [done]
    file = caller.get(done["file_url"].removeprefix("/api/v1"))
    assert (file.status_code, file.headers["Content-Type"]) == (200, "application/zip")
    assert (len(file.content), file.headers["ETag"]) == (done["size_bytes"], f'"{done["sha256"]}"')
    with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
        [sku] = csv.DictReader(io.StringIO(archive.read("skus.csv").decode("utf-8-sig")))
        assert archive.namelist() == ["skus.csv", "components.csv", "volumes.csv"]
    assert (sku["sku_code"], sku["name"]) == ("X-1", "'=1+1")
    assert good(caller.get("/skus", params={"updated_since": done["as_of"]}))["pagination"]["total"] <= 1


@pytest.mark.promise("EXP-01")
def test_a_workbook_and_parquet_are_files_of_their_kind(caller):
    caller.made(sku_code="X-1")
    kinds = {"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "parquet": "application/zip"}
    ids = {form: asked(caller, format=form) for form in kinds}
    exported(caller)
    for form, kind in kinds.items():
        file = caller.get(f"/exports/{ids[form]}/file")
        assert (file.status_code, file.headers["Content-Type"], file.content[:2]) == (200, kind, b"PK")


@pytest.mark.promise("EXP-02")
def test_exports_are_of_their_company_alone(caller, other):
    export = f"/exports/{asked(caller, format='csv')}"
    exported(other)
    assert good(caller.get(export))["data"]["status"] == "queued"
    exported(caller)
    for path in (export, f"{export}/file", f"/exports/{uuid4()}"):
        assert other.get(path).status_code == 404
    assert good(other.get("/exports"))["data"] == []


def test_why_there_is_no_file_is_said_in_the_callers_language(caller, monkeypatch):
    """By the two reads, whether the sentence has numbers in it or not."""

    def full(*_: object, **__: object) -> None:
        raise StorageFull(limit=10, held=5, new=7)

    monkeypatch.setattr("pipelines.writing.write.admit", full)
    failed = {
        asked(caller, format="csv"): "speichert 10 Byte an",
        asked(caller, format="csv", source="snapshot"): "Momentaufnahme",
    }
    assert exported(caller)["failed"] == 2
    said = {each["id"]: each["failure"] for each in good(caller.get("/exports", headers=GERMAN))["data"]}
    for export, words in failed.items():
        assert words in said[export]["message"]
        assert said[export].keys() == {"field", "code", "message"}
        assert good(caller.get(f"/exports/{export}", headers=GERMAN))["data"]["failure"] == said[export]
    assert "The plan stores 10 bytes" in str(good(caller.get("/exports")))
