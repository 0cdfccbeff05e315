"""Reads workbook bytes into grids: the texts that a sheet shows, of the first rows or of chosen columns.

`upload.py` decides which sheet contains the SKUs and which the components.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Literal

import polars as pl

from pipelines.reading.fields import NUMBERS, Column
from pipelines.reading.grid import (
    DAY,
    NO_VALUE,
    NOT_SHOWN,
    NUMBER,
    TEXT,
    Grid,
    blank_to_null,
    check_width,
    without_blank_rows,
)
from pipelines.reading.workbook.book import (
    Book,
    Package,
    SheetPart,
    read_book,
    read_strings,
    unreadable,
    without_marked,
)
from pipelines.reading.workbook.cells import Hidden, read_cells
from pipelines.reading.workbook.formats import GENERAL, Section, number_shown, read_formats, text_shown
from schemas.messages import Message

_KEYS = 2
Use = Literal["number", "code", "text"]
"""What is made of a column's cells: a number cell stays a number in a column of numbers, and is shown in others.

Raised and struck texts are a part of texts alone.
"""


def _use(column: Column) -> Use:
    """Return what is made of a column's cells."""
    if column.field.kind in NUMBERS:
        return "number"
    return "text" if column.field.kind == "text" and not column.field.is_code else "code"


