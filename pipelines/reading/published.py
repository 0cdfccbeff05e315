"""Writes what a reader says of a file: the parts of `source`, and the questions about what was not understood.

A reader that meets a word, a unit, a line or a sheet that it does not understand does not read it, and puts a question
in its stead, with the piece of mapping that settles it (decisions §13, *Asked has a protocol*). A question about the
whole file refuses it. What belongs here: the form. What does not: finding what is not understood, and applying the
answer (`mapping.py`).

Where a needed column is not known, the table is refused with its outline, so that a person can name it. An outline has
the form of the source of a file that was read: what each header alone says, and samples of the cells. No row is read.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import polars as pl

from pipelines.reading.grid import Column, Grid, ReadingRefused, Table, cut, letter
from pipelines.reading.mapping import SheetMapping
from schemas.imports.types import Asked, FileFormat, ImportSource, SourceSheet
from schemas.issues import Issue, QuestionKind
from schemas.json_values import JsonObject
from schemas.messages import Message, message_of

NOTHING_READ: Final[ImportSource] = {
    "format": "csv",
    "encoding": None,
    "delimiter": None,
    "sheet": None,
    "header_row": 0,
    "columns": [],
    "ignored": [],
    "components": None,
    "layout": "rows",
    "decimal_marks": {},
    "volume_year": None,
    "skipped": [],
    "mapping_name": None,
    "hidden": None,
    "unread_sheets": [],
    "asked": [],
    "samples": {},
    "words": {},
    "readings": [],
}
"""The source of a file of which nothing was read; a table that was read fills its places."""
Off: TypeAlias = tuple[tuple[str, int | None, str | None], ...]
"""The fields that a mapping switches off, each with the position and header of the column it would be read from."""
Samples: TypeAlias = Mapping[int, list[str]]
"""Texts of a column's cells, by the column's position."""
_ROWS: Final = 200
_MOST: Final = 3
_LONGEST: Final = 60
_MOST_COLUMNS: Final = 500
"""Most columns of an outline: a person looks through them."""


def question(
    kind: QuestionKind,
    message: Message,
    *,
    could_be: Sequence[str] = (),
    column: Column | None = None,
    sheet: str | None = None,
    lines: str | None = None,
    text: str | None = None,
    of_components: bool = False,
) -> Asked:
    """Return a question as `source.asked` publishes it.

    The message's gap `mapping` is a piece of mapping, the answer, which settles it by the first of `could_be`; other
    gaps may be pieces too. `of_components` is true for a components sheet, whose part of the mapping is its own.
    `lines` is one line or a range, `12-18`, and `text` is what was not understood.
    """
    message, answer = with_answer(message, of_components=of_components)
    return {
        "kind": kind,
        "column": None if column is None else letter(column.position),
        "header": None if column is None else column.header,
        "sheet": sheet,
        "lines": lines,
        "text": text,
        "could_be": list(could_be),
        "message": message,
        "answer": answer,
    }


def with_answer(message: Message, *, of_components: bool) -> tuple[Message, JsonObject]:
    """Return a message with its pieces of mapping as a caller sends them, and the one in the gap `mapping`."""
    by_gap = {name: piece for name, piece in message.parameters.items() if isinstance(piece, Mapping)}
    pieces = {name: {"components": piece} if of_components else dict(piece) for name, piece in by_gap.items()}
    for name, piece in pieces.items():
        message = message.with_parameter(name, json.dumps(piece, ensure_ascii=False))
    return message, pieces["mapping"]


def refused(open_question: Asked) -> ReadingRefused:
    """Return the refusal of a file that cannot be imported before a question about it is answered, to be raised.

    Its issue carries kind and answer; its outline says that nothing was read yet.
    """
    issue = Issue(
        code="invalid_mapping",
        message=message_of(open_question["message"]),
        field="mapping",
        kind=open_question["kind"],
        could_be=open_question["could_be"],
        answer=open_question["answer"],
    )
    return ReadingRefused([issue], {**NOTHING_READ, "asked": [open_question]})


def answer_with(open_question: Asked, choice: str) -> dict[str, object]:
    """Return the piece of mapping that settles a question by one of its `could_be`; the first is its `answer`.

    Raises `ValueError` where the answer has no place for the choice: another one is never sent in its stead.
    """
    first = open_question["could_be"][0]
    if choice == first:
        return dict(open_question["answer"])
    replaced, is_replaced = _replaced(open_question["answer"], first, choice)
    if not is_replaced and open_question["kind"] == "column":
        replaced, is_replaced = _renamed(open_question["answer"], choice)
    if choice not in open_question["could_be"] or not is_replaced or not isinstance(replaced, dict):
        raise ValueError(choice)
    return replaced


def _replaced(piece: object, first: str | None, choice: str) -> tuple[object, bool]:
    """Return a piece of mapping with the choice in the place of the first possibility, and whether it has one."""
    if piece == first or (isinstance(piece, list) and piece == [first]):
        return (choice if choice == "all" or (not isinstance(piece, list) and first != "all") else [choice]), True
    if not isinstance(piece, Mapping):
        return piece, False
    members = {key: _replaced(member, first, choice) for key, member in piece.items()}
    return {key: member for key, (member, _) in members.items()}, any(
        is_replaced for _, is_replaced in members.values()
    )


def _renamed(piece: Mapping[str, object], choice: str) -> tuple[dict[str, object], bool]:
    """Return a piece of mapping with the choice as the field of its one column."""
    if isinstance(columns := piece.get("columns"), Mapping) and len(columns) == 1:
        return {**piece, "columns": dict.fromkeys([choice], next(iter(columns.values())))}, True
    if isinstance(parts := piece.get("components"), Mapping):
        renamed, is_renamed = _renamed(parts, choice)
        return {**piece, "components": renamed}, is_renamed
    return dict(piece), False


def samples_of(cells: pl.DataFrame) -> Samples:
    """Return up to three different texts of each column of a grid (`c0`, `c1`, …), from its first rows."""
    top = cells.head(_ROWS)
    texts = {int(name[1:]): top[name].drop_nulls().unique(maintain_order=True) for name in top.columns}
    return {at: [cut(text, _LONGEST) for text in distinct.head(_MOST)] for at, distinct in texts.items()}


def published_table(
    sheet: str | None,
    header_row: int,
    columns: Iterable[Column],
    ignored: Iterable[tuple[int, str]],
    *,
    samples: Samples,
    mapped: SheetMapping,
    off: Off,
    in_question: Collection[int] = (),
) -> SourceSheet:
    """Return where a table is read from, as `source.components` shows it, with the effect of the mapping.

    Of the `columns`, constants of the mapping are none of the file, and those `in_question` by position are not read.
    `samples` are texts of columns by position, for people who choose the fields; empty columns have none.
    """
    columns = list(columns)
    of_file = [column for column in columns if column.constant is None]
    read = [column for column in of_file if column.position not in in_question]
    table: SourceSheet = {
        "sheet": sheet,
        "header_row": header_row,
        "columns": [{"field": c.name, "column": letter(c.position), "header": cut(c.header)} for c in read],
        "ignored": [{"column": letter(at), "header": cut(header)} for at, header in ignored],
        "decimal_marks": {},
        "hidden": None,
        "samples": {letter(at): texts for at, texts in samples.items() if texts},
        "words": {},
        "mapped": list(dict.fromkeys(column.name for column in of_file if column.mapped)),
        "switched_off": [
            {"field": name, "column": None if at is None else letter(at), "header": header} for name, at, header in off
        ],
        "constants": {c.name: c.constant for c in columns if c.constant is not None},
        "values": {rewriting.column.name: dict(rewriting.sent) for rewriting in mapped.values if rewriting.sent},
    }
    if mapped.header_row is not None:
        table["header_row_mapped"] = True
    return table


@contextmanager
def completed_by(about: FileFormat) -> Iterator[None]:
    """Say in the outline of a refusal within the block what the file is."""
    try:
        yield
    except ReadingRefused as refusal:
        if refusal.outline is not None:
            refusal.outline = {**refusal.outline, **about}
        raise


def outline_of(
    table: Table,
    sheet: str | None,
    mapped: SheetMapping,
    off: Off,
    *,
    header_row: int,
    cells: Sequence[str | None],
    body: Grid,
    recognised: Sequence[Column],
) -> ImportSource:
    """Return the outline of a table; `cells` is its header, `body` are the lines below.

    A field that several columns fit is given to none of them.
    """
    fitting = Counter((column.table, column.name) for column in recognised)
    columns = [column for column in recognised if fitting[column.table, column.name] == 1][:_MOST_COLUMNS]
    samples, used = samples_of(body.cells), {column.position for column in columns}
    others = [(at, cell or "") for at, cell in enumerate(cells) if at not in used and (cell or samples.get(at))]
    others = others[:_MOST_COLUMNS]
    texts = {at: samples.get(at, []) for at in (*used, *dict(others))}
    every = [*columns, *mapped.constants]
    part = published_table(sheet, header_row, every, others, samples=texts, mapped=mapped, off=off)
    source: ImportSource = {**NOTHING_READ, "components": part} if table == "component" else {**NOTHING_READ, **part}
    source["layout"] = "long" if any(column.table == "component" for column in columns) else "rows"
    return source
