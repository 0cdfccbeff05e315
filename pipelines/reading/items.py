"""Brings tables in which several lines of another form make an item into a table of items, before its header is read.

*Attributes in rows*: a column names an attribute, another one has its value (`Merkmal | Wert`, as exports of SAP's
classes and of product information systems). Each attribute becomes a column behind those of the file, under its own
word as the header; each item is the first of its lines. An attribute that an item has twice with other values is a
fault of the later line, which rejects the item.

*Levels of a bill of materials*: a column numbers the depth of each line, most often 0 for the item and 1 for its
parts. Each part gets the code and the name of its item, and its own description becomes the name of the part. Parts of
parts are parts of the item. What the item itself weighs there, most often with its contents, is kept apart from its
parts, and so are the parts' own codes.

Words for such columns are data (`words.csv`, vocabulary `line_form`). Everything else reads the result as any table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import polars as pl

from pipelines.reading.column_values import ROWS_SEARCHED, are_codes
from pipelines.reading.columns import recognise, substitute_column
from pipelines.reading.grammar import quantity_of, word_roles
from pipelines.reading.grid import (
    FIELDS_OF_PART,
    LONGEST_HEADER,
    TEXT,
    WEIGHTS,
    Cells,
    Grid,
    LineFault,
    check_width,
    repeated,
)
from pipelines.reading.words import names_part
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_of, fold

_DEPTH: Final = r"^[\s.·\-–*>]*\d{1,2}$"
"""The depth of a line as bills write it: `1`, `.1`, `..2`."""
_NUMBER: Final = r"^\s*[<≤]?\s*[\d.,]+\s*$"
_LINES: Final = 200
"""Lines below the header that are examined."""
_OF_PART: Final = (*FIELDS_OF_PART, "packaging_format", "weight_unit")
"""Fields that a line of the item gives of the whole item: not those of its parts."""
_MATERIALS: Final = ("material", "material_subtype")
_KEYS: Final = ("sku_code", "name", "description")
_PART: Final = "component_type"


@dataclass(frozen=True, slots=True)
class Form:
    """How the lines of a table make its items: the row of its header, and the columns that say so, by position.

    `code` has the item's code. Attributes are in `attribute`, their values in `value`, whose unit may be in `unit`; of
    which part of the item they are may be in `part`.
    Depths are in `depth`, that of an item is `item`; the names of item and parts are in `name`. `width` is the number
    of columns of the header.
    """

    kind: Literal["attributes", "levels"]
    row: int
    width: int
    code: int
    attribute: int = -1
    value: int = -1
    unit: int | None = None
    part: int | None = None
    depth: int = -1
    name: int = -1
    item: int = 0

    @property
    def of_texts(self) -> tuple[int, ...]:
        """Return the positions of columns that are needed as texts, whatever is read from them."""
        if self.kind == "levels":
            return (self.code, self.depth, self.name)
        return tuple(at for at in range(self.width) if at != self.value)


def form_of(grid: Grid) -> Form | None:
    """Return how several lines of a grid make an item; None where each line is one, or a part as its columns say."""
    for row in range(min(ROWS_SEARCHED, grid.cells.height)):
        cells = grid.row(row)
        kinds = {at: kind for at, cell in enumerate(cells) if cell and (kind := _kind(cell)) is not None}
        if not kinds:
            continue
        form = _of_attributes(grid, row, cells, kinds) or _of_levels(grid, row, cells, kinds)
        if form is not None:
            return form
    return None


def with_items(grid: Grid, form: Form | None) -> Grid:
    """Return a grid as a table of items and parts; as it is without a form."""
    if form is None:
        return grid
    return _with_attributes(grid, form) if form.kind == "attributes" else _with_parts(grid, form)


def items_of_lines(grid: Grid) -> dict[int, str | None]:
    """Return the code of the item of each line where several lines of such a form make one; else nothing."""
    form = form_of(grid)
    if form is None:
        return {}
    codes = grid.cells[f"c{form.code}"][form.row + 1 :]
    if form.kind == "levels":
        codes = codes.set(_depths(grid.cells[f"c{form.depth}"][form.row + 1 :]) != form.item, None)
    return dict(zip(grid.lines[form.row + 1 :], codes.str.strip_chars().forward_fill(), strict=True))


@lru_cache(maxsize=4096)
def _kind(cell: str) -> str | None:
    return code_of(cell, "line_form") if len(cell) < LONGEST_HEADER else None


@lru_cache(maxsize=4096)
def _field(cell: str) -> str | None:
    """Return the field of a header, of a substitute too."""
    column = recognise(cell, 0, "sku") or substitute_column(cell)
    return None if column is None else column.field.name


def _fields(cells: Cells, besides: Sequence[int]) -> dict[int, str]:
    """Return the fields of the headers of a row, by position."""
    return {at: name for at, cell in enumerate(cells) if cell and at not in besides and (name := _field(cell))}


def _code_at(grid: Grid, row: int, fields: Mapping[int, str]) -> int | None:
    """Return the column of the item's code: that of a code, or `Material` over numbers of articles."""
    codes = [at for at, name in fields.items() if name == "sku_code"]
    if not codes:
        of_things = (at for at, cell in enumerate(grid.row(row)) if cell and _names_thing(cell, fields.get(at)))
        codes = [at for at in of_things if are_codes(grid.under(at, row, _LINES))]
    return codes[0] if codes else None


