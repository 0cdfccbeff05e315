"""Mutates a part of a workbook as XML: elements, attributes, declarations and numbers, so that its parser gets far."""

import random
import re
from collections.abc import Callable
from typing import Final

_TIMES: Final = (2, 50, 1_000, 20_000)
_NUMBERS: Final = (
    "1E+400000",
    "1E-400000",
    "-1E+400000",
    "NaN",
    "sNaN",
    "-Infinity",
    "9" * 5_000,
    "0." + "9" * 5_000,
    "1" * 100_000,
    "0x10",
    "1_000",
    "-0",
    "١٢",
    "1e",
    "",
    " 1 ",
    "4294967296",
    "-1",
    "2147483648",
)
_FORMATS: Final = ("[", "&quot;", "0", "_", "\\", "*", "y", "%", ";", "0.", "[$-", "#,")
_PLACES: Final = ("A0", "A9999999", "A99999999", "AAAA1", "XFD1048576", "A" * 10_000, "1A", "A1:B2", "a1", "")
_FILLS: Final = (" ", "a", "1", "_x000D_", "_x00", "&#65;", "&amp;", "e\u0301\u0316", "\u0f73", "\t", "/ ", "1 % ", "-")
_ENTITIES: Final = ("&a;", "&#0;", "&#xD800;", "&#1114112;", "&", "&amp", "&#x41;", "&lt;b&gt;")
_ODD: Final = ("<!-- {} -->", "<![CDATA[{}]]>", "<?pi {}?>", "<x:y xmlns:x='a'>{}</x:y>", "<rPh>{}</rPh>", "<c>{}</c>")

Mutation = Callable[[random.Random, str], str]


def mutated_xml(rng: random.Random, data: bytes) -> bytes:
    """Return the part after one to three mutations, sometimes in another encoding than before."""
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice(_MUTATIONS)(rng, text)
    encoding = rng.choice(("utf-8",) * 8 + ("utf-16", "utf-16-le", "iso8859-1", "utf-7"))
    if encoding != "utf-8" and rng.random() < 0.7:
        text = re.sub(r"""encoding=["'][^"']*["']""", f'encoding="{encoding}"', text, count=1)
    return text.encode(encoding, "replace")


def _place(rng: random.Random, text: str, pattern: str) -> re.Match[str] | None:
    found = list(re.finditer(pattern, text[:200_000]))
    return rng.choice(found) if found else None


def _opened(rng: random.Random, text: str) -> str:
    """Repeat a tag's beginning, or the whole of it."""
    tag = _place(rng, text, r"<[A-Za-z][^<>]*>")
    if tag is None:
        return text
    again = rng.choice((tag[0], tag[0].split()[0].rstrip("/>") + " ", tag[0].rstrip("/>"), tag[0].rstrip("/>") + "/>"))
    return text[: tag.start()] + again * rng.choice(_TIMES) + text[tag.start() :]


def _nested(rng: random.Random, text: str) -> str:
    """Insert nested elements, most of them ended."""
    at = _place(rng, text, r"(?<=>)")
    name, times = rng.choice(("a", "c", "row", "si", "rPh", "is", "sheetData")), rng.choice(_TIMES)
    start = len(text) if at is None else at.start()
    ended = rng.choice((times, times, 0))
    return text[:start] + f"<{name}>" * times + f"</{name}>" * ended + text[start:]


def _attributes(rng: random.Random, text: str) -> str:
    """Insert more attributes, the same one many times, or one with a long value."""
    tag = _place(rng, text, r"<[A-Za-z][^<>]*?(?=/?>)")
    if tag is None:
        return text
    times = rng.choice(_TIMES)
    more = rng.choice(
        (
            "".join(f' a{n}="1"' for n in range(min(times, 5_000))),
            ' hidden="1"' * times,
            f' x="{rng.choice(_FILLS) * times}"',
            " " * times,
            f' r="{rng.choice(_PLACES)}"',
        )
    )
    return text[: tag.end()] + more + text[tag.end() :]


