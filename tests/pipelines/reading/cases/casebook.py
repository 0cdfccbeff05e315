"""Files as people really send them, case by case: what the importer reads of each, or what it refuses it with.

The numbers are those of the collection that the importer is held to (`docs/imports.md` lists it). This file has the
form of a case; the cases stand in `files`, `tables`, `columns` and `cells`, and `runs` names the tests of whole runs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pipelines.reading.grid import ReadingRefused, letter
from tests.pipelines.reading.writing import Table, delimited, raw_workbook, read, sheet_xml, workbook

HEAD = ["sku_code", "name", "weight_grams"]
A, B = ["A", "é ß œ ’", "1.5"], ["B", "b", "2"]
READ = {"A": 1.5, "B": 2.0}


@dataclass(frozen=True)
class Case:
    """A file, and what of it is read: weight by code, faults as (line, field, code), some of `source`; or a refusal."""

    number: int
    made: bytes | Callable[[], bytes]
    read: dict[str, object] = field(default_factory=dict)
    faults: tuple[tuple[int, str | None, str], ...] = ()
    source: dict[str, object] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    of: str = "weight_grams"

    @property
    def data(self) -> bytes:
        """The file; a large one is made for its own test, and not wherever the cases are collected."""
        return self.made if isinstance(self.made, bytes) else self.made()


def book(*rows: list[object], name: str = "SKUs", head: list[str] = HEAD) -> bytes:
    return workbook({name: [head, *rows]})


def text(*lines: str, encoding: str = "utf-8", end: str = "\n") -> bytes:
    return (end.join(lines) + end).encode(encoding)


def of(number: int, header: str, cells: dict[str, object], delimiter: str = ",") -> list[Case]:
    """A case for each cell of one column, as text of a CSV beside nothing that would help: read so, or this code."""
    files = {cell: delimited([["sku_code", "name", header], ["A", "a", cell]], delimiter) for cell in cells}
    name = read(next(iter(files.values())))[0].source["columns"][2]["field"]
    cases = []
    for cell, expected in cells.items():
        data = files[cell]
        fault = isinstance(expected, str) and expected.startswith("!")
        cases.append(
            Case(number, data, faults=((2, name, str(expected)[1:]),), of=name)
            if fault
            else Case(number, data, {"A": expected}, of=name)
        )
    return cases


def filtered(head: list[str], first: list[str], second: list[str]) -> bytes:
    """A workbook of which a filter hides the last row, and somebody the last column."""
    rows = "".join(
        f'<row r="{at}"{hidden}>'
        + "".join(f'<c r="{letter(place)}{at}" t="str"><v>{cell}</v></c>' for place, cell in enumerate(cells))
        + "</row>"
        for at, (cells, hidden) in enumerate(((head, ""), (first, ""), (second, ' hidden="1"')), 1)
    )
    hiding = b'<cols><col min="3" max="3" width="9" hidden="1"/></cols><sheetData>'
    return raw_workbook(sheet_xml(rows).replace(b"<sheetData>", hiding))


def rows_of(table: Table, **more: object) -> bytes:
    return delimited(table, **more)  # type: ignore[arg-type]


def hold(case: Case) -> None:
    """The file is read as the case says, or refused as a whole."""
    if case.refused:
        with pytest.raises(ReadingRefused) as refused:
            read(case.data)
        assert tuple(issue.code for issue in refused.value.issues) == case.refused
        assert all(issue.message.endswith(".") for issue in refused.value.issues)
        return
    upload, rows = read(case.data)
    assert dict(rows.values.select("sku_code", case.of).rows()) == case.read
    assert tuple(rows.errors.select("line", "field", "code").rows()) == case.faults
    assert {key: upload.source[key] for key in case.source} == case.source
