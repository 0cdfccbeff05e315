"""Makes a sheet of a grid and its header: each recognised column's cells by the field's name, and lines that fail.

`layouts.py` splits a table that contains both SKUs and components. `rows.py` types the cells.

Lines of a text may have another number of cells than the header: extra empty cells are harmless. Programs leave out
empty cells at the end of a line; but a delimiter that was lost in the middle looks the same, and moves the cells behind
it under other headers. So a short line is accepted where it has the keys and each cell could be its column's; otherwise
it is a fault. No cell is ever moved.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Final, TypeAlias
from uuid import UUID, uuid5

import polars as pl

from pipelines.reading.by_cells import with_ticks, without_compared
from pipelines.reading.column_values import misleading_columns
from pipelines.reading.grammar import mentions
from pipelines.reading.grid import (
    CLEARED,
    LINES_OF_SHEET,
    NUMBER,
    NUMBERS,
    TEXT,
    Column,
    Grid,
    LineFault,
    ReadSheet,
    Table,
    fields_of,
    invalid_mapping,
    own_line,
    refuse,
    repeated,
    sheet_starts,
    with_component_prefix,
    without_marks,
)
from pipelines.reading.header import Header, find_header
from pipelines.reading.lines import (
    HELP_ROWS,
    find_skipped,
    help_lines,
    of_one_table,
    skipped_lines,
    with_answered_lines,
)
from pipelines.reading.mapping import (
    CheckedMapping,
    Off,
    Rewriting,
    Samples,
    SheetMapping,
    Words,
    published_table,
    same_field,
    samples_of,
    with_names,
)
from pipelines.reading.questions import question
from pipelines.reading.values import decimal_marks, read_values, unescaped, without_null_words
from pipelines.reading.words import are_levels, are_mostly_levels
from schemas.fields import COMPONENT_FIELDS
from schemas.imports.types import Asked, SourceSheet
from schemas.issues import QuestionKind
from schemas.messages import Message
from schemas.normalise import quote
from schemas.texts import DITTO_MARKS, INVISIBLE, control_in
from schemas.words import fold

CREATED: Final[Mapping[str, str]] = {
    "brand_id": "brand",
    "manufacturing_site_id": "site",
    "packing_site_id": "site",
    "supplier_id": "supplier",
}
"""The fields whose records an import may make, and the kind of each."""
MOST: Final = 500
"""Most names of one column that an import makes records of."""
_SHOWN: Final = 3
_LONGEST: Final = 255
"""Characters of a record's name."""


