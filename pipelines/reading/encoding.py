"""Decodes the bytes of a text file: finds its encoding. Delimiters and columns do not belong here.

Bytes that the encoding does not know stay in the text as lone surrogates, so that their line can be named. Where two
encodings give different letters and neither is much likelier, the file is refused with the choice (decisions §13).
"""

import codecs
import re
from dataclasses import dataclass
from typing import Final

import chardet

from pipelines.reading.letters import EAST_ASIAN, SYMBOLS, encodings, frequency, plausibility
from pipelines.reading.questions import question, refused
from pipelines.reading.refusal import ReadingRefused, refuse
from schemas.messages import Message
from schemas.normalise import shown

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_SAMPLE = 1_000_000
"""Bytes that are examined: enough to distinguish encodings in a file of any size."""
_LOST = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_CELL: Final = re.compile(rb"[^\t\n\r,;|\"]{0,200}[\x80-\xff][^\t\n\r,;|\"]{0,200}")
_ASCII_CELL: Final = re.compile(rb"(?:^|[\t\n\r,;|\"])([\x20-\x7e]{3,60})(?=[\t\n\r,;|\"]|$)")
_MOST_CELLS: Final = 400
"""Different cells with bytes above ASCII that decide."""
_NO_LETTER: Final = re.compile(r"[\W\d_]")
_MARGIN: Final = 10.0
"""How much likelier, as a logarithm, an encoding must be than others that give other letters."""
_MARGIN_OF_LETTERS: Final = 1.0
"""The same for its letters alone: what is common never outweighs what is written."""
_MARGIN_OF_EAST_ASIA: Final = 25.0
"""The same for an encoding of East Asia: nearly every two bytes are a character in it."""
_CONFIDENT: Final = 1.5
"""How many times as sure chardet must be of an encoding of East Asia as of any other."""


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file and the name of its encoding as `source.encoding` publishes it."""

    text: str
    encoding: str


def checked_encoding(name: str) -> str:
    """Return the codec of the encoding that a mapping names. Raises `ReadingRefused` for a name that none has."""
    try:
        found = codecs.lookup(name)
        if found._is_text_encoding:
            return next((own for own in encodings() if codecs.lookup(own) == found), found.name)
    except (LookupError, ValueError):
        pass
    raise refuse(
        "invalid_mapping",
        Message(
            "The mapping is wrong: {wrong}.",
            wrong=Message("{name} is no encoding; name one such as {known}", name=shown(name), known="windows-1250"),
        ),
        "mapping",
    )


def decode(data: bytes, given: str | None = None) -> Text:
    """Decode a file: by the mapping's encoding `given`, its byte order mark, its zero bytes, as UTF-8, by its letters.

    Raises `ReadingRefused` where the encoding is unknown or cannot be decided.
    """
    codec = None if given is None else checked_encoding(given)
    for mark, name, own in _MARKS:
        if data.startswith(mark) and codec in (None, own, name):
            return Text(_decode_leniently(data[len(mark) :], own), name)
    if codec is not None:
        return Text(_decode_leniently(data, codec), codec)
    if wide := utf16_without_mark(data):
        return Text(_decode_leniently(data, wide), wide)
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    if _is_mostly_utf8(data):
        return Text(_decode_leniently(data, "utf-8"), "utf-8")
    codec = _likeliest(data)
    return Text(_decode_leniently(data, codec), codec)


def _likeliest(data: bytes) -> str:
    """Return the encoding in which the cells are likeliest. Raises `ReadingRefused` where their letters stay open."""
    cells = sorted(dict.fromkeys(_CELL.findall(data[:_SAMPLE])))[:_MOST_CELLS]
    ascii_cells = list(dict.fromkeys(_ASCII_CELL.findall(data[:_SAMPLE])))[:_MOST_CELLS]
    others = tuple(cell.decode("ascii") for cell in ascii_cells)
    readings = {name: [cell.decode(name, "replace") for cell in cells] for name in encodings()}
    alone = {name: plausibility(texts, name) for name, texts in readings.items()}
    scores = {name: alone[name] + frequency(name, others) for name in encodings()}
    best = max(encodings(), key=lambda name: scores[name])
    best = next(name for name in encodings() if readings[name] == readings[best])
    margin = _MARGIN_OF_EAST_ASIA if best in EAST_ASIAN else _MARGIN
    letters = {name: [_NO_LETTER.sub("", text) for text in texts] for name, texts in readings.items()}
    rivals = [
        name
        for name in encodings()
        if letters[name] != letters[best]
        and (scores[best] - scores[name] < margin or alone[best] - alone[name] < _MARGIN_OF_LETTERS)
    ]
    if best in EAST_ASIAN:
        found = chardet.detect_all(
            b"\n".join(cells),
            ignore_threshold=True,
            compat_names=False,
            include_encodings=EAST_ASIAN,
            no_match_encoding=best,
        )
        sure = {str(one["encoding"]).lower(): one["confidence"] for one in found}
        best = max(EAST_ASIAN, key=lambda name: sure.get(name, 0.0))
        doubted = [name for name in EAST_ASIAN if sure.get(best, 0) < _CONFIDENT * sure.get(name, 0) and name != best]
        rivals = [*doubted, *(name for name in rivals if name not in EAST_ASIAN)]
    if rivals:
        names = [best, *{"\n".join(letters[name]): name for name in reversed(rivals)}.values()]
        raise _undecided(names, readings)
    return best


def _undecided(names: list[str], readings: dict[str, list[str]]) -> ReadingRefused:
    """Return the refusal of a text that can be read in several encodings, quoting what it reads as in each."""
    first = readings[names[0]]
    at = [min(at for at, text in enumerate(readings[name]) if text != first[at]) for name in names[1:]]
    samples = "; ".join(
        f"{name}: {shown(readings[name][place].strip())}" for name, place in zip(names, [at[0], *at], strict=True)
    )
    message = Message(
        "The file is not in UTF-8, and its letters can be those of several encodings: {samples}. Save it as UTF-8 "
        '(in Excel: CSV UTF-8), or say the encoding: mapping={{"encoding": "{name}"}}.',
        samples=samples,
        name=names[0],
    )
    return refused([question("encoding", message, {"encoding": names[0]}, could_be=names, text=samples)])


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
    beyond = _BEYOND_ASCII.findall(text)
    expected = sum(1 for c in beyond if "À" <= c <= "ÿ" or c in SYMBOLS)
    others = sum(map(str.isalpha, beyond)) - expected
    return 4 * expected + others / 2 > len(_LOST.findall(text))
