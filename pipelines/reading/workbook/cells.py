"""Reads worksheets into grids: the texts that a sheet shows, of the first rows or of chosen columns.

The cells of its XML come first: row, column, type, style and text of each cell that is not empty.

Two readers give the same cells: patterns over whole pieces where the XML has the form that spreadsheet programs write,
an XML parser for the rest. Cells are sparse, so a sheet's cost depends on its cells and not on its declared size.
Hidden rows and columns, hidden by hand or left out by a filter, are read like all others, and the caller's report lists
them; they and merged cells are found in the XML meanwhile.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

import polars as pl

from pipelines.reading.grid import (
    DAY,
    NO_VALUE,
    NOT_SHOWN,
    NUMBER,
    NUMBERS,
    TEXT,
    Column,
    Grid,
    blank_to_null,
    check_width,
    position,
    refuse,
    without_blank_rows,
)
from pipelines.reading.media import NoXmlError, local_name, parse_xml
from pipelines.reading.workbook.book import (
    Book,
    Package,
    SheetPart,
    has_declarations,
    invalid_xml,
    is_plain,
    is_raised,
    marked,
    read_book,
    read_strings,
    undo_escapes,
    unescape,
    unreadable,
    without_marked,
)
from pipelines.reading.workbook.formats import GENERAL, Section, Styles, number_shown, read_styles, text_shown
from schemas.messages import Message

_TAG: Final = re.compile(rb"<(?:\w{1,64}:)?(row|col)\s([^<>]*+)>")
_ATTRIBUTE: Final = re.compile(rb"\b(r|min|max|hidden)=[\"'](\w{1,7})[\"']")
_WORD: Final = b"hidden"
_MERGE: Final = re.compile(rb"<(?:\w{1,64}:)?mergeCell\s[^<>]{0,200}?ref=[\"']([A-Z0-9:]{5,21})[\"']")
_AREA: Final = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_MOST_MERGES: Final = 50_000
_TRUE: Final = ("1", "true", "on")
_MOST_COLUMNS: Final = 16_384


class Hidden:
    """The hidden rows (counted from 1) and columns (from 0) of a sheet, as far as its XML has been read.

    `merges` are its merged cells: first row, last row, first column and last column of each.
    """

    def __init__(self) -> None:
        """Start before any XML has been read."""
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        self.merges: dict[tuple[int, int, int, int], None] = {}
        self._passed = 0

    def look(self, xml: bytes) -> None:
        """Search whole rows of a sheet in UTF-8, or what is before or behind all rows."""
        first_cell = xml.find(b"<c ")  # no merged cell is listed among cells: pieces are searched up to these
        for area in _MERGE.findall(xml, 0, len(xml) if first_cell < 0 else first_cell):
            self.note_merge(area.decode())
        for kind, written in _TAG.findall(xml) if _WORD in xml else ():
            if _WORD in written:
                self.note(kind.decode(), {key.decode(): value.decode() for key, value in _ATTRIBUTE.findall(written)})

    def note_merge(self, area: str) -> None:
        """Record the area of a merged cell, such as `C2:C4`."""
        if (match := _AREA.fullmatch(area)) and len(self.merges) < _MOST_MERGES:
            left, top, right, bottom = match.groups()
            self.merges[int(top), int(bottom), position(left), position(right)] = None

    def note(self, kind: str, attributes: Mapping[str, str]) -> None:
        """Record a `row` or `col` element if it is hidden; invalid attributes are ignored."""
        if attributes.get("hidden") not in _TRUE:
            return
        if kind == "row":
            self.rows.update(filter(None, [_number(attributes.get("r"))]))
        elif first := _number(attributes.get("min")):
            # Columns come once and in order; a file that repeats them must not cost time for each repetition.
            last = min(_number(attributes.get("max")) or first, _MOST_COLUMNS)
            self.columns.update(range(max(first - 1, self._passed), last))
            self._passed = max(self._passed, last)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < 8 and text.isascii() and text.isdigit() else None


_ROW_DIGITS, _COLUMN_LETTERS, _STYLE_DIGITS = 7, 3, 6
"""More than any spreadsheet has; the patterns read as many."""
_LONGEST_TEXT = 65_536
"""Characters of a cell that are kept: twice a spreadsheet's most, so that it is still found to be too long."""
_TEXT_OF = {"v": "value", "t": "inline", "f": "formula"}


