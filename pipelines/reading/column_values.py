"""Judges columns by their cells and their neighbours, where headers do not say it, or say it falsely.

`Material` over numbers is SAP's number of the article; `No.` beside a barcode is the article's number, where its
values differ from line to line and are no running count. `Recycled` over yes and no is no share. Columns that no field
is read from say what the weights are of (`neighbours.py`). Where nothing tells the code or
the name, a refusal suggests the column that fits best. A form of one product (labels, answers beside them) is refused.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final, NamedTuple

import polars as pl

from pipelines.reading.columns import is_bare_material, recognise, substitute_column
from pipelines.reading.grammar import mentions, names_packaging, quantity_of, word_roles
from pipelines.reading.grid import (
    LONGEST_HEADER,
    VOLUME,
    WEIGHTS,
    Cells,
    Column,
    Grid,
    ReadingRefused,
    Table,
    fields_of,
    letter,
    refuse,
    repeated,
)
from pipelines.reading.questions import with_answer
from pipelines.reading.values import read_values
from pipelines.reading.words import are_levels, family_of_detail, level_of, names_part, unit_of
from schemas.fields import NAME, SKU_CODE
from schemas.issues import Issue
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_of, fold, words

ROWS_SEARCHED: Final = 40
"""Rows of a grid among which the header is."""
_LINES: Final = 200
"""Lines below the header that are examined."""
_FIRST_LINES: Final = 40
"""The same where the first lines tell."""
_MATERIALS: Final = ("material", "material_subtype")
_SHORT: Final = 40
"""Characters of the longest code."""
_MOST_CELLS: Final = 4_096
"""Most cells that are searched for a word."""
_MOST: Final = 0.8
_LONGEST_UNIT: Final = 3
"""Characters of the longest abbreviation of a unit: a column of no longer texts is none of names."""
PERIOD: Final = (
    r"(?i)^(?:(?:19|20)\d\d(?:[-/ .]?(?:[hqsp]\d{1,2}|\d\d))?|[hqs][1-4][-/ .]?(?:20\d\d)?|\d\d?[./-]20\d\d)$"
)
_OF_MONEY: Final = r"[.,€$£]"
_AMOUNT: Final = r"^\s*\d+(?:[.,]\d+)?\s*[€$£]?\s*$"
_NUMBER: Final = r"^\s*[\d.,\s]*\d[\d.,\s]*\s*\p{L}{0,3}\.?\s*$"
_MOST_QUOTED: Final = 20
_LONGEST_QUOTED: Final = 60


class Searched(NamedTuple):
    """The header whose columns are wanted: its row `at`, its line in the file, its labels, and its `last` row."""

    grid: Grid
    table: Table
    sheet: str | None
    at: int
    line: int
    cells: list[str | None]
    last: int = -1

    def under(self, at: int, lines: int = _LINES) -> pl.Series:
        """Return the cells given below the header in a column."""
        return self.grid.under(at, max(self.at, self.last), lines)

    def mostly(self, positions: Iterable[int], fits: pl.Expr, share: float = _MOST) -> list[int]:
        """Return the columns of which such a share of the cells given below the header fit."""
        return self.grid.mostly(positions, max(self.at, self.last), _LINES, fits, share)

    def without(self, columns: Sequence[Column]) -> "Searched":
        """Return the header without the labels of columns that are settled."""
        settled = {column.position for column in columns}
        return self._replace(cells=[None if at in settled else cell for at, cell in enumerate(self.cells)])

    def above(self) -> list[str]:
        """Return the cells above the header that may be titles."""
        rows = map(self.grid.row, range(self.at))
        return [cell for row in rows for cell in row if cell is not None and len(cell) < LONGEST_HEADER]

    def free(self, taken: Sequence[int | None]) -> dict[int, str]:
        """Return the headers of the columns that are not taken, by position."""
        others = set(taken)
        return {at: cell for at, cell in enumerate(self.cells) if cell is not None and at not in others}


_DESCRIBES: Final = re.compile(r"bezeichnung|beschreibung|desc|name|designation|libelle|omschrijving|nazwa|opis")


def without_article_numbers(columns: list[Column], chosen: Sequence[Column], header: Searched) -> list[Column]:
    """Return the columns with SAP's `Material` as the code where its cells are numbers of articles and no materials.

    A kind of material beside it (`Materialart`: VERP) is none of the packaging where none of its cells is a material.
    Of several columns that are words for a part, one over numbers (`Component`: 500001) numbers the part; beside
    another one, or the kind of packaging of each line, a part's description says no more. Counts are no names.
    """
    columns = [c for c in columns if not (is_count(c, c.position, header) or says_whose_waste(c, header))]
    columns = _with_described_parts(columns, header)
    columns = _with_described_items(_with_levels([*columns, *_formats([*columns, *chosen], header)], header), header)
    parts = [column for column in columns if column.field.name == "component_type"]
    numbers = [column for column in parts if len(parts) > 1 and are_codes(header.under(column.position))]
    free = map(substitute_column, header.free([column.position for column in columns]).values() if parts else ())
    described = [column for column in parts if _DESCRIBES.search(fold(column.header))]
    kinds = [column for column in (*columns, *free) if column is not None and column.field.name == "packaging_format"]
    if kinds or any(column not in (*numbers, *described) for column in parts):
        numbers += described
    columns = [column for column in columns if column not in numbers]

    def names_material(column: Column) -> bool:
        return any(family_of_detail(cell) is not None for cell in header.under(column.position).unique())

    own = [column for column in columns if column.name == "material" and fold(column.header) == "material"]
    if len(own) != 1 or any(column.field == SKU_CODE for column in (*columns, *chosen)):
        return columns
    if not are_codes(header.under(own[0].position)) or names_material(own[0]):
        return columns
    code = replace(own[0], name=SKU_CODE.name, field=SKU_CODE, exact=False)
    return [code, *(c for c in columns if c is not own[0] and (c.name not in _MATERIALS or names_material(c)))]


def says_whose_waste(column: Column, header: Searched) -> bool:
    """Return whether a kind of packaging says of each line only whose waste it is: `Household`, `B2B`."""
    said = column.field.name == "packaging_format" and not column.exact
    return said and _all(lambda text: fold(text) in words("no_format"), header.under(column.position))


def _with_levels(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with one of several formats as the levels that its cells name (one alone: `sheet.py`)."""
    level, formats = fields_of("sku")["packaging_level"], [c for c in columns if c.name == "packaging_format"]
    named = [column for column in formats if len(formats) > 1 and are_levels(header.under(column.position))]
    if len(named) != 1 or any(column.field == level for column in columns):
        return columns
    return [replace(c, name=level.name, field=level, exact=False) if c is named[0] else c for c in columns]


