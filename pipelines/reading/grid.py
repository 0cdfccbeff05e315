"""Defines what reading works on: the grid, the common form of a CSV text and a sheet, and the columns read from it.

Only shapes belong here: a grid with the spreadsheet names of its columns, the fields that a table's columns contain, a
column, and a typed column with its faults. `text.py` and `workbook/` read bytes into a grid; `header.py` finds a header
in it, `columns.py` recognises headers, and `values.py` reads cells.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias  # Any: members of a row, of several types

import polars as pl
from polars._typing import PolarsDataType

from schemas.fields import COMPONENT_FIELDS, SKU_CODE, SKU_FIELDS, Field
from schemas.imports.types import ImportSource
from schemas.issues import Issue
from schemas.messages import Message, to_json
from schemas.normalise import Unfit
from schemas.vocabularies import SUBSTANCES


class ReadingRefused(Exception):  # noqa: N818  (a verdict on a file, with its reasons; not a failure of ours)
    """The file cannot be imported as it is; `issues` says what is wrong and what would be right.

    `outline` describes the columns of a table that lacks a needed one, so that a person can say which it is.
    """

    def __init__(self, issues: list[Issue], outline: ImportSource | None = None) -> None:
        """Take at least one issue."""
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues, self.outline = issues, outline

    def of_field(self, field: str | None) -> list[Issue]:
        """Return the issues; those that name no field get `field`, the part that the file came in."""
        return [replace(issue, field=issue.field or field) for issue in self.issues]


def refuse(code: str, message: Message, field: str | None = None) -> ReadingRefused:
    """Return a refusal for one reason, to be raised; `code` is one of `schemas.issues.ISSUE_CODES`."""
    return ReadingRefused([Issue(code=code, message=message, field=field)])


def invalid_mapping(message: Message, field: str = "mapping") -> ReadingRefused:
    """Return a refusal of the caller's mapping, to be raised; `field` is the part of it that is wrong."""
    return refuse("invalid_mapping", message, field)


MOST_COLUMNS = 4_096

TEXT, NUMBER, NO_VALUE, DAY, NOT_SHOWN = range(5)
"""Kinds of cells in `Grid.kinds`."""


LINES_OF_SHEET: Final = 1 << 32
"""A table of several sheets numbers its lines on: line 5 of its second sheet is this and 5 (`Sheet.places`)."""


Cells: TypeAlias = list[str | None]
"""The cells of one line."""


class ReadSheet(NamedTuple):
    """One of the several sheets that a table is read from, and the line of its header."""

    name: str
    header_row: int


def own_line(line: int) -> int:
    """Return a line of a table as its own sheet counts it."""
    return line % LINES_OF_SHEET


