"""Reads the cells of a worksheet's XML: row, column, type, style and text of each cell that is not empty.

Two readers give the same cells: patterns over whole pieces where the XML has the form that spreadsheet programs
write, an XML parser for the rest (`parsed.py`). Cells are sparse, so a sheet's cost depends on its cells and not
on its declared size.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import polars as pl

from pipelines.reading.grid import position
from pipelines.reading.refusal import refuse
from pipelines.reading.workbook.hidden import Hidden
from pipelines.reading.workbook.markup import has_declarations, is_plain, unescape
from pipelines.reading.workbook.package import Package, unreadable
from pipelines.reading.workbook.parsed import parsed_cells
from schemas.messages import Message

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
_AHEAD = 1
"""Pieces in work beside the one that is waited for: Polars releases the interpreter lock while it computes."""


def read_cells(package: Package, path: str, *, rows: int | None = None, hidden: Hidden | None = None) -> pl.DataFrame:
    """Read the cells of a sheet in the order of the file; only those of about the first `rows` rows where it is given.

    `hidden` records hidden rows and columns. Raises `ReadingRefused` where the sheet is no XML or has more than
    `MOST_CELLS` cells.
    """
    frames: list[pl.DataFrame] = []
    hidden = hidden or Hidden()
    for frame in _read_by_pattern(hidden.passing(package.pieces(path)), ahead=0 if rows is not None else _AHEAD):
        if frame is None:
            parsed = parsed_cells(package.pieces(path), rows, CELLS, _MOST_PARSED, hidden)
            _check_size([parsed], _MOST_PARSED)
            return parsed
        frames.append(frame)
        _check_size(frames)
        if rows is not None and sum(f["row"].n_unique() for f in frames) >= rows:
            break
    return pl.concat(frames) if frames else pl.DataFrame(schema=CELLS)


def _read_by_pattern(pieces: Iterator[bytes], *, ahead: int) -> Iterator[pl.DataFrame | None]:
    """Yield cells piece by piece; None for a piece that has another form. `ahead` pieces are in work beside each."""
    waiting: deque[Future[pl.DataFrame | None]] = deque()
    with ThreadPoolExecutor(ahead + 1, "cells") as readers:
        for piece in _whole_rows(pieces):
            waiting.append(readers.submit(_match_cells, piece))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _whole_rows(pieces: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield the sheet in pieces that end with a row; None where patterns cannot read it or cells are left over."""
    rest = b""
    for number, piece in enumerate(pieces):
        if not number and not is_plain(piece):
            yield None
            return
        whole, end, rest = (rest + piece).rpartition(b"</row>")
        if len(rest) > _LONGEST_ROW:
            raise unreadable(Message("one of its rows is larger than a row can be"))
        if end:
            yield whole + end
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
    found = pl.DataFrame(
        {
            "place": place,
            "second": second,
            "value": value,
            "last": last,
            "formula": formula,
            "text": body.str.extract(_TEXT),
        }
    )
    filled = found.filter(pl.any_horizontal(pl.col("formula", "text").is_not_null()))
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
