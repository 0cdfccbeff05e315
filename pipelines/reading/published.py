"""Writes the parts of `source` about a table: the columns read and ignored, samples, the mapping's effect.

Where a needed column is not known, the table is refused with its outline, so that a person can name it. An outline has
the form of the source of a file that was read: what each header alone says, and samples of the cells. No row is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import polars as pl

from pipelines.reading.fields import LONGEST_HEADER, Column, Table
from pipelines.reading.grid import Grid, ReadingRefused, letter
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.questions import NOTHING_READ
from schemas.imports.types import FileFormat, ImportSource, MappedBy, SourceSheet

Samples: TypeAlias = Mapping[int, list[str]]
"""Texts of a column's cells, by the column's position."""
_ROWS: Final = 200
_MOST: Final = 3
_LONGEST: Final = 60


def samples_of(cells: pl.DataFrame) -> Samples:
    """Return up to three different texts of each column of a grid (`c0`, `c1`, …), from its first rows."""
    top = cells.head(_ROWS)
    texts = {int(name[1:]): top[name].drop_nulls().unique(maintain_order=True) for name in top.columns}
    return {at: [_cut(text, _LONGEST) for text in found.head(_MOST)] for at, found in texts.items()}


def published_table(
    sheet: str | None,
    header_row: int,
    columns: Iterable[Column],
    ignored: Iterable[tuple[int, str]],
    *,
    samples: Samples,
    effect: MappedBy,
) -> SourceSheet:
    """Return where a table is read from, as `source.components` shows it, with the `effect` of the mapping.

    `columns` are those that are read, of which constants of the mapping are none of the file. `samples` are texts of
    columns by position, for people who choose the fields; empty columns have none.
    """
    of_file = [column for column in columns if column.constant is None]
    return {
        "sheet": sheet,
        "header_row": header_row,
        "columns": [{"field": c.name, "column": letter(c.position), "header": _cut(c.header)} for c in of_file],
        "ignored": [{"column": letter(at), "header": _cut(header)} for at, header in ignored],
        "decimal_marks": {},
        "hidden": None,
        "samples": {letter(at): texts for at, texts in samples.items() if texts},
        "words": {},
        **effect,
    }


def published_mapping(
    columns: Sequence[Column], off: Iterable[tuple[str, int | None, str | None]], mapped: SheetMapping
) -> MappedBy:
    """Return the effect of the mapping: fields whose column it names, fields switched off, constants, values.

    `off` are the fields switched off, each with the column that it would have been read from.
    """
    effect: MappedBy = {
        "mapped": list(dict.fromkeys(c.name for c in columns if c.mapped and c.constant is None)),
        "switched_off": [
            {"field": name, "column": None if at is None else letter(at), "header": header} for name, at, header in off
        ],
        "constants": {c.name: c.constant for c in columns if c.constant is not None},
        "values": {rewriting.column.name: dict(rewriting.sent) for rewriting in mapped.values if rewriting.sent},
    }
    if mapped.header_row is not None:
        effect["header_row_mapped"] = True
    return effect


def _cut(text: str, longest: int = LONGEST_HEADER) -> str:
    """Return a text of the file as it is published: cut where it is too long, as to be a header."""
    return text if len(text) <= longest else text[:longest] + "…"


_MOST_COLUMNS: Final = 500
"""Most columns of an outline: a person looks through them."""


@contextmanager
def completed_by(about: FileFormat) -> Iterator[None]:
    """Say in the outline of a refusal within the block what the file is."""
    try:
        yield
    except ReadingRefused as refused:
        if refused.outline is not None:
            refused.outline = {**refused.outline, **about}
        raise


def outline_of(
    table: Table,
    sheet: str | None,
    mapped: SheetMapping,
    off: Iterable[tuple[str, int | None, str | None]],
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
    shown = others[:_MOST_COLUMNS]
    effect = published_mapping([*columns, *mapped.constants], off, mapped)
    of_shown = {at: samples.get(at, []) for at in (*used, *dict(shown))}
    part = published_table(sheet, header_row, columns, shown, samples=of_shown, effect=effect)
    source: ImportSource = {**NOTHING_READ, "components": part} if table == "component" else {**NOTHING_READ, **part}
    source["layout"] = "long" if any(column.table == "component" for column in columns) else "rows"
    return source
