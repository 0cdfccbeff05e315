"""Finds the article's code and name by what the other columns are and by the values, where the headers do not say it.

`Material` over numbers is SAP's number of the article; `No.` beside a barcode is the article's number, where its
values differ from line to line and are no running count. What no header and no value tells is only suggested, in the
refusal of `missing_column.py`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl

from pipelines.reading.columns import recognise
from pipelines.reading.fields import Column, Table
from pipelines.reading.grammar import word_roles
from pipelines.reading.grid import Grid
from pipelines.reading.labels import Cells
from pipelines.reading.material_texts import family_of_detail
from pipelines.reading.part_types import names_part
from pipelines.reading.values import read_values
from schemas.fields import SKU_CODE
from schemas.words import code_of, fold

_LINES: Final = 200
"""Lines below the header that are examined."""
_MATERIALS: Final = ("material", "material_subtype")
_SHORT: Final = 40
"""Characters of the longest code."""
_MOST: Final = 0.8


class Searched(NamedTuple):
    """The header whose columns are wanted: its row `at`, its line in the file, and its labels."""

    grid: Grid
    table: Table
    sheet: str | None
    at: int
    line: int
    cells: Cells

    def under(self, at: int) -> pl.Series:
        """Return the cells given below the header in a column."""
        return self.grid.under(at, self.at, _LINES)

    def beside(self, first: int, second: int) -> pl.DataFrame:
        """Return the lines below the header that give both columns, as `first` and `second`."""
        names = [f"c{at}" for at in (first, second)]
        rows = self.grid.cells.select(names[0], second=names[1]).rename({names[0]: "first"})
        return rows.slice(self.at + 1, _LINES).drop_nulls()


def without_article_numbers(found: list[Column], chosen: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns with SAP's `Material` as the code where its cells are numbers of articles and no materials.

    A kind of material beside it (`Materialart`: VERP) is none of the packaging where none of its cells is a material.
    """
    if any(column.field == SKU_CODE for column in (*found, *chosen)):
        return found
    own = [column for column in found if column.name == "material" and fold(column.header) == "material"]
    if len(own) != 1 or not _are_codes(cells := header.under(own[0].position)) or _names_material(cells):
        return found
    code = replace(own[0], name=SKU_CODE.name, field=SKU_CODE, exact=False)
    others = [column for column in found if column is not own[0]]
    strange = [c for c in others if c.name in _MATERIALS and not _names_material(header.under(c.position))]
    return [code, *(column for column in others if column not in strange)]