def _with_described_parts(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with a bare description behind the numbers of parts as their names, not the item's.

    `Parent description | Component | Description` over `Soap | PM-10 | Bottle`: the item has a name before them.
    """
    for at, (cell, title) in enumerate(pairwise(header.cells)):
        column = None if title is None else recognise(title, at + 1, "sku") or substitute_column(title)
        if cell is None or title is None or column is None or column.field.name not in ("name", "description"):
            continue
        named = any(_names_item(text) for text in header.cells[:at] if text is not None)
        if named and _names_part(cell) and are_codes(header.under(at)):
            field = fields_of("component")["component_type"]
            part = Column(field.name, field, "component", at + 1, title)
            return [*(c for c in columns if c.position not in (at, at + 1)), part]
    return columns


def _names_item(header: str) -> bool:
    column = recognise(header, 0, "sku") or substitute_column(header)
    return column is not None and column.field.name in ("name", "description")


def _names_part(header: str) -> bool:
    """Return whether a header is a word for parts, with another for a number or without."""
    words_of = [
        word for word in fold(header).split() if word_roles(word) - {"code", "thing", "count"} or not word_roles(word)
    ]
    column = recognise(" ".join(words_of), 0, "sku") if words_of else None
    return column is not None and column.field.name == "component_type"


def _with_described_items(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with a part's description as the name beside the code of the same: `Part number` beside it."""
    codes = [fold(column.header).split()[0] for column in columns if column.field == SKU_CODE]
    parts = [column for column in columns if column.field.name == "component_type"]
    if len(parts) != 1 or any(column.table == "component" and column is not parts[0] for column in columns):
        return columns
    first, *more = fold(parts[0].header).split()
    free = map(substitute_column, header.free([column.position for column in columns]).values())
    names = [column for column in (*columns, *free) if column is not None and column.field == NAME]
    if names or not more or [first] != codes or not _DESCRIBES.search(" ".join(more)):
        return columns
    return [replace(c, name=NAME.name, field=NAME, table="sku", exact=False) if c is parts[0] else c for c in columns]


def _formats(columns: Sequence[Column], header: Searched) -> list[Column]:
    """Return the column of `Verpackung` or `Primary packaging` over words for its kind: `Flasche`, `Dose`.

    A word that is a material's too (`Karton`) or a number (`12er Karton`) leaves open what the column says.
    """
    field = fields_of("sku")["packaging_format"]
    if any(column.field.name in (field.name, "component_type") for column in columns):
        return []

    def names_kind(cell: str) -> bool:
        return names_part(cell) and family_of_detail(cell) is None and not any(map(str.isdigit, cell))

    free = header.free([column.position for column in columns]).items()
    named = [(at, cell) for at, cell in free if word_roles(cell) - {"sold"} == {"packaging"} and cell.count(" ") < 2]
    found = [Column(field.name, field, "sku", at, cell) for at, cell in named if _all(names_kind, header.under(at))]
    return found if len(found) == 1 else []


def _all(says: Callable[[str], bool], cells: pl.Series) -> bool:
    """Return whether there are cells and each says something."""
    return bool(len(cells)) and all(map(says, cells.unique()))


def with_code(columns: list[Column], header: Searched) -> list[Column]:
    """Return the columns with one for the code, where none is: a plain number of the line's own, else the barcode.

    Such a number is another one in each line, and no running count.
    """
    if any(column.name == SKU_CODE.name for column in columns):
        return columns
    free = header.free([column.position for column in columns])
    lines = min(header.grid.cells.height - max(header.at, header.last) - 1, _LINES)
    numbers = [
        at
        for at, cell in free.items()
        if header.table == "sku" and (code_of(cell, "header_word") == "code" or word_roles(cell) == {"thing"})
        if len(cells := header.under(at)) == lines and cells.n_unique() == len(cells) and are_codes(cells)
    ]
    if len(numbers) == 1:
        return [Column(SKU_CODE.name, SKU_CODE, "sku", numbers[0], free[numbers[0]]), *columns]
    barcodes = [column for column in columns if column.name == "gtin"]
    if header.table == "component":
        seen = [c for at, cell in header.free([]).items() if (c := recognise(cell, at, "sku")) is not None]
        barcodes = [c for c in seen if c.name == SKU_CODE.name] or [c for c in seen if c.name == "gtin"]
    if len(barcodes) != 1:
        return columns
    return [replace(barcodes[0], name=SKU_CODE.name, field=SKU_CODE, table=header.table, exact=False), *columns]


def best_fitting(columns: Sequence[Column], header: Searched) -> Column | None:
    """Return the column of several of one field whose cells fit it best; None where no cell of any fits."""

    def share(column: Column) -> float:
        cells = header.under(column.position)
        if column.name in _MATERIALS:
            wrong = sum(family_of_detail(cell) is None for cell in cells)
        else:
            wrong = read_values(cells, column, ".", None).faults.height
        return 1 - wrong / len(cells) if len(cells) else 0.0

    best = max(columns, key=share)
    return best if share(best) > 0 else None


SHARED_WITH_PRODUCT: Final = frozenset(
    {"material", "material_subtype", "weight_grams", "weight_unit", "packaging_format", "recycled_content_percent"}
)
"""Fields that a product has as well: beside `Packaging weight`, `Weight` is the product's."""


def choose_substitute(candidates: list[Column], header: Searched) -> Column | None:
    """Return a field's only substitute, or the only one that names the packaging; None where it is not clear.

    Of codes the article's own number comes first, then a supplier's or customer's one, then a bare id. Of names one
    over codes is none beside another: `Item | Description`.
    """
    if candidates[0].name == NAME.name and len(candidates) > 1:
        candidates = [column for column in candidates if not are_codes(header.under(column.position))] or candidates
    if candidates[0].name == SKU_CODE.name:
        ranks = [2 if fold(c.header) == "id" else int("somebody" in word_roles(c.header)) for c in candidates]
        candidates = [column for column, rank in zip(candidates, ranks, strict=True) if rank == min(ranks)]
    if len(candidates) > 1 and candidates[0].name in SHARED_WITH_PRODUCT:
        candidates = [column for column in candidates if names_packaging(column.header)]
    return candidates[0] if len(candidates) == 1 else None


def is_count(column: Column, at: int, header: Searched) -> bool:
    """Return whether a word for a name is one for a count, over numbers: `Nombre` is Spanish and French."""
    return (
        column.field == NAME and not column.exact and quantity_of(column.header) is not None and has_numbers(header, at)
    )


def misleading_columns(every: Sequence[Column], cells: pl.DataFrame, table: Table) -> list[str]:
    """Return the names of a `table`'s columns whose cells show that their header means something else than it seems.

    A unit of sale beside a weight, a material ticked or named, `Component` over numbers of parts, a `Deposit` over
    amounts, whose waste a `Packaging type` is (`Household`). A column that the mapping names, or by the field's own
    name, always counts.
    `every` are all columns and constants, `cells` has the texts of each column by its name.
    """
    columns = [column for column in every if not column.exact and not column.mapped]
    texts = {column.name: cells[column.name].drop_nulls() for column in columns}
    units = [column for column in columns if column.field.name == "weight_unit"]
    names = [c.name for c in units if all(unit_of(cell, "g") is None for cell in texts[c.name].unique())]
    for column in columns:
        lines, digits = len(texts[column.name]), int(texts[column.name].str.contains(r"\d").sum())
        other = 2 * digits <= lines if is_bare_material(column) else column.field.unit == "percent" and not digits
        if column.field.name == "packaging_format":
            other |= all(fold(text) in words("no_format") for text in texts[column.name].unique())
        if column.field.kind == "truth":  # `Deposit` over amounts
            cells_given = texts[column.name].str
            other |= bool(cells_given.contains(_AMOUNT).all() and cells_given.contains(_OF_MONEY).any())
        names += [column.name] if lines and other else []
    weighed = {column.group for column in columns if column.field.name in WEIGHTS and column.name not in names}
    names += [column.name for column in units if column.fixed and column.group not in weighed]
    # The name of a components sheet says what its lines are: there `Component` counts, whatever its cells are.
    kind = next((column for column in columns if column.name == "component_type"), None)
    # Without it there are no parts, so that every column of parts goes, unless the mapping says that there are some.
    of_parts = [column for column in every if column.table == "component"]
    if table == "sku" and kind in of_parts and not any(column.mapped for column in of_parts):
        types = texts["component_type"].unique()
        if 2 * sum(map(names_part, types)) <= len(types) and not mentions(kind.header, "packaging"):
            names += [column.name for column in of_parts]
    return names


_MOST_NAMED: Final = 20
"""Most columns that one sentence names."""


def issue_of_several(name: str, columns: Sequence[Column], header: Searched) -> Issue:
    """Return why one of several columns must be chosen; the one whose cells fit best is suggested, where any does."""
    where = ", ".join(f"{quote(column.header)} ({letter(column.position)})" for column in columns[:_MOST_NAMED])
    where += ", …" if len(columns) > _MOST_NAMED else ""
    # Of units of the nations of one market each is a part.
    likely = None if columns[0].field == VOLUME and columns[0].market else best_fitting(columns, header)
    if likely is None:
        message = Message("The columns {where} all fit {name}; rename or remove all but one.", where=where, name=name)
        return Issue("ambiguous_column", message, name, could_be=[name])
    message = Message(
        "The columns {where} all fit {name}; rename or remove all but one, or say which one it is: mapping={mapping}.",
        where=where,
        name=name,
        mapping={"columns": {name: letter(likely.position)}},
    )
    message, answer = with_answer(message, of_components=header.table == "component")
    return Issue("ambiguous_column", message, name, kind="column", could_be=[name], answer=answer)


def issues_of_missing(names: Sequence[str], header: Searched, columns: Sequence[Column]) -> list[Issue]:
    """Return why a table without columns of these fields is not read; `columns` are those that it has."""
    taken = [column.position for column in columns]
    code = next((column.position for column in columns if column.name == "sku_code"), None)
    likely: dict[str, int | None] = {}
    if "sku_code" in names:
        barcode = next((column.position for column in columns if column.name == "gtin"), None)
        code = likely["sku_code"] = _likely_code(header.free(taken), header) if barcode is None else barcode
        named = next((column.position for column in columns if column.name == "name"), None)
        if code is None and named is not None and header.under(named).is_unique().all():
            likely["sku_code"] = named  # a name that no other line has can be the code too
    if "name" in names:
        likely["name"] = _likely_name(header.free([*taken, code]), code, header)
    if "component_type" in names:
        free = header.free([*taken, *likely.values()])
        fitting = (at for at in free if 2 * sum(map(names_part, cells := header.under(at))) > len(cells))
        likely["component_type"] = next(fitting, None)
    return [_issue_of_missing(name, header, likely.get(name), columns) for name in names]


def _issue_of_missing(name: str, header: Searched, likely: int | None, columns: Sequence[Column]) -> Issue:
    if not header.line:
        message = Message(
            "A table without headers needs {name} by its letter: add it to the columns of the mapping.", name=name
        )
        return Issue("invalid_mapping", message, "mapping")
    filled = [f"{letter(at)} {quote(cell[:_LONGEST_QUOTED])}" for at, cell in header.free([]).items()]
    some = ", ".join([*filled[:_MOST_QUOTED], *(["…"] if len(filled) > _MOST_QUOTED else [])])
    where: str | Message = ""
    if header.sheet is not None and header.table == "component":
        where = Message(" of the components sheet {title}", title=quote(header.sheet))
    elif header.sheet is not None:
        where = Message(" of the sheet {title}", title=quote(header.sheet))
    of_held = name == NAME.name and any(column.field == SKU_CODE for column in columns)
    if likely is None and of_held and header.table == "sku":
        message = Message(
            "No column{sheet} is recognised as name. Line {line} looks most like the header and holds: {some}. Add "
            "one; or if its items are stored already, say that it has none: mapping={mapping}.",
            sheet=where,
            line=header.line,
            some=some,
            mapping={"columns": {name: None}},
        )
        message, answer = with_answer(message, of_components=False)
        return Issue("missing_column", message, name, kind="column", answer=answer)
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
        mapping={"columns": dict.fromkeys([name, *(c.name for c in columns if c.position == likely)], letter(likely))},
    )
    message, answer = with_answer(message, of_components=header.table == "component")
    return Issue("missing_column", message, name, kind="column", could_be=[name], answer=answer)