class _Cells:
    """The handlers of one parse. A cell or row without its reference comes directly after the one before."""

    def __init__(self, hidden: Hidden) -> None:
        self.kept: list[tuple[int, int, str | None, int | None, str | None, str | None]] = []
        self.rows = 0
        self._hidden = hidden
        self._row = 0
        self._column = -1
        self._in_rows = 0
        self._in_hints = 0
        self._raised = False
        self._cell: dict[str, str] | None = None
        self._texts: dict[str, list[str]] = {}
        self._left = 0
        self._path: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = local_name(name)
        self._path.append(tag)
        if tag == "row":
            self._in_rows += 1
            self._row = _digits_of(attributes["r"], _ROW_DIGITS) if attributes.get("r") else self._row + 1
            _check(0 < self._row < 10**_ROW_DIGITS)
            self._column = -1
            self._hidden.note("row", attributes | {"r": str(self._row)})
        elif tag == "c" and self._in_rows:
            self._cell, self._texts = attributes, {}
            letters = attributes.get("r", "").rstrip("0123456789")
            _check(len(letters) <= _COLUMN_LETTERS)
            self._column = position(letters) if letters else self._column + 1
            _check(0 <= self._column < 27**_COLUMN_LETTERS)
        elif tag == "rPh":
            self._in_hints += 1
        elif tag == "col":
            self._hidden.note("col", attributes)
        elif tag == "mergeCell":
            self._hidden.note_merge(attributes.get("ref", ""))
        elif tag == "r":
            self._raised = False
        elif is_raised(tag, attributes):
            self._raised = True
        elif self._cell is not None and tag in _TEXT_OF and not self._in_hints:
            self._texts.setdefault(_TEXT_OF[tag], [])
            self._left = _LONGEST_TEXT - sum(map(len, self._texts[_TEXT_OF[tag]]))

    def characters(self, text: str) -> None:
        if self._cell is None or self._path[-1] not in _TEXT_OF or self._in_hints or self._left <= 0:
            return
        self._texts[_TEXT_OF[self._path[-1]]].append(marked(text) if self._raised else text)
        self._left -= len(text)

    def end(self, _: str) -> None:
        tag = self._path.pop()
        if tag == "c" and self._cell is not None:
            if self._texts:
                self._keep(self._cell)
            self._cell = None
        elif tag == "r":
            self._raised = False
        elif tag == "row":
            self._in_rows -= 1
            self.rows += bool(self.kept) and self.kept[-1][0] == self._row
        elif tag == "rPh":
            self._in_hints -= 1

    def _keep(self, cell: dict[str, str]) -> None:
        texts = {kind: "".join(pieces) for kind, pieces in self._texts.items()}
        text = texts.get("value", texts.get("inline"))
        style = _digits_of(cell["s"], _STYLE_DIGITS) if "s" in cell else None
        text = None if text is None else undo_escapes(text)
        self.kept.append((self._row, self._column, cell.get("t"), style, texts.get("formula"), text))


def _digits_of(text: str, most_digits: int) -> int:
    _check(len(text) <= most_digits and text.isascii() and text.isdigit())
    return int(text)


def _check(possible: bool) -> None:
    if not possible:
        raise NoXmlError("a cell stands where none can")


def parsed_cells(
    pieces: Iterator[bytes], rows: int | None, schema: pl.Schema, most: int, hidden: Hidden
) -> pl.DataFrame:
    """Read the cells of a sheet, those of about the first `rows` rows where that is given; stop after more than `most`.

    `hidden` records hidden rows and columns.
    """
    cells = _Cells(hidden)

    def enough() -> bool:
        return (rows is not None and cells.rows >= rows) or len(cells.kept) > most

    try:
        parse_xml(pieces, cells.start, cells.end, cells.characters, until=enough)
    except NoXmlError as error:
        raise invalid_xml(Message("one of its sheets is no XML"), error) from None
    return pl.DataFrame(cells.kept, schema=schema, orient="row")