def _names_thing(cell: str, field: str | None) -> bool:
    """Return whether a header names a thing that may be an article's or a part's number: `Item`, `Material`."""
    return field in ("material", _PART) or word_roles(cell) in ({"thing"}, {"thing", "code"})


def _of_attributes(grid: Grid, row: int, cells: Cells, kinds: Mapping[int, str]) -> Form | None:
    named = [at for at, kind in kinds.items() if kind == "attribute"]
    values = [at for at, kind in kinds.items() if kind == "value"]
    fields = _fields(cells, (*named, *values))
    code = _code_at(grid, row, fields)
    if not named or len(values) != 1 or code is None:
        return None
    known = {at: {text for text in grid.under(at, row, _LINES).unique() if _field(text) is not None} for at in named}
    attribute = max(named, key=lambda at: len(known[at]))
    part = next((at for at, name in fields.items() if name == _PART), None)
    of_part = pl.lit("") if part is None else pl.col(f"c{part}").fill_null("")
    below = grid.cells[row + 1 :].select(code=pl.col(f"c{code}").forward_fill(), of=f"c{attribute}", part=of_part)
    below = below.drop_nulls()
    once = below.n_unique() == below.height and below["of"].n_unique() < below.height
    repeats, several = below["code"].n_unique() < below.height, below["of"].n_unique() > 1
    unit = next((at for at, name in fields.items() if name == "weight_unit"), None)
    if not (repeats and several and (known[attribute] or once)):
        return None
    width = grid.widths.get(int(grid.lines[row]), len(cells))
    return Form("attributes", row, width, code, attribute, values[0], unit, part)


def _of_levels(grid: Grid, row: int, cells: Cells, kinds: Mapping[int, str]) -> Form | None:
    depths = [at for at, kind in kinds.items() if kind == "level"]
    if len(depths) != 1:
        return None
    top = grid.cells[row + 1 :].head(_LINES).filter(pl.col(f"c{depths[0]}").is_not_null())
    depth = _depths(top[f"c{depths[0]}"])
    steps = depth.diff().drop_nulls()
    if depth.null_count() or depth.n_unique() < 2 or depth[0] != depth.min() or depth[0] > 1 or (steps > 1).any():
        return None
    fields = _fields(cells, depths)
    # Lists of levels of packaging have a material and a weight in each line, or another material than those of parts.
    materials, weights = ([f"c{at}" for at, name in fields.items() if name in of] for of in (_MATERIALS, WEIGHTS))
    given, weighed = (
        top.select(pl.any_horizontal(pl.lit(value=False), pl.col(of).is_not_null())).to_series()
        for of in (materials, weights)
    )
    items = depth == depth[0]
    if ((given & items).any() and (depth[0] > 0 or (weighed & items).any())) or not (given & ~items).any():
        return None
    code = _code_at(grid, row, fields)
    names = [at for at, name in fields.items() if name in (*_KEYS[1:], _PART) and at != code]
    if code is None or not names:
        return None
    described = max(names, key=lambda at: sum(map(names_part, grid.under(at, row, _LINES))))
    return Form("levels", row, len(cells), code, depth=depths[0], name=described, item=int(depth[0]))


