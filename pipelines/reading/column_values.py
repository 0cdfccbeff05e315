"""Judges columns by their cells and their neighbours, where headers do not say it, or say it falsely.

`Material` over numbers is SAP's number of the article; `No.` beside a barcode is the article's number, where its
values differ from line to line and are no running count. `Recycled` over yes and no is no share. Columns that no field
is read from say what the weights are of: a quantity, a period, a nation (`quantities.py` decides what they do). Where
no header and no value tells the code or the name, a refusal suggests the column that fits best.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl

from pipelines.reading.columns import recognise
from pipelines.reading.fields import WEIGHT_HELPERS, WEIGHTS, Column, Table
from pipelines.reading.grammar import word_roles
from pipelines.reading.grid import Grid, letter
from pipelines.reading.groups import is_bare_material
from pipelines.reading.part_types import names_part
from pipelines.reading.questions import with_answer
from pipelines.reading.units import unit_of
from pipelines.reading.unknown_materials import family_of_detail
from pipelines.reading.values import read_values
from schemas.fields import SKU_CODE
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import shown
from schemas.words import code_lists, code_of, fold

_LINES: Final = 200
"""Lines below the header that are examined."""
_LINES_WATCHED: Final = 40
_MATERIALS: Final = ("material", "material_subtype")
_SHORT: Final = 40
"""Characters of the longest code."""
_MOST: Final = 0.8
_LONGEST_QUANTITY: Final = 8
"""Words of the longest header of a quantity."""
_PERIOD: Final = (
    r"(?i)^(?:(?:19|20)\d\d(?:[-/ .]?(?:[hqsp]\d{1,2}|\d\d))?|[hqs][1-4][-/ .]?(?:20\d\d)?|\d\d?[./-]20\d\d)$"
)
_MOST_QUOTED: Final = 20
_LONGEST_QUOTED: Final = 60


class Searched(NamedTuple):
    """The header whose columns are wanted: its row `at`, its line in the file, and its labels."""

    grid: Grid
    table: Table
    sheet: str | None
    at: int
    line: int
    cells: list[str | None]

    def under(self, at: int) -> pl.Series:
        """Return the cells given below the header in a column."""
        return self.grid.under(at, self.at, _LINES)

    def free(self, taken: Sequence[int | None]) -> dict[int, str]:
        """Return the headers of the columns that are not taken, by position."""
        return {at: cell for at, cell in enumerate(self.cells) if cell is not None and at not in taken}


def without_article_numbers(found: list[Column], chosen: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns with SAP's `Material` as the code where its cells are numbers of articles and no materials.

    A kind of material beside it (`Materialart`: VERP) is none of the packaging where none of its cells is a material.
    """
    own = [column for column in found if column.name == "material" and fold(column.header) == "material"]
    if len(own) != 1 or any(column.field == SKU_CODE for column in (*found, *chosen)):
        return found
    if not _are_codes(cells := header.under(own[0].position)) or _names_material(cells):
        return found
    code = replace(own[0], name=SKU_CODE.name, field=SKU_CODE, exact=False)
    others = [column for column in found if column is not own[0]]
    return [code, *(c for c in others if c.name not in _MATERIALS or _names_material(header.under(c.position)))]


