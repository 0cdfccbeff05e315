"""Reads the shared strings of a workbook, and decodes entities, line ends and the `_x000D_` escapes of its texts.

Patterns read plain strings as a column; the XML parser reads a table with rich text or phonetic hints. Within a text,
what is raised, lowered or struck through stands between two marks: it is no part of a number or a code, as a footnote's
sign or a value that was crossed out, and belongs to other texts, as in CO₂.
"""

import re
from collections.abc import Iterator, Mapping

import polars as pl

from pipelines.reading.office import NoXmlError, local_name, parse_xml
from pipelines.reading.workbook.package import Package, invalid_xml, unreadable
from schemas.messages import Message

_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_ESCAPE = re.compile(r"_x([0-9a-fA-F]{4})_")
_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:<\?xml version=[\"']1\.0[\"'](?: encoding=[\"'](?i:utf-8)[\"'])?"
    rb"(?: standalone=[\"'](?:yes|no)[\"'])?\s{0,9}\?>)?\s{0,9}<[A-Za-z]"
)

_BEGIN, _END = "\ufdd0", "\ufdd1"
"""Two characters that no text has: Unicode keeps them for use within a program."""
_RAISED = ("superscript", "subscript")


def is_raised(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether a property of a run of rich text raises it, lowers it or strikes it through."""
    if tag == "vertAlign":
        return attributes.get("val") in _RAISED
    return tag == "strike" and attributes.get("val", "1") not in ("0", "false", "off")


def marked(text: str) -> str:
    """Return the text of such a run between its marks."""
    return f"{_BEGIN}{text}{_END}"


def without_marked(texts: pl.Series, *, whole: bool) -> pl.Series:
    """Return texts without what is marked, or as a `whole` without the marks alone."""
    if not texts.str.contains(_BEGIN, literal=True).any():
        return texts
    return texts.str.replace_all(f"[{_BEGIN}{_END}]" if whole else f"{_BEGIN}[^{_END}]*{_END}", "")


def is_plain(start: bytes) -> bool:
    """Return whether a part with this start is UTF-8 whose root element comes directly after the prolog.

    Only such a part is read by patterns: in all others a parser recognises the markup, and refuses a document type.
    """
    return _PROLOG.match(start) is not None and not has_declarations(start)


def has_declarations(xml: bytes) -> bool:
    """Return whether there are comments, CDATA or declarations, which patterns cannot distinguish from other markup."""
    return b"!" in xml and b"<!" in xml  # searching one character is thirty times as fast as searching two


def unescape(texts: pl.Series) -> pl.Series:
    """Decode XML text; only texts that contain an entity, a carriage return or an escape are changed."""
    odd = texts.str.contains("[&\r]|_x[0-9a-fA-F]{4}_").fill_null(value=False)
    if not odd.any():
        return texts
    lines = texts.filter(odd).str.replace_all("\r\n?", "\n")
    undone = [undo_escapes(_ENTITY.sub(_of_entity, text)) for text in lines]
    return texts.scatter(odd.arg_true(), pl.Series(undone, dtype=pl.String))


def undo_escapes(text: str) -> str:
    """Decode a workbook's own escapes for characters that XML cannot contain."""
    return _ESCAPE.sub(lambda found: _character(int(found[1], 16)), text)


def _of_entity(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    return _NAMED[name] if name else _character(int(decimal) if decimal else int(hexadecimal, 16))


def _character(code: int) -> str:
    """Return the character of a code; the replacement character for a surrogate or a code beyond Unicode."""
    return "\ufffd" if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)


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