def _likely_code(free: dict[int, str], header: Searched) -> int | None:
    """Return the free column that is most likely the code: unlike words, one value a line, named like a code.

    Where none is unlike words, each cell is one short word with a letter, and no other line has it.
    """
    free = {at: cell for at, cell in free.items() if quantity_of(cell) is None}
    fitting = [at for at in header.mostly(free, pl.all().str.contains(r"\d")) if are_codes(header.under(at))]
    if not fitting:
        word = pl.all().str.contains(r"^\s*\S{1,40}\s*$")
        short = header.mostly(free, word & pl.all().str.contains(r"\p{L}"), share=1)
        fitting = [at for at in short if header.under(at).is_unique().all()]
    return max(
        fitting,
        key=lambda at: (bool(word_roles(free[at]) & {"code", "thing"}), header.under(at).is_unique().all(), -at),
        default=None,
    )


def _likely_name(free: dict[int, str], code: int | None, header: Searched) -> int | None:
    """Return the free column that is most likely the name: words, one for each code and not the same for nearly all.

    Where no column is the code, there is a space among the words.
    """
    fitting: list[int] = []
    for at in header.mostly(free, pl.all().str.contains(r"\p{L}")):
        if header.under(at).str.len_chars().max() in range(_LONGEST_UNIT + 1):
            continue
        if code is None:
            names = bool(header.under(at).str.strip_chars().str.contains(r"\s").any())
        else:
            pairs = header.grid.cells.select(code=f"c{code}", text=f"c{at}").slice(header.at + 1, _LINES).drop_nulls()
            codes = pairs["code"].n_unique()
            names = bool(pairs.height) and pairs.unique().height == codes and 2 * pairs["text"].n_unique() > codes
        fitting += [at] if names else []
    return next((at for at in fitting if word_roles(free[at]) & {"name", "thing"}), next(iter(fitting), None))