def with_new_names(
    cells: pl.DataFrame, columns: Iterable[Column], mapped: SheetMapping, ids: UUID | None, sheet: str | None
) -> tuple[SheetMapping, tuple[Asked, ...]]:
    """Return the mapping with an id for each new name, and without `ids` a question for each column that has some.

    `ids` is the namespace of the new ids: one name has one id in all tables of a file.
    """
    rewritings: list[Rewriting] = []
    questions: list[Asked] = []
    for column in columns:
        kind = CREATED.get(column.field.name)
        if kind is None or column.constant is not None:
            continue
        names = _unknown_names(unescaped(cells[column.name]), column, mapped.values)
        if not names:
            continue
        if ids is None and not column.exact:
            rewritings.append(Rewriting(column, dict.fromkeys(map(fold, names)), {}))
        if ids is None:
            some = ", ".join(quote(name) for name in names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            message = Message(
                "No record has the name {names}; they are not read. Send mapping={mapping} so that the import "
                "makes these records, or correct the names.",
                names=some,
                mapping={"create": True},
            )
            about = question("value", message, could_be=("create",), column=column, sheet=sheet, text=names[0])
            questions.append(about)
            continue
        if len(names) > MOST:
            message = Message(
                "{column} has {count} names that no record has; with create at most {most} are made. Add the records "
                "first, or map the right column.",
                column=quote(column.header),
                count=len(names),
                most=MOST,
            )
            raise invalid_mapping(message)
        new_ids = {name: str(uuid5(ids, f"{kind}/{fold(name)}")) for name in names}
        new = {fold(name): cell for name, cell in new_ids.items()}
        rewritings.append(Rewriting(column, new, {}, new_ids))
    return replace(mapped, values=(*mapped.values, *rewritings)) if rewritings else mapped, tuple(questions)


def _unknown_names(cells: pl.Series, column: Column, values: Iterable[Rewriting]) -> list[str]:
    """Return the cells that are no id, that no record has as its name, and that can be one."""
    known = {text for rewriting in values if rewriting.applies_to(column) for text in rewriting.cells}
    known |= {fold(name) for rewriting in values if rewriting.applies_to(column) for name in rewriting.own}
    names = []
    for name in (cell.strip() for cell in cells.drop_nulls().unique(maintain_order=True)):
        if name and name not in CLEARED and len(name) <= _LONGEST and not control_in(name):
            try:
                UUID(name)
            except ValueError:
                names += [] if fold(name) in known else [name]
    return names


Replaced: TypeAlias = Mapping[str, Mapping[str, tuple[str, int]]]
"""By column, the texts that were replaced: the cell that is read instead, and the number of rows."""
MOST_ROWS = 50_000
_MOST_PARTS = 20 * MOST_ROWS
_MOST_READ_COLUMNS = 500
"""Most columns that are fields: thirty components side by side, or every market of the catalogue for several years."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of the file: its columns, its cells by column name beside `line`, and lines that are no row.

    `marks` are the decimal marks by column name, `kinds` the kinds of cells as in a grid. `skipped` are lines that
    are no data line, with the reason. `off` are the fields that the mapping, `mapped`, has switched off. `of_packaging`
    is true where a title or the sheet's name names packaging, `possible_materials` are positions of
    ignored columns that may be weights of one more material. `samples` are texts of columns by position, for people.
    `words` are the company's own words that were replaced in the cells, `replaced` all texts that were, by column:
    the cell that is read instead, and the number of rows. `taken` are codes that none of its rows may have, because
    rows of the file that was sent first have them. `questions` are what was not understood and so not read: of weights
    without a certain unit the positions are `in_question`, of graphs the lines of their parts are `held`. `watched` are
    columns that say what weights are of, whose cells are in `others` until `judge.py` has seen them. `sheets` are those
    that the table is read from, where they are several; `name` and `header_row` are of the first. `filled` are texts of
    merged cells by position, with the rows that they were filled into. `ticks` are further columns of one field.
    """

    name: str | None
    header_row: int
    columns: tuple[Column, ...]
    ignored: tuple[tuple[int, str], ...]
    table: pl.DataFrame
    marks: dict[str, str]
    faults: tuple[LineFault, ...] = ()
    kinds: pl.DataFrame | None = None
    skipped: tuple[tuple[int, str], ...] = ()
    off: Off = ()
    mapped: SheetMapping = field(default_factory=SheetMapping)
    of_packaging: bool = False
    possible_materials: tuple[int, ...] = ()
    samples: Samples = field(default_factory=dict)
    words: Words = field(default_factory=dict)
    replaced: Replaced = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    questions: tuple[Asked, ...] = ()
    in_question: frozenset[int] = frozenset()
    held: tuple[int, ...] = ()
    watched: tuple[Column, ...] = ()
    others: pl.DataFrame = field(default_factory=pl.DataFrame)
    sheets: tuple[ReadSheet, ...] = ()
    filled: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    ticks: tuple[Column, ...] = ()

    @property
    def lines(self) -> int:
        """Return the number of data lines, those that could not be read included."""
        return self.table.height + len(self.faults)

    def sheet_of(self, line: int) -> str | None:
        """Return the name of the sheet that a line of the table is on."""
        return self.sheets[line // LINES_OF_SHEET].name if self.sheets else self.name

    def places(self, lines: pl.Series) -> pl.DataFrame:
        """Return `line` and `sheet` of each of these lines of the table, as the file has them."""
        if not self.sheets:
            return pl.DataFrame({"line": lines}).with_columns(sheet=pl.lit(self.name, pl.String))
        names = pl.Series([sheet.name for sheet in self.sheets], dtype=pl.String)
        return pl.DataFrame({"line": lines % LINES_OF_SHEET, "sheet": names.gather(lines // LINES_OF_SHEET)})

    def told(self, message: Message) -> Message:
        """Return a message with the sheet beside each line that it names, where the table has several."""
        line = message.parameters.get("line")
        if not self.sheets or not isinstance(line, int):
            return message
        return message.with_parameter("line", f"{own_line(line)} ({self.sheet_of(line)})")

    def without(self, names: Collection[str]) -> "Sheet":
        """Return the table without some columns, which are then ignored."""
        kept = tuple(column for column in self.columns if column.name not in names)
        stray = [(c.position, c.header) for c in self.columns if c.name in names and c.constant is None]
        return replace(self, columns=kept, ignored=tuple(sorted((*self.ignored, *stray))))

    def published(self) -> SourceSheet:
        """Return how it was read, as `source.components` shows it; a column that is asked about is not read."""
        table = published_table(
            self.name,
            self.header_row,
            sorted((*self.columns, *self.ticks), key=lambda column: column.position) if self.ticks else self.columns,
            self.ignored,
            samples=self.samples,
            mapped=self.mapped,
            off=self.off,
            in_question=self.in_question,
        )
        return {**table, "decimal_marks": self.marks, "words": {name: dict(of) for name, of in self.words.items()}}

    @property
    def of_components(self) -> bool:
        """Return whether this is a sheet of components alone, whose part of the mapping is its own."""
        return not any(column.table == "sku" for column in self.columns)

    def ask(
        self,
        kind: QuestionKind,
        column: Column,
        message: Message,
        *,
        could_be: Sequence[str],
        text: str | None = None,
    ) -> Asked:
        """Return a question about a column of this table; the message's gap `mapping` is its answer."""
        of_components, sheet = self.of_components, self.name
        return question(
            kind, message, could_be=could_be, column=column, sheet=sheet, text=text, of_components=of_components
        )

    def read(self, column: Column, most: int | None = None) -> pl.Series:
        """Return a column's first cells as the field's type, null where one is a fault; all of them without `most`."""
        cells = self.table[column.name].head(self.table.height if most is None else most)
        kinds = None if self.kinds is None else self.kinds[column.name].head(len(cells)) == NUMBER
        return read_values(cells, column, self.marks.get(column.name), kinds).values

    def rows_at(self, places: list[int]) -> "Sheet":
        """Return the table with the lines at these places only."""
        kinds = None if self.kinds is None else self.kinds[places]
        return replace(self, table=self.table[places], kinds=kinds)

    def select(self, columns: Sequence[Column], rows: pl.Series | None = None) -> "Sheet":
        """Return the table with these columns only, and the rows where `rows` is true."""
        names = [column.name for column in columns]
        marks = {name: mark for name, mark in self.marks.items() if name in names}
        table, kinds = self.table.select(*names, "line"), None if self.kinds is None else self.kinds.select(names)
        if rows is not None:
            table, kinds = table.filter(rows), None if kinds is None else kinds.filter(rows)
        return replace(self, columns=tuple(columns), table=table, kinds=kinds, marks=marks)

    def with_cells(self, column: Column, cells: pl.Series | pl.Expr) -> "Sheet":
        """Return the table with one more column, whose cells are texts."""
        kinds = None if self.kinds is None else self.kinds.with_columns(pl.lit(TEXT, pl.UInt8).alias(column.name))
        table = self.table.with_columns(cells.alias(column.name))
        return replace(self, columns=(*self.columns, column), table=table, kinds=kinds)

    def with_copies(self, copies: Iterable[tuple[str, Column]]) -> "Sheet":
        """Return the table with the cells of columns as those of further columns too."""
        copies = list(copies)
        cells = [pl.col(own).alias(column.name) for own, column in copies]
        kinds = None if self.kinds is None else self.kinds.with_columns(cells)
        marks = {column.name: self.marks[own] for own, column in copies if own in self.marks}
        columns = (*self.columns, *(column for _, column in copies))
        table = self.table.with_columns(cells)
        return replace(self, columns=columns, table=table, kinds=kinds, marks={**self.marks, **marks})

    def part_words(self) -> dict[str, str | None]:
        """Return the types of parts that the mapping, or the company's own words, give by folded text."""
        of_type = (rewriting for rewriting in self.mapped.values if rewriting.column.field.name == "component_type")
        return {text: code for rewriting in of_type for text, code in rewriting.cells.items()}

    def kept(self) -> "Sheet":
        """Drop columns that were derived from others for a field that the mapping switches off."""
        off = [other for column in self.columns for other in self.mapped.off if same_field(column, other)]
        kept = (column for column in self.columns if not any(same_field(column, other) for other in off))
        return replace(self, columns=tuple(kept)) if off else self


def apply_rewritings(
    cells: pl.DataFrame, kinds: pl.DataFrame | None, columns: Iterable[Column], mapped: SheetMapping
) -> tuple[pl.DataFrame, pl.DataFrame | None, Words, Replaced]:
    """Return the cells with the values that the mapping gives for their texts; a replaced cell is a text.

    The third member are the company's own words that were replaced, by field; the fourth is every replaced text.
    """
    used: dict[str, dict[str, object]] = {}
    replaced: dict[str, dict[str, tuple[str, int]]] = {}
    for column in columns:
        for rewriting in mapped.values:
            if rewriting.applies_to(column):
                before = cells[column.name]
                after = rewriting.apply(before)
                if words := rewriting.own_words_in(before):
                    used.setdefault(rewriting.column.name, {}).update(words)
                changed = before.ne_missing(after)
                pairs = pl.DataFrame({"text": before, "cell": after}).filter(changed & after.is_not_null())
                counted = pairs.group_by("text", "cell", maintain_order=True).len().iter_rows()
                replaced.setdefault(column.name, {}).update({text: (cell, rows) for text, cell, rows in counted})
                cells = cells.with_columns(after.alias(column.name))
                if kinds is not None:
                    kinds = kinds.with_columns(kinds[column.name].set(changed, TEXT).alias(column.name))
    return cells, kinds, used, replaced


def read_sheet(
    grid: Grid,
    name: str | None,
    table: Table,
    mapped: CheckedMapping,
    *,
    delimiter: str | None,
    header: Header | None = None,
    sheets: tuple[ReadSheet, ...] = (),
) -> Sheet:
    """Read the recognised columns of a grid, put together from `sheets` if several; `header` may be found already.

    Raises `ReadingRefused` with `too_many_rows` or `unreadable_file`, or as `find_header` does.
    """
    mapping = mapped.of_table(table)
    header = _checked(header or find_header(grid, table, mapping))
    below = grid.below(header.last_line)
    one, further = of_one_table(below, header, table, _help_below(below, header))
    body = _without_ragged(one, grid, header)
    cells = with_ticks(_select_columns(body.cells, header.columns), body.cells, header.columns, header.ticks)
    cells = without_marks(_without_invisible(cells, header.columns))
    names: list[str | None] = [sheet.name for sheet in sheets] or [name]
    reasons, about_lines, doubted = with_answered_lines(
        _reasons(body, cells, header), body, cells, mapping.lines, columns=header.columns, sheets=names, table=table
    )
    is_data = (~reduce(or_, reasons.values())).scatter([*doubted], values=False)
    faults = tuple(sorted((*body.faults, *doubted.values()), key=lambda fault: fault.line))
    _check_rows(int(is_data.sum()) + len(faults), table)
    kinds = None if body.kinds is None else _select_columns(body.kinds, header.columns).filter(is_data)
    cells, kinds = _with_dittos(cells.with_columns(line=body.lines).filter(is_data), kinds)
    mapping, questions = with_new_names(cells, header.columns, mapping, mapped.new_ids, name)
    cells, kinds, words, replaced = apply_rewritings(cells, kinds, header.columns, mapping)
    cells = without_null_words(cells, header.columns)
    columns = with_names(header.columns, mapping.values)
    sheet = Sheet(
        name,
        header.line,
        columns,
        header.ignored,
        cells,
        decimal_marks(cells, kinds, columns, of_mapping=mapped.decimal, delimiter=delimiter),
        faults,
        kinds,
        skipped_lines(body.lines, reasons, further),
        header.off,
        mapping,
        header.of_packaging or (name is not None and mentions(name, "packaging")),
        header.possible_materials,
        samples_of(body.cells),
        words,
        replaced,
        questions=(*header.questions, *questions, *about_lines),
        in_question=header.in_question,
        watched=header.watched,
        others=_select_columns(body.cells, header.watched).filter(is_data) if header.watched else pl.DataFrame(),
        sheets=sheets,
        ticks=_further_ticks(header, columns),
    )
    sheet = sheet.without(misleading_columns((*columns, *mapping.constants), cells, table))
    return _with_constants(sheet, mapping.constants)


def _further_ticks(header: Header, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the ticks that tell a field with the one that is read as it."""
    read = {column.position for column in columns}
    return tuple(tick for tick in without_compared(header.ticks, columns) if tick.position not in read)


def _reasons(body: Grid, cells: pl.DataFrame, header: Header) -> dict[str, pl.Series]:
    """Return which lines are no data, by the reason; `cells` are those of the header's columns."""
    titled, starts = any(position == 0 for position, _ in header.ignored), sheet_starts(body.lines)
    return find_skipped(cells, header.columns, _label_cells(body, header), titled=titled, starts=starts)


def _check_rows(rows: int, table: Table) -> None:
    if rows > (most := MOST_ROWS if table == "sku" else _MOST_PARTS):
        message = Message("One import takes {most} data lines; this table has more. Send it in parts.", most=most)
        raise refuse("too_many_rows", message)


def _checked(header: Header) -> Header:
    """Refuse a table with too many columns that are fields."""
    if len(header.columns) > _MOST_READ_COLUMNS:
        message = Message(
            "The table has {columns} columns that are fields, and at most {most} are read; "
            "send components in a sheet of their own, and volumes of fewer years.",
            columns=len(header.columns),
            most=_MOST_READ_COLUMNS,
        )
        raise refuse("unreadable_file", message)
    return header


def _with_constants(sheet: Sheet, constants: tuple[Column, ...]) -> Sheet:
    """Add a column for each constant of the mapping, whose cells are texts and numbers written with a point.

    They are added last: only the file decides which lines are data, and which mark is the decimal mark.
    """
    columns = with_component_prefix([*sheet.columns, *constants])[len(sheet.columns) :]
    for column in columns:
        sheet = sheet.with_cells(column, pl.lit(column.constant, pl.String))
    numbers = [column.name for column in columns if column.field.kind in NUMBERS]
    return replace(sheet, marks={**sheet.marks, **dict.fromkeys(numbers, ".")})


def with_levels(sheet: Sheet) -> Sheet:
    """Read formats or uses as levels where their cells name levels: `Packaging type`, `Usage` over `Primary`.

    Where another column already contains the levels, such uses are ignored. A column that the mapping names is kept.
    """
    names = {column.name: column for column in sheet.columns}
    for name, is_of_field in (("packaging_format", are_levels), ("use_contexts", are_mostly_levels)):
        own = names.get(name)
        if own is None or own.exact or own.mapped or not is_of_field(sheet.table[name]):
            continue
        if (level := "packaging_level") not in names:
            other = replace(own, name=level, field=fields_of("sku")[level], exact=False)
            columns = tuple(other if column is own else column for column in sheet.columns)
            kinds = None if sheet.kinds is None else sheet.kinds.rename({name: level})
            return replace(sheet, columns=columns, table=sheet.table.rename({name: level}), kinds=kinds)
        if name == "use_contexts":
            return sheet.without([name])
    return sheet


def _label_cells(body: Grid, header: Header) -> pl.Series | None:
    """Return the cells of the first column where no field is read from it."""
    if "c0" not in body.cells.columns or any(column.position == 0 for column in header.columns):
        return None
    return body.cells["c0"]


def _help_below(below: Grid, header: Header) -> set[int]:
    """Return the rows directly below the header that describe its columns, as a second line of its names does."""
    top = replace(below, cells=below.cells.head(HELP_ROWS), lines=below.lines.head(HELP_ROWS), kinds=None)
    label = _label_cells(top, header)
    if label is None or any(position == 0 for position, _ in header.ignored):
        label = repeated(None, top.cells.height, pl.String)
    helps = help_lines(_select_columns(top.cells, header.columns), header.columns, label)
    return set(helps.arg_true())


def _without_invisible(cells: pl.DataFrame, columns: Iterable[Column]) -> pl.DataFrame:
    """Remove invisible characters within codes and numbers, and at the ends of other texts."""
    anywhere = f"[{INVISIBLE}]"
    beyond_ascii = cells.select((pl.all().str.len_bytes() != pl.all().str.len_chars()).any())
    unsure = [column for column in columns if beyond_ascii[column.name].any()]
    for column in (column for column in unsure if cells[column.name].str.contains(anywhere).any()):
        of_text = column.field.kind == "text" and column.name != "sku_code"
        texts = cells[column.name].str
        visible = texts.strip_chars(INVISIBLE) if of_text else texts.replace_all(anywhere, "")
        cells = cells.with_columns(visible.set(visible.str.strip_chars() == "", None).alias(column.name))
    return cells


def _with_dittos(cells: pl.DataFrame, kinds: pl.DataFrame | None) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the cells with what stands above in place of the marks that say so: `"`, `ditto`.

    A mark below no value stays as it is.
    """
    marked = cells.select(pl.exclude("line").str.strip_chars().is_in(DITTO_MARKS).fill_null(value=False))
    for name in (column.name for column in marked if column.any()):
        above = pl.int_range(cells.height, eager=True).set(marked[name], None).forward_fill()
        cells = cells.with_columns(cells[name].gather(above).fill_null(cells[name]))
        kinds = None if kinds is None else kinds.with_columns(kinds[name].gather(above).fill_null(kinds[name]))
    return cells, kinds


def _select_columns(cells: pl.DataFrame, columns: Iterable[Column]) -> pl.DataFrame:
    return cells.select(pl.col(f"c{column.position}").alias(column.name) for column in columns)


_LETTERED = ("text", "markets")
_NEEDED = ("sku_code", "name", "component_type")


def _without_ragged(body: Grid, grid: Grid, header: Header) -> Grid:
    """Return the rows that have as many cells as the header, or fewer where only empty ones at the end are missing."""
    if not grid.widths:
        return body
    width = grid.widths.get(header.line, grid.cells.width)
    wanted = max(position for position, _ in (*((c.position, c) for c in header.columns), *header.ignored)) + 1
    surplus = body.cells.select(pl.col(f"c{at}").is_not_null() for at in range(width, body.cells.width))
    nothing = repeated(value=False, height=body.cells.height)
    over = surplus.select(pl.any_horizontal(pl.all())).to_series() if surplus.width else nothing
    widths = pl.Series([grid.widths[line] for line in body.lines], dtype=pl.Int64)
    kept = ~over & ((widths >= wanted) | _fitting_short_lines(body.cells, widths, widths < wanted, header.columns))
    key = next(column.position for column in header.columns if column.name == "sku_code")
    numbered = body.cells[f"c{key}"].str.contains(r"\d")
    if numbered.filter(kept).all() and all(column.name in _NEEDED for column in header.columns if column.position == 0):
        # A line without a delimiter and without a digit is a heading, a note or a total, and no row that lost some.
        kept |= (widths == 1) & ~body.cells["c0"].str.contains(r"\d").fill_null(value=True)
    faults: list[LineFault] = []
    for at in (~kept).arg_true():
        message = Message(
            "The line has {width} cells, the header {header_width}; put cells that hold the delimiter "
            "in quotation marks, and keep a delimiter for each empty cell.",
            width=int(widths[at]),
            header_width=width,
        )
        cells = body.row(at)
        start = " | ".join(cell or "" for cell in cells)[:200]
        code = (cells[key] or "").strip() or None
        faults.append(LineFault(int(body.lines[at]), "ragged_row", message, start, code))
    return body.where(kept, faults)


def _fitting_short_lines(
    cells: pl.DataFrame, widths: pl.Series, short: pl.Series, columns: Sequence[Column]
) -> pl.Series:
    """Return the short lines that have their keys, and under each header a cell that fits it.

    A bare number does not fit a column of texts that have letters in all other lines.
    """
    if not short.any():
        return short
    keys = max(column.position for column in columns if column.name in _NEEDED)
    whole = short & (widths > keys)
    for column in columns:
        texts = cells[f"c{column.position}"]
        if column.field.kind in _LETTERED:
            letters = texts.str.contains(r"\p{L}")
            if letters.filter(~short).drop_nulls().all() and not texts.filter(~short).is_null().all():
                whole &= letters.fill_null(value=True)
        else:
            wrong = read_values(texts.set(~short, None), column, ".", None).faults["at"]
            whole = whole.scatter(wrong, values=False)
    return whole


ID_HEADER: Final = "id"
_ID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OF_SNAPSHOT: Final = {"sku_code", "import_id", "markets_in_effect"}
"""Headers of the SKUs of a snapshot's export."""
_OF_EXPORT: Final = {"sku_code", "id", "position", "component_type"}
"""Headers of the components of every export, where each has an id of ours; a table made by hand has none."""


def check_export(sheet: Sheet) -> None:
    """Refuse a table that the service exported and that lacks fields: an import would clear those of the parts."""
    headers = {*(column.header for column in sheet.columns), *(header for _, header in sheet.ignored)}
    ids = [text for at, header in sheet.ignored if header == ID_HEADER for text in sheet.samples.get(at, ())]
    lacking = [field.name for field in COMPONENT_FIELDS if field.kind != "substances" and field.name not in headers]
    if headers >= _OF_SNAPSHOT or (headers >= _OF_EXPORT and lacking and any(map(_ID.fullmatch, ids))):
        message = Message(
            "This is an export that lacks fields of the records, as one of a snapshot does: importing it would clear "
            "what it does not have. Export the records (source: records), and import that file with all its columns."
        )
        raise refuse("missing_column", message)
