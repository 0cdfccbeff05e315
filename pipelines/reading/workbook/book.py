"""Reads a workbook as a zip of XML parts, with bounds, and its description: sheets in order, hidden ones, date system.

Its declared sizes are not trusted: every part is inflated in pieces, and all pieces together may have `MOST_BYTES`.
`pipelines.reading.media` opens untrusted zips and XML.
"""

import io
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from pipelines.reading.grid import ReadingRefused, refuse
from pipelines.reading.media import ZIP_ERRORS, DocumentTypeError, NoXmlError, local_name, open_zip, parse_xml
from schemas.messages import Message

MOST_BYTES = 300 * 1024 * 1024
"""Inflated size of all parts read. A workbook of 10 MiB with 50 000 rows of 25 columns has 60 MiB."""
_MOST_PARTS = 5_000
_LARGEST_LIST = 16 * 1024 * 1024
"""Bytes of a part that lists sheets, relations or styles; lists of 5 000 sheets have one MiB."""
_FIRST_PIECE = 256 * 1024
_PIECE = 4 * 1024 * 1024
_ENCRYPTED_FLAG = 0x1


class Package:
    """The parts of a workbook by path, inflated to at most `MOST_BYTES` in all."""

    def __init__(self, data: bytes) -> None:
        """Raise `ReadingRefused` (`unreadable_file`, `encrypted_file`) where the bytes cannot be a workbook."""
        try:
            self._zip = open_zip(io.BytesIO(data))
            infos = self._zip.infolist()
        except ZIP_ERRORS:
            raise unreadable(Message("it is cut off or damaged")) from None
        if any(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
            raise refuse("encrypted_file", Message("The workbook is protected by a password; save it without one."))
        if len(infos) > _MOST_PARTS or sum(info.file_size for info in infos) > MOST_BYTES:
            raise _too_large()
        # Some programs separate folders as Windows does.
        self._names = {info.filename.lower().replace("\\", "/").lstrip("/"): info.filename for info in infos}
        self._left = MOST_BYTES

    def __contains__(self, path: str) -> bool:
        return path.lower() in self._names

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield a part's bytes in pieces. Raises `ReadingRefused` where it is damaged or too large."""
        if path not in self:
            raise unreadable(Message("its part {path} is missing", path=path))
        size = _FIRST_PIECE
        try:
            with self._zip.open(self._names[path.lower()]) as part:
                while piece := part.read(size):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise _too_large()
                    yield piece
                    size = _PIECE
        except ZIP_ERRORS:
            raise unreadable(Message("it is cut off or damaged")) from None

    def elements(
        self, path: str, start: Callable[[str, dict[str, str]], None], end: Callable[[str], None] | None = None
    ) -> None:
        """Pass the elements of a part that is a list to the handlers. Raises `ReadingRefused` for one too large."""
        try:
            parse_xml(self._bounded(path), start, end)
        except NoXmlError as error:
            raise invalid_xml(Message("its part {path} is no XML", path=path), error) from None

    def _bounded(self, path: str) -> Iterator[bytes]:
        size = 0
        for piece in self.pieces(path):
            size += len(piece)
            if size > _LARGEST_LIST:
                raise unreadable(Message("its part {path} is larger than that of any workbook", path=path))
            yield piece


def unreadable(why: Message) -> ReadingRefused:
    """Return the refusal of a workbook that cannot be read."""
    return refuse(
        "unreadable_file",
        Message("The workbook cannot be read: {why}. Open it in Excel and save it as .xlsx again.", why=why),
    )


def invalid_xml(part: Message, why: NoXmlError) -> ReadingRefused:
    """Return the refusal of a workbook in which a part is no XML, as `part` says, or no XML that is read here."""
    if isinstance(why, DocumentTypeError):
        return unreadable(Message("one of its parts declares a document type, which no workbook needs"))
    return unreadable(part)


def _too_large() -> ReadingRefused:
    return unreadable(
        Message(
            "unpacked it is larger than {most} MiB; send the table alone, or in parts", most=MOST_BYTES // 1024 // 1024
        )
    )


_BOOK = "xl/workbook.xml"
_HIDDEN = ("hidden", "veryHidden")
_TRUE = ("1", "true", "on")
_LONGEST_NAME = 255
"""Characters of a sheet's name that are kept; a spreadsheet accepts 31."""


@dataclass(frozen=True, slots=True)
class SheetPart:
    """A worksheet: its visible name, the path of its cells, and whether it is hidden."""

    name: str
    path: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Book:
    """A workbook's sheets in their order and its shared parts; a part that it does not have is None."""

    sheets: tuple[SheetPart, ...]
    since_1904: bool
    styles: str | None
    strings: str | None


def read_book(package: Package) -> Book:
    """Read the book of a package. Raises `ReadingRefused` where the archive contains no workbook that is read here."""
    path = _book_path(package)
    relations = _relations(package, path)
    sheets: list[SheetPart] = []
    since_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal since_1904
        if local_name(name) == "workbookPr":
            since_1904 = attributes.get("date1904", "0") in _TRUE
        elif local_name(name) == "sheet":
            key = next((value for attribute, value in attributes.items() if local_name(attribute) == "id"), "")
            kind, target = relations.get(key, ("", ""))
            if kind == "worksheet":
                called = attributes.get("name", "")[:_LONGEST_NAME]
                sheets.append(SheetPart(called, target, attributes.get("state") in _HIDDEN))

    package.elements(path, start)
    parts = {kind: target for kind, target in relations.values() if target in package}
    return Book(tuple(sheets), since_1904, parts.get("styles"), parts.get("sharedStrings"))


def _book_path(package: Package) -> str:
    if "xl/workbook.bin" in package:
        raise unreadable(Message("it is a binary workbook (.xlsb)"))
    if _BOOK in package:
        return _BOOK
    if "_rels/.rels" in package:
        for kind, target in _relations(package, "").values():
            if kind == "officeDocument" and target in package and target.startswith("xl"):
                return target
    raise unreadable(Message("the archive holds no Excel workbook"))


def _relations(package: Package, path: str) -> dict[str, tuple[str, str]]:
    """Return the relations of a part: id -> (kind, path of the target)."""
    folder, name = posixpath.split(path)
    part = posixpath.join(folder, "_rels", f"{name}.rels")
    if part not in package:
        return {}
    relations: dict[str, tuple[str, str]] = {}

    def start(_: str, of: dict[str, str]) -> None:
        target = of.get("Target", "")
        full = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        relations[of.get("Id", "")] = (of.get("Type", "").rpartition("/")[2], full)

    package.elements(part, start)
    return relations


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

    def of_entity(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        return _NAMED[name] if name else _character(int(decimal) if decimal else int(hexadecimal, 16))

    undone = [undo_escapes(_ENTITY.sub(of_entity, text)) for text in lines]
    return texts.scatter(odd.arg_true(), pl.Series(undone, dtype=pl.String))


def undo_escapes(text: str) -> str:
    """Decode a workbook's own escapes for characters that XML cannot contain."""
    return _ESCAPE.sub(lambda match: _character(int(match[1], 16)), text)


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