def are_codes(cells: pl.Series) -> bool:
    """Return whether most cells have a digit and no space within, and are no measured numbers and no running count.

    A count of the lines is 1, 2, 3, or 10, 20, 30.
    """
    shaped = (
        cells.str.contains(r"\d") & ~cells.str.strip_chars().str.contains(r"\s") & (cells.str.len_chars() <= _SHORT)
    )
    if not len(cells) or float(shaped.sum()) < _MOST * len(cells):
        return False
    numbers = cells.str.strip_chars().cast(pl.Int64, strict=False)
    steps = numbers.diff().drop_nulls()
    counted = not numbers.null_count() and len(numbers) > 1 and steps.n_unique() == 1 and numbers[0] in (0, steps[0])
    return not counted and not cells.str.contains(r"^[+-]?\d{0,3}[.,]\d{1,3}$|^\d{1,3}$").all()


def has_numbers(header: Searched, at: int) -> bool:
    """Return whether most of the cells given below a header are numbers; words for no answer are none given."""
    under = header.under(at, _FIRST_LINES)
    under = under.filter(pl.Series([code_of(cell, "no_answer") is None for cell in under], dtype=pl.Boolean))
    return len(under) > 0 and 2 * int(under.str.contains(_NUMBER).sum()) > len(under)


