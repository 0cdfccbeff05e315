"""Finds the number format of each cell style: what `formats.py` renders the numbers of its cells by."""

from typing import Final

from pipelines.reading.office import local_name
from pipelines.reading.workbook.formats import Section, sections_of
from pipelines.reading.workbook.package import Package

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


def read_formats(package: Package, path: str | None) -> list[tuple[Section, ...]]:
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
    formats = {number: sections_of(own.get(number, _BUILT_IN.get(number, "General"))) for number in set(ids)}
    return [formats[number] for number in ids]


def _number(text: str | None) -> int:
    return int(text) if text is not None and len(text) < 10 and text.isascii() and text.isdigit() else 0
