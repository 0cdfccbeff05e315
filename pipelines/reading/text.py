"""Reads a file's bytes as a text, and the text into a grid: its encoding, its delimiter, and its records.

A file's name proves nothing: the bytes say whether they are a workbook or a text. Bytes that the encoding does not know
stay in the text as lone surrogates, so that their line can be named. `encoding.py` decides where the text is not UTF-8.

Two readers give the same grid, with the caller's line numbers: Polars where quotes and lines are regular, Python's csv
module for the rest. `header.py` finds the header among the records. Below it, lines of another number of cells are
accepted or rejected in `sheet.py`.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import polars as pl

from pipelines.reading.encoding import SAMPLE, SYMBOLS, encodings, likeliest
from pipelines.reading.grid import (
    MOST_COLUMNS,
    Grid,
    LineFault,
    check_width,
    cut,
    invalid_mapping,
    refuse,
    without_blank_rows,
)
from schemas.messages import Message
from schemas.normalise import quote

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_LOST = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file and the name of its encoding as `source.encoding` publishes it."""

    text: str
    encoding: str


def checked_encoding(name: str) -> str:
    """Return the codec of the encoding that a mapping names. Raises `ReadingRefused` for a name that none has."""
    try:
        codec = codecs.lookup(name)
        if codec._is_text_encoding:
            return next((own for own in encodings() if codecs.lookup(own) == codec), codec.name)
    except (LookupError, ValueError):
        pass
    raise invalid_mapping(
        Message(
            "The mapping is wrong: {wrong}.",
            wrong=Message("{name} is no encoding; name one such as {known}", name=quote(name), known="windows-1250"),
        )
    )


def decode(data: bytes, encoding: str | None = None) -> Text:
    """Decode a file: by the mapping's `encoding`, its byte order mark, its zero bytes, as UTF-8, by its letters.

    Raises `ReadingRefused` where the encoding is unknown or cannot be decided.
    """
    codec = None if encoding is None else checked_encoding(encoding)
    for mark, name, own in _MARKS:
        if data.startswith(mark) and codec in (None, own, name):
            return Text(_decode_leniently(data[len(mark) :], own), name)
    codec = codec or utf16_without_mark(data)
    try:
        text = data.decode(codec or "utf-8")
    except UnicodeDecodeError:
        codec = codec or ("utf-8" if _is_mostly_utf8(data) else likeliest(data))
        text = _decode_leniently(data, codec)
    return Text(text, codec or "utf-8")


def _decode_leniently(data: bytes, codec: str) -> str:
    """Decode with undecodable bytes as lone surrogates; which error handler does that depends on the codec."""
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        handler = "surrogatepass" if codec.startswith("utf-16") else "surrogateescape"
        odd = b"\x00" if codec.startswith("utf-16") and len(data) % 2 else b""
        try:
            return (data + odd).decode(codec, handler)
        except UnicodeDecodeError:
            return data.decode(codec, "replace").replace("\ufffd", "\udcff")