def _depths(texts: pl.Series) -> pl.Series:
    fitting = texts.str.contains(_DEPTH).fill_null(value=False)
    return texts.set(~fitting, None).str.extract(r"(\d{1,2})$").cast(pl.Int64)


_WITHOUT_ITEM: Final = Message("{name} is missing; each line needs one.", name="sku_code")
_LOST: Final = Message("The line has more cells than its header; put cells that hold the delimiter in quotation marks.")


def _with_attributes(grid: Grid, form: Form) -> Grid:
    """Return a line for each item, whose attributes are columns behind those of the file."""
    code, attribute = f"c{form.code}", f"c{form.attribute}"
    top, body = grid.cells[: form.row + 1], grid.cells[form.row + 1 :].with_columns(line=grid.lines[form.row + 1 :])
    kinds = None if grid.kinds is None else grid.kinds[form.row + 1 :][f"c{form.value}"]
    surplus = [name for name in grid.cells.columns if int(name[1:]) >= form.width]
    body = body.with_columns(
        kind=repeated(TEXT, body.height, pl.UInt8) if kinds is None else kinds,
        value=_values(body, form),
        lost=pl.any_horizontal(pl.lit(value=False), pl.col(surplus).is_not_null()),
    )
    told = {form.attribute, form.value, form.unit, form.part}
    others = [name for name in grid.cells.columns if int(name[1:]) not in told]
    carried = pl.all_horizontal(pl.col(others).is_null()) & pl.col(attribute).is_not_null()
    body = body.with_columns(pl.when(carried).then(pl.col(code).forward_fill()).otherwise(pl.col(code)))
    part = pl.lit("") if form.part is None else pl.col(f"c{form.part}").fill_null("")
    body = body.with_columns(key=pl.concat_str(pl.col(code).str.strip_chars(), part, separator="\n"))
    lost = body.filter("lost").select("line", code, "value").rows()
    faults = [LineFault(line, "ragged_row", _LOST, value, of_item) for line, of_item, value in lost]
    without = pl.col(code).is_null() & pl.col(attribute).is_not_null() & ~pl.col("lost")
    orphans = body.filter(without).select("line", attribute).rows()
    faults += [LineFault(line, "required", _WITHOUT_ITEM, text) for line, text in orphans]
    pairs = body.filter(~pl.col("lost") & pl.col(code).is_not_null() & pl.col(attribute).is_not_null())
    pairs = pairs.with_columns(word=pairs[attribute].replace_strict(words := _attributes(pairs[attribute])))
    faults += _faults_of_repeats(pairs, code)
    placed = {word: f"c{form.width + at}" for at, word in enumerate(dict.fromkeys(words.values()))}
    check_width(form.width + len(placed))
    first = ~without & (pl.col("key").is_first_distinct() | pl.col(code).is_null())
    rejected = [fault.sku_code for fault in faults if fault.sku_code is not None]
    lines = body.filter(~pl.col("lost") & first & ~pl.col(code).is_in(rejected).fill_null(value=False))
    constant = _constant(body, form)
    left = [name for name in top.columns if int(name[1:]) not in told - {form.part} and int(name[1:]) < form.width]
    top = top.select(left)
    kept = lines.select(
        pl.col(name) if name in constant else pl.lit(None, pl.String).alias(name) for name in top.columns
    )
    titles = [pl.Series(name, [*repeated(None, form.row, pl.String), word]) for word, name in placed.items()]
    known = pairs.drop_nulls("value").unique(subset=["key", "word"], keep="first", maintain_order=True)
    by_word = known.select("key", "word", "value", "kind").partition_by("word", as_dict=True)
    given = [(name, by_word.get((word,), known.clear())) for word, name in placed.items()]
    joined = [(name, lines.select("key").join(own, on="key", how="left", maintain_order="left")) for name, own in given]
    texts = kept.with_columns(of["value"].alias(name) for name, of in joined)
    kinds_of = [of["kind"].fill_null(TEXT).alias(name) for name, of in joined]
    whole = pl.concat([pl.DataFrame([*_titled(top, form).iter_columns(), *titles]), texts])
    return replace(
        grid,
        cells=whole,
        lines=pl.concat([grid.lines[: form.row + 1], lines["line"]]),
        kinds=_kinds(grid, form, kept, kinds_of),
        faults=tuple(sorted((*grid.faults, *faults), key=lambda fault: fault.line)),
        widths={},
        filled=None,
    )