CELLS = pl.Schema(
    {"row": pl.Int32, "column": pl.Int32, "type": pl.String, "style": pl.Int32, "formula": pl.String, "text": pl.String}
)
"""`type` is the XML's (`s`, `str`, `inlineStr`, `b`, `e`, `d`, `n`; null is `n`); `row` counts from 1, `column` from 0.

A cell with a formula and no stored value has a null `text`.
"""
_CELL = (
    r'^r="[A-Z]{1,3}[0-9]{1,7}"(?: s="[0-9]{1,6}")?(?: t="[a-zA-Z]+")?'
    r"(?:/>|>(?:<f[^>]*/>|<f[^>]*>[^<]*</f>)?"
    r'(?:<v>[^<]*</v>|<v/>|<is><t(?: xml:space="preserve")?>[^<]*</t></is>|<is><t/></is>)?</c>)'
    r"\s*(?:</row>\s*(?:<row[^>]*>\s*(?:</row>\s*)?)*)?$"
)
"""A cell from behind `<c ` to the next one. It must match to the end, so that no other form hides in between.

The pattern only checks the form; the parts are cut out at quotes and brackets, which takes a third of the time that
groups of the pattern would take.
"""
_FORMULA = r"^<f[^>]*>([^<]*)</f>"
_ANY_FORMULA = r"^(?:<f[^>]*/>|<f[^>]*>[^<]*</f>)"
_TEXT = r'^<(?:v|is><t(?: xml:space="preserve")?)>([^<]*)<'
_BARE = ("<c>", "<c\t", "<c\n", "<c\r")
"""Cells that do not begin with `<c `, before the first that does; behind it the pattern refuses them."""
_DIGITS, _LETTERS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_CELLS = 4_000_000
_MOST_PARSED = 1_500_000
"""Most cells that the parser reads, which takes some three times as long for each."""
_LONGEST_ROW = 32 * 1024 * 1024
Matching: TypeAlias = Callable[[bytes | None], pl.DataFrame | None]
_AHEAD = 1
"""Pieces in work beside the one that is waited for: Polars releases the interpreter lock while it computes."""


def read_cells(
    package: Package, path: str, *, rows: int | None = None, hidden: Hidden | None = None, first: Matching | None = None
) -> pl.DataFrame:
    """Read the cells of a sheet in the order of the file; only those of about the first `rows` rows where it is given.

    `hidden` records hidden rows and columns; `first` reads the first piece. Raises `ReadingRefused` where the
    sheet is no XML or has more than `MOST_CELLS` cells.
    """
    frames: list[pl.DataFrame] = []
    hidden = hidden or Hidden()
    ahead = 0 if rows is not None else _AHEAD
    for frame in _read_by_pattern(_whole_rows(package.pieces(path), hidden), ahead, first or _match_cells):
        if frame is None:
            parsed = parsed_cells(package.pieces(path), rows, CELLS, _MOST_PARSED, hidden)
            _check_size([parsed], _MOST_PARSED)
            return parsed
        frames.append(frame)
        _check_size(frames)
        if rows is not None and sum(f["row"].n_unique() for f in frames) >= rows:
            break
    return pl.concat(frames) if frames else pl.DataFrame(schema=CELLS)


def _read_by_pattern(pieces: Iterator[bytes | None], ahead: int, first: Matching) -> Iterator[pl.DataFrame | None]:
    """Yield cells piece by piece; None for a piece that has another form. `ahead` pieces are in work beside each."""
    waiting: deque[Future[pl.DataFrame | None]] = deque()
    with ThreadPoolExecutor(ahead + 1, "cells") as readers:
        for number, piece in enumerate(pieces):
            waiting.append(readers.submit(_match_cells if number else first, piece))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _whole_rows(pieces: Iterator[bytes], hidden: Hidden) -> Iterator[bytes | None]:
    """Yield the sheet in pieces that end with a row; None where patterns cannot read it or cells are left over.

    `hidden` looks at each piece, and at what is behind all rows.
    """
    rest = b""
    for number, piece in enumerate(pieces):
        if not number and not is_plain(piece):
            yield None
            return
        whole, end, rest = (rest + piece).rpartition(b"</row>")
        if len(rest) > _LONGEST_ROW:
            raise unreadable(Message("one of its rows is larger than a row can be"))
        if end:
            hidden.look(whole)
            yield whole + end
    hidden.look(rest)
    if any(sign in rest for sign in (b"<row", b":row", b"<c ")):
        yield None


