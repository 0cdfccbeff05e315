"""Zips and XML from outside: what they say of themselves is measured, and no document type gets past the parser."""

import io
import struct
import zipfile

import pytest

from pipelines.reading.media import DocumentTypeError, NoXmlError, open_zip, parse_xml


def names(*pieces: bytes) -> list[str]:
    found: list[str] = []
    parse_xml(pieces, lambda name, _: found.append(name))
    return found


DTD = '<!DOCTYPE a [<!ENTITY b "c">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso8859-1"])
@pytest.mark.parametrize("before", ["", "<!-- {} -->", "<?other {}?>", "{}"])
@pytest.mark.parametrize("size", [1, 7, 300_000])
def test_a_document_type_is_refused_wherever_it_stands(encoding: str, before: str, size: int) -> None:
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    declared = "utf-16" if encoding.startswith("utf-16") else encoding.removesuffix("-sig")
    start = f'{mark}<?xml version="1.0" encoding="{declared}"?>{before.format(" " * 300_000)}'
    for declaration in (DTD, "<!DOCTYPE a>", '<!DOCTYPE a SYSTEM "b">'):
        data = f"{start}{declaration}<a>&b;</a>".encode(encoding)
        pieces = [data[at : at + size] for at in range(0, len(data), size)] if size > 7 or len(data) < 2_000 else [data]
        with pytest.raises(DocumentTypeError):
            names(*pieces)


def test_an_entity_of_nobody_is_no_xml() -> None:
    with pytest.raises(NoXmlError):
        names(b"<a>&b;</a>")
    assert names(b"<a>&amp;&#65;<b/></a>") == ["a", "b"]


@pytest.mark.parametrize(
    "pieces",
    [
        [b"<a>"] * 300 + [b"</a>"] * 300,
        [b"<a><b x='", *[b" " * 2**20] * 9, b"'/></a>"],
        [b"<!--", *[b" " * 2**20] * 3, b"--><a/>"],
        [b" " * 2**21, b"<a/>"][:1],
        [b'<?xml version="1.0" encoding="nowhere"?><a/>'],
        [b"<a>", b"</b>"],
        [b""],
    ],
)
def test_what_no_part_of_a_document_looks_like_is_refused(pieces: list[bytes]) -> None:
    with pytest.raises(NoXmlError):
        names(*pieces)


def archive(parts: int = 1, packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", packed) as made:
        for number in range(parts):
            made.writestr(f"{number}", b"")
    return data.getvalue()


def opened(data: bytes) -> int:
    with open_zip(io.BytesIO(data)) as found:
        return len(found.namelist())


def test_a_table_of_contents_is_measured_before_it_is_loaded() -> None:
    assert opened(archive(20)) == 20
    with pytest.raises(zipfile.BadZipFile, match="larger"):
        opened(archive(10_001))


def test_the_table_that_zipfile_goes_by_is_the_one_that_is_measured() -> None:
    data = archive(20)
    end = data.rfind(b"PK\x05\x06")
    size, start = struct.unpack_from("<II", data, end + 12)
    for said in (size, 2**21):
        wide = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 20, 20, said, start)
        wide += struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1)
        told = data[:end] + wide + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 1, 1, 0)
        if said == size:
            assert opened(told) == 20
        else:
            with pytest.raises(zipfile.BadZipFile, match="larger"):
                opened(told)


def test_parts_are_packed_as_in_documents() -> None:
    for packed in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(NotImplementedError):
            opened(archive(1, packed))
    assert opened(archive(1, zipfile.ZIP_STORED)) == 1