def _titled(top: pl.DataFrame, form: Form) -> pl.DataFrame:
    """Return the lines down to the header, with the fields' own names over code and name where it says another one."""
    for at, name in ((form.code, "sku_code"), (form.name, "name")):
        if at >= 0 and _field(top[f"c{at}"][form.row]) not in (name, "description"):
            top = top.with_columns(pl.Series(f"c{at}", [*top[f"c{at}"][: form.row], name], dtype=pl.String))
    return top


def _values(body: pl.DataFrame, form: Form) -> pl.Series:
    """Return the values, each with the unit beside it."""
    values = body[f"c{form.value}"]
    if form.unit is None:
        return values
    units = body[f"c{form.unit}"]
    says = units.str.contains(r"[\p{L}%]") & values.str.contains(_NUMBER)
    return values.zip_with(~says.fill_null(value=False), values + " " + units)


def _attributes(texts: pl.Series) -> dict[str, str]:
    """Return for each text of an attribute its first spelling."""
    spelled: dict[str, str] = {}
    return {text: spelled.setdefault(fold(text), text.strip()) for text in texts.unique(maintain_order=True)}


def _faults_of_repeats(pairs: pl.DataFrame, code: str) -> list[LineFault]:
    """Return a fault for each line that gives an attribute of its item with another value than an earlier line."""
    given = pairs.drop_nulls("value").with_columns(
        before=pl.col("value").first().over("key", "word"), first=pl.col("line").first().over("key", "word")
    )
    again = given.filter(pl.col("value") != pl.col("before")).select("line", "first", "word", "value", code)
    return [
        LineFault(
            line,
            "duplicate_row",
            Message(
                "Line {line} gives {attribute} of this item with another value; give it once, or give each part and "
                "each version a code of its own.",
                line=first,
                attribute=quote(word),
            ),
            value,
            of_item,
        )
        for line, first, word, value, of_item in again.iter_rows()
    ]


def _constant(body: pl.DataFrame, form: Form) -> set[str]:
    """Return the columns that say one thing of each item: others are of its attributes."""
    code, own = f"c{form.code}", {form.attribute, form.value, form.unit}
    names = [name for name in body.columns if name[0] == "c" and int(name[1:]) not in own]
    if not names:
        return set()
    counted = body.select((pl.col(name).drop_nulls().n_unique().over("key") <= 1).all().alias(name) for name in names)
    return {name for name in names if counted[name][0]} | {code}


def _kinds(grid: Grid, form: Form, kept: pl.DataFrame, kinds: Sequence[pl.Series]) -> pl.DataFrame | None:
    """Return the kinds of cells: all are texts but values that a workbook stores as others."""
    if grid.kinds is None:
        return None
    height = form.row + 1 + kept.height
    plain = [repeated(TEXT, height, pl.UInt8).alias(name) for name in kept.columns]
    above = repeated(TEXT, form.row + 1, pl.UInt8)
    return pl.DataFrame([*plain, *(pl.concat([above, of.cast(pl.UInt8)]).alias(of.name) for of in kinds)])


_AMBIGUOUS: Final = Message(
    "This part of the bill of materials has parts of its own below it, and a weight or a material itself; give them of "
    "one or of the others."
)
_COUNTED: Final = Message(
    "This part of the bill of materials has parts of its own below it, and a quantity; give the quantity of each of "
    "its parts in one item."
)
_ONE: Final = r"^\s*1(?:[.,]0+)?\s*$"


