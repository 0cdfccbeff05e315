"""Finds further headers below the header, as of files that were put one below the other, and what they mean.

A header that means the same columns is only left out. One that means others, or the same ones in another order or unit,
begins another table: its lines are rejected, since read by the first header they would say something false. Where the
first header comes again, its lines are read again.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

import polars as pl

from pipelines.reading.columns import recognise
from pipelines.reading.fields import Column, Table
from pipelines.reading.grid import Grid, LineFault
from pipelines.reading.header import Header
from pipelines.reading.header_row import REQUIRED_FIELDS, recognised_fields
from pipelines.reading.skipped import OTHER_HEADER, REPEATED
from schemas.messages import Message
from schemas.words import fold, headers

_UNIT: Final = r"\((?:k?g|mg|%)\)"
_SHOWN: Final = 200


class OneTable(NamedTuple):
    """The lines of the first header's table, and further headers with the reason why they are left out."""

    body: Grid
    headers: tuple[tuple[int, str], ...]


def of_one_table(body: Grid, header: Header, table: Table, helping: Collection[int]) -> OneTable:
    """Return the lines that the header describes; lines below another header are faults.

    Rows that help, directly below the header, stay: they name its columns once more.
    """
    if header.line == 0 or header.line != header.last_line:  # no header, or one of two lines, of which each is a part
        return OneTable(body, ())
    rows = {at: body.row(at) for at in _candidates(body, header, table) if at not in helping}
    found = {at: row for at, row in rows.items() if _names_columns(row, table)}
    if not found:
        return OneTable(body, ())
    same = {at: _is_same(row, header, table) for at, row in found.items()}
    kept = pl.Series([True]).new_from_index(0, body.cells.height).scatter(list(found), values=False)
    faults: list[LineFault] = []
    starts = sorted(found)
    for at, end in zip(starts, [*starts[1:], body.cells.height], strict=True):
        if not same[at] and end > at + 1:
            faults += _faults(body, range(at + 1, end), found[at], int(body.lines[at]), table)
            kept = kept.scatter(list(range(at + 1, end)), values=False)
    one = replace(
        body,
        cells=body.cells.filter(kept),
        lines=body.lines.filter(kept),
        kinds=None if body.kinds is None else body.kinds.filter(kept),
        filled=None if body.filled is None else body.filled.filter(kept),
        faults=tuple(sorted((*body.faults, *faults), key=lambda fault: fault.line)),
    )
    return OneTable(one, tuple((int(body.lines[at]), REPEATED if same[at] else OTHER_HEADER) for at in starts))


def _candidates(body: Grid, header: Header, table: Table) -> list[int]:
    """Return the rows whose code or name could be a header, by a comparison of whole columns."""
    keys = [column for column in header.columns if column.name in ("sku_code", *REQUIRED_FIELDS[table])]
    own = {column.header.strip().casefold() for column in header.columns}
    known = list(own | _known(table))
    found = pl.Series([False]).new_from_index(0, body.cells.height)
    for column in keys:
        if f"c{column.position}" in body.cells.columns:
            cells = body.cells[f"c{column.position}"].str.strip_chars().str.to_lowercase()
            found |= (cells.is_in(known) | cells.str.contains(_UNIT)).fill_null(value=False)
    return found.arg_true().to_list()


@cache
def _known(table: Table) -> frozenset[str]:
    """Return the known headers as people write most of them: in lower case, with spaces or underscores."""
    return frozenset(text for name in headers(table) for text in (name, name.replace(" ", "_"), name.replace(" ", "")))


def _names_columns(row: Sequence[str | None], table: Table) -> bool:
    """Return whether a row is a header: it names what the table needs."""
    return recognised_fields((cell for cell in row if cell is not None), table).issuperset(REQUIRED_FIELDS[table])


def _is_same(row: Sequence[str | None], header: Header, table: Table) -> bool:
    """Return whether a header means the same columns at the same places; an empty cell says nothing."""
    columns = {column.position: column for column in header.columns}
    ignored = {at: fold(text) for at, text in header.ignored}
    for at, cell in enumerate(row):
        if cell is None:
            continue
        own = columns.get(at)
        if own is None:
            if recognise(cell, at, table) is not None and fold(cell) != ignored.get(at):
                return False
        elif fold(cell) != fold(own.header) and not _is_alike(recognise(cell, at, table), own):
            return False
    return True


def _is_alike(named: Column | None, own: Column) -> bool:
    """Return whether another wording of a header means the same field in the same unit."""
    if named is None:
        return False
    means = (named.field.name, named.factor, named.market, named.year, named.half, named.group)
    return means == (own.field.name, own.factor, own.market, own.year, own.half, own.group)


def _faults(body: Grid, rows: range, row: Sequence[str | None], line: int, table: Table) -> list[LineFault]:
    """Return a fault for each row below another header; its code is read by that header."""
    message = Message(
        "Line {line} is another header, with other columns or in another order than the first: this line cannot be "
        "read by the first. Send the lines below it as a file of their own.",
        line=line,
    )
    key = next((at for at, cell in enumerate(row) if cell and recognised_fields([cell], table) == {"sku_code"}), None)
    faults = []
    for at in rows:
        cells = body.row(at)
        code = cells[key] if key is not None and key < len(cells) else None
        shown = " | ".join(cell or "" for cell in cells)[:_SHOWN]
        faults.append(LineFault(int(body.lines[at]), "ambiguous_column", message, shown, code and code.strip()))
    return faults
