"""What a file may cost, whatever it is: 400 MiB over what a process holds idle, and ten seconds of CPU time.

Each file is read in a process of its own, because the peak of a process never falls.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipelines.reading.budget import MOST_MIB, costs
from tests.pipelines.reading.writing import package, raw_workbook, sheet_xml

MOST_SECONDS = 10.0
TEN_MIB = 10 * 2**20
HEAD = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>sku_code</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>name</t></is></c></row>'
)


def bomb() -> bytes:
    """An archive of some hundred kilobytes with a sheet of 200 MiB: rows that hold nothing but white space."""
    row = '<row r="{}"><c r="A{}" t="inlineStr"><is><t xml:space="preserve">' + " " * 30_000 + "</t></is></c></row>"
    rows = "".join(row.format(n, n) for n in range(2, 7_000))
    return raw_workbook(sheet_xml(HEAD + rows))


def many_texts() -> bytes:
    """A table of texts of 200 MiB, one of which a cell shows."""
    cell = '<row r="2"><c r="A2" t="s"><v>0</v></c></row>'
    return raw_workbook(sheet_xml(HEAD + cell), sharedStrings=b"<sst><si><t>" + b"x" * 200 * 2**20 + b"</t></si></sst>")


def hidden_columns() -> bytes:
    """Three million times all columns of a sheet hidden."""
    every = '<col min="1" max="16384" hidden="1"/>'
    return raw_workbook(
        sheet_xml(HEAD).replace(b"<sheetData>", f"<cols>{every * 3_000_000}</cols><sheetData>".encode())
    )


def references() -> bytes:
    """A cell of ten million characters, each written as a reference to its number."""
    text = "&#65;" * 10_000_000
    cell = f'<c r="A2" t="inlineStr"><is><t>{text}</t></is></c>'
    return raw_workbook(sheet_xml(f'{HEAD}<row r="2">{cell}<c r="B2"><v>1</v></c></row>'))


def merged_cells() -> bytes:
    """A billion merged cells, and then as many places of merged cells as fit in."""
    every = "".join(f'<mergeCell ref="A{n}:XFD{n + 1}"/>' for n in range(1, 1_000_000, 2))
    row = '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row>'
    merged = f'</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/>{every}</mergeCells>'
    return raw_workbook(sheet_xml(HEAD + row).replace(b"</sheetData>", merged.encode()))


FILES: dict[str, Callable[[], bytes]] = {
    "a workbook that declares a million empty rows": lambda: raw_workbook(
        sheet_xml(HEAD + "".join(f'<row r="{n}" spans="1:2"/>' for n in range(2, 1_000_002)))
    ),
    "a million rows of styled empty cells": lambda: raw_workbook(
        sheet_xml(HEAD + "".join(f'<row r="{n}"><c r="A{n}" s="1"/></row>' for n in range(2, 1_000_002)))
    ),
    "a cell at the last place of a sheet": lambda: raw_workbook(
        sheet_xml(HEAD + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    ),
    "one line of 10 MiB": lambda: b"sku_code;name\n" + b"A" * (TEN_MIB - 14),
    "one header of 10 MiB": lambda: b"sku_code;name;" + b"h" * (TEN_MIB - 18) + b"\nA;B",
    "one line of five million cells": lambda: b";" * (TEN_MIB // 2) + b"\nsku_code;name\nA;B\n",
    "ten MiB of quotation marks": lambda: b"sku_code;name\n" + b'"' * (TEN_MIB - 14),
    "ten MiB of open quotes": lambda: b"sku_code;name\n" + b'A;"\n' * (TEN_MIB // 4 - 4),
    "ten MiB of line ends": lambda: b"sku_code;name\nA;B" + b"\n" * (TEN_MIB - 17),
    "a zip bomb of 200 MiB": bomb,
    "a bomb in the table of texts": many_texts,
    "all columns hidden three million times": hidden_columns,
    "ten million references to characters": references,
    "a billion merged cells": merged_cells,
    "a million texts": lambda: raw_workbook(
        sheet_xml(HEAD + '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c></row>'),
        sharedStrings=b"<sst>" + b"<si><t>a</t></si>" * 1_000_000 + b"</sst>",
    ),
    "ten million relations": lambda: package(
        {"xl/workbook.xml": b"<workbook/>", "xl/_rels/workbook.xml.rels": b"<R>" + b"<R/>" * 10_000_000 + b"</R>"}
    ),
    "two million styles": lambda: raw_workbook(
        sheet_xml(HEAD + '<row r="2"><c r="A2" s="1"><v>1</v></c><c r="B2"><v>2</v></c></row>'),
        styles=b"<styleSheet><cellXfs>" + b'<xf numFmtId="1"/>' * 2_000_000 + b"</cellXfs></styleSheet>",
    ),
    "five million elements within each other": lambda: raw_workbook(sheet_xml(HEAD + "<a>" * 5_000_000)),
    "a bomb of one piece of XML": lambda: raw_workbook(b"<worksheet>" + b" " * 200 * 2**20),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says the peak of one process")
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_or_refused_within_bounds(name: str, tmp_path: Path) -> None:
    [cost] = costs({name: FILES[name]()}, tmp_path).values()
    assert cost.mib < MOST_MIB, cost
    assert cost.seconds < MOST_SECONDS, cost
    assert cost.outcome
