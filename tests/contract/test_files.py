"""Technical files of a SKU: what is taken, what is kept of it, and what is never given out."""

import hashlib
from uuid import uuid4

import pytest

from tests.contract.outside import good, refused
from tests.contract.samples import DOCX, FILES, OLE, PDF, PNG
from tests.contract.shapes import faults

TYPE = "recyclability_assessment"


@pytest.fixture
def sku(shop):
    return shop.made()


@pytest.fixture
def send(shop, sku):
    """Uploads for the SKU; fields whose value is None are left out."""

    def upload(data=PDF, filename="report.pdf", media_type="application/pdf", *, params=None, at=None, **fields):
        sent = {name: value for name, value in {"type": TYPE, **fields}.items() if value is not None}
        parts = {name: (None, value) for name, value in sent.items()}
        parts |= {} if data is None else {"file": (filename, data, media_type)}
        return shop.request("POST", f"/skus/{at or sku['id']}/files", files=parts, params=params or {})

    return upload


@pytest.mark.promise("FIL-01", "FIL-05", "FIL-06", "FIL-09", "LST-03", "CNV-11")
def test_an_upload_is_fingerprinted_and_listed_newest_first(shop, sku, send):
    details = {"reference": "LAB-7", "issuer": "Lab", "issued_on": "2026-01-02", "expires_on": "2027-01-02"}
    first = send(**details)
    assert (first.status_code, first.json()["dry_run"]) == (201, False), first.text
    file = first.json()["data"]
    assert faults("TechnicalFile", file) == []
    assert {name: file[name] for name in details} == details
    assert (file["sha256"], file["size_bytes"]) == (hashlib.sha256(PDF).hexdigest(), len(PDF))
    assert (file["sku_id"], file["type"], file["filename"]) == (sku["id"], TYPE, "report.pdf")
    second = good(send(PNG, "photo.png", "image/png", type="packaging_photo"))["data"]
    assert [second[name] for name in details] == [None] * 4
    listed = good(shop.get(f"/skus/{sku['id']}/files"))
    assert listed["data"] == [second, file]
    assert listed["pagination"] == {"limit": 50, "offset": 0, "total": 2}
    assert good(shop.get(f"/skus/{sku['id']}/files?limit=1&offset=1"))["data"] == [file]


@pytest.mark.promise("FIL-04", "FIL-03")
@pytest.mark.parametrize(("filename", "data", "media_type"), FILES, ids=[name for name, *_ in FILES])
def test_each_allowed_type_is_taken_for_what_it_is(send, filename, data, media_type):
    assert good(send(data, filename, media_type))["data"]["media_type"] == media_type


@pytest.mark.promise("FIL-03")
@pytest.mark.parametrize("kind", [TYPE, "food_contact_migration_test", "packaging_photo", "test_report_pfas"])
def test_the_types_of_the_vocabulary_are_taken(send, kind):
    assert good(send(type=kind))["data"]["type"] == kind


@pytest.mark.promise("FIL-06", "ERR-06", "ERR-14")
def test_a_missing_part_an_unknown_type_and_a_broken_body_are_refused(shop, sku, send):
    def found(answer):
        return {(issue["field"], issue["code"]) for issue in refused(answer, 400, "invalid_body")}

    assert found(send(None)) == {("file", "required")}
    assert found(send(type=None)) == {("type", "required")}
    assert found(send(type="love_letter")) == {("type", "unknown_file_type")}
    assert {code for _, code in found(send(issued_on="soon"))} <= {"invalid_format", "invalid_date"}
    broken = shop.request(
        "POST",
        f"/skus/{sku['id']}/files",
        content=b"--x\r\nbroken",
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert "invalid_format" in {code for _, code in found(broken)}
    assert shop.data(f"/skus/{sku['id']}/files") == []


@pytest.mark.promise("FIL-07", "FIL-04", "ERR-06")
@pytest.mark.parametrize(
    ("data", "filename", "media_type"),
    [
        (b"MZ" + b"\x00" * 200, "a.exe", "application/x-msdownload"),
        (b"<html></html>", "a.html", "text/html"),
        (PNG, "a.pdf", "application/pdf"),
        (PDF, "a.png", "image/png"),
        (DOCX, "a.xlsx", FILES[5][2]),
        (b"PK\x03\x04" + b"\x00" * 200, "a.zip", "application/zip"),
        (b"plain words", "a.pdf", "application/pdf"),
        (OLE, "a.pdf", "application/pdf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_media_type_or_a_contradiction_is_415(shop, sku, send, data, filename, media_type):  # noqa: PLR0917
    answer = send(data, filename, media_type)
    issues = refused(answer, 415, "invalid_body")
    assert [issue["code"] for issue in issues] == ["unsupported_media_type"]
    assert shop.data(f"/skus/{sku['id']}/files") == []


@pytest.mark.promise("FIL-10", "FIL-07", "ERR-07")
def test_twenty_million_bytes_are_taken_and_one_more_is_not(shop, sku, send):
    most = 20_000_000
    assert good(send(PDF.ljust(most, b"\n")))["data"]["size_bytes"] == most
    refused(send(PDF.ljust(most + 1, b"\n")), 413, "payload_too_large")
    assert len(shop.data(f"/skus/{sku['id']}/files")) == 1


@pytest.mark.promise("FIL-02", "FIL-08", "CNV-08")
def test_bytes_are_not_served_and_nothing_is_deleted(shop, sku, send):
    file = good(send())["data"]
    assert not any("url" in name or "content" in name for name in file)
    refused(shop.get(f"/skus/{sku['id']}/files/{file['id']}"), 404, "not_found")
    gone = shop.request("DELETE", f"/skus/{sku['id']}/files")
    refused(gone, 405, "not_found")
    assert set(gone.headers["Allow"].replace(" ", "").split(",")) >= {"GET", "POST"}


@pytest.mark.promise("FIL-11", "PAR-03")
def test_a_dry_run_keeps_nothing(shop, sku, send):
    dry = send(params={"dry_run": "true"})
    assert (dry.status_code, dry.json()["dry_run"], dry.json()["data"]["id"]) == (200, True, None)
    assert dry.json()["data"]["sha256"] == hashlib.sha256(PDF).hexdigest()
    assert shop.data(f"/skus/{sku['id']}/files") == []


@pytest.mark.promise("FIL-01", "SVC-02")
def test_the_files_of_an_unknown_sku_are_not_found(shop, send):
    refused(send(at=uuid4()), 404, "not_found")
    refused(shop.get(f"/skus/{uuid4()}/files"), 404, "not_found")
