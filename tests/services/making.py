"""The smallest files of each kind, made here: enough to be known, with nothing in them."""

import io
import struct
import zipfile

PDF = b"%PDF-1.7\n1 0 obj\n<< >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 1, 1, 8, 0, 0, 0, 0) + bytes(8)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00" + bytes(14)
_MAIN = "application/vnd.openxmlformats-officedocument.{}.main+xml"


def office(main_type: str) -> bytes:
    """An Office Open XML package whose main part has this content type, named last as some programs do."""
    data = io.BytesIO()
    types = f'<Types xmlns="x"><Override PartName="/main.xml" ContentType="{main_type}"/></Types>'
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("main.xml", "<main/>" * 1000)
        package.writestr("[Content_Types].xml", types)
    return data.getvalue()


def compound(*names: str, sector_bytes: int = 512) -> bytes:
    """A compound file whose directory holds streams of these names: header, table of chains, directory."""
    shift = sector_bytes.bit_length() - 1
    per_sector = sector_bytes // 128
    entries = ["Root Entry", *names]
    sectors = -(-len(entries) // per_sector)
    chain = [0xFFFFFFFD, *range(2, 1 + sectors), 0xFFFFFFFE]
    header = struct.pack("<8s16xHHHH", bytes.fromhex("d0cf11e0a1b11ae1"), 62, 3, 0xFFFE, shift)
    header = header.ljust(44, b"\0") + struct.pack("<II", 1, 1)  # one sector of chains; the directory begins in 1
    header = header.ljust(76, b"\0") + struct.pack("<I", 0) + b"\xff" * (4 * 108)
    directory = b"".join(
        struct.pack("<64sH62x", name.encode("utf-16-le"), 2 * len(name) + 2) for name in entries
    ).ljust(sectors * sector_bytes, b"\0")
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(sector_bytes, b"\xff")
    return header.ljust(sector_bytes, b"\0") + table + directory


DOC = compound("1Table", "\x05SummaryInformation", "Data", "ObjectPool", "WordDocument")
XLS = compound("Workbook", sector_bytes=4096)
DOCX, XLSX = office(_MAIN.format("wordprocessingml.document")), office(_MAIN.format("spreadsheetml.sheet"))
