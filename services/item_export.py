"""Writes a list of items as a workbook or as CSV, row by row into a file: memory does not grow with the list.

The caller says what is shown of an item: a page writes words, the REST API codes. A text that a spreadsheet would
compute gets a leading `'`.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, Literal, TypeAlias, cast  # Any: items as JSON

from pipelines.workbooks import Cell, Sheet, Workbook
from schemas.formulas import as_cell
from schemas.json_values import JsonMapping
from schemas.numbers import plain

Form: TypeAlias = Literal["csv", "xlsx"]
FORMS: Final[tuple[Form, ...]] = ("csv", "xlsx")
MEDIA_TYPES: Final[Mapping[Form, str]] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
ShowItem: TypeAlias = Callable[[JsonMapping], Sequence[Cell]]

ALWAYS: Final = ("sku_code", "name")
"""The first columns of every list."""
COLUMNS: Final = (
    "recyclability_grade",
    "recyclability_score",
    "doc_status",
    "markets",
    "material",
    "material_subtype",
    "weight_grams",
    "recycled_content_percent",
    "food_contact",
    "packaging_level",
    "packaging_format",
    "product_category",
    "gtin",
    "ppwr_role",
    "brand_id",
    "created_at",
    "updated_at",
)
"""What a list can show of an item besides its name and code, in the order in which it is shown."""

_MARK: Final = "\ufeff"
"""Tells spreadsheets that a CSV is in UTF-8."""
_DELIMITERS: Final = {"en": ",", "fr": ";", "de": ";"}
"""What a spreadsheet in each language takes for the end of a cell."""
_SHEET: Final = "SKU"


@dataclass(frozen=True, slots=True)
class Table:
    """What is written of a list: the headers, and the cells of an item; `lang` decides how CSV writes numbers."""

    headers: Sequence[str]
    cells: ShowItem
    lang: str


def write(out: IO[bytes], form: Form, table: Table, items: Iterable[JsonMapping]) -> None:
    """Write the headers, and a line for each item."""
    (_write_csv if form == "csv" else _write_workbook)(out, table, items)


def _write_csv(out: IO[bytes], table: Table, items: Iterable[JsonMapping]) -> None:
    text = io.TextIOWrapper(cast(Any, out), encoding="utf-8", errors="replace", newline="", write_through=False)
    text.write(_MARK)
    writer = csv.writer(text, delimiter=_DELIMITERS[table.lang])
    writer.writerow([as_cell(header) for header in table.headers])
    for item in items:
        writer.writerow([_text(cell, table.lang) for cell in table.cells(item)])
    text.flush()
    text.detach()


def _text(cell: Cell, lang: str) -> str:
    if cell is None:
        return ""
    return as_cell(cell) if isinstance(cell, str) else plain(cell, lang)


def _write_workbook(out: IO[bytes], table: Table, items: Iterable[JsonMapping]) -> None:
    with Workbook(out, {"constant_memory": True}) as book:
        sheet = Sheet(book, _SHEET, table.headers, frozen_columns=2)
        for item in items:
            sheet.add(enumerate(as_cell(cell) if isinstance(cell, str) else cell for cell in table.cells(item)))