def _match_cells(piece: bytes | None) -> pl.DataFrame | None:
    """Return the cells of whole rows, or None where one of them does not have the usual form."""
    if piece is None or has_declarations(piece):
        return None
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return None
    before = text[: text.find("<c ")] if "<c " in text else text
    if any(form in before for form in _BARE):
        return None
    cells = pl.DataFrame({"cell": pl.Series([text]).str.split("<c ").explode()[1:]})
    if not cells["cell"].str.contains(_CELL).all():
        return None
    head, body = cells.select(pl.col("cell").str.splitn(">", 2).struct.unnest())
    if body.str.starts_with("<f").any():
        formula, body = body.str.extract(_FORMULA), body.str.replace(_ANY_FORMULA, "")
    else:
        formula = pl.repeat(None, len(body), dtype=pl.String, eager=True)
    _, place, second, value, _, last, _ = head.to_frame().select(pl.col("field_0").str.splitn('"', 7).struct.unnest())
    fields = pl.DataFrame(
        {
            "place": place,
            "second": second,
            "value": value,
            "last": last,
            "formula": formula,
            "text": body.str.extract(_TEXT),
        }
    )
    filled = fields.filter(pl.any_horizontal(pl.col("formula", "text").is_not_null()))
    texts = unescape(filled["text"])
    return filled.select(
        pl.col("place").str.strip_chars_start(_LETTERS).cast(pl.Int32).alias("row"),
        _positions(filled["place"].str.strip_chars_end(_DIGITS)).alias("column"),
        pl.when(second=" t=").then("value").otherwise("last").alias("type"),
        pl.when(second=" s=").then("value").cast(pl.Int32).alias("style"),
        "formula",
        texts.alias("text"),
    ).filter(pl.col("text").is_null() | (pl.col("text").str.strip_chars() != ""))


def _positions(letters: pl.Series) -> pl.Series:
    """Return column letters as positions counted from 0."""
    distinct = letters.unique()
    return letters.replace_strict(distinct, [position(name) for name in distinct], return_dtype=pl.Int32).cast(pl.Int32)


def _check_size(frames: list[pl.DataFrame], most: int = MOST_CELLS) -> None:
    if sum(frame.height for frame in frames) > most:
        raise refuse(
            "too_many_rows",
            Message("A sheet holds more than {most} cells; send the table alone, or in parts.", most=most),
        )


