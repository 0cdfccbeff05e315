"""Reads the shared strings of a workbook: the texts that cells refer to by number.

Patterns read plain strings as a column; the XML parser reads a table with rich text or phonetic hints.
"""

from collections.abc import Iterator

import polars as pl

from pipelines.reading.office import NoXmlError, local_name, parse_xml
from pipelines.reading.workbook.markup import is_plain, is_raised, marked, undo_escapes, unescape
from pipelines.reading.workbook.package import Package, invalid_xml, unreadable
from schemas.messages import Message

_MOST_BYTES = 64 * 1024 * 1024
_MOST_TEXTS = 1_500_000
_PLAIN = r"^(?:<t(?: xml:space=\"preserve\")?>([^<]*)</t>|<t/>)</si>"


def read_strings(package: Package, path: str | None) -> pl.Series:
    """Return the texts by number; empty where the workbook has none."""
    if path is None:
        return pl.Series(dtype=pl.String)
    data = _read_bounded(package.pieces(path))
    if not is_plain(data):
        return _parse_strings(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return _parse_strings(data)
    items = pl.Series([text]).str.split("<si>").explode()[1:]
    if len(items) != text.count("<si") or not items.str.contains(_PLAIN).all():
        return _parse_strings(data)
    return unescape(items.str.extract(_PLAIN).fill_null(""))


def _read_bounded(pieces: Iterator[bytes]) -> bytes:
    """Read the part as a whole, which needs several times its size in memory: a part that is too large is refused."""
    read: list[bytes] = []
    for piece in pieces:
        read.append(piece)
        if sum(map(len, read)) > _MOST_BYTES:
            raise unreadable(Message("its table of texts is larger than {most} MiB", most=_MOST_BYTES // 1024 // 1024))
    data = b"".join(read)
    if data.count(b"<si") > _MOST_TEXTS:
        raise unreadable(Message("its table of texts has more than {most} entries", most=_MOST_TEXTS))
    return data


def _parse_strings(data: bytes) -> pl.Series:
    """Read the texts with the XML parser: all runs of an item, without its phonetic hints; raised runs have marks."""
    texts: list[str] = []
    runs: list[str] = []
    path: list[str] = []
    hints, raised = 0, False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal hints, raised
        path.append(local_name(name))
        if path[-1] == "si":
            runs.clear()
        hints += path[-1] == "rPh"
        raised = (raised or is_raised(path[-1], attributes)) and path[-1] not in ("si", "r")

    def characters(text: str) -> None:
        if path[-1] == "t" and not hints:
            runs.append(marked(text) if raised else text)

    def end(_: str) -> None:
        nonlocal hints, raised
        tag = path.pop()
        raised = raised and tag != "r"
        hints -= tag == "rPh"
        if tag == "si":
            texts.append(undo_escapes("".join(runs)))

    try:
        parse_xml([data], start, end, characters)
    except NoXmlError as error:
        raise invalid_xml(Message("its table of texts is no XML"), error) from None
    return pl.Series(texts, dtype=pl.String)
