"""Decides the format of a file by its bytes. Its name proves nothing: people and programs name files wrongly."""

from typing import Literal

from pipelines.reading.encoding import utf16_without_mark
from pipelines.reading.refusal import refuse
from schemas.messages import Message
from schemas.normalise import shown

_ZIP = b"PK\x03\x04"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_REFUSED_FORMATS = (
    (b"%PDF", Message("a PDF")),
    (b"\x1f\x8b", Message("a gzip archive")),
    (b"PAR1", Message("a Parquet file")),
    (b"\x89PNG", Message("an image")),
    (b"\xff\xd8\xff", Message("an image")),
    (b"PK", Message("a damaged or empty archive")),
    (b"Rar!", Message("an archive")),
    (b"7z\xbc\xaf", Message("an archive")),
)
_MARKUP = (b"<html", b"<!doctype", b"<table", b"<?xml", b"<head", b"<body", b"<meta")


def detect_format(data: bytes, filename: str) -> Literal["csv", "xlsx"]:
    """Return the format of the bytes. Raises `ReadingRefused` where they are neither text nor a workbook."""
    if data.startswith(_ZIP):
        return "xlsx"
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise refuse(
                "encrypted_file",
                Message("{file} is protected by a password; save it without one.", file=shown(filename)),
            )
        raise refuse(
            "unreadable_file",
            Message(
                "{file} is an old Excel file (.xls) or another Office document; save it as .xlsx.", file=shown(filename)
            ),
        )
    for mark, what in _REFUSED_FORMATS:
        if data.startswith(mark):
            raise refuse(
                "unreadable_file",
                Message(
                    "{file} is {kind}, not a table. Send a CSV file or an Excel workbook (.xlsx).",
                    file=shown(filename),
                    kind=what,
                ),
            )
    start = data[:4096].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00")
    if not start:
        raise refuse(
            "no_table", Message("{file} is empty. Send a CSV file or an Excel workbook (.xlsx).", file=shown(filename))
        )
    if start.lower().startswith(_MARKUP):
        raise refuse(
            "unreadable_file",
            Message(
                "{file} is a web page or XML, whatever its name; open it in Excel and save it as .xlsx.",
                file=shown(filename),
            ),
        )
    if _is_binary(data):
        raise refuse(
            "unreadable_file",
            Message(
                "{file} is no text and no workbook. Send a CSV file or an Excel workbook (.xlsx).", file=shown(filename)
            ),
        )
    return "csv"


def _is_binary(data: bytes) -> bool:
    """Return whether more than one byte in ten of the start is a control character; Ctrl-Z ends some texts."""
    sample = data[:4096]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")) or utf16_without_mark(sample):
        return False
    controls = bytes([*range(9), 11, *range(14, 26), *range(28, 32)])
    return len(sample) - len(sample.translate(None, controls)) > len(sample) / 10