def sheet_starts(lines: pl.Series) -> list[int]:
    """Return the rows at which a further sheet of the table begins."""
    if not len(lines) or lines[-1] < LINES_OF_SHEET:
        return []
    starts: list[int] = ((lines // LINES_OF_SHEET).diff() > 0).fill_null(value=False).arg_true().to_list()
    return starts


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that cannot be read as cells. `line` counts as the caller's editor or spreadsheet shows it.

    `sku_codes` are all that its cell may name.
    """

    line: int
    code: str
    message: Message
    value: str | None
    sku_code: str | None = None
    sku_codes: tuple[str, ...] = ()


def codes_of_faults(faults: Iterable[LineFault]) -> set[str]:
    """Return the codes of all SKUs that lines may be of."""
    return {code for fault in faults for code in (fault.sku_code, *fault.sku_codes) if code is not None}


_REMARKS: Final = 40


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells as text, one String column per position (`c0`, `c1`, …), an empty cell as null, no row without a cell.

    `lines` are the line numbers of the rows. `kinds` says of each cell whether a workbook stores it as `TEXT`, as a
    `NUMBER`, as a formula with `NO_VALUE`, as a `DAY`, or as a number in a format that is `NOT_SHOWN` here; it is None
    where cells have no type. Lines among `faults` have no row. `widths` is the number of cells of each line, where
    lines can differ; `filled` is the number of cells that each row gives, where the grid has only some of its columns.
    `struck` are the lines of which a workbook crosses out every cell, `struck_cells` the line and the position of such
    cells in others. `remarks` stand on sheets before this one that have no table.
    """

    cells: pl.DataFrame
    lines: pl.Series
    faults: tuple[LineFault, ...] = ()
    kinds: pl.DataFrame | None = None
    widths: dict[int, int] = field(default_factory=dict)
    filled: pl.Series | None = None
    struck: frozenset[int] = frozenset()
    struck_cells: frozenset[tuple[int, int]] = frozenset()
    remarks: tuple[str, ...] = ()

    def row(self, index: int) -> list[str | None]:
        """Return the cells of one row by position; a grid need not have all columns."""
        by_position = {
            int(name[1:]): cell for name, cell in zip(self.cells.columns, self.cells.row(index), strict=True)
        }
        return [by_position.get(at) for at in range(max(by_position, default=-1) + 1)]

    def under(self, at: int, row: int, lines: int) -> pl.Series:
        """Return the cells given in a column, in some rows below one; row -1 is above the first."""
        none = pl.Series([], dtype=pl.String)
        return self.cells.get_column(f"c{at}", default=none).slice(row + 1, lines).drop_nulls()

    def mostly(self, positions: Iterable[int], row: int, lines: int, fits: pl.Expr, share: float) -> list[int]:
        """Return the columns of which such a share of the cells that `under` returns fit, in one query for all."""
        names = set(self.cells.columns)
        held = {name: at for at in positions if (name := f"c{at}") in names}
        if not held:
            return []
        below = self.cells.select(held.keys()).slice(row + 1, lines)
        fitting, given = (below.select(each.sum()).row(0) for each in (fits, pl.all().is_not_null()))
        return [
            at for at, many, all_of in zip(held.values(), fitting, given, strict=True) if 0 < many >= share * all_of
        ]

    def cells_given(self) -> pl.Series:
        """Return the number of cells that each row gives."""
        if self.filled is not None:
            return self.filled
        return self.cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()

    def remarks_below(self, row: int) -> list[str]:
        """Return the cells below a row that stand alone in their line, as remarks do: the last of them."""
        alone = self.cells.with_columns(given=self.cells_given())[row + 1 :].filter(pl.col("given") == 1).drop("given")
        return [cell for cells in alone[-_REMARKS:].rows() for cell in cells if cell is not None]

    def where(self, kept: pl.Series, faults: Sequence[LineFault] = ()) -> "Grid":
        """Return the rows where `kept` is true, and further faults among those of the grid."""
        return replace(
            self,
            cells=self.cells.filter(kept),
            lines=self.lines.filter(kept),
            kinds=None if self.kinds is None else self.kinds.filter(kept),
            filled=None if self.filled is None else self.filled.filter(kept),
            faults=tuple(sorted((*self.faults, *faults), key=lambda fault: fault.line)),
        )

    def below(self, line: int) -> "Grid":
        """Return the rows after a line."""
        return replace(self.where(self.lines > line), faults=tuple(fault for fault in self.faults if fault.line > line))


def one_below_another(grids: Sequence[Grid]) -> Grid:
    """Return the grids of the sheets of one table, which have the same columns, as one."""
    if len(grids) == 1:
        return grids[0]
    return Grid(
        pl.concat(grid.cells for grid in grids),
        pl.concat(grid.lines + at * LINES_OF_SHEET for at, grid in enumerate(grids)),
        kinds=pl.concat(grid.kinds for grid in grids if grid.kinds is not None),
        filled=pl.concat(grid.cells_given().cast(pl.UInt32) for grid in grids),
        struck=frozenset(line + at * LINES_OF_SHEET for at, grid in enumerate(grids) for line in grid.struck),
        struck_cells=frozenset(
            (line + at * LINES_OF_SHEET, place) for at, grid in enumerate(grids) for line, place in grid.struck_cells
        ),
    )


def check_width(columns: int) -> None:
    """Refuse a table with too many columns, before memory is spent on them."""
    if columns > MOST_COLUMNS:
        message = Message(
            "A line has {columns} cells; at most {most} columns are read. Is the delimiter right?",
            columns=columns,
            most=MOST_COLUMNS,
        )
        raise refuse("unreadable_file", message)


def letter(position: int) -> str:
    """Return the spreadsheet's name of a column, counted from 0: A, B, …, Z, AA."""
    name = ""
    position += 1
    while position:
        position, rest = divmod(position - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def position(name: str) -> int:
    """Return the position, counted from 0, of a column named by its letters."""
    total = 0
    for character in name.upper():
        total = total * 26 + ord(character) - ord("A") + 1
    return total - 1


def blank_to_null(frame: pl.DataFrame) -> pl.DataFrame:
    """Set cells of only white space, no-break spaces included, to null: an empty cell.

    Only columns with a cell that does not begin with a visible ASCII character are examined closely.
    """
    begins = frame.select(((pl.all() < "!") | (pl.all() > "~")).any())
    names = [of_column.name for of_column in begins if of_column.any()]
    unsure = pl.col(names)
    return frame.with_columns(pl.when(unsure.str.strip_chars() != "").then(unsure)) if names else frame


def repeated(value: object, height: int, dtype: PolarsDataType = pl.Boolean) -> pl.Series:
    """Return a series of one value, as `pl.repeat` does, which takes ten times as long for few rows."""
    return pl.Series([value], dtype=dtype).new_from_index(0, height)


def without_blank_rows(cells: pl.DataFrame, lines: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Return the rows that have a cell, and their lines."""
    cells = blank_to_null(cells)
    filled = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series() if cells.width else lines > 0
    return (cells, lines) if filled.all() else (cells.filter(filled), lines.filter(filled))


Table = Literal["sku", "component"]

NUMBERS: Final = ("number", "integer", "ppm")
"""Kinds of fields whose cells are numbers."""
CLEARED: Final = ("null", "NULL")
"""The word that clears a field, as people and as databases write it."""
LONGEST_HEADER: Final = 200
"""Characters; a longer cell is a text and no header."""
LONGEST_VALUE: Final = 255
"""Characters of a cell that contains a number, a code, a date or a truth value."""
LONGEST_LIST: Final = 32_767
_LIMITS: Final = ("minimum", "maximum", "max_length")


@cache
def import_fields(group: str) -> tuple[Field, ...]:
    """Return the fields of a group that exist only as columns of a file (`import_fields.csv`)."""
    fields: list[Field] = []
    with (Path(__file__).parent / "import_fields.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("group") == group]
    for substance in SUBSTANCES if any("{" in row["name"] for row in rows) else ("",):
        for row in rows:
            members: dict[str, Any] = {name: cell for name, cell in row.items() if cell}
            limits = {name: int(members[name]) for name in _LIMITS if name in members}
            fields.append(Field(**members | limits | {"name": row["name"].format(substance=substance)}))
    return tuple(fields)


[VOLUME] = import_fields("volume")
"""The field of every volume column: a whole number of units."""
SUBSTANCE_DETAILS: Final = import_fields("detail")
"""The keys of a substance entry, side by side."""
[VOLUME_YEAR] = import_fields("year")
[VOLUME_HALF] = import_fields("half")
WEIGHT_HELPERS: Final = import_fields("weight")
WEIGHTS: Final = ("weight_grams", "weight_g", "measured_weight_g")
"""Names of the fields that a column of units applies to."""
FIELDS_OF_PART: Final = {
    "material": "material_family",
    "material_subtype": "polymer_or_grade",
    "weight_grams": "weight_g",
    "recycled_content_percent": "recycled_content_percent",
}
"""SKU column -> component column, in a group and where the lines of a SKU are its components."""
SUPPLIER: Final = next(field for field in COMPONENT_FIELDS if field.name == "supplier_id")
"""A SKU has no supplier, its parts have: a row's supplier is that of each part of the row that names none."""
[ARTICLE] = import_fields("article")
"""The supplier's number of a part: no field of it, as another supplier of the part has another (decision 0106)."""
BESIDE: Final = {"printed": import_fields("mark"), "roles": import_fields("role")}
"""What a row says of its SKU that is stored beside it, by the typed column: what is printed on it, who is who."""
SKU_HELPERS: Final = (VOLUME_YEAR, VOLUME_HALF, *WEIGHT_HELPERS, SUPPLIER, *BESIDE["printed"], *BESIDE["roles"])
PART_HELPERS: Final = (*WEIGHT_HELPERS, *import_fields("part"))
"""Columns that only qualify another column, or are stored beside the SKU. None is a field of the record."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a field is read from.

    `name` is the column's own name as published (`weight_g`, `annual_volume_fr_2026`); `factor` converts its
    numbers to the field's unit; `exact` is true where the header is the field's own name, letter for letter.
    Columns of one `group` describe one component of each line's SKU; `fixed` are fields that its header gives.
    `mapped` is true where the caller's mapping names the column; `constant` is the mapping's cell for every line, where
    the file does not have the column. `names` are those of the company's records that the column may refer to.
    `per` is the part of the factor that holds in any unit, 0.001 for `per 1000`; `has_unit` is true where the header
    names a unit. `open` is what was not understood of its header: such a column is asked about and not read. `part` is
    the quarter or the month of its units, `q1` or `m12`: those of a year are added up.
    """

    name: str
    field: Field
    table: Table
    position: int
    header: str
    factor: Decimal = Decimal(1)
    exact: bool = False
    market: str | None = None
    year: int | None = None
    half: int = 0
    part: str = ""
    group: str | None = None
    fixed: tuple[tuple[str, str], ...] = ()
    mapped: bool = False
    constant: str | None = None
    names: tuple[str, ...] = ()
    per: Decimal = Decimal(1)
    has_unit: bool = False
    open: str | None = None


def cut(text: str, longest: int = LONGEST_HEADER) -> str:
    """Return a text of the file as it is quoted: cut where it is longer than so many characters, as a header's."""
    return text if len(text) <= longest else text[:longest] + "…"


def with_component_prefix(columns: Sequence[Column]) -> list[Column]:
    """Put `component_` before the names of components' columns that a column of the SKU has too."""
    own = {column.name for column in columns if column.table == "sku"}
    return [replace(c, name=f"component_{c.name}") if c.table == "component" and c.name in own else c for c in columns]


@cache
def fields_of(table: Table) -> dict[str, Field]:
    """Return the fields that a column of the table can contain, by name."""
    own = SKU_FIELDS if table == "sku" else (SKU_CODE, *COMPONENT_FIELDS)
    helpers = SKU_HELPERS if table == "sku" else PART_HELPERS
    of_supplier = () if table == "sku" else (ARTICLE,)
    extra = (*import_fields("status"), *import_fields("value"), *SUBSTANCE_DETAILS, *helpers, *of_supplier)
    return {field.name: field for field in (*own, *extra) if field.kind not in ("substances", "components")}


def longest_cell(field: Field) -> int:
    """Return the characters of the longest cell that is read as the field; a spreadsheet cell has at most 32 767."""
    if field.kind in ("text", "marks") and field.max_length is not None:
        return field.max_length
    return LONGEST_LIST if field.kind in ("codes", "markets") else LONGEST_VALUE


FAULTS = pl.Schema({"at": pl.UInt32, "code": pl.String, "message": pl.String})
NO_FAULTS: Final = pl.DataFrame(schema=FAULTS)


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A typed column and its faults: `at` is the row's position, one row a fault. A faulty cell is null."""

    values: pl.Series
    faults: pl.DataFrame


def faults_where(where: pl.Series, code: str, message: Message) -> pl.DataFrame:
    """Return one fault for each row where `where` is true."""
    if not where.any():
        return NO_FAULTS
    at = where.fill_null(value=False).arg_true().cast(pl.UInt32)
    return pl.DataFrame({"at": at}).with_columns(code=pl.lit(code), message=pl.lit(to_json(message)))


def all_faults(faults: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return faults of one column as one table."""
    some = [of_cells for of_cells in faults if of_cells.height]
    return pl.concat(some) if some else NO_FAULTS


FEW: Final = 2_000
"""Cells of a column that are read sooner without further threads, and looked up sooner by Python."""


def read_distinct(cells: pl.Series, read: Callable[[str], object], dtype: PolarsDataType) -> TypedColumn:
    """Apply `read` once to each distinct cell; its `Unfit` becomes the fault of every row with that cell."""
    few = cells.to_list() if len(cells) <= FEW else None
    values: dict[str, object] = {}
    faults: dict[str, tuple[str, str]] = {}
    for cell in cells.unique(maintain_order=True) if few is None else dict.fromkeys(few):
        if cell is not None:
            try:
                values[cell] = read(cell)
            except Unfit as unfit:
                faults[cell] = unfit.code, to_json(unfit.message)
    if few is not None:
        typed = pl.Series([None if cell is None else values.get(cell) for cell in few], dtype=dtype)
    else:
        read_as = pl.Series(list(values.values()), dtype=dtype)
        typed = cells.replace_strict(list(values), read_as, default=None, return_dtype=dtype)
    rows = [(at, *faults[cell]) for at, cell in enumerate(cells) if cell in faults] if faults else []
    return TypedColumn(typed, pl.DataFrame(rows, schema=FAULTS, orient="row") if rows else NO_FAULTS)


_FEWEST: Final = 2
"""Fewest figures of a sum: one figure may also be repeated by chance."""
_NEAR: Final = 1e-6


class Sums:
    """The sums of a column down to each line, without lines that were found to be totals."""

    def __init__(self, values: pl.Series) -> None:
        self._whole = values.fill_null(0).cum_sum()
        self._many = values.is_not_null().cum_sum()
        self._left_out, self._left, self._before, self._count = 0.0, 0, 0.0, 0

    def fit(self, at: int, figure: float | None) -> bool:
        """Return whether a figure is the sum of those above it, from the top or from the last total."""
        if figure is None or not at:
            return False
        whole, many = self._whole[at - 1] - self._left_out, self._many[at - 1] - self._left
        ranges = ((whole, many), (whole - self._before, many - self._count))
        return any(abs(figure - total) <= _NEAR * max(abs(total), 1.0) and count >= _FEWEST for total, count in ranges)

    def leave_out(self, at: int, figure: float | None) -> None:
        """Leave a total out of later sums, and begin another one below it."""
        self._left_out += figure or 0.0
        self._left += bool(figure)
        self.begin(at)

    def begin(self, at: int) -> None:
        """Begin another sum below a line."""
        self._before = self._whole[at] - self._left_out
        self._count = self._many[at] - self._left


_PAIRS: Final = (('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("‚", "‘"))
_WRAPPED: Final = [
    rf"^\s*{re.escape(begin)}\s*([^{re.escape(begin + end)}]*?[^{re.escape(begin + end)}\s])\s*{re.escape(end)}\s*$"
    for begin, end in _PAIRS
]


def without_marks(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells without the quotation marks around codes; where all codes have them, around other cells too.

    A file has them that was written with a space before each mark, or with single ones. A name in quotation marks
    beside a plain code keeps them.
    """
    codes = cells["sku_code"]
    if not codes.str.contains(r"^\s*\W.*\W\s*$").any():
        return cells
    everywhere = False
    for pattern in _WRAPPED:
        if codes.str.contains(pattern).any():
            everywhere |= bool(codes.drop_nulls().str.contains(pattern).all())
            names = cells.columns if everywhere else ["sku_code"]
            cells = cells.with_columns(pl.col(names).str.replace(pattern, "$1"))
    return cells


NUMBERED: Final = re.compile(r"^\s*\(?(\d{1,2}|[a-z])[.)]\s*(?=[^\W\d_])", re.IGNORECASE)
"""A running number or letter before a header."""
_FEWEST_NUMBERED: Final = 3


def without_numbering(cells: Cells) -> Cells:
    """Return headers without their running numbers or letters: `1. SKU | 2. Name | 3. Weight`."""
    found = [None if cell is None else NUMBERED.match(cell) for cell in cells]
    marks = [match[1].lower() for match in found if match is not None]
    filled = sum(cell is not None for cell in cells)
    running = [str(at) for at in range(1, filled + 1)], [chr(ord("a") + at) for at in range(min(filled, 26))]
    if filled < _FEWEST_NUMBERED or marks not in running:
        return cells
    return [None if cell is None else NUMBERED.sub("", cell) for cell in cells]


def join_titles(titles: Cells, parts: Cells) -> Cells:
    """Return each part behind the title that covers it."""
    over = covering_titles(titles, parts)
    return [
        title if part is None else part if above is None else f"{above} {part}"
        for title, part, above in zip(titles, parts, over, strict=True)
    ]


def covering_titles(titles: Cells, parts: Cells) -> Cells:
    """Return the title over each part: the last one to its left that has a part of its own."""
    covering: Cells = []
    reaching: str | None = None
    for title, part in zip(titles, parts, strict=True):
        if title is not None:
            reaching = title if part is not None else None
        covering.append(None if part is None else reaching)
    return covering


def below_two_titles(cells: Cells, over: Cells) -> set[str]:
    """Return the headers that stand below two titles, which tell them apart."""
    titles: dict[str, set[str]] = {}
    for cell, title in zip(cells, over, strict=True):
        if cell is not None and title is not None:
            titles.setdefault(cell, set()).add(title)
    return {cell for cell, of_cell in titles.items() if len(of_cell) > 1}