def utf16_without_mark(data: bytes) -> str | None:
    """Return the codec of UTF-16 without a mark: Western text in it has a zero in nearly every second byte."""
    sample = data[:4096]
    half = len(sample) // 2
    if half < 2:
        return None
    if sample[1::2].count(0) > 0.8 * half and sample[::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if sample[::2].count(0) > 0.8 * half and sample[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return None


def _is_mostly_utf8(data: bytes) -> bool:
    """Return whether expected characters of several bytes are more than a quarter as many as the undecodable bytes.

    Hardly any text in a one-byte encoding has such a sequence, so a few weigh more than many undecodable bytes.
    """
    text = data[:SAMPLE].decode("utf-8", "surrogateescape")
    beyond = _BEYOND_ASCII.findall(text)
    expected = sum(1 for c in beyond if "À" <= c <= "ÿ" or c in SYMBOLS)
    others = sum(map(str.isalpha, beyond)) - expected
    return 4 * expected + others / 2 > len(_LOST.findall(text))


_ZIP = b"PK\x03\x04"
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_REFUSED_FORMATS = (
    (b"%PDF", Message("a PDF")),
    (b"\x1f\x8b", Message("a gzip archive")),
    (b"PAR1", Message("a Parquet file")),
    (b"\x89PNG", Message("an image")),
    (b"\xff\xd8\xff", Message("an image")),
    (b"PK", Message("a damaged or empty archive")),
    (b"Rar!", Message("an archive")),
    (b"7z\xbc\xaf", Message("an archive")),
)
_CONTROLS = bytes([*range(9), 11, *range(14, 26), *range(28, 32)])
_MARKUP = (b"<html", b"<!doctype", b"<table", b"<?xml", b"<head", b"<body", b"<meta")


def detect_format(data: bytes, filename: str) -> Literal["csv", "xlsx"]:
    """Return the format of the bytes. Raises `ReadingRefused` where they are neither text nor a workbook.

    Bytes are no text where more than one in ten of the start is a control character; Ctrl-Z ends some texts.
    """
    if data.startswith(_ZIP):
        return "xlsx"
    file, sample = quote(filename), data[:4096]
    start = sample.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00")
    wide = sample.startswith((b"\xff\xfe", b"\xfe\xff")) or utf16_without_mark(sample) is not None
    controls = 0 if wide else len(sample) - len(sample.translate(None, _CONTROLS))
    kind = next((what for mark, what in _REFUSED_FORMATS if data.startswith(mark)), None)
    code, wrong = "unreadable_file", None
    if data.startswith(_OLE) and _ENCRYPTED in data:
        code, wrong = "encrypted_file", Message("{file} is protected by a password; save it without one.", file=file)
    elif data.startswith(_OLE):
        wrong = Message("{file} is an old Excel file (.xls) or another Office document; save it as .xlsx.", file=file)
    elif kind is not None:
        wrong = Message(
            "{file} is {kind}, not a table. Send a CSV file or an Excel workbook (.xlsx).", file=file, kind=kind
        )
    elif not start:
        code, wrong = "no_table", Message("{file} is empty. Send a CSV file or an Excel workbook (.xlsx).", file=file)
    elif start.lower().startswith(_MARKUP):
        wrong = Message(
            "{file} is a web page or XML, whatever its name; open it in Excel and save it as .xlsx.", file=file
        )
    elif controls > len(sample) / 10:
        wrong = Message("{file} is no text and no workbook. Send a CSV file or an Excel workbook (.xlsx).", file=file)
    if wrong is not None:
        raise refuse(code, wrong)
    return "csv"


DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 40
_SAMPLE_CHARACTERS = 120_000
"""Less than the longest cell that the csv module accepts, so that a sample can always be read."""
_LONGEST_CELL = 65_536
"""Characters. A spreadsheet cell has at most 32 767; a quoted cell longer than twice that lacks its closing quote."""
_MOST_REREAD = 8 * 1024 * 1024
"""Characters of broken records, plus `_COST_OF_A_LINE` for each line; beyond these, a record ends at its line's end.

A quotation mark that is not closed may join lines as far as the end of the text, and so may the one in the next line.
"""
_COST_OF_A_LINE = 16
_MANY_FAULTS = 50_000
_MOST_RECORDS = 200_000
"""Four times the rows of one import, to allow for totals and blank records; more would waste memory."""

_MOST_PADDED = 6_000_000
"""Empty cells that pad shorter lines: one line of thousands of cells makes all other lines need them."""

_NO_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_MARKDOWN = re.compile(
    r"^[ \t]*+\|?+(?:[ \t]*+:?+-{2,}+:?+[ \t]*+\|)++(?:[ \t]*+:?+-{2,}+:?+[ \t]*+)?+\r?$", re.MULTILINE
)
"""The line of marks below the header of a table in Markdown, which has spaces around its cells."""
_AROUND_BAR = re.compile(r"(?<![ \t])[ \t]*+\|[ \t]*+|(?<=[ \t])\|[ \t]*+")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)


def detect_delimiter(text: str, recognised: Callable[[list[list[str]], int], int]) -> str:
    """Return the delimiter of a text: the one that shows most known headers, else the most regular table.

    `recognised` counts the known headers of that record which has most; it need not be exact below a number. A first
    line `sep=;` decides by itself.
    """
    sample = list(islice(_split_lines(text[:_SAMPLE_CHARACTERS]), _SAMPLE_LINES))
    if sample and (declared := _SEPARATOR_LINE.fullmatch(sample[0])):
        return declared[1]
    tables = {each: [cells[:MOST_COLUMNS] for cells in csv.reader(sample, delimiter=each)] for each in DELIMITERS}
    regular = {each: _regularity(records) for each, records in tables.items()}
    known: dict[str, int] = {}
    for delimiter in sorted(DELIMITERS, key=regular.__getitem__, reverse=True):  # the likely one first
        most = recognised(tables[delimiter], max(known.values(), default=0))
        known[delimiter] = most if most > 1 else 0  # a line that is not divided may have a known word, too
    return max(DELIMITERS, key=lambda delimiter: (known[delimiter], regular[delimiter]))


def _regularity(records: list[list[str]]) -> int:
    (width, times), *_ = Counter(map(len, records)).most_common(1) or [(1, 0)]
    return times * (width - 1)


def read_delimited(text: str, delimiter: str) -> Grid:
    """Read all records of the text into a grid; lines that cannot be read are faults, and reading continues.

    Raises `ReadingRefused` where the text has too many columns or, read by the csv module, too many records.
    """
    text = text.rstrip("\x1a\r\n")  # old programs end a file with Ctrl-Z
    if delimiter == "|" and _MARKDOWN.search(text[:_SAMPLE_CHARACTERS]):
        text = _AROUND_BAR.sub("|", _MARKDOWN.sub("", text))
    return _read_with_polars(text, delimiter) or _read_with_csv(text, delimiter)


def _read_with_polars(text: str, delimiter: str) -> Grid | None:
    """Return the grid by Polars' reader, or None where the text needs the csv module.

    Polars' grid counts only when no line can have been merged, split, skipped, padded or cut: there are as many rows as
    lines, and the cells of each account for every byte of it.
    """
    body = (text.replace("\r\n", "\n") if "\r" in text else text).rstrip("\n")
    if not body or "\r" in body or "\x00" in body or _SEPARATOR_LINE.match(body):
        return None
    first = body.partition("\n")[0]
    if len(first) > _SAMPLE_CHARACTERS:
        return None
    width = len(next(csv.reader([first], delimiter=delimiter), []))
    check_width(width)
    names = [f"c{i}" for i in range(width)]
    # Each cell is quoted as a whole, with quotes inside it doubled, or has no quote.
    edge = re.escape(delimiter)
    cell = rf'(?:"(?:[^"]|"")*"|[^"{edge}]*)'
    try:
        data = body.encode("utf-8")
        lines = pl.read_lines(data).to_series()
        quotes = '"' in body
        if quotes and not lines.str.contains(rf"^{cell}(?:{edge}{cell})*$").all():
            return None
        cells = pl.read_csv(
            data,
            has_header=False,
            separator=delimiter,
            schema=dict.fromkeys(names, pl.String),
            empty_string_is_null=True,
        )
    except (UnicodeEncodeError, pl.exceptions.PolarsError):
        return None
    if cells.height != len(lines):
        return None
    written = _row_sums(cells, pl.all().str.len_bytes()) + (width - 1)
    if quotes:
        written += lines.str.count_matches('"', literal=True)
    if '""' in body:
        written -= _row_sums(cells, pl.all().str.count_matches('"', literal=True))
    if (written != lines.str.len_bytes()).any():
        return None
    numbers = pl.int_range(1, cells.height + 1, dtype=pl.Int64, eager=True).alias("line")
    return Grid(*without_blank_rows(cells, numbers))


def _row_sums(cells: pl.DataFrame, numbers: pl.Expr) -> pl.Series:
    """Return the sum of each row's numbers; an empty cell counts as zero."""
    return cells.select(pl.sum_horizontal(numbers)).to_series().cast(pl.Int64)


def _read_with_csv(text: str, delimiter: str) -> Grid:
    """Read the grid with the csv module, record by record."""
    records: list[list[str]] = []
    lines: list[int] = []
    faults: list[LineFault] = []
    # Whether cells in quotation marks have a space before them, and no other cell begins so.
    edge = re.escape(delimiter)
    begun = len(re.findall(rf'{edge} +"', text))
    spaced = 0 < begun == len(re.findall(rf'{edge} +"(?:[^"\r\n]|"")*"(?= *(?:{edge}|\r|\n|$))', text))
    for line, record in _parse_records(list(_split_lines(text)), delimiter, spaced=spaced):
        if isinstance(record, LineFault):
            faults.append(record)
            if len(faults) > _MANY_FAULTS:
                break
        else:
            check_width(len(record))
            if len(records) == _MOST_RECORDS:
                message = Message(
                    "The text holds more than {most} lines; send the table alone, or in parts.", most=_MOST_RECORDS
                )
                raise refuse("too_many_rows", message)
            records.append(record)
            lines.append(line)
    width = max(map(len, records), default=0)
    if width * len(records) - sum(map(len, records)) > _MOST_PADDED:
        longest = next(line for line, record in zip(lines, records, strict=True) if len(record) == width)
        message = Message(
            "Line {line} has {cells} cells, and most lines have far fewer. Is a line break missing there?",
            line=longest,
            cells=width,
        )
        raise refuse("unreadable_file", message)
    names = [f"c{i}" for i in range(width)]
    padded = ([*record, *[None] * (width - len(record))] if len(record) < width else record for record in records)
    columns = list(zip(*padded, strict=True)) if records else []
    cells = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    widths = {line: len(record) for line, record in zip(lines, records, strict=True)}
    kept, of_held = without_blank_rows(cells, pl.Series("line", lines, dtype=pl.Int64))
    return Grid(kept, of_held, tuple(faults), widths=widths)


def _parse_records(lines: list[str], delimiter: str, *, spaced: bool) -> Iterator[tuple[int, list[str] | LineFault]]:
    """Yield each record with the line that it starts on; a line whose quotes do not close is a fault of its own.

    With `spaced` spaces before cells do not count.
    """
    start = 1 if lines and _SEPARATOR_LINE.fullmatch(lines[0]) else 0
    left = _MOST_REREAD
    while start < len(lines):
        begun = start
        end = len(lines) if left > 0 else start + 1
        reader = csv.reader(
            (lines[at] for at in range(begun, end)), delimiter=delimiter, strict=True, skipinitialspace=spaced
        )
        try:
            for record in reader:
                line, begun = begun + 1, start + reader.line_num
                raw = lines[line - 1 : begun]
                several = len(raw) > 1 and len(record) > 1 and len(raw) + len(record) > 4
                if several and all(text.count(delimiter) == len(record) - 1 for text in raw):
                    # Each line may be a row too: its first quotation mark may be a slip, so that all can be corrected.
                    # In a table of two columns a line of prose easily looks like a row; a record there has three lines.
                    message = Message(
                        "A quotation mark joins the lines {line} to {other} into one, but each of them can be a row "
                        "too; close it in its own line, or write the cell without line breaks.",
                        line=line,
                        other=line + len(raw) - 1,
                    )
                    for at, text in enumerate(raw, line):
                        yield at, LineFault(at, "ragged_row", message, _quotable(text))
                elif record:
                    yield line, _record_fault(line, raw, record) or record
            start = end
        except csv.Error:
            broken = lines[begun : start + reader.line_num]
            left -= sum(map(len, broken)) + _COST_OF_A_LINE * len(broken)
            message = Message(
                "A quotation mark in this line is not closed, or text follows a closing one; "
                "put the cell in quotation marks and double those inside it."
            )
            yield begun + 1, LineFault(begun + 1, "ragged_row", message, _quotable(lines[begun]))
            start = begun + 1


def _record_fault(line: int, raw: list[str], record: list[str]) -> LineFault | None:
    """Return the fault of a record with bytes that are no text, or with a cell that is too long."""
    whole = "".join(raw)
    if match := _NO_CHARACTER.search(whole):
        what = (
            Message("NUL characters")
            if match[0] == "\x00"
            else Message("bytes that are no characters in the file's encoding")
        )
        message = Message("The line holds {what}; save the file again as UTF-8, or write this line again.", what=what)
        return LineFault(line, "undecodable", message, _quotable(whole))
    if max(map(len, record)) > _LONGEST_CELL:
        message = Message(
            "A cell of this line is longer than {most} characters; is a quotation mark missing?", most=_LONGEST_CELL
        )
        return LineFault(line, "ragged_row", message, _quotable(whole))
    return None


def _quotable(line: str) -> str:
    """Return a line that can be written in a report: without NUL, without lone surrogates, and cut."""
    return cut(line.encode("utf-8", "replace").decode("utf-8").replace("\x00", "?").rstrip("\r\n"))


def _split_lines(text: str) -> Iterator[str]:
    """Yield lines as editors count them: ended by LF, CRLF or CR and by nothing else."""
    yield from io.StringIO(text, newline="")
