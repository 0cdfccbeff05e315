"""Asks about lines below the table that may be no rows: legends, versions, lists of codes (decisions §13).

After an empty line, a block of lines that fill only the code and the name says nothing of a packaging, in a table whose
other lines do; a code such as `n/a` is none wherever it stands. `skipped.py` leaves out what a word or a sum tells.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final

import polars as pl

from pipelines.reading.fields import Table
from pipelines.reading.grid import Grid
from pipelines.reading.mapping import MappedLines
from pipelines.reading.questions import question
from schemas.messages import Message
from schemas.report import Asked
from schemas.words import code_of

BY_MAPPING: Final = Message("left out by the mapping")
OPEN: Final = Message("asked about: it may be no row")
_KEYS: Final = ("sku_code", "name")
_LONGEST_TEXT: Final = 200


def with_answered_lines(
    reasons: dict[str, pl.Series],
    body: Grid,
    cells: pl.DataFrame,
    answers: Sequence[MappedLines],
    *,
    sheet: str | None,
    table: Table,
) -> tuple[dict[str, pl.Series], list[Asked]]:
    """Return the lines that are left out by reason, those of the mapping and those asked about too, and the questions.

    `reasons` are those of `skipped.find_skipped`; `cells` has the columns that are read of the lines of `body`.
    """
    given = pl.repeat(value=False, n=len(body.lines), eager=True)
    for answer in answers:
        told = body.lines.is_between(answer.first, answer.last)
        given |= told
        reasons = {reason: lines & ~told for reason, lines in reasons.items()}
        reasons[BY_MAPPING] = reasons.get(BY_MAPPING, told & False) | (told & (not answer.read))
    if table == "component":
        return reasons, []
    blocks = list(_blocks(body, cells, reduce(or_, reasons.values()), given))
    if not blocks:
        return reasons, []
    left_out = given.clear().extend(pl.repeat(value=False, n=len(given), eager=True))
    for start, end in blocks:
        left_out = left_out.scatter(list(range(start, end)), values=True)
    questions = [_question(body, start, end, sheet) for start, end in blocks]
    return {**reasons, OPEN: left_out}, questions


def _blocks(body: Grid, cells: pl.DataFrame, skipped: pl.Series, given: pl.Series) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of lines that may be no rows."""
    keys = [name for name in _KEYS if name in cells.columns]
    if any(not cells[name].null_count() for name in cells.columns if name not in keys):
        return  # no line has only the keys
    filled = body.filled
    if filled is None:
        filled = body.cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    of_keys = cells.select(pl.sum_horizontal(pl.col(keys).is_not_null())).to_series()
    bare = (filled == of_keys) & ~skipped
    if not bare.any() or not (~bare & ~skipped).any():
        return
    codes = cells["sku_code"]
    placeholder = [bool(at) and code_of(codes[row] or "x", "no_answer") is not None for row, at in enumerate(bare)]
    row, height = 0, len(bare)
    while row < height:
        end = _end_of_block(body, row)
        alone = all(bare[at] or skipped[at] for at in range(row, end))
        if row and alone and any(bare[at] for at in range(row, end)) and not any(given[row:end]):
            while end < height and all(bare[at] or skipped[at] for at in range(end, _end_of_block(body, end))):
                end = _end_of_block(body, end)
            yield row, end
        else:
            yield from _runs([placeholder[at] and not given[at] for at in range(row, end)], row)
        row = end


def _runs(marked: Sequence[bool], start: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of marked lines."""
    at = 0
    while at < len(marked):
        end = at
        while end < len(marked) and marked[end]:
            end += 1
        if end > at:
            yield start + at, start + end
        at = max(end, at + 1)


def _end_of_block(body: Grid, row: int) -> int:
    """Return the row after the last one without an empty line between; a line break within a cell is none."""
    faults = {fault.line for fault in body.faults}
    for at in range(row, body.cells.height - 1):
        after = int(body.lines[at + 1])
        breaks = sum(max(cell.count("\n"), cell.count("\r")) for cell in body.cells.row(at) if cell is not None)
        between = range(int(body.lines[at]) + 1 + breaks, after)
        if any(line not in faults for line in between):
            return at + 1
    return body.cells.height


def _question(body: Grid, start: int, end: int, sheet: str | None) -> Asked:
    first, last = int(body.lines[start]), int(body.lines[end - 1])
    lines = str(first) if first == last else f"{first}-{last}"
    text = " | ".join(cell for cell in body.cells.row(start) if cell is not None)[:_LONGEST_TEXT]
    message = Message(
        "Lines {lines} give no more than a code and a name, as a legend does; they are not read. Say whether they are "
        'rows: mapping={{"lines": {{"{lines}": "skip"}}}}, or read.',
        lines=lines,
    )
    return question(
        "lines", message, {"lines": {lines: "skip"}}, could_be=("skip", "read"), sheet=sheet, lines=lines, text=text
    )
