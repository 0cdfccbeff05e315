"""Files that no one should send: each is a 4xx with a reason in bounded time, and leaves nothing behind."""

import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from schemas.answers import Error
from schemas.imports.inputs import MAX_IMPORT_BYTES
from tests.pace import is_within
from tests.pipelines.reading.writing import package, raw_workbook, workbook

EXAMPLE = Path(__file__).parents[2] / "examples" / "portfolio.xlsx"
OLE = bytes.fromhex("d0cf11e0a1b11ae1")
HEAD = b"sku_code;name\n"
SECONDS = 10
"""CPU time that a refusal may take; the bomb below unpacks to 300 MiB and more."""

FILES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "empty": ("a.csv", lambda: b"", "no_table"),
    "only white space": ("a.csv", lambda: b" \r\n\t\n" * 99, "no_table"),
    "only a byte order mark": ("a.csv", lambda: b"\xef\xbb\xbf", "no_table"),
    "header alone": ("a.csv", lambda: HEAD, "no_rows"),
    "a truncated workbook": ("a.xlsx", lambda: EXAMPLE.read_bytes()[:-200], "unreadable_file"),
    "half a workbook": ("a.xlsx", lambda: EXAMPLE.read_bytes()[: EXAMPLE.stat().st_size // 2], "unreadable_file"),
    "an encrypted workbook": ("a.xlsx", lambda: OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted_file"),
    "an old workbook": ("a.xls", lambda: OLE + b"Workbook" * 99, "unreadable_file"),
    "a zip bomb": ("a.xlsx", lambda: raw_workbook(b" " * (310 * 2**20)), "unreadable_file"),
    "a zip of something else": ("a.xlsx", lambda: package({"word/document.xml": b"<x/>"}), "unreadable_file"),
    "a picture named CSV": ("a.csv", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "unreadable_file"),
    "a PDF named XLSX": ("a.xlsx", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "unreadable_file"),
    "a web page named XLSX": ("a.xlsx", lambda: b"<!DOCTYPE html><html><table><tr><td>sku_code", "unreadable_file"),
    "50 001 lines": ("a.csv", lambda: HEAD + b"".join(b"B-%d;N\n" % n for n in range(50_001)), "too_many_rows"),
    "50 001 rows": ("a.xlsx", lambda: workbook({"S": [["sku_code", "name"], *[["B", "N"]] * 50_001]}), "too_many_rows"),
}


def _posted(caller, data: bytes, filename: str = "a.csv"):
    return caller.request("POST", "/imports", content=data, params={"filename": filename})


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_whole(caller, database, name):
    filename, content, code = FILES[name]
    data = content()
    begun = time.process_time()
    answer = _posted(caller, data, filename)
    assert is_within(time.process_time() - begun, SECONDS)
    assert answer.status_code == 400, answer.text
    body = answer.json()
    Error.model_validate(body, extra="forbid")
    assert [issue["code"] for issue in body["details"]] == [code]
    assert all(issue["message"].endswith(".") for issue in body["details"])
    with psycopg.connect(database.owner_url) as owner:
        held = owner.execute("SELECT count(*) FROM imports WHERE company_id = %s", [caller.company]).fetchone()
    assert held == (0,)


LINES = {
    "NUL": b"\x00",
    "NUL in a code": b"A\x00B;N",
    "no UTF-8": b"\xff\xfe\xfd;N",
    "a lone surrogate": b"\xed\xa0\x80;N",
    "an open quote": b'A;"never closed',
    "a surplus": b"A;N;surplus;cells",
    "a cell of a megabyte": b"A;" + b"n" * 10**6,
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_answered_without_a_fault_of_ours(caller, name):
    answer = _posted(caller, HEAD + b"GOOD;Good\n" + LINES[name] + b"\n")
    assert answer.status_code in (202, 400), answer.text
    if answer.status_code == 400:
        assert answer.json()["details"]


def test_a_file_of_ten_mebibytes_exactly_is_taken(caller):
    lines = HEAD + b"".join(b"%05d;%s\n" % (n, b"n" * 200) for n in range(50_000))
    full = lines + b"\n" * (MAX_IMPORT_BYTES - len(lines))
    assert len(full) == MAX_IMPORT_BYTES
    assert _posted(caller, full).status_code == 202
    more = _posted(caller, full + b"\n")
    assert (more.status_code, more.json()["error"]) == (413, "payload_too_large")