_KEYS = 2
_CELLS_AT_A_TIME: Final = 200_000
"""Cells that are made texts at once: their copies take memory."""
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
        # The first piece of a sheet is read for its top and mostly again for its body.
        self._match_first: Matching = lru_cache(maxsize=1)(_match_cells)

    @property
    def sheets(self) -> tuple[SheetPart, ...]:
        """Return the worksheets in their order, hidden ones included."""
        return self._book.sheets

    def top(self, sheet: SheetPart, rows: int) -> Grid:
        """Read the first rows that are not empty, as text, with all columns that have a cell there."""
        cells = read_cells(self._package, sheet.path, rows=rows, first=self._match_first)
        kept = cells.filter(pl.col("row").is_in(cells["row"].unique().sort().head(rows).implode()))
        check_width(kept["column"].n_unique())
        as_texts: dict[int, Use] = dict.fromkeys(kept["column"].unique().sort(), "text")
        grid = self._grid(kept, as_texts)
        return Grid(*without_blank_rows(grid.cells, grid.lines))

    def body(self, sheet: SheetPart, columns: Iterable[Column]) -> Grid:
        """Read all rows that are not empty, with the cells of these columns and of the first one only."""
        cells = read_cells(self._package, sheet.path, hidden=self.hidden(sheet), first=self._match_first)
        first: dict[int, Use] = {0: "text"}
        grid = self._grid(cells, first | {column.position: _use(column) for column in columns})
        struck, struck_cells = self._struck(cells)
        grid = replace(grid, struck=struck, struck_cells=struck_cells)
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
        places = pl.col("row").cast(pl.Int64) * 27**_COLUMN_LETTERS + pl.col("column")
        if not cells.select((places.diff() > 0).all()).item():  # rows out of order, or a cell twice
            cells = cells.unique(("row", "column"), keep="last", maintain_order=True)
        nothing = pl.DataFrame(schema={"column": pl.Int32, "at": pl.UInt32, "text": pl.String, "kind": pl.UInt8})
        shown = [nothing]
        for use in dict.fromkeys(columns.values()):
            wanted = cells.filter(pl.col("column").is_in([at for at, own in columns.items() if own == use]))
            for part in wanted.iter_slices(_CELLS_AT_A_TIME):
                text, kind = self._texts_and_kinds(part, use)
                shown.append(pl.DataFrame([part["column"], place.gather(part["row"]).alias("at"), text, kind]))
        by_column = pl.concat(shown).partition_by("column", as_dict=True)
        empty = pl.Series([None], dtype=pl.String).new_from_index(0, len(rows))
        plain = pl.Series([TEXT], dtype=pl.UInt8).new_from_index(0, len(rows))
        texts, kinds = {}, {}
        for at in columns:
            own = by_column.get((at,), nothing)
            texts[f"c{at}"] = empty.clone().scatter(own["at"], own["text"])
            kinds[f"c{at}"] = plain.clone().scatter(own["at"], own["kind"])
        lines = rows.cast(pl.Int64).alias("line")
        return Grid(blank_to_null(pl.DataFrame(texts)), lines, kinds=pl.DataFrame(kinds))

    def _texts_and_kinds(self, cells: pl.DataFrame, use: Use) -> tuple[pl.Series, pl.Series]:
        """Return the texts and kinds of cells, each of which is read by itself."""
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
        stays = unknown = number & False
        if number.any():
            raw = text.set(~number, None)
            stays = raw.str.contains(r"^[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$")
            rendered = self._numbers(raw, cells["style"], numeric=use == "number")
            unknown = number & rendered.is_null()
            text = text.zip_with(~number | unknown, rendered)
        day = kind == "d"
        if day.any():
            text = text.zip_with(~day, text.str.slice(0, 10))
        nothing = text.is_null() & cells["formula"].is_not_null()
        if nothing.any():
            text = text.zip_with(~nothing, "=" + cells["formula"])
        used = cells["style"].unique().drop_nulls() if number.any() else ()
        of_dates = [style for style in used if any(part.kind == "date" for part in self._format(style))]
        days = day | (number & cells["style"].is_in(of_dates))
        kinds = pl.Series([TEXT], dtype=pl.UInt8).new_from_index(0, len(kind))
        for where, own in ((stays, NUMBER), (days, DAY), (nothing, NO_VALUE), (unknown, NOT_SHOWN)):
            kinds = kinds.set(where.fill_null(value=False), own) if where.any() else kinds
        return text.alias("text"), kinds.alias("kind")

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
        return self._styles.formats[style] if style < len(self._styles.formats) else GENERAL

    def _struck(self, cells: pl.DataFrame) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
        """Return the rows of which every cell is crossed out by its style, and the row and column of such others."""
        if not self._styles.struck:
            return frozenset(), frozenset()
        is_struck = pl.col("style").is_in(list(self._styles.struck)).fill_null(value=False)
        rows = frozenset(cells.group_by("row").agg(is_struck.all().alias("all")).filter("all")["row"])
        some = cells.filter(is_struck & ~pl.col("row").is_in(list(rows)))
        return rows, frozenset(some.select("row", "column").iter_rows())

    @cached_property
    def _styles(self) -> Styles:
        return read_styles(self._package, self._book.styles)

    @cached_property
    def _strings(self) -> pl.Series:
        return read_strings(self._package, self._book.strings)
