"""Decides where patterns may read XML, and decodes entities, line ends and the `_x000D_` escapes of workbooks.

Within a text, what is raised, lowered or struck through stands between two marks: it is no part of a number or a code,
as a footnote's sign or a value that was crossed out, and belongs to other texts, as in CO₂.
"""

import re
from collections.abc import Mapping

import polars as pl

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
    undone = [undo_escapes(_undo_entities(text)) for text in texts.filter(odd)]
    return texts.scatter(odd.arg_true(), pl.Series(undone, dtype=pl.String))


def undo_escapes(text: str) -> str:
    """Decode a workbook's own escapes for characters that XML cannot contain."""
    return _ESCAPE.sub(lambda found: _character(int(found[1], 16)), text)


def _undo_entities(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ENTITY.sub(_of_entity, text)


def _of_entity(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    return _NAMED[name] if name else _character(int(decimal) if decimal else int(hexadecimal, 16))


def _character(code: int) -> str:
    """Return the character of a code; the replacement character for a surrogate or a code beyond Unicode."""
    return "\ufffd" if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)
