"""A workbook as a person leaves it who has typed into it: rows below the others, or another text in a cell."""

import io
import re
import zipfile
from collections.abc import Callable

_SHEETS = ("xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml")


def with_rows(workbook: bytes, *, repeat: int, code: str) -> bytes:
    """Every line from line `repeat` on, again at the end of its sheet, with `code` as its first cell."""
    return _rewritten(workbook, lambda name, part: _repeated(part, repeat, code) if name in _SHEETS else part)


def with_text(workbook: bytes, before: str, after: str) -> bytes:
    """Every cell that holds the one text, with the other."""
    return _rewritten(workbook, lambda _, part: part.replace(f"<t>{before}</t>", f"<t>{after}</t>"))


def _rewritten(workbook: bytes, change: Callable[[str, str], str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name).decode()))
    return target.getvalue()


def _repeated(sheet: str, first: int, code: str) -> str:
    rows = [(int(row[1]), row[0]) for row in re.finditer(r'<row r="(\d+)".*?</row>', sheet)]
    own = [(line, text) for line, text in rows if line >= first]
    added = "".join(_moved(text, line, line + len(own), code) for line, text in own)
    return sheet.replace("</sheetData>", f"{added}</sheetData>")


def _moved(row: str, line: int, to: int, code: str) -> str:
    moved = re.sub(rf'r="([A-Z]*){line}"', rf'r="\g<1>{to}"', row)
    return re.sub(rf'<c r="A{to}"[^>]*>.*?</c>', f'<c r="A{to}" t="inlineStr"><is><t>{code}</t></is></c>', moved)