def with_code(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with one for the code, where none is: a plain number of the line's own, else the barcode."""
    if any(column.name == SKU_CODE.name for column in columns):
        return columns
    taken = {column.position for column in columns}
    numbers = [
        at
        for at, cell in enumerate(header.cells)
        if cell is not None and at not in taken and _is_plain_number(cell) and _identifies(at, header)
    ]
    if header.table == "sku" and len(numbers) == 1:
        at = numbers[0]
        return [Column(SKU_CODE.name, SKU_CODE, "sku", at, header.cells[at] or ""), *columns]
    barcodes = [column for column in columns if column.name == "gtin"]
    if header.table == "component":
        seen = ((at, recognise(cell, at, "sku")) for at, cell in enumerate(header.cells) if cell is not None)
        barcodes = [column for _, column in seen if column is not None and column.name == "gtin"]
    if len(barcodes) != 1:
        return columns
    code = replace(barcodes[0], name=SKU_CODE.name, field=SKU_CODE, table=header.table, exact=False)
    return [code, *columns]


def best_fitting(columns: Sequence[Column], header: Searched) -> Column | None:
    """Return the column of several of one field whose cells fit it best; None where no cell of any fits."""
    shares = [_share_of_fitting(column, header.under(column.position)) for column in columns]
    return columns[shares.index(max(shares))] if max(shares) > 0 else None


def likely_code(header: Searched, taken: Sequence[int]) -> int | None:
    """Return the free column that is most likely the code: unlike words, one value a line, named like a code."""
    free = [at for at, cell in enumerate(header.cells) if cell is not None and at not in taken]
    fitting = [at for at in free if _are_codes(header.under(at))]
    fitting = fitting or [at for at in free if _are_names_of_one_line(header.under(at))]

    def merit(at: int) -> tuple[bool, bool, float]:
        cells, roles = header.under(at), word_roles(header.cells[at] or "")
        return bool(roles & {"code", "thing"}), cells.n_unique() == len(cells), -at

    return max(fitting, key=merit, default=None)


def likely_type(header: Searched, taken: Sequence[int]) -> int | None:
    """Return the free column whose cells mostly name parts of a packaging."""
    free = [at for at, cell in enumerate(header.cells) if cell is not None and at not in taken]
    return next((at for at in free if 2 * sum(map(names_part, cells := header.under(at))) > len(cells)), None)


def likely_name(header: Searched, taken: Sequence[int], code: int | None) -> int | None:
    """Return the free column that is most likely the name: words, as many different ones as there are codes."""
    free = [at for at, cell in enumerate(header.cells) if cell is not None and at not in (*taken, code)]
    fitting = [at for at in free if _are_words(cells := header.under(at)) and _may_name(at, code, cells, header)]
    named = [at for at in fitting if word_roles(header.cells[at] or "") & {"name", "thing"}]
    return next(iter(named or fitting), None)


def _may_name(at: int, code: int | None, cells: pl.Series, header: Searched) -> bool:
    """Return whether words name what the codes number; where no column is the code, words with a space among them."""
    return _follows(at, code, header) if code is not None else bool(cells.str.strip_chars().str.contains(r"\s").any())


def _follows(at: int, code: int, header: Searched) -> bool:
    """Return whether a column says one thing of each code, and not the same of nearly all."""
    rows = header.beside(code, at)
    codes, pairs, texts = rows["first"].n_unique(), rows.unique().height, rows["second"].n_unique()
    return bool(rows.height) and pairs == codes and 2 * texts > codes


def _are_codes(cells: pl.Series) -> bool:
    """Return whether most cells have a digit and no space within, and are no running count and no measured numbers."""
    shaped = (
        cells.str.contains(r"\d") & ~cells.str.strip_chars().str.contains(r"\s") & (cells.str.len_chars() <= _SHORT)
    )
    if not len(cells) or float(shaped.sum()) < _MOST * len(cells):
        return False
    return not _are_counted(cells) and not cells.str.contains(r"^[+-]?\d{0,3}[.,]\d{1,3}$|^\d{1,3}$").all()


def _are_names_of_one_line(cells: pl.Series) -> bool:
    """Return whether each cell is one short word with a letter, and no other line has it."""
    words = cells.str.contains(r"^\s*\S{1,40}\s*$") & cells.str.contains(r"\p{L}")
    return len(cells) > 0 and bool(words.all()) and cells.n_unique() == len(cells)


def _are_words(cells: pl.Series) -> bool:
    return len(cells) > 0 and float(cells.str.contains(r"\p{L}").sum()) >= _MOST * len(cells)


def _are_counted(cells: pl.Series) -> bool:
    """Return whether the cells count the lines: 1, 2, 3, or 10, 20, 30."""
    numbers = cells.str.strip_chars().cast(pl.Int64, strict=False)
    steps = numbers.diff().drop_nulls()
    return not numbers.null_count() and len(numbers) > 1 and steps.n_unique() == 1 and numbers[0] in (0, steps[0])


def _is_plain_number(cell: str) -> bool:
    """Return whether a header is a word for a number and no more: `No.`, `Nr.`, `Code`."""
    return code_of(cell, "header_word") == "code"


def _identifies(at: int, header: Searched) -> bool:
    """Return whether a column gives each line a value of its own that is no running count."""
    cells = header.under(at)
    lines = min(header.grid.cells.height - header.at - 1, _LINES)
    return len(cells) == lines and cells.n_unique() == len(cells) and not _are_counted(cells) and _are_codes(cells)


def _names_material(cells: pl.Series) -> bool:
    return any(family_of_detail(cell) is not None for cell in cells.unique())


def _share_of_fitting(column: Column, cells: pl.Series) -> float:
    """Return the share of cells that the field can contain."""
    if not len(cells):
        return 0.0
    if column.name in _MATERIALS:
        fitting = sum(family_of_detail(cell) is not None or code_of(cell, "material") is not None for cell in cells)
        return fitting / len(cells)
    return 1 - read_values(cells, column, ".", None).faults.height / len(cells)