def _declared(rng: random.Random, text: str) -> str:
    """Insert a document type before everything, behind a comment, or where none is allowed."""
    grown = "".join(f'<!ENTITY b{n + 1} "{f"&b{n};" * 8}">' for n in range(8))
    declared = rng.choice(
        (
            f'<!DOCTYPE a [<!ENTITY a "{"A" * 50_000}">]>',
            f'<!DOCTYPE a [<!ENTITY b0 "b">{grown}<!ENTITY a "&b8;">]>',
            '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
            '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]>',
            '<!DOCTYPE a [<!ATTLIST c t CDATA "s">]>',
        )
    )
    comment = rng.choice(("", f"<!--{' ' * rng.choice((10, 5_000, 300_000))}-->"))
    text = re.sub(r"(?<=>)[^<>]+(?=</)", "&a;" * rng.choice(_TIMES), text, count=rng.choice((0, 1)))
    root = re.search(r"<[A-Za-z]", text)
    at = rng.choice((0, root.start() if root else 0, root.start() if root else 0, len(text)))
    return text[:at] + comment + declared + text[at:]


def _odd_markup(rng: random.Random, text: str) -> str:
    """Insert comments, CDATA, instructions and unexpected elements, around a text or between elements."""
    at = _place(rng, text, r"(?<=>)[^<>]*(?=<)")
    if at is None:
        return text
    around = rng.choice(_ODD).format(at[0] + rng.choice(_FILLS) * rng.choice((0, 1, 500)))
    return text[: at.start()] + around * rng.choice((1, 1, 100, 5_000)) + text[at.end() :]


def _numbers(rng: random.Random, text: str) -> str:
    """Replace a value, a style, a reference or a count by a text that is no number, or by a giant one."""
    at = _place(
        rng, text, r"(?<=<v>)[^<]*|(?<=\bs=\")\d+|(?<=ount=\")\d+|(?<=Id=\")\d+|(?<=\br=\")\d+|(?<=ref=\")[^\"]+"
    )
    return text if at is None else text[: at.start()] + rng.choice(_NUMBERS + _PLACES) + text[at.end() :]


def _number_formats(rng: random.Random, text: str) -> str:
    """Replace every number format, or add one that all styles use."""
    code = rng.choice(_FORMATS) * rng.choice(_TIMES)
    if "formatCode=" in text:
        return re.sub(r'formatCode="[^"]*"', lambda _: f'formatCode="{code}"', text)
    if "<cellXfs" not in text:
        return _numbers(rng, text)
    made = f'<numFmts count="1"><numFmt numFmtId="170" formatCode="{code}"/></numFmts>'
    text = re.sub(r"(<styleSheet[^<>]*>)", lambda root: root[0] + made, text, count=1)
    return re.sub(r'numFmtId="0"', 'numFmtId="170"', text)


def _texts(rng: random.Random, text: str) -> str:
    """Replace a text by a repeated character, or by references to entities."""
    at = _place(rng, text, r"(?<=<t>)[^<]*|(?<=<v>)[^<]*|(?<=<f>)[^<]*")
    if at is None:
        return text
    fill = rng.choice((rng.choice(_FILLS), rng.choice(_FILLS) + rng.choice(_FILLS), rng.choice(_ENTITIES)))
    kept = at[0][: rng.choice((0, 1, 100))]
    return text[: at.start()] + kept + fill * rng.choice(_TIMES) + rng.choice(("", "x", "\n")) + text[at.end() :]


def _types(rng: random.Random, text: str) -> str:
    """Give a cell another type than its value has."""
    at = _place(rng, text, r'\bt="\w+"|(?<=<c r="\w\d)"')
    kind = rng.choice(("s", "b", "e", "d", "n", "str", "inlineStr", "x" * 5_000, ""))
    return text if at is None else text[: at.start()] + f't="{kind}"' + text[at.end() :]


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _opened,
    _nested,
    _attributes,
    _declared,
    _odd_markup,
    _numbers,
    _numbers,
    _number_formats,
    _texts,
    _texts,
    _types,
)