class Workbook:
    """An opened workbook. Every method raises `ReadingRefused` where the workbook cannot be read."""

    def __init__(self, data: bytes) -> None:
        """Open the archive and read its list of sheets, no cell yet."""
        self._package = Package(data)
        self._book: Book = read_book(self._package)
        self._hidden: dict[str, Hidden] = {}

    @property
    def sheets(self) -> tuple[SheetPart, ...]:
        """Return the worksheets in their order, hidden ones included."""
        return self._book.sheets

    def top(self, sheet: SheetPart, rows: int) -> Grid:
        """Read the first rows that are not empty, as text, with all columns that have a cell there."""
        cells = read_cells(self._package, sheet.path, rows=rows)
        kept = cells.filter(pl.col("row").is_in(cells["row"].unique().sort().head(rows).implode()))
        check_width(kept["column"].n_unique())
        as_texts: dict[int, Use] = dict.fromkeys(kept["column"].unique().sort(), "text")
        grid = self._grid(kept, as_texts)
        return Grid(*without_blank_rows(grid.cells, grid.lines))

    def body(self, sheet: SheetPart, columns: Iterable[Column]) -> Grid:
        """Read all rows that are not empty, with the cells of these columns and of the first one only."""
        cells = read_cells(self._package, sheet.path, hidden=self.hidden(sheet))
        first: dict[int, Use] = {0: "text"}
        grid = self._grid(cells, first | {column.position: _use(column) for column in columns})
        if sum(not grid.cells[name].null_count() for name in grid.cells.columns) > _KEYS:
            return grid  # no line has only a code and a name
        return replace(grid, filled=cells.group_by("row").len().sort("row")["len"])

    def hidden(self, sheet: SheetPart) -> Hidden:
        """Return the hidden rows and columns of a sheet whose body has been read."""
        return self._hidden.setdefault(sheet.path, Hidden())

    def whole(self, sheet: SheetPart, numeric: Collection[int]) -> Grid:
        """Read all rows and columns that are not empty; only `numeric` columns keep a number cell's number."""
        cells = read_cells(self._package, sheet.path)
        return self._grid(cells, {at: "number" if at in numeric else "text" for at in cells["column"].unique().sort()})

    def _grid(self, cells: pl.DataFrame, columns: Mapping[int, Use]) -> Grid:
        """Return the grid of some columns, by their position, with what is made of their cells."""
        rows = cells["row"].unique().sort()
        place = pl.repeat(0, int(rows[-1] or 0) + 1 if len(rows) else 0, dtype=pl.UInt32, eager=True)
        place = place.scatter(rows, pl.int_range(len(rows), dtype=pl.UInt32, eager=True))
        wanted = cells.filter(pl.col("column").is_in(list(columns)))
        wanted = wanted.with_columns(at=place.gather(wanted["row"]))
        by_column = {key[0]: frame for key, frame in wanted.partition_by("column", as_dict=True).items()}
        texts, kinds = {}, {}
        for at, use in columns.items():
            found = by_column.get(at)
            empty = pl.repeat(None, len(rows), dtype=pl.String, eager=True)
            plain = pl.repeat(TEXT, len(rows), dtype=pl.UInt8, eager=True)
            if found is None:
                texts[f"c{at}"], kinds[f"c{at}"] = empty, plain
                continue
            if not (found["at"].diff() > 0).all():  # rows out of order, or a cell twice
                found = found.unique("at", keep="last", maintain_order=True)
            text, kind = self._shown(found, use)
            texts[f"c{at}"], kinds[f"c{at}"] = empty.scatter(found["at"], text), plain.scatter(found["at"], kind)
        lines = rows.cast(pl.Int64).alias("line")
        return Grid(blank_to_null(pl.DataFrame(texts)), lines, kinds=pl.DataFrame(kinds))

    def _shown(self, cells: pl.DataFrame, use: Use) -> tuple[pl.Series, pl.Series]:
        """Return the texts and kinds of one column's cells."""
        kind = cells["type"].fill_null("n")
        text = cells["text"]
        shared = kind == "s"
        if shared.any():
            text = text.zip_with(~shared, self._shared(text.set(~shared, None)))
        text = without_marked(text, whole=use == "text")
        truth = kind == "b"
        if truth.any():
            text = text.zip_with(~truth, text.replace({"1": "TRUE", "0": "FALSE"}))
        number = (kind == "n") & text.is_not_null()
        unknown = pl.repeat(value=False, n=len(number), eager=True)
        stays = number & text.str.contains(r"^[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$")
        if number.any():
            shown = self._numbers(text.set(~number, None), cells["style"], numeric=use == "number")
            unknown = number & shown.is_null()
            text = text.zip_with(~number | unknown, shown)
        day = kind == "d"
        if day.any():
            text = text.zip_with(~day, text.str.slice(0, 10))
        nothing = text.is_null() & cells["formula"].is_not_null()
        if nothing.any():
            text = text.zip_with(~nothing, "=" + cells["formula"])
        days = unknown
        if number.any():
            used = cells["style"].unique().drop_nulls()
            of_dates = [style for style in used if any(part.kind == "date" for part in self._format(style))]
            days = number & cells["style"].is_in(of_dates)
        kinds = pl.DataFrame({"stays": stays, "nothing": nothing, "unknown": unknown, "day": days | day}).select(
            pl.when("unknown")
            .then(NOT_SHOWN)
            .when("nothing")
            .then(NO_VALUE)
            .when("day")
            .then(DAY)
            .when("stays")
            .then(NUMBER)
            .otherwise(TEXT)
            .cast(pl.UInt8)
        )
        return text, kinds.to_series()

    def _shared(self, numbers: pl.Series) -> pl.Series:
        at = numbers.cast(pl.UInt32, strict=False)
        if at.null_count() > numbers.null_count() or (at >= len(self._strings)).any():
            raise unreadable(Message("a cell refers to a text that is not there"))
        return self._strings.gather(at)

    def _numbers(self, raw: pl.Series, styles: pl.Series, *, numeric: bool) -> pl.Series:
        """Return number cells as text: in a number field the number with its unit, else as their format shows it."""
        pairs = pl.DataFrame({"raw": raw, "style": styles.fill_null(0)})
        sections = [section for style in pairs["style"].unique() for section in self._format(style)]
        if numeric and all(section.is_plain for section in sections):
            return raw
        distinct = pairs.drop_nulls("raw").unique(maintain_order=True)
        render = number_shown if numeric else text_shown
        since_1904 = self._book.since_1904
        texts = [render(text, self._format(style), since_1904=since_1904) for text, style in distinct.iter_rows()]
        looked_up = pairs.join(
            distinct.with_columns(text=pl.Series(texts, dtype=pl.String)),
            on=["raw", "style"],
            how="left",
            maintain_order="left",
        )
        return looked_up["text"]

    def _format(self, style: int) -> tuple[Section, ...]:
        return self._formats[style] if style < len(self._formats) else GENERAL

    @cached_property
    def _formats(self) -> list[tuple[Section, ...]]:
        return read_formats(self._package, self._book.styles)

    @cached_property
    def _strings(self) -> pl.Series:
        return read_strings(self._package, self._book.strings)