_CELLS_OF_FORM: Final = 16
"""Cells of a line that are searched: a form is no wider than a page."""
_FEWEST_LINES: Final = 3
_FEWEST_COLUMNS: Final = 4
_KEYS_OF_FORM: Final = frozenset({"sku_code", "name", "gtin"})
"""A form of a product asks for one of these at least."""
_MOST_LABELS: Final = 8
_LONGEST_TITLE: Final = 6
"""Words of the longest title of a block."""


def names_lines(grid: Grid) -> bool:
    """Return whether a cell of the first rows is a word by which several lines may make an item (`items.py`)."""
    cells = islice((cell for row in grid.cells.head(ROWS_SEARCHED).iter_rows() for cell in row), _MOST_CELLS)
    return any(cell is not None and len(cell) <= _SHORT and code_of(cell, "line_form") is not None for cell in cells)


def form_refusal(grid: Grid) -> ReadingRefused | None:
    """Return why a form is not read, with the labels found; None for a grid that is no form.

    A data sheet lists reference, name, material and weight below each other, often in blocks for the levels of
    packaging: lines whose filled cells are all equal are their titles.
    """
    rows = [grid.row(index) for index in range(min(grid.cells.height, ROWS_SEARCHED))]
    labels = _labels_of_form(rows, grid.lines)
    if not labels:
        return None
    quoted = ", ".join(labels[:_MOST_LABELS])
    if _several_answers(rows):
        message = Message(
            "This table has its items side by side, with labels of fields before their answers: {found}. Such tables "
            "are not read; turn its rows into columns (in Excel: copy, Paste Special, Transpose), so that the labels "
            "are one row of headers and each item is a line.",
            found=quoted,
        )
        return refuse("missing_column", message)
    blocks: dict[str, str] = {}
    for row in rows:
        filled = {cell for cell in row if cell is not None}
        title = filled.pop() if len(filled) == 1 else ""
        if title and len(title.split()) <= _LONGEST_TITLE and (level := level_of(title)) is not None:
            blocks[quote(title)] = level
    if len(set(blocks.values())) > 1:
        message = Message(
            "This is a form of one product, with labels and the answers beside them: {found}. Forms are not read; send "
            "a table with one row of headers and a line for each product, as in GET /reference/template.xlsx. Its "
            "blocks are packaging of several levels ({titles}); give each a line and a sku_code of its own.",
            found=quoted,
            titles=", ".join(list(blocks)[:_MOST_LABELS]),
        )
    else:
        message = Message(
            "This is a form of one product, with labels and the answers beside them: {found}. Forms are not read; send "
            "a table with one row of headers and a line for each product, as in GET /reference/template.xlsx.",
            found=quoted,
        )
    return refuse("missing_column", message)


