"""Finds the number format of each cell style, and renders a number by it, as the text that a person sees.

ECMA-376 Part 1, section 18.8.31: up to three sections for numbers, by sign or by condition; placeholders of digits,
literal text, a comma behind them for each division by 1000, percent signs, dates. Digits are not grouped, and the
decimal mark is a point, whatever the language of the program.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache
from typing import Final, Literal, NamedTuple

from pipelines.reading.media import local_name
from pipelines.reading.workbook.book import Package, is_raised

_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\[\]]*)\]|(?P<general>General)|(?P<power>E[+-])'
    r"|(?P<day>AM/PM|A/P|[ymdhs]+)|(?P<place>[0#?])|(?P<sign>[.,%/;@])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION: Final = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d{1,15}(?:\.\d{1,15})?)")
_COLOUR: Final = re.compile(r"black|blue|cyan|green|magenta|red|white|yellow|color\s?\d{1,2}", re.IGNORECASE)
_ELAPSED: Final = re.compile(r"h+|m+|s+", re.IGNORECASE)
_HOLDS: Final[dict[str, Callable[[Decimal, Decimal], bool]]] = {
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
    "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}
_WITHOUT_MEANING: Final = " \u00a0\u202f-–+()'"
"""What a format may write beside a number without giving it a unit: a space, a sign, a bracket."""
_THREE_DECIMALS: Final = re.compile(r"\.\d{3}$")
_LONGEST_FORMAT: Final = 255
"""Characters of the longest number format that a spreadsheet accepts; a longer one is not applied."""
_LONGEST_NUMBER: Final = 64
"""Characters of a number cell's text; spreadsheets write 24 at most: 17 digits, a sign, a point, an exponent."""
_MOST_PLACES: Final = 330
"""Most places before or behind the point, as many as a double can have: arithmetic with more takes longer."""
_MOST_DIGITS: Final = 15
"""A spreadsheet keeps fifteen digits of a number; further digits are rounded."""


Kind = Literal["number", "general", "date", "unknown"]


