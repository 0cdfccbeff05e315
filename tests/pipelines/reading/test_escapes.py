"""Every text that is written as a cell is read back as that text, by each door (`schemas.texts.as_cell`)."""

import csv
import io
import re
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reading.rows import type_rows
from pipelines.reading.upload import read_upload
from pipelines.writing import workbooks
from pipelines.writing.workbooks import LONGEST_CELL, Sheet, Workbook, plain_workbook
from schemas.texts import NULL_WORDS, as_cell
from tests.drawing import examples

PIECES = ("\\", "\\n", "\n", "\r\n", '"', '""', "\t", "'", "''", "=", "+", "-", "@", "#")
ESCAPES = ("_x0041_", "_x0041_x0042_", "_x000D_", "&lt;")
WORDS = ("a", "80er", " ", "é", ";", "|", "null", "NULL", "#N/A", *NULL_WORDS)
TEXTS = st.lists(st.sampled_from((*PIECES, *ESCAPES, *WORDS)), min_size=1, max_size=4).map("".join).filter(str.strip)
HEAD = ["sku_code", "name", "description"]


def workbook(rows: list[list[str]]) -> bytes:
    target = io.BytesIO()
    with Workbook(target, {"constant_memory": True}) as book:
        sheet = Sheet(book, "one")
        for line, row in enumerate(rows):
            sheet.put(line, enumerate(row))
    return target.getvalue()


def delimited(mark: str, rows: list[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark).writerows(rows)
    return text.getvalue().encode()


@pytest.mark.parametrize("door", ["csv", "pasted", "xlsx", "plain"])
@examples(40)
@given(texts=st.lists(TEXTS, min_size=8, max_size=8))
def test_a_text_survives_the_way_out_and_back(door: str, texts: list[str]) -> None:
    rows = [HEAD, *([f"S-{at}", "Jar", as_cell(text)] for at, text in enumerate(texts))]
    if door == "plain":
        data = plain_workbook({"one & only": [dict(zip(HEAD, row, strict=True)) for row in rows[1:]]})
    else:
        data = workbook(rows) if door == "xlsx" else delimited("\t" if door == "pasted" else ",", rows)
    typed = type_rows(
        read_upload(data, f"list.{door}", today=date(2026, 11, 1)), default_year=2026, served_markets=frozenset({"FR"})
    )
    assert typed.errors.rows() == []
    assert typed.values["description"].to_list() == texts


def test_texts_of_any_kind_are_stored_and_one_module_writes_them(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    with Workbook(target) as book:
        Sheet(book, "one", ["a", "b"]).add(
            enumerate(("x" * (LONGEST_CELL + 9), Decimal("1.5"), "\ud800", None, "", "1"))
        )
    root = Path(workbooks.__file__).parents[2]
    rooms = (root / room for room in ("pipelines", "services", "api", "connector"))
    writing = {
        file.relative_to(root).as_posix()
        for room in rooms
        for file in room.rglob("*.py")
        if ".write_string" in file.read_text(encoding="utf-8")
    }
    assert writing == {"pipelines/writing/workbooks.py", "services/imports/workbook.py"}
    with zipfile.ZipFile(target) as package:
        texts = re.findall(r"<t>([^<]*)</t>", package.read("xl/sharedStrings.xml").decode())
        assert texts == ["a", "b", "x" * LONGEST_CELL, "?", "1"]
        assert b"<v>1.5</v>" in package.read("xl/worksheets/sheet1.xml")
