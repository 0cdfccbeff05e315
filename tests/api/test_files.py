"""Technical files: any order of parts, bytes judged, refusals that leave nothing behind, and who may see what."""

import hashlib
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from schemas.files import TechnicalFilesListResponse, TechnicalFileUploadResponse
from schemas.vocabularies import MEDIA_TYPES
from tests.api.published import published
from tests.services.making import DOC, DOCX, JPEG, PDF, PNG, WEBP, XLS, XLSX, office

SAMPLES = {
    "application/pdf": PDF,
    "image/png": PNG,
    "image/jpeg": JPEG,
    "image/webp": WEBP,
    "application/msword": DOC,
    "application/vnd.ms-excel": XLS,
    MEDIA_TYPES[5].media_type: DOCX,
    MEDIA_TYPES[7].media_type: XLSX,
}


@pytest.fixture
def sku(caller):
    return caller.made()["id"]


@pytest.fixture
def stored(caller):
    """The keys of the company's files in the object store."""
    objects = caller.http.app.state.service.objects
    return lambda: [key for key, _ in objects.stored(caller.company, "files")]


def upload(caller, sku, data=PDF, *, name="report.pdf", media="application/pdf", query="", headers=None, **fields):
    sent = {"type": "test_report", **fields}
    return caller.request(
        "POST",
        f"/skus/{sku}/files{query}",
        files={"file": (name, data, media)},
        data={name: value for name, value in sent.items() if value is not None},
        headers=headers or {},
    )


def issue(answer, status=400):
    assert (answer.status_code, answer.json()["error"]) == (status, "invalid_body"), answer.text
    [found] = answer.json()["details"]
    return found["field"], found["code"]


def test_an_upload_is_stored_listed_and_audited(caller, sku, stored, pool):
    fields = {"reference": " LAB-7 ", "issuer": "Institut für Prüfung", "issued_on": "2026-01-31", "expires_on": ""}
    answer = upload(caller, sku, name="C:\\tests\\Prüfung 7.pdf", **fields)
    assert answer.status_code == 201, answer.text
    published(TechnicalFileUploadResponse, answer.json())
    file = answer.json()["data"]
    assert answer.headers["Location"] == f"/api/v1/skus/{sku}/files"
    assert file == file | {
        "sku_id": sku,
        "type": "test_report",
        "filename": "Prüfung 7.pdf",
        "media_type": "application/pdf",
        "size_bytes": len(PDF),
        "sha256": hashlib.sha256(PDF).hexdigest(),
        "reference": "LAB-7",
        "issuer": "Institut für Prüfung",
        "issued_on": "2026-01-31",
        "expires_on": None,
    }
    assert stored() == [f"{caller.company}/files/{file['id']}"]
    assert caller.http.app.state.service.objects.get(stored()[0]) == PDF
    newest = upload(caller, sku, PNG, name="photo.png", media="image/png", type="packaging_photo").json()["data"]
    listed = caller.get(f"/skus/{sku}/files")
    published(TechnicalFilesListResponse, listed.json())
    assert listed.json() == {"data": [newest, file], "pagination": {"limit": 50, "offset": 0, "total": 2}}
    assert caller.get(f"/skus/{sku}/files?limit=1&offset=1").json()["data"] == [file]
    with pool.company(caller.company) as conn:
        action, resource, before, after = conn.execute(
            "SELECT action, resource_id, before, after FROM audit_entries WHERE action LIKE 'technical%' ORDER BY id"
        ).fetchone()
    assert (action, resource, before) == ("technical_file.uploaded", file["id"], None)
    assert after == {name: file[name] for name in file if name not in {"id", "created_at", "updated_at"}}


@pytest.mark.parametrize("media", SAMPLES)
@pytest.mark.parametrize("declared", ["own", "application/octet-stream", None])
def test_what_is_taken_is_known_by_its_bytes(caller, sku, media, declared):
    answer = upload(caller, sku, SAMPLES[media], name="a", media=media if declared == "own" else declared)
    assert answer.status_code == 201, answer.text
    assert answer.json()["data"]["media_type"] == media