class _Part(NamedTuple):
    """A placeholder of a digit, the decimal point, or a literal text."""

    kind: Literal["place", "point", "literal"]
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a format; `power` are the places by which the number is moved, 2 for each percent sign."""

    parts: tuple[_Part, ...]
    kind: Kind
    power: int
    percent: bool
    condition: tuple[str, Decimal] | None = None

    @property
    def words(self) -> str:
        """Return the literal texts beside the number."""
        return "".join(part.text for part in self.parts if part.kind == "literal")

    def around(self, number: str) -> str:
        """Return a number between the literal texts before and behind its places."""
        at = [at for at, part in enumerate(self.parts) if part.kind != "literal"]
        before, behind = self.parts[: at[0]] if at else (), self.parts[at[-1] + 1 :] if at else ()
        return "".join([*(part.text for part in before), number, *(part.text for part in behind)]).strip()

    @property
    def is_plain(self) -> bool:
        """Return whether the number means what is stored, however many digits of it are shown."""
        is_number = self.kind != "date" and not self.power and not self.percent
        return is_number and not self.words.strip(_WITHOUT_MEANING)


@cache
def sections_of(code: str) -> tuple[Section, ...]:
    """Return the sections of a format code for numbers; a code that is too long shows the plain number."""
    codes: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code if len(code) <= _LONGEST_FORMAT else "General"):
        if token["sign"] == ";":
            codes.append([])
        else:
            codes[-1].append(token)
    return tuple(_section(tokens) for tokens in codes[:3])


def _section(tokens: list[re.Match[str]]) -> Section:
    parts: list[_Part] = []
    condition: tuple[str, Decimal] | None = None
    kind: Kind = "number"
    commas = percents = 0
    for token in tokens:
        what = token.lastgroup
        if what in ("quoted", "escaped", "other"):
            parts.append(_Part("literal", token[what]))
        elif what == "place":
            parts, commas = [*parts, _Part("place", token[0])], 0  # commas between digits group them
        elif token[0] == ",":
            commas += 1
        elif token[0] == "." and not any(part.kind == "point" for part in parts):
            parts.append(_Part("point", "."))
        elif token[0] == "%":
            percents += 1
            parts.append(_Part("literal", "%"))
        elif what == "bracket":
            literal, of_bracket, own_condition = _bracket(token["bracket"])
            parts += [_Part("literal", literal)] if literal else []
            kind, condition = of_bracket or kind, own_condition or condition
        elif what == "day":
            kind = "date"
        elif what in ("general", "power"):
            parts += [_Part("place", "")] if what == "general" else []
            kind = "general" if kind == "number" else kind
        elif token[0] == "/":
            kind = "unknown" if kind == "number" else kind
    commas = commas if any(part.kind == "place" for part in parts) else 0
    return Section(tuple(parts), kind, 2 * percents - 3 * commas, percents > 0, condition)


def _bracket(text: str) -> tuple[str, Kind | None, tuple[str, Decimal] | None]:
    """Return the literal, the kind of section and the condition that a text in square brackets gives."""
    if text.startswith("$"):
        return text[1:].partition("-")[0], None, None
    if match := _CONDITION.fullmatch(text.strip()):
        return "", None, (match[1], Decimal(match[2]))
    if _ELAPSED.fullmatch(text):
        return "", "date", None
    return "", None if _COLOUR.fullmatch(text) or text.startswith("ENG") else "unknown", None


def decimal_of(raw: str) -> Decimal | None:
    """Return the number of a cell; None for a text that is no number of a spreadsheet."""
    try:
        number = Decimal(raw) if len(raw) <= _LONGEST_NUMBER else None
    except InvalidOperation:
        return None
    is_storable = number is not None and number.is_finite() and abs(number.adjusted()) <= _MOST_PLACES
    return number if is_storable else None


def _chosen(sections: tuple[Section, ...], number: Decimal) -> tuple[Section | None, bool]:
    """Return the section that shows a number, and whether it shows the sign itself."""
    several = len(sections)
    usual = [number > 0 if several > 2 else number >= 0 or several == 1, number < 0 if several > 2 else True, True]
    for at, section in enumerate(sections):
        own = section.condition
        if _HOLDS[own[0]](number, own[1]) if own else usual[at]:
            return section, at == 1 and own is None and sections[0].condition is None
    return None, False


def text_shown(raw: str, sections: tuple[Section, ...], *, since_1904: bool) -> str | None:
    """Return the text of a number cell as a person sees it; None where the format cannot be rendered.

    A day is ISO's. A whole number of more digits than a spreadsheet keeps gets an exponent, so that the rounding is
    visible. What is no number, and a number that its format hides, is as it is stored.
    """
    number = decimal_of(raw)
    if number is None:
        return raw
    section, signed = _chosen(sections, number)
    if section is None or section.kind == "unknown":
        return None
    if section.kind == "date":
        return _day(number, since_1904=since_1904) or _plain_text(number)
    number = number.scaleb(section.power)
    if section.kind == "general" or abs(number) >= 10**_MOST_DIGITS:
        return section.around(_plain_text(number))
    text = _with_digits(section, abs(number))
    if not text.strip():
        return _plain_text(number)
    return text.strip() if signed or number >= 0 or not re.search(r"[1-9]", text) else f"-{text.strip()}"


def _with_digits(section: Section, number: Decimal) -> str:
    """Return the parts of a section with the digits of a number in its places."""
    kinds = [part.kind for part in section.parts]
    point = kinds.index("point") if "point" in kinds else len(kinds)
    decimals = kinds[point:].count("place")
    whole, _, fraction = f"{number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}".partition(".")
    whole = whole.lstrip("0")
    before: list[str] = []
    left = kinds[:point].count("place")
    for part in reversed(section.parts[:point]):
        if part.kind != "place":
            before.append(part.text)
            continue
        left -= 1
        before.append(whole if not left else whole[-1:] or ("0" if part.text == "0" else ""))
        whole = whole[:-1]
        if not left and not before[-1] and part.text == "0":
            before[-1] = "0"
    behind: list[str] = []
    kept, at = len(fraction.rstrip("0")), 0
    for part in section.parts[point:]:
        is_place = part.kind == "place"
        behind.append(part.text if not is_place else fraction[at] if part.text == "0" or at < kept else "")
        at += is_place
    return "".join([*reversed(before), *behind])


def number_shown(raw: str, sections: tuple[Section, ...], *, since_1904: bool) -> str:
    """Return the text of a cell in a column of numbers: the number, with all its digits, and the words beside it.

    `0.0," kg"` makes 1500 the text `1.5 kg`. Three decimals get a fourth, so that they are not read as thousands. A
    number whose format writes words only is these words; one that its format hides is the number.
    """
    number = decimal_of(raw)
    if number is None:
        return raw
    section, _ = _chosen(sections, number)
    if section is None or section.is_plain:
        return raw
    if section.kind == "date":
        return _day(number, since_1904=since_1904) or raw
    number = number.scaleb(section.power)
    if not any(part.kind == "place" for part in section.parts):
        return section.words.strip()
    plain = _plain_text(number)
    if not section.words.strip(_WITHOUT_MEANING):
        return plain
    return section.around(f"{plain}{'0' if _THREE_DECIMALS.search(plain) else ''}")


def _plain_text(number: Decimal) -> str:
    if number == number.to_integral_value():
        return f"{int(number)}" if abs(number) < 10**_MOST_DIGITS else f"{number:.14E}"
    return f"{float(number):.{_MOST_DIGITS}g}"


def _day(serial: Decimal, *, since_1904: bool) -> str | None:
    """Return the ISO day of a serial number. The 1900 system takes 1900 for a leap year: its day 60 does not exist."""
    days = int(serial)
    start = date(1904, 1, 1) if since_1904 else date(1899, 12, 31 if days < 60 else 30)
    try:
        return (start + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


_DAYS: Final = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
_BUILT_IN: Final = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    12: "# ?/?",
    13: "# ??/??",
    **dict.fromkeys(_DAYS, "yyyy-mm-dd"),
}
"""Formats that a workbook uses by their number; those that are missing here show the plain number."""
GENERAL: Final = sections_of("General")


class Styles(NamedTuple):
    """The number format of each cell style, by the style's number, and the styles whose font is crossed out."""

    formats: Sequence[tuple[Section, ...]] = ()
    struck: frozenset[int] = frozenset()