def _several_answers(rows: Sequence[Cells]) -> bool:
    """Return whether most lines that begin with a label have several answers beside it, one for each of several items.

    Where one of them is a label too, the line has several pairs of a label and its answer.
    """

    def is_label(cell: str) -> bool:
        return (recognise(cell, 0, "sku") or substitute_column(cell)) is not None

    filled = [[cell for cell in row[:_CELLS_OF_FORM] if cell is not None] for row in rows]
    labelled = [row for row in filled if row and is_label(row[0])]
    several = [row for row in labelled if len(row[1:]) > 1 and not any(map(is_label, row[1:]))]
    return bool(labelled) and 2 * len(several) > len(labelled)


def _labels_of_form(rows: Sequence[Cells], numbers: pl.Series) -> list[str]:
    """Return the labels of a form in their order, each as people find it with its field; empty where it is no form.

    It is a form where several lines have labels with answers, of more fields than any line has side by side: below
    the header of a table there are hardly any labels. A material's name alone may be an answer. A table of unknown
    headers is none: nearly all its lines fill as many cells as the first one, which has only words.
    """
    filled = [[cell for cell in row if cell is not None] for row in rows]
    first = filled[0] if filled else []
    headers = all(any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)) for cell in first)
    alike = sum(abs(len(row) - len(first)) <= 1 for row in filled)
    of_words = len(first) >= _FEWEST_COLUMNS and headers and len(set(first)) == len(first)
    if of_words and alike * 5 >= len(filled) * 4:
        return []
    labels: list[tuple[str, str, str]] = []
    names: set[str] = set()
    lines, widest = 0, 0
    for number, row in zip(numbers, rows, strict=False):
        cells = {at: cell for at, cell in enumerate(row[:_CELLS_OF_FORM]) if cell is not None}
        columns = {at: recognise(cell, 0, "sku") or substitute_column(cell) for at, cell in cells.items()}
        fields = {at: column.name for at, column in columns.items() if column is not None and column.group is None}
        widest = max(widest, len(set(fields.values())))
        answered = [at for at, beside in pairwise(cells) if at in fields and beside not in fields]
        labels += [(f"{letter(at)}{number}", cells[at], fields[at]) for at in answered]
        names |= {fields[at] for at in answered}
        lines += bool(answered)
    if lines < _FEWEST_LINES or len(names) <= widest or not names & _KEYS_OF_FORM:
        return []
    return [f"{place} {quote(label)} ({name})" for place, label, name in labels]


_LONGEST_LIST: Final = 200
"""Characters of the longest list of codes."""
_BETWEEN_CODES: Final = re.compile(
    r"[;\n\r|]|,(?=\s)|(?<=\s)(?:[/+&,–—-]|bis|to|und|and|et|oder|or|ou|y|e|i|en|of)(?=\s)", re.IGNORECASE
)


def codes_in(cell: str | None) -> tuple[str, ...]:
    """Return the codes of a list or a range of such with letters, digits and signs in one order, a digit in each."""
    parts = tuple(map(str.strip, _BETWEEN_CODES.split((cell or "")[:_LONGEST_LIST])))
    shapes = {re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", part)) for part in parts}
    return parts if len(shapes) == 1 and "0" in shapes.pop() else ()


def of_several(codes: pl.Series) -> pl.Series:
    """Return the lines with several codes, `A-100 / A-101`; where most codes of a table are so, each is one."""
    likely = codes.filter(codes.str.contains(r"[\s;|]").fill_null(value=False))
    several = [text for text in likely.unique() if len(codes_in(text)) > 1]
    lines = codes.is_in(several).fill_null(value=False) if several else repeated(value=False, height=len(codes))
    return lines & (int(lines.sum()) <= max(1, len(codes) / 2))
