"""Decodes the bytes of a text file: finds its encoding. Delimiters and columns do not belong here.

Bytes that the encoding does not know stay in the text as lone surrogates, so that their line can be named.
"""

import codecs
import re
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_ONE_BYTE = ("cp1252", "mac_roman", "iso8859_15", "cp850")
"""The likelier first; old programs and the Windows console write cp850."""
_SAMPLE = 1_000_000
"""Bytes that are examined: enough to distinguish encodings in a file of any size."""
_LOST = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_EXPECTED = frozenset("éèêëàâäáçùûüúîïíôöóñßœæÉÈÊÀÂÄÇÔÖÜŒ’‘“”«»–—…€°²³·®™µ\xa0")
"""Characters that people write in lists of packaging; a wrong encoding turns them into others."""


_WITH_CAPITALS_LOW = ("mac_roman", "cp850")
"""Encodings with accented letters in the bytes from 80 to 9F, where small letters of one are capitals of the other."""
_CAPITAL_INSIDE = re.compile("[a-z][ÀÂÄÅÇÉÈÊÎÏÔÖÙÛÜÑ]")
"""A capital after a small letter: `MÇtal` is `Métal` in another encoding."""


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file and the name of its encoding as `source.encoding` publishes it."""

    text: str
    encoding: str


def decode(data: bytes) -> Text:
    """Decode a file by its byte order mark, else as UTF-16 by its zero bytes, else as UTF-8, else as one-byte text."""
    for mark, name, codec in _MARKS:
        if data.startswith(mark):
            return Text(_decode_leniently(data[len(mark) :], codec), name)
    if wide := utf16_without_mark(data):
        return Text(_decode_leniently(data, wide), wide)
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if _is_mostly_utf8(data):
        return Text(_decode_leniently(data, "utf-8"), "utf-8")
    codec = max(_ONE_BYTE, key=lambda name: (_plausibility(data, name), -_ONE_BYTE.index(name)))
    return Text(_decode_leniently(data, codec), codec)


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
    text = data[:_SAMPLE].decode("utf-8", "surrogateescape")
    whole = sum(1 for c in _BEYOND_ASCII.findall(text) if c in _EXPECTED)
    return 4 * whole > len(_LOST.findall(text))


def _plausibility(data: bytes, codec: str) -> int:
    """Return the number of expected characters above ASCII less the unexpected ones."""
    text = data[:_SAMPLE].decode(codec, "replace")
    expected = sum(1 if c in _EXPECTED else -1 for c in _BEYOND_ASCII.findall(text))
    return expected - (2 * len(_CAPITAL_INSIDE.findall(text)) if codec in _WITH_CAPITALS_LOW else 0)