def read_styles(package: Package, path: str | None) -> Styles:
    """Return the cell styles of a workbook; none where it has no such part."""
    if path is None:
        return Styles()
    own: dict[int, str] = {}
    ids: list[int] = []
    fonts: list[int] = []
    struck_fonts: set[int] = set()
    in_cell_styles = False
    font = -1

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal in_cell_styles, font
        match local_name(name):
            case "numFmt":
                own[_number(attributes.get("numFmtId"))] = attributes.get("formatCode", "")
            case "font":
                font += 1
            case "strike" if is_raised("strike", attributes):
                struck_fonts.add(font)
            case "cellXfs":
                in_cell_styles = True
            case "xf" if in_cell_styles:
                ids.append(_number(attributes.get("numFmtId")))
                fonts.append(_number(attributes.get("fontId")))

    def end(name: str) -> None:
        nonlocal in_cell_styles
        if local_name(name) == "cellXfs":
            in_cell_styles = False

    package.elements(path, start, end)
    formats = {number: sections_of(own.get(number, _BUILT_IN.get(number, "General"))) for number in set(ids)}
    struck = frozenset(style for style, of_style in enumerate(fonts) if of_style in struck_fonts)
    return Styles([formats[number] for number in ids], struck)


def _number(text: str | None) -> int:
    return int(text) if text is not None and len(text) < 10 and text.isascii() and text.isdigit() else 0
