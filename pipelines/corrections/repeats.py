"""Finds the codes that corrected rows may not have: a row rejected as a repeat stays so until its code differs.

In a file of rejected rows alone the line that counts is missing, so that the reader is told its code. Without that the
repeat would be written over the first row (decisions §13, Corrections).
"""

from collections.abc import Collection, Sequence

import polars as pl

from pipelines.corrections.cells import Cell
from pipelines.corrections.tables import Report, Table, sheets_of_skus
from pipelines.reading.grid import position
from pipelines.reading.values import as_codes, unescaped
from schemas.report import ImportSource


def taken_codes(
    before: Sequence[Table], after: Sequence[Table], source: ImportSource, report: Report, earlier: Collection[str]
) -> list[str]:
    """Return the codes of rows that may not be written, of the rejected rows `before` and `after` they were edited.

    They are those of rows that were rejected as repeats and have their code still, of rows with the code of a line that
    was not rejected, and those among `earlier`, which the corrected file's own rows may not have. Where an earlier row
    of the new file has the code, the reader finds the repeat by itself.
    """
    names = {place["sheet"] for place in sheets_of_skus(source)}
    at = position(next(column["column"] for column in source["columns"] if column["field"] == "sku_code"))
    repeated = {
        (fault["sheet"], fault["line"])
        for fault in report
        if fault["code"] == "duplicate_sku_code" and source["layout"] != "long"
    }
    counted = {*earlier, *(code for table in before if table.name in names for code in table.others)}
    found: dict[str, None] = {}
    free: set[str] = set()
    for own, edited in zip(before, after, strict=True):
        if own.name not in names:
            continue
        for line, was, code in zip(own.lines, _codes(own, at), _codes(edited, at), strict=True):
            if code is None:
                continue
            if code in counted or ((own.name, line) in repeated and code == was):
                found |= {} if code in free else {code: None}
            else:
                free.add(code)
    return list(found)


def _codes(table: Table, at: int) -> list[str | None]:
    """Return the codes of the rejected rows, as the reader compares them."""
    cells = [_text(cells, at) for _, cells in table.rejected()]
    texts = unescaped(pl.Series("code", cells, dtype=pl.String))
    return texts.to_frame().select(as_codes(pl.col("code")))["code"].to_list()


def _text(cells: Sequence[Cell], at: int) -> str | None:
    cell = cells[at] if at < len(cells) else None
    return None if cell is None else str(cell).encode("utf-8", "replace").decode()
