"""Asks about lines below the table that may be no rows: legends, versions, lists of codes (decisions §13).

After an empty line, a block of lines that fill only the code and the name says nothing of a packaging, in a table whose
other lines do; a code such as `n/a` is none wherever it stands. `skipped.py` leaves out what a word or a sum tells.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Final

import polars as pl

from pipelines.reading.fields import Table
from pipelines.reading.grid import LINES_OF_SHEET, Grid, own_line, sheet_starts
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
    sheets: Sequence[str | None],
    table: Table,
) -> tuple[dict[str, pl.Series], list[Asked]]:
    """Return the lines that are left out by reason, those of the mapping and those asked about too, and the questions.

    `reasons` are those of `skipped.find_skipped`; `cells` has the columns that are read of the lines of `body`, which
    are on these `sheets`.
    """
    given = pl.repeat(value=False, n=len(body.lines), eager=True)
    for answer in answers:
        told = (body.lines % LINES_OF_SHEET).is_between(answer.first, answer.last)
        if answer.sheet is not None:
            told &= (body.lines // LINES_OF_SHEET).is_in([at for at, name in enumerate(sheets) if name == answer.sheet])
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
    questions = [_question(body, start, end, sheets) for start, end in blocks]
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
    codes = cells["sku_code"].set(~bare, None)
    words = {code for code in codes.drop_nulls().unique() if code_of(code, "no_answer") is not None}
    bounds = [0, *_starts(body), len(bare)]
    rows = list(
        zip(bare.to_list(), skipped.to_list(), given.to_list(), codes.is_in(list(words)).to_list(), strict=True)
    )
    alone = [
        start > 0
        and all((no_more or out) and not told for no_more, out, told, _ in rows[start:end])
        and any(no_more for no_more, *_ in rows[start:end])
        for start, end in pairwise(bounds)
    ]
    for (start, end), block in zip(pairwise(bounds), alone, strict=True):
        if not block:
            yield from _runs([bool(none) and not told for *_, told, none in rows[start:end]], start)
    further = sheet_starts(body.lines)
    for first, last in _runs(alone, 0):
        start, end = bounds[first], bounds[last]
        yield from pairwise([start, *(row for row in further if start < row < end), end])


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


def _starts(body: Grid) -> list[int]:
    """Return the rows before which a line is empty; a line break within a cell of the row above is none."""
    faults, starts = {fault.line for fault in body.faults}, []
    for row in (body.lines.diff() > 1).fill_null(value=False).arg_true():
        breaks = sum(max(cell.count("\n"), cell.count("\r")) for cell in body.cells.row(row - 1) if cell is not None)
        between = range(int(body.lines[row - 1]) + 1 + breaks, int(body.lines[row]))
        if any(line not in faults for line in between):
            starts.append(row)
    return starts


def _question(body: Grid, start: int, end: int, sheets: Sequence[str | None]) -> Asked:
    first, last = own_line(body.lines[start]), own_line(body.lines[end - 1])
    sheet = sheets[body.lines[start] // LINES_OF_SHEET]
    lines = str(first) if first == last else f"{first}-{last}"
    text = " | ".join(cell for cell in body.cells.row(start) if cell is not None)[:_LONGEST_TEXT]
    message = Message(
        "Lines {lines} give no more than a code and a name, as a legend does; they are not read. Say whether they are "
        'rows: mapping={{"lines": {{"{lines}": "skip"}}}}, or read.',
        lines=lines if len(sheets) < 2 else f"{sheet}!{lines}",
    )
    answer = {"lines": {message.parameters["lines"]: "skip"}}
    return question("lines", message, answer, could_be=("skip", "read"), sheet=sheet, lines=lines, text=text)
