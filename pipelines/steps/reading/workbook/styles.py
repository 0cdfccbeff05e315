"""Cell styles: what a number cell shows under its number format. A text field takes what the sheet shows.

Only what a code, a date or a percentage can look like is followed; every other format shows the plain number.
"""

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Literal

from pipelines.steps.reading.units import unit_of
from pipelines.steps.reading.workbook.package import Package, local

_DATE_IDS = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@"}
_NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_WRITTEN = re.compile(r'"([^"]*)"|\\(.)')
_THREE_DECIMALS = re.compile(r"\.\d{3}$")
_LONGEST_CODE = 200
_PADDED = re.compile(r"(0+)(?:\.(0+))?")
_MOST_DIGITS = 15
"""A spreadsheet keeps fifteen digits of a number; what it shows beyond is rounded."""


@dataclass(frozen=True, slots=True)
class Format:
    """A number format: dates, percentages, or a number with at least so many digits before and after the point.

    `unit` is the unit of mass that the format writes behind the number: `0.0" kg"` shows 1.5 as 1.5 kg.
    """

    kind: Literal["general", "date", "percent", "padded"] = "general"
    before: int = 1
    after: int = 0
    unit: str | None = None


GENERAL = Format()


def read_formats(package: Package, path: str | None) -> list[Format]:
    """The format of each cell style, by the style's number; empty where the workbook has no styles."""
    if path is None:
        return []
    own: dict[int, str] = {}
    formats: list[Format] = []
    for element in package.tree(path).iter():
        if local(element.tag) == "numFmt":
            own[_number(element.get("numFmtId"))] = element.get("formatCode", "")
        elif local(element.tag) == "cellXfs":
            ids = [_number(style.get("numFmtId")) for style in element]
            formats = [_format(number, own) for number in ids]
    return formats


def shown(raw: str, style: Format, *, since_1904: bool) -> str:
    """What a number cell shows: `00123`, `1.10`, `2026-08-12`, `30%`; the plain number in all other formats.

    A whole number of more digits than a spreadsheet keeps is shown with its exponent, as one sees it is rounded.
    """
    try:
        number = Decimal(raw)
    except InvalidOperation:
        return raw
    if style.kind == "date":
        return _day(number, since_1904=since_1904) or _plain(number)
    if style.kind == "percent":
        return f"{_plain(number * 100)}%"
    if style.kind == "padded" and abs(number) < 10**_MOST_DIGITS:
        width = style.before + (style.after + 1 if style.after else 0) + (number < 0)
        return f"{number:0{width}.{style.after}f}"
    return _plain(number)


def with_unit(raw: str, unit: str) -> str:
    """A number with the unit that its format shows; with one decimal more than three, so that it is no thousand."""
    try:
        plain = _plain(Decimal(raw))
    except InvalidOperation:
        return raw
    return f"{plain}{'0' if _THREE_DECIMALS.search(plain) else ''} {unit}"


def _plain(number: Decimal) -> str:
    if not number.is_finite():
        return str(number)
    if number == number.to_integral_value():
        return f"{int(number)}" if abs(number) < 10**_MOST_DIGITS else f"{number:.14E}"
    return f"{float(number):.{_MOST_DIGITS}g}"


def _day(serial: Decimal, *, since_1904: bool) -> str | None:
    """The ISO day of a serial number. Day 60 of the 1900 system never was: it counts 1900 as a leap year."""
    days = int(serial)
    start = date(1904, 1, 1) if since_1904 else date(1899, 12, 31 if days < 60 else 30)
    try:
        return (start + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def _format(number: int, own: dict[int, str]) -> Format:
    written = own.get(number, "")
    unit = _unit(written) if number in own else None
    return replace(_shape(number, own), unit=unit)


def _unit(code: str) -> str | None:
    """The unit of mass in the quoted or escaped text of a format, where it writes one and no other word."""
    first = code.split(";", maxsplit=1)[0][:_LONGEST_CODE]
    words = "".join(quoted or escaped for quoted, escaped in _WRITTEN.findall(first)).strip()
    return words if unit_of(words, "g") is not None else None


def _shape(number: int, own: dict[int, str]) -> Format:
    if number in _DATE_IDS and number not in own:
        return Format("date")
    code = _NOT_SHOWN.sub("", own.get(number, _BUILT_IN.get(number, ""))).split(";")[0].strip()
    if "%" in code:
        return Format("percent")
    if re.search(r"[ymdhs]", code, re.IGNORECASE) and "general" not in code.lower():
        return Format("date")
    if padded := _PADDED.fullmatch(code):
        return Format("padded", len(padded[1]), len(padded[2] or ""))
    return GENERAL


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0
