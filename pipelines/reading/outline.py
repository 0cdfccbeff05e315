"""Describes the columns of a table that is refused because a needed column is not known, so that a person can name it.

An outline has the form of the source of a file that was read: what each header alone says, and samples of the cells.
No row is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pipelines.reading.fields import Column, Table
from pipelines.reading.grid import Grid
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.published import published_columns, published_ignored, published_mapping, published_samples
from pipelines.reading.refusal import ReadingRefused
from pipelines.reading.samples import samples_of
from schemas.report import FileFormat, ImportSource, SourceSheet

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
    part: SourceSheet = {
        "sheet": sheet,
        "header_row": header_row,
        "columns": published_columns(columns),
        "ignored": published_ignored(shown),
        "decimal_marks": {},
        **published_mapping([*columns, *mapped.constants], off, mapped),
        "hidden": None,
        "words": {},
        "samples": published_samples({at: samples.get(at, []) for at in (*used, *dict(shown))}),
    }
    nothing: SourceSheet = {"sheet": None, "header_row": 0, "columns": [], "ignored": [], "decimal_marks": {}}
    of_parts = table == "component"
    return {
        "format": "csv",
        "encoding": None,
        "delimiter": None,
        **(nothing if of_parts else part),
        "components": part if of_parts else None,
        "layout": "long" if any(column.table == "component" for column in columns) else "rows",
        "volume_year": None,
        "skipped": [],
        "mapping_name": None,
        "unread_sheets": [],
        "asked": [],
        "readings": [],
    }
