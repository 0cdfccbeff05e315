"""Writes the template as an .xlsx with the same bytes each time, so that nobody needs to fetch it again."""

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final  # Any: XlsxWriter ships no types

import xlsxwriter

from pipelines.imports.template.columns import Column, columns
from pipelines.reading.fields import Table
from pipelines.reading.sheet import MOST_ROWS
from schemas.labels import word

_MADE: Final = datetime(2026, 1, 1)  # noqa: DTZ001  (a workbook's dates have no zone; this one only has to stay)
_MAIN, _LISTS = "SKU", "lists"
_TEXTS: Final = ("text", "gtin", "uuid", "markets", "ppm")
"""Kinds whose cells are text, so that a spreadsheet keeps leading zeros."""
_NARROWEST: Final = 12
"""The least width of a column, in characters."""
_COMMENT: Final = {"x_scale": 2.2, "y_scale": 1.6}


@cache
def template(lang: str) -> bytes:
    """Write the workbook in one of `schemas.labels.LANGUAGES`."""
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, {"in_memory": True}) as book:
        book.set_properties({"created": _MADE})
        lists = _Lists(book)
        _write(book, lists, _MAIN, "sku", lang)
        _write(book, lists, word("sheet", "components", lang).capitalize(), "component", lang)
        lists.finish()
    return target.getvalue()


def _write(book: Any, lists: "_Lists", name: str, table: Table, lang: str) -> None:
    sheet = book.add_worksheet(name)
    head = book.add_format({"bold": True, "bottom": 1, "bg_color": "#E8EEF4"})
    needed = book.add_format({"bold": True, "bottom": 1, "bg_color": "#F6D9A8"})
    text, example = book.add_format({"num_format": "@"}), book.add_format({"italic": True, "font_color": "#666666"})
    own = columns(table, lang)
    for at, column in enumerate(own):
        width = max(_NARROWEST, len(column.header) + 2)
        sheet.set_column(at, at, width, text if column.field.kind in _TEXTS else None)
        sheet.write_string(0, at, column.header, needed if column.field.required else head)
        sheet.write_comment(0, at, column.comment, _COMMENT)
        if column.choices:
            sheet.data_validation(1, at, MOST_ROWS, at, lists.rule(column))
    for line, record in enumerate(_examples(table, lang), 1):
        for at, column in enumerate(own):
            if column.name in record:
                sheet.write(line, at, _shown(column, record[column.name], lang), example)
    sheet.freeze_panes(1, 1)


def _examples(table: Table, lang: str) -> Iterator[dict[str, str]]:
    """Yield the lines of the example. Their code is a word for an example, by which an import skips them."""
    with (Path(__file__).parent / "example.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["sheet"] == table and row["lang"] in ("*", lang)]
    for line in dict.fromkeys(row["line"] for row in rows):
        given = {row["field"]: row["value"] for row in rows if row["line"] == line}
        yield {"sku_code": f"{word('line', 'example', lang).upper()}-001", **given}


def _shown(column: Column, value: str, lang: str) -> str | float:
    """Return a value of the example as people of the language write it."""
    kind = column.field.kind
    if kind in ("number", "integer"):
        return float(value)
    if kind == "truth":
        return word("truth", value, lang)
    if kind in ("code", "codes") and column.field.vocabulary:
        return word(column.field.vocabulary, value, lang)
    return value


class _Lists:
    """The words of the drop-downs, on a hidden sheet: a rule itself has room for a list of 255 characters."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._of: dict[tuple[str, ...], int] = {}

    def rule(self, column: Column) -> dict[str, object]:
        """Return the rule of a column. It only advises: the import also takes codes, other words, and several."""
        at = self._of.setdefault(column.choices, len(self._of))
        letters = xlsxwriter.utility.xl_col_to_name(at, col_abs=True)
        source = f"={_LISTS}!{letters}$1:{letters}${len(column.choices)}"
        return {
            "validate": "list",
            "source": source,
            "error_type": "warning",
            "show_error": column.field.kind != "codes",
        }

    def finish(self) -> None:
        """Write the lists, behind the sheets that people fill in."""
        sheet = self._book.add_worksheet(_LISTS)
        for choices, at in self._of.items():
            sheet.write_column(0, at, choices)
        sheet.hide()