def with_code(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with one for the code, where none is: a plain number of the line's own, else the barcode."""
    if any(column.name == SKU_CODE.name for column in columns):
        return columns
    free = header.free([column.position for column in columns])
    numbers = [at for at, cell in free.items() if code_of(cell, "header_word") == "code" and _identifies(at, header)]
    if header.table == "sku" and len(numbers) == 1:
        return [Column(SKU_CODE.name, SKU_CODE, "sku", numbers[0], free[numbers[0]]), *columns]
    barcodes = [column for column in columns if column.name == "gtin"]
    if header.table == "component":
        seen = (recognise(cell, at, "sku") for at, cell in header.free([]).items())
        barcodes = [column for column in seen if column is not None and column.name == "gtin"]
    if len(barcodes) != 1:
        return columns
    return [replace(barcodes[0], name=SKU_CODE.name, field=SKU_CODE, table=header.table, exact=False), *columns]


def best_fitting(columns: Sequence[Column], header: Searched) -> Column | None:
    """Return the column of several of one field whose cells fit it best; None where no cell of any fits."""
    shares = [_share_of_fitting(column, header.under(column.position)) for column in columns]
    return columns[shares.index(max(shares))] if max(shares) > 0 else None


def watched_columns(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns that no field is read from, but that say what the weights are of: quantity, period, nation."""
    if not any(column.field.name in WEIGHTS for column in columns):
        return []
    quantity = next(field for field in WEIGHT_HELPERS if field.name == "unit_count")
    return [
        Column(f"c{at}", quantity, "sku", at, cell)
        for at, cell in header.free([column.position for column in columns]).items()
        if quantity_of(cell) is not None or is_of_lines(header.grid.under(at, header.at, _LINES_WATCHED))
    ]


def quantity_of(header: str) -> str | None:
    """Return what the header of a quantity says: `per` one packaging, a `count` of something; None for another one.

    With a word that is not known it is a count of something; `Komponentenmenge` is one by its end.
    """
    tokens = fold(header).split()
    if not 0 < len(tokens) <= _LONGEST_QUANTITY:
        return None
    ends = ("menge", "anzahl", "stuckzahl", "quantity")
    roles = {code_of(token, "quantity") or ("count" if token.endswith(ends) else None) for token in tokens}
    if "count" not in roles:
        return "per" if roles == {"per"} else None
    return "per" if "per" in roles and None not in roles else "count"


def is_of_lines(cells: pl.Series) -> bool:
    """Return whether cells are periods or nations, by which lines of one part differ."""
    nations = code_lists("markets")["uk_nations"]
    return bool(len(cells)) and (
        bool(cells.str.contains(_PERIOD).all()) or all(fold(cell) in nations for cell in cells.unique())
    )


def misleading_columns(every: Sequence[Column], cells: pl.DataFrame, table: Table) -> list[str]:
    """Return the names of a `table`'s columns whose cells show that their header means something else than it seems.

    A unit of sale beside a weight, a material ticked or named, `Component` over numbers of parts. A column that the
    caller's mapping names, or that has the field's own name, always counts. `every` are all columns and constants,
    `cells` has the texts of each column by its name.
    """
    columns = [column for column in every if not column.exact and not column.mapped]
    given = {column.name: cells[column.name].drop_nulls() for column in columns}
    with_digit = {name: int(texts.str.contains(r"\d").sum()) for name, texts in given.items()}
    units = [column for column in columns if column.field.name == "weight_unit"]
    found = [c.name for c in units if all(unit_of(cell, "g") is None for cell in given[c.name].unique())]
    for column in columns:
        lines, digits = len(given[column.name]), with_digit[column.name]
        ticked = is_bare_material(column) and 2 * digits <= lines
        if lines and (ticked or (column.field.unit == "percent" and not digits)):
            found.append(column.name)
    weighed = {column.group for column in columns if column.field.name in WEIGHTS and column.name not in found}
    found += [column.name for column in units if column.fixed and column.group not in weighed]
    # The name of a components sheet says what its lines are: there `Component` counts, whatever its cells are.
    kind = next((column for column in columns if column.name == "component_type"), None)
    # Without it there are no parts, so that every column of parts goes, unless the mapping says that there are some.
    of_parts = [column for column in every if column.table == "component"]
    if table == "sku" and kind in of_parts and not any(column.mapped for column in of_parts):
        types = given["component_type"].unique()
        if 2 * sum(map(names_part, types)) <= len(types):
            found += [column.name for column in of_parts]
    return found


def issues_of_missing(names: Sequence[str], header: Searched, columns: Sequence[Column]) -> list[Issue]:
    """Return why a table without columns of these fields is not read; `columns` are those that it has."""
    taken = [column.position for column in columns]
    code = next((column.position for column in columns if column.name == "sku_code"), None)
    likely: dict[str, int | None] = {}
    if "sku_code" in names:
        barcode = next((column.position for column in columns if column.name == "gtin"), None)
        code = likely["sku_code"] = _likely_code(header.free(taken), header) if barcode is None else barcode
    if "name" in names:
        likely["name"] = _likely_name(header.free([*taken, code]), code, header)
    if "component_type" in names:
        free = header.free([*taken, *likely.values()])
        fitting = (at for at in free if 2 * sum(map(names_part, cells := header.under(at))) > len(cells))
        likely["component_type"] = next(fitting, None)
    return [_issue_of_missing(name, header, likely.get(name)) for name in names]


def _issue_of_missing(name: str, header: Searched, likely: int | None) -> Issue:
    if not header.line:
        message = Message(
            "A table without headers needs {name} by its letter: add it to the columns of the mapping.", name=name
        )
        return Issue("invalid_mapping", message, "mapping")
    filled = [f"{letter(at)} {shown(cell[:_LONGEST_QUOTED])}" for at, cell in header.free([]).items()]
    some = ", ".join([*filled[:_MOST_QUOTED], *(["…"] if len(filled) > _MOST_QUOTED else [])])
    where: str | Message = ""
    if header.sheet is not None and header.table == "component":
        where = Message(" of the components sheet {title}", title=shown(header.sheet))
    elif header.sheet is not None:
        where = Message(" of the sheet {title}", title=shown(header.sheet))
    if likely is None:
        message = Message(
            "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
            "Add a column with the header {name}.",
            sheet=where,
            name=name,
            line=header.line,
            some=some,
        )
        return Issue("missing_column", message, name)
    message = Message(
        "No column{sheet} is recognised as {name}. Line {line} looks most like the header and holds: {some}. "
        "Rename the right column to {name}, or name it: mapping={mapping}.",
        sheet=where,
        name=name,
        line=header.line,
        some=some,
        mapping={"columns": {name: letter(likely)}},
    )
    message, answer = with_answer(message, of_components=header.table == "component")
    return Issue("missing_column", message, name, kind="column", could_be=[name], answer=answer)


def _likely_code(free: dict[int, str], header: Searched) -> int | None:
    """Return the free column that is most likely the code: unlike words, one value a line, named like a code."""

    def merit(at: int) -> tuple[bool, bool, float]:
        cells, roles = header.under(at), word_roles(free[at])
        return bool(roles & {"code", "thing"}), cells.n_unique() == len(cells), -at

    fitting = [at for at in free if _are_codes(header.under(at))]
    fitting = fitting or [at for at in free if _are_names_of_one_line(header.under(at))]
    return max(fitting, key=merit, default=None)


def _likely_name(free: dict[int, str], code: int | None, header: Searched) -> int | None:
    """Return the free column that is most likely the name: words, one for each code and not the same for nearly all.

    Where no column is the code, there is a space among the words.
    """
    fitting: list[int] = []
    for at in free:
        cells = header.under(at)
        if not len(cells) or float(cells.str.contains(r"\p{L}").sum()) < _MOST * len(cells):
            continue
        if code is None:
            names = bool(cells.str.strip_chars().str.contains(r"\s").any())
        else:
            pairs = header.grid.cells.select(code=f"c{code}", text=f"c{at}").slice(header.at + 1, _LINES).drop_nulls()
            codes = pairs["code"].n_unique()
            names = bool(pairs.height) and pairs.unique().height == codes and 2 * pairs["text"].n_unique() > codes
        fitting += [at] if names else []
    return next((at for at in fitting if word_roles(free[at]) & {"name", "thing"}), next(iter(fitting), None))


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


def _are_counted(cells: pl.Series) -> bool:
    """Return whether the cells count the lines: 1, 2, 3, or 10, 20, 30."""
    numbers = cells.str.strip_chars().cast(pl.Int64, strict=False)
    steps = numbers.diff().drop_nulls()
    return not numbers.null_count() and len(numbers) > 1 and steps.n_unique() == 1 and numbers[0] in (0, steps[0])


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
        return sum(family_of_detail(cell) is not None for cell in cells) / len(cells)
    return 1 - read_values(cells, column, ".", None).faults.height / len(cells)
