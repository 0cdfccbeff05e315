"""Files as people write them, for the reader's tests: the same table as CSV text of any kind or as a workbook."""

import csv
import datetime
import io
import zipfile
from collections.abc import Mapping, Sequence

import xlsxwriter

from compliance.catalogue import pinned, served
from pipelines.reading.rows import TypedRows, type_rows
from pipelines.reading.upload import Upload, read_upload

TODAY = datetime.date(2026, 11, 21)
SERVED = frozenset(entry.code for entry in served(pinned()))
Table = Sequence[Sequence[object]]


def delimited(table: Table, delimiter: str = ",", encoding: str = "utf-8", end: str = "\r\n") -> bytes:
    """The table as Excel and most programs write it: quotation marks only where they are needed."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(table)
    return text.getvalue().encode(encoding)


def workbook(
    sheets: Mapping[str, Table], *, hidden: Sequence[str] = (), formats: Mapping[int, str] | None = None
) -> bytes:
    """A workbook of sheets; `formats` gives the number format of columns of every sheet."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "strings_to_formulas": False}) as book:
        for name, table in sheets.items():
            sheet = book.add_worksheet(name)
            for at, code in (formats or {}).items():
                sheet.set_column(at, at, None, book.add_format({"num_format": code}))
            for row, cells in enumerate(table):
                for column, cell in enumerate(cells):
                    code = (formats or {}).get(column)
                    shape = book.add_format({"num_format": code}) if code and row else None
                    if cell is not None and cell != "":
                        sheet.write(row, column, cell, *([shape] if shape else []))
            if name in hidden:
                sheet.hide()
    return buffer.getvalue()


def package(parts: Mapping[str, bytes]) -> bytes:
    """A zip of parts, for workbooks that no library would write."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in parts.items():
            archive.writestr(path, data)
    return buffer.getvalue()


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def raw_workbook(sheet: bytes, **more: bytes) -> bytes:
    """A workbook of one sheet whose XML is given; `sharedStrings` and `styles` may be given too."""
    kinds = ["worksheet", *more]
    targets = ["worksheets/sheet1.xml", *(f"{kind}.xml" for kind in more)]
    relations = "".join(
        f'<Relationship Id="rId{at}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(zip(kinds, targets, strict=True), 1)
    )
    book = (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="SKUs" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    return package(
        {
            "xl/workbook.xml": book.encode(),
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{relations}</Relationships>'.encode(),
            "xl/worksheets/sheet1.xml": sheet,
            **{f"xl/{kind}.xml": data for kind, data in more.items()},
        }
    )


def sheet_xml(rows: str) -> bytes:
    """A worksheet part around rows."""
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()


def read(data: bytes, mapping: Mapping[str, object] | None = None) -> tuple[Upload, TypedRows]:
    """An upload and its typed rows, through the stored form, as a worker reads them."""
    upload = Upload.from_bytes(read_upload(data, "file", mapping=mapping, today=TODAY).to_bytes())
    return upload, type_rows(upload, default_year=TODAY.year, served_markets=SERVED)


def values(data: bytes, mapping: Mapping[str, object] | None = None) -> list[dict[str, object]]:
    """The typed rows without their place."""
    typed = read(data, mapping)[1].values
    return typed.drop("row", "line", "sheet").to_dicts()


def faults(data: bytes, mapping: Mapping[str, object] | None = None) -> list[tuple[int, str, str]]:
    """The report as (line, field, code)."""
    return read(data, mapping)[1].errors.select("line", "field", "code").rows()
