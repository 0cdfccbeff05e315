"""Reads cell styles and formats number cells by their number format: a text field gets the text that the sheet shows.

Only formats of codes, dates and percentages are applied; every other format shows the plain number.
"""

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Literal

from pipelines.reading.office import local_name
from pipelines.reading.units import unit_of
from pipelines.reading.workbook.package import Package

_DATE_IDS = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@"}
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\[\]]*\]')
_WRITTEN = re.compile(r'"([^"]*)"|\\(.)')
_THREE_DECIMALS = re.compile(r"\.\d{3}$")
_PADDED = re.compile(r"(0+)(?:\.(0+))?")
_LONGEST_FORMAT = 255
"""Characters of the longest number format that a spreadsheet accepts; a longer one is not applied."""
_LONGEST_NUMBER = 64
"""Characters of a number cell's text; spreadsheets write 24 at most: 17 digits, a sign, a point, an exponent."""
_MOST_PLACES = 330
"""Most places before or behind the point, as many as a double can have: arithmetic with more takes longer."""
_MOST_DIGITS = 15
"""A spreadsheet keeps fifteen digits of a number; further digits are rounded."""


@dataclass(frozen=True, slots=True)
class Format:
    """A number format: dates, percentages, or a number with at least `before` and `after` digits around the point.

    `unit` is the unit of mass that the format writes behind the number: `0.0" kg"` shows 1.5 as 1.5 kg.
    """

    kind: Literal["general", "date", "percent", "padded"] = "general"
    before: int = 1
    after: int = 0
    unit: str | None = None


GENERAL = Format()


def read_formats(package: Package, path: str | None) -> list[Format]:
    """Return the format of each cell style, by the style's number; empty where the workbook has no styles."""
    if path is None:
        return []
    own: dict[int, str] = {}
    ids: list[int] = []
    in_cell_styles = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal in_cell_styles
        match local_name(name):
            case "numFmt":
                own[_number(attributes.get("numFmtId"))] = attributes.get("formatCode", "")
            case "cellXfs":
                in_cell_styles = True
            case "xf" if in_cell_styles:
                ids.append(_number(attributes.get("numFmtId")))

    def end(name: str) -> None:
        nonlocal in_cell_styles
        if local_name(name) == "cellXfs":
            in_cell_styles = False

    package.elements(path, start, end)
    formats = {number: _format(number, own) for number in set(ids)}
    return [formats[number] for number in ids]


def shown(raw: str, style: Format, *, since_1904: bool) -> str:
    """Return the text of a number cell: `00123`, `1.10`, `2026-08-12`, `30%`; the plain number in all other formats.

    A whole number of more digits than a spreadsheet keeps gets an exponent, so that the rounding is visible. A text
    that is no number of a spreadsheet is returned as it is written.
    """
    number = _decimal(raw)
    if number is None:
        return raw
    if style.kind == "date":
        return _day(number, since_1904=since_1904) or _plain_text(number)
    if style.kind == "percent":
        return f"{_plain_text(number * 100)}%"
    if style.kind == "padded" and abs(number) < 10**_MOST_DIGITS:
        width = style.before + (style.after + 1 if style.after else 0) + (number < 0)
        return f"{number:0{width}.{style.after}f}"
    return _plain_text(number)


def _decimal(raw: str) -> Decimal | None:
    try:
        number = Decimal(raw) if len(raw) <= _LONGEST_NUMBER else None
    except InvalidOperation:
        return None
    is_storable = number is not None and number.is_finite() and abs(number.adjusted()) <= _MOST_PLACES
    return number if is_storable else None


def with_unit(raw: str, unit: str) -> str:
    """Return a number with its format's unit; three decimals get a fourth, so that it is not read as thousands."""
    number = _decimal(raw)
    if number is None:
        return raw
    plain = _plain_text(number)
    return f"{plain}{'0' if _THREE_DECIMALS.search(plain) else ''} {unit}"


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


def _format(number: int, own: dict[int, str]) -> Format:
    written = own.get(number, "")
    unit = _unit_in_code(written) if number in own else None
    return replace(_format_of_code(number, own), unit=unit)


def _unit_in_code(code: str) -> str | None:
    """Return the unit of mass in the quoted or escaped text of a format, where it writes one and no other word."""
    first = code.split(";", maxsplit=1)[0][:_LONGEST_FORMAT]
    words = "".join(quoted or escaped for quoted, escaped in _WRITTEN.findall(first)).strip()
    return words if unit_of(words, "g") is not None else None


def _format_of_code(number: int, own: dict[int, str]) -> Format:
    if number in _DATE_IDS and number not in own:
        return Format("date")
    written = own.get(number, _BUILT_IN.get(number, ""))
    if len(written) > _LONGEST_FORMAT:
        return GENERAL
    code = _NOT_SHOWN.sub("", written).split(";")[0].strip()
    if "%" in code:
        return Format("percent")
    if re.search(r"[ymdhs]", code, re.IGNORECASE) and "general" not in code.lower():
        return Format("date")
    if padded := _PADDED.fullmatch(code):
        return Format("padded", len(padded[1]), len(padded[2] or ""))
    return GENERAL


def _number(text: str | None) -> int:
    return int(text) if text is not None and len(text) < 10 and text.isascii() and text.isdigit() else 0