def test_type_may_stand_behind_the_file_and_all_fields_be_read_at_once(caller, sku, stored):
    boundary = "x-y"
    parts = [
        ('name="file"; filename="a.pdf"', "Content-Type: application/pdf\r\n", PDF),
        ('name="issuer"', "", "Müller".encode()),
        ('name="type"', "", b"supplier_declaration"),
    ]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {name}\r\n{header}\r\n".encode() + data + b"\r\n"
        for name, header, data in parts
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    whole = caller.request("POST", f"/skus/{sku}/files", content=body + b"--x-y--\r\n", headers=headers)
    assert whole.json()["data"]["issuer"] == "Müller"
    cut = caller.request("POST", f"/skus/{sku}/files", content=body, headers=headers)
    assert issue(cut) == (None, "invalid_format")
    byte_by_byte = (bytes([byte]) for byte in body + b"--x-y--\r\n")
    slow = caller.request("POST", f"/skus/{sku}/files", content=byte_by_byte, headers=headers)
    assert slow.json()["data"]["sha256"] == whole.json()["data"]["sha256"]
    assert len(stored()) == 2


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"type": None}, ("type", "required")),
        ({"type": ""}, ("type", "required")),
        ({"type": "selfie"}, ("type", "unknown_file_type")),
        ({"issued_on": "31.01.2026"}, ("issued_on", "invalid_date")),
        ({"issued_on": "20260131"}, ("issued_on", "invalid_date")),
        ({"expires_on": "2026-02-30"}, ("expires_on", "invalid_date")),
        ({"issued_on": "2026-02-01", "expires_on": "2026-01-31"}, ("expires_on", "out_of_range")),
        ({"reference": "x" * 2001}, ("reference", "too_long")),
        ({"issuer": "a\x00b"}, ("issuer", "invalid_format")),
        ({"expiry": "2026-01-31"}, ("expiry", "unknown_field")),
        ({"dry_run": "true"}, ("dry_run", "unknown_field")),
        ({"data": b""}, ("file", "too_short")),
        ({"name": "n" * 256}, ("file", "too_long")),
    ],
)
def test_faults_name_their_field_and_leave_no_bytes(caller, sku, stored, fields, found):
    assert issue(upload(caller, sku, **fields)) == found
    assert stored() == []


def test_a_body_without_its_form_is_refused(caller, sku, stored):
    path = f"/skus/{sku}/files"
    assert issue(caller.request("POST", path, data={"type": "test_report"}, files={"kind": ("a", PDF)})) == (
        "kind",
        "unknown_field",
    )
    nothing = caller.request("POST", path, files={"type": (None, "test_report")})
    assert issue(nothing) == ("file", "required")
    assert issue(caller.request("POST", path, content=PDF)) == (None, "invalid_format")
    assert issue(caller.post(path, {"type": "test_report"})) == (None, "invalid_format")
    twice = caller.request("POST", path, files=[("file", ("a", PDF)), ("file", ("b", PDF))])
    assert issue(twice) == ("file", "invalid_format")
    assert stored() == []


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"hello", "text/plain"),
        (PDF, "text/html"),
        (PDF, "image/png"),
        (b"MZ\x90\x00" + bytes(100), "application/pdf"),
        (b"hello", None),
        (XLSX, "application/vnd.ms-excel"),
        (office("application/vnd.ms-excel.sheet.macroEnabled.main+xml"), None),
        (XLSX[: len(XLSX) // 2], None),
        (DOC[:700], None),
    ],
)
def test_a_kind_that_is_not_taken_or_not_what_was_declared(caller, sku, stored, data, media):
    assert issue(upload(caller, sku, data, media=media), 415) == ("file", "unsupported_media_type")
    assert stored() == []


def test_a_zip_that_promises_too_much_is_refused_unread(caller, sku):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(10_001):
            archive.writestr(str(number), b"")
    assert issue(upload(caller, sku, data.getvalue(), media=None), 415) == ("file", "unsupported_media_type")


@pytest.mark.parametrize("truth", ["true", "1"])
def test_a_dry_run_judges_and_stores_nothing(caller, sku, stored, truth):
    answer = upload(caller, sku, query=f"?dry_run={truth}", headers={"Idempotency-Key": "k"})
    assert answer.status_code == 200
    published(TechnicalFileUploadResponse, answer.json())
    shown = answer.json()
    assert (shown["dry_run"], shown["data"]["id"]) == (True, None)
    assert shown["data"]["sha256"] == hashlib.sha256(PDF).hexdigest()
    assert issue(upload(caller, sku, b"x", query="?dry_run=1"), 415) == ("file", "unsupported_media_type")
    assert stored() == []
    assert caller.get(f"/skus/{sku}/files").json()["pagination"]["total"] == 0


def test_a_foreign_or_unknown_sku_is_told_before_the_body_is_looked_at(caller, join, sku):
    other = join()
    for who, target in ((other, sku), (caller, uuid4()), (caller, "no-uuid")):
        assert upload(who, target).status_code == 404
        assert who.post(f"/skus/{target}/files", {"no": "form"}).json()["error"] == "not_found"
        assert who.get(f"/skus/{target}/files").json()["error"] == "not_found"
    assert upload(join(scopes=("read",)), sku).json()["error"] == "insufficient_scope"


def test_without_a_key_the_same_file_twice_is_two_records(caller, sku, stored):
    first, second = (upload(caller, sku).json()["data"] for _ in range(2))
    assert first["id"] != second["id"]
    assert len(stored()) == 2


def test_with_a_key_it_is_one_whoever_comes_first(caller, sku, stored):
    headers = {"Idempotency-Key": str(uuid4())}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: upload(caller, sku, headers=headers), range(6)))
    assert {answer.status_code for answer in answers} == {201}
    [identifier] = {answer.json()["data"]["id"] for answer in answers}
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 5
    assert [UUID(key.rpartition("/")[2]) for key in stored()] == [UUID(identifier)]
    other = upload(caller, sku, PDF + b"%", headers=headers)
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_key_reuse")
    assert len(stored()) == 1