def _with_parts(grid: Grid, form: Form) -> Grid:
    """Return the lines with their item's code and name, and columns for what is the parts' and the item's own."""
    code, name, depth = (f"c{at}" for at in (form.code, form.name, form.depth))
    header = grid.row(form.row)
    fields = _fields(header, (form.depth,))
    body = grid.cells[form.row + 1 :].with_columns(line=grid.lines[form.row + 1 :])
    body = body.with_columns(depth=_depths(body[depth]))
    faults = _faults_of_assemblies(body, form, header, fields)
    is_item = (body["depth"] == form.item).fill_null(value=False)
    is_part = (body["depth"] > form.item).fill_null(value=False)
    items = body.with_columns(item=is_item.cum_sum()).select(pl.col(code, name).first().over("item"))
    nameless = body.filter(is_part & items[code].is_null()).select("line", name).rows()
    faults += [LineFault(line, "required", _WITHOUT_ITEM, text) for line, text in nameless]
    is_whole = is_part & (body["depth"].shift(-1) <= body["depth"]).fill_null(value=True)
    of_item = [f"c{at}" for at, field in fields.items() if field in _OF_PART and f"c{at}" not in (code, name)]
    lines = body.with_columns(
        *(body[key].zip_with(~is_part, items[key]) for key in (code, name)),
        *(body[at].set(is_item, None) for at in of_item),
    )
    apart = [
        (_PART, body[name].set(~is_whole, None)),
        (f"{header[form.depth]} > {form.item}: {header[form.code]}", body[code].set(~is_part, None)),
        *((f"{header[form.depth]} {form.item}: {header[int(at[1:])]}", body[at].set(~is_item, None)) for at in of_item),
    ]
    given = [(title, cells) for title, cells in apart if title == _PART or cells.null_count() < len(cells)]
    kept = [f"c{at}" for at in range(form.width) if f"c{at}" in body.columns]
    top = _titled(grid.cells[: form.row + 1], form)
    columns = [pl.concat([top[at], lines[at]]).alias(at) for at in kept if at != depth]
    columns += [
        pl.Series(f"c{form.width + at}", [*repeated(None, form.row, pl.String), title, *cells], dtype=pl.String)
        for at, (title, cells) in enumerate(given)
    ]
    kinds = None
    if grid.kinds is not None:
        plain = repeated(TEXT, grid.cells.height, pl.UInt8)
        names = [column.name for column in columns]
        kinds = pl.DataFrame([grid.kinds[at] if at in kept else plain.alias(at) for at in names])
    whole = replace(grid, cells=pl.DataFrame(columns), kinds=kinds, filled=None, widths={})
    return whole.where(~whole.lines.is_in([fault.line for fault in faults]), faults)


def _faults_of_assemblies(body: pl.DataFrame, form: Form, header: Cells, fields: Mapping[int, str]) -> list[LineFault]:
    """Return a fault for each part with parts below it that weighs something itself, or that an item has several of."""
    code = f"c{form.code}"
    weighed = [f"c{at}" for at, name in fields.items() if name in FIELDS_OF_PART]
    counted = [f"c{at}" for at, cell in enumerate(header) if cell and quantity_of(cell) and f"c{at}" in body.columns]
    above = body.with_columns(
        next=pl.col("depth").shift(-1),
        item=pl.when(pl.col("depth") == form.item).then(pl.col(code)).forward_fill(),
        weighs=pl.any_horizontal(pl.lit(value=False), pl.col(weighed).is_not_null()),
        several=pl.any_horizontal(pl.lit(value=False), ~pl.col(counted).str.contains(_ONE).fill_null(value=True)),
    ).filter(
        (pl.col("depth") > form.item) & (pl.col("next") > pl.col("depth")) & (pl.col("weighs") | pl.col("several"))
    )
    return [
        LineFault(line, "duplicate_row", _AMBIGUOUS if weighs else _COUNTED, text, item)
        for line, weighs, text, item in above.select("line", "weighs", code, "item").iter_rows()
    ]
