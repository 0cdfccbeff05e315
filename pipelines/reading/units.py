"""Decides in which unit the columns of a table are, and converts weights by the columns beside them.

A unit is named by the header (`grammar.py`), by the mapping, by a remark above the table, or by a column of units,
which belongs to the number that it follows (decisions §13): behind a price or a net weight it is none of the packaging,
and one that follows no number may be the unit that the article is sold in. The only column of units in a table applies
to every weight whose header names no unit. Where the unit stays open the column is asked about and not read: no number
is stored in a unit that the header only seems to name. `units.csv` lists the factors.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import permutations
from typing import Final, NamedTuple

import polars as pl

from compliance.catalogue import pinned, served
from pipelines.reading.by_cells import answers_of_absence, answers_of_single_use, of_single_use, of_substance
from pipelines.reading.column_values import Searched
from pipelines.reading.columns import open_column
from pipelines.reading.grammar import (
    PIECES,
    measures_in,
    names_bundle,
    names_quantity,
    unit_in,
    word_roles,
)
from pipelines.reading.grid import (
    VOLUME,
    WEIGHTS,
    Column,
    Table,
    faults_where,
    fields_of,
    letter,
)
from pipelines.reading.mapping import SheetMapping
from pipelines.reading.neighbours import OF_UK_REPORT, misspelt_column
from pipelines.reading.placed import is_served
from pipelines.reading.questions import question
from pipelines.reading.side_by_side import about_other_units, is_of_other_units
from pipelines.reading.values import outside_limits, read_numbers
from pipelines.reading.words import Unit, unit_by_factor, unit_of
from schemas.imports.types import Asked
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import quote
from schemas.words import code_lists, fold

_UNIT: Final = "weight_unit"
_LINES: Final = 40
"""Lines below the header that are searched for units."""
_MOST_NAMED: Final = 8
_UNITS: Final = {
    "g": ("g", "kg", "mg", "kg/1000", "g/1000"),
    "percent": ("%", "fraction"),
    "um": ("um", "mm"),
    "g/cm3": ("g/cm3", "kg/m3"),
    PIECES: ("units", "1000"),
}
"""The units that are offered for a field in this unit; a mapping may write others."""
_TONNES: Final = Decimal(1_000_000)
_FIGURES: Final = frozenset({"measure", "sale", "count", "share"})
_OF_WORDS: Final = ("markets", "code", "codes")
_NUMBER: Final = r"^\s*[+-]?\d[\d.,'\s]*$"


def open_columns(header: Searched, columns: Sequence[Column], table: Table) -> list[Column]:
    """Return the columns of headers that were not wholly understood, of fields that no other column gives.

    One of countries or words with a unit is none: `Plastic placed on market DE 2025 (kg)`; `SVHC < 0,1 %` is a limit.
    """
    names, taken = {column.name for column in columns}, {column.position for column in columns}
    free = [(at, cell) for at, cell in enumerate(header.cells) if cell is not None and at not in taken]
    told = (
        (at, cell, open_column(cell, at, table, loose=True) or misspelt_column(cell, at, table)) for at, cell in free
    )
    asked = (
        (cell, of_single_use(of_substance(column, at, cell, header), at, cell, header)) for at, cell, column in told
    )
    opened = [
        column
        for cell, column in asked
        if column is not None
        and (
            column.field.kind not in _OF_WORDS
            or column.field.vocabulary == "substance_status"
            or all(m.unit in ("", PIECES) for m in measures_in(cell))
        )
    ]
    has_parts = table == "component" or "component_type" in names
    of_table = [column for column in opened if column.table == "sku" or column.group is not None or has_parts]
    return [column for column in of_table if column.name not in names]


def about_open_column(column: Column, header: Searched) -> Asked:
    """Return the question about a column around whose known term something was not understood.

    Where only its unit is open the answers are units: for the weight of a case, those per so many.
    """
    text, sheet, table = str(column.open), header.sheet, header.table
    unit_of_field = column.field.unit or ""
    units: Sequence[str] = _UNITS.get(unit_of_field, (unit_of_field,)) if _is_about_unit(column) else ()
    own = unit_by_factor(float(column.factor), unit_of_field) if column.has_unit else None
    if text in units:
        units = [text, *(unit for unit in units if unit != text)]
    if units and own is not None:  # the header names it
        units = [own.name, *(unit for unit in units if unit != own.name)]
    if units and column.field.unit == "g" and names_bundle(text):
        unit = "g" if own is None else own.name
        units = [*(f"{unit} per case of {count}" for count in (12, 6, 24, 100)), unit]
    if column.field == VOLUME and is_of_other_units(text):
        units, message = (), about_other_units(column, text)
    elif units:
        message = _about_unit(column, units, text)
    else:
        message = _about_words(column, header, text)
    return question(
        "unit" if units else "column",
        message,
        could_be=units or [column.name, *_states_of(column)],
        column=column,
        sheet=sheet,
        text=text,
        of_components=table == "component",
    )


def _about_unit(column: Column, units: Sequence[str], text: str) -> Message:
    answer = {"columns": {column.name: letter(column.position)}, "units": {column.name: units[0]}}
    if fold(column.header) == fold(OF_UK_REPORT) and text == units[0]:
        return Message(
            "{header} is a weight of the United Kingdom's report, which is in kilograms; here it may be in grams. It "
            "is not read. Say its unit: mapping={mapping}.",
            header=quote(column.header),
            mapping=answer,
        )
    return Message(
        "{header} may be {name}, but {text} in it was not understood; it is not read. Say its unit: "
        "mapping={mapping}, or per what it is, such as per case of 12.",
        header=quote(column.header),
        name=column.name,
        text=quote(text),
        mapping=answer,
    )


def _about_words(column: Column, header: Searched, text: str) -> Message:
    answer: JsonObject = {"columns": {column.name: letter(column.position)}}
    if column.field == VOLUME and text == column.header:
        return Message(
            "{header} is a market, and nothing says what the numbers below it count; they are not read. If they are "
            "units of a year, say so: mapping={mapping}.",
            header=quote(column.header),
            mapping=answer,
        )
    if values := answers_of_absence(column, header) or answers_of_single_use(column, header):
        answer["values"] = {column.name: values}
    return Message(
        "{header} may be {name}, but {text} in it was not understood; it is not read. If it is, say so: "
        "mapping={mapping}.",
        header=quote(column.header),
        name=column.name,
        text=quote(text),
        mapping=answer,
    )


def _states_of(column: Column) -> list[str]:
    """Return the units of the state of the USA, or beside it of the country, that an open code may be.

    It is one that the catalogue serves.
    """
    code, states = fold(str(column.open)), code_lists("markets")["us_states"]
    state = states.get(code) if column.field == VOLUME and len(code) == 2 else None
    if state is not None and state == column.market:
        return [column.name.replace(f"_us_{code}", f"_{code}", 1)] if is_served(code) else []
    is_known = state in {entry.code for entry in served(pinned())}
    return [column.name.replace(f"_{code}", f"_us_{code}", 1)] if is_known else []


def with_units_of_mapping(columns: Sequence[Column], mapped: SheetMapping) -> list[Column]:
    """Return the columns in the units that the mapping gives for their fields, in each group of components too."""
    converted = list(columns)
    for at, column in enumerate(columns):
        if (said := mapped.unit_of(column)) is not None:
            # What was not understood may be more than the unit, so that a unit alone settles nothing.
            text = None if column.mapped or _is_about_unit(column) else column.open
            converted[at] = replace(column, factor=said.factor, per=said.per, has_unit=True, exact=False, open=text)
    return converted


def _is_about_unit(column: Column) -> bool:
    """Return whether the unit of an open column is open: a unit or a quantity is among what was not understood."""
    of_part = bool(column.fixed)  # a tray or a bottle is a part there, and no quantity
    is_market = column.field == VOLUME and column.open == column.header  # `MN` is a country and no million
    return (
        column.field.unit is not None
        and not of_part
        and not is_market
        and (column.mapped or names_quantity(str(column.open)))
    )


def is_shared(column: Column) -> bool:
    """Return whether a column contains units and belongs to no group of columns."""
    return column.field.name == _UNIT and column.group is None


def names_unit(weight: Column, unit: Column | None = None) -> bool:
    """Return whether a weight's header names its unit.

    The field's own name (`weight_grams`) names none beside a column `unit` with the unit field's own name, or one that
    the mapping names.
    """
    is_settled = unit is not None and (unit.exact or unit.mapped)
    return weight.has_unit and not (weight.exact and is_settled)


def own_units(units: Sequence[Column], weights: Sequence[Column]) -> list[Column]:
    """Return columns of units, each as that of the weight it stands beside; a single one is that of all weights.

    Empty where not every weight has its own, right of it or left of it: then the table is ambiguous.
    """
    weights = [column for column in weights if column.field.name in WEIGHTS]
    for step in (1, -1) if len(units) > 1 and weights else ():
        beside = {weight.position + step: weight for weight in weights}
        own = [_as_unit_of(beside[column.position], column) for column in units if column.position in beside]
        if len(own) == len(weights):
            return own
    return list(units) if len(units) == 1 else []


def with_units_beside(columns: list[Column], header: Searched) -> list[Column]:
    """Add the column right of each weight that contains only units of mass, whatever its header.

    Adds none to a table with a column of units for all weights.
    """
    if any(is_shared(column) for column in columns):
        return columns
    taken = {column.position for column in columns}
    owned = {column.group for column in columns if column.field.name == _UNIT}
    beside: dict[int, Column] = {}
    for weight in columns:
        at = weight.position + 1
        if weight.field.name not in WEIGHTS or weight.group in owned or at >= len(header.cells) or at in taken:
            continue
        under = header.under(at, _LINES)
        if len(under) and not is_of_other_figure(header.cells[at] or "") and all(unit_of(c, "g") for c in under):
            beside[at] = weight
    units = [
        Column(_UNIT, fields_of("sku")[_UNIT], "sku" if weight.group else weight.table, at, header.cells[at] or "")
        for at, weight in beside.items()
    ]
    return [*columns, *own_units(units, list(beside.values()))]


def unit_per_group(columns: Sequence[Column]) -> list[Column]:
    """Return the shared column of units as that of each group whose weight has none of its own.

    The mapping's constant applies whatever the weights' headers say: its author has decided.
    """
    shared = next((column for column in columns if is_shared(column)), None)
    owned = {column.group for column in columns if column.field.name == _UNIT}
    if shared is None:
        return []
    weights = weights_of_shared_unit(columns)
    if shared.constant is not None:
        weights = [column for column in columns if column.field.name == "weight_g"]
    return list({c.group: _as_unit_of(c, shared) for c in weights if c.group and c.group not in owned}.values())


def weights_of_shared_unit(columns: Sequence[Column]) -> list[Column]:
    """Return the weights of a shared column of units: those whose header names no unit; all where each names one."""
    weights = [column for column in columns if column.field.name in WEIGHTS]
    shared = next((column for column in columns if is_shared(column)), None)
    without_unit = [column for column in weights if not names_unit(column, shared)]
    return without_unit or weights


def _as_unit_of(weight: Column, column: Column) -> Column:
    """Return a column as the unit of a weight."""
    name = f"{weight.name.removesuffix(weight.field.name)}{_UNIT}"
    field = fields_of(weight.table)[_UNIT]
    return replace(column, name=name, field=field, table=weight.table, group=weight.group, fixed=weight.fixed)


class UnitsOfWeights(NamedTuple):
    """The columns that are read, a question for each weight whose unit is open, and the positions of those weights."""

    columns: list[Column]
    questions: list[Asked]
    in_question: frozenset[int]


def judge_units(columns: list[Column], header: Searched, mapped: SheetMapping) -> UnitsOfWeights:
    """Return the columns with each column of units judged by its header, its values and the number before it.

    A weight that the mapping gives a unit has that one. Tonnes are asked about: no packaging weighs so much.
    """
    settled = {c.group for c in columns if c.field.name in WEIGHTS and mapped.unit_of(c) is not None}
    columns = [column for column in columns if column.field.name != _UNIT or column.group not in settled]
    open_weights: dict[int, tuple[Column, list[str], Column | None]] = {}
    for unit in [column for column in columns if is_shared(column) and not column.exact and not column.mapped]:
        names = list(dict.fromkeys(header.under(unit.position)))
        verdict = _owner(unit, names, columns, header)
        if verdict != "weight":
            columns = [column for column in columns if column is not unit]
        if verdict == "open":
            weights = [
                weight for weight in weights_of_shared_unit([*columns, unit]) if not weight.has_unit or weight.exact
            ]
            open_weights.update({weight.position: (weight, names, unit) for weight in weights})
    for weight in columns:
        if weight.field.name not in WEIGHTS or mapped.unit_of(weight) is not None:
            continue
        own = next((c for c in columns if c.field.name == _UNIT and c.group == weight.group), None)
        own = own or next((c for c in columns if is_shared(c) and weight in weights_of_shared_unit(columns)), None)
        factors = set() if own is None else {_factor(cell) for cell in header.under(own.position).unique()}
        if weight.factor == _TONNES or factors == {_TONNES}:
            open_weights[weight.position] = (weight, ["t"], None)
    questions = [_question(weight, names, unit, columns, header.sheet) for weight, names, unit in open_weights.values()]
    bare = [c for c in columns if c.name == "weight_grams" and not (c.exact or c.has_unit or mapped.unit_of(c))]
    if any(column.field.name == _UNIT for column in columns) or not {c.position for c in bare} - open_weights.keys():
        return UnitsOfWeights(columns, questions, frozenset(open_weights))
    [weight] = bare
    between = _is_between(weight, columns, header)
    if between is None:
        return UnitsOfWeights(columns, questions, frozenset(open_weights))
    if between.factor is not None:
        of_both = replace(weight, factor=between.factor, has_unit=True)
        return UnitsOfWeights([of_both if c is weight else c for c in columns], questions, frozenset(open_weights))
    questions.append(_question_between(weight, between, header.sheet))
    return UnitsOfWeights(columns, questions, frozenset({*open_weights, weight.position}))


class Between(NamedTuple):
    """The headers of a gross and a net weight whose difference a weight is, and the factor of their unit if known."""

    gross: str
    net: str
    factor: Decimal | None


_DIFFERS: Final = 0.05
"""Share by which a weight may differ from gross less net: all three are rounded."""


def _is_between(weight: Column, columns: Sequence[Column], header: Searched) -> Between | None:
    """Return the two weights whose difference a bare weight is in every line; its unit is theirs, and not the gram."""
    free = header.free([column.position for column in columns]).items()
    measured = [(at, text) for at, text in free if {"weight", "measure"} <= word_roles(text)]
    body = header.grid.cells[max(header.at, header.last) + 1 :].head(_LINES)
    for (more, gross), (less, net) in permutations(measured, 2):
        cells = body.select(f"c{more}", f"c{less}", f"c{weight.position}").drop_nulls()
        for mark in ".," if len(cells) > 1 else "":
            a, b, c = (read_numbers(series, weight, mark, None).values.cast(pl.Float64) for series in cells)
            if ((c > 0) & ((a - b - c).abs() <= c * _DIFFERS) & (a > b)).fill_null(value=False).all():
                units = {None if (unit := unit_in(text, "g")) is None else unit.factor for text in (gross, net)}
                return Between(gross, net, units.pop() if len(units) == 1 else None)
    return None


def _question_between(weight: Column, between: Between, sheet: str | None) -> Asked:
    message = Message(
        "{header} is {gross} less {net}, and nothing says their unit; it is not read. Say it: mapping={mapping}.",
        header=quote(weight.header),
        gross=quote(between.gross),
        net=quote(between.net),
        mapping={"units": {weight.name: "kg"}},
    )
    return question("unit", message, could_be=["kg", "g"], column=weight, sheet=sheet)


def is_of_other_figure(header: str) -> bool:
    """Return whether a header of units names another figure than a weight: `Price unit`, `Sales unit`."""
    roles = word_roles(header)
    return bool(roles & _FIGURES) and not roles & {"weight", "packaging", "tare", "empty"}


def _owner(unit: Column, names: Sequence[str], columns: Sequence[Column], header: Searched) -> str:
    """Return whose unit a column contains: that of a `weight`, of an `other` figure, or `open`."""
    roles = word_roles(unit.header)
    if is_of_other_figure(unit.header):
        return "other"
    before = _number_before(unit, columns, header)
    if "packaging" in roles or before == "weight" or not names:
        return "weight"
    if all(column.has_unit and not column.exact for column in columns if column.field.name in WEIGHTS):
        return "other"
    factors = set(map(_factor, names))
    if None in factors:  # beside M, EA or ST even KG is a unit of quantity
        return "other"
    if before == "other" and "weight" not in roles:
        return "other"
    certain = factors == {Decimal(1)} or (before is None and "weight" in roles)
    return "weight" if certain else "open"


def _number_before(unit: Column, columns: Sequence[Column], header: Searched) -> str | None:
    """Return whether the nearest column of numbers left of a column of units is a `weight` or an `other` figure."""
    by_position = {column.position: column for column in columns}
    for at in range(unit.position - 1, -1, -1):
        column = by_position.get(at)
        if column is not None and column.field.name in WEIGHTS:
            return "weight"
        if column is not None and column.field.kind not in ("number", "integer"):
            continue
        under = header.under(at)
        numbers = len(under) and int(under.str.contains(_NUMBER).sum()) * 2 > len(under)
        if numbers and (column is not None or "code" not in word_roles(header.cells[at] or "")):
            return "other"
    return None


def _factor(cell: str) -> Decimal | None:
    unit = unit_of(cell, "g")
    return None if unit is None else unit.factor


def _question(
    weight: Column, names: Sequence[str], unit: Column | None, columns: Sequence[Column], sheet: str | None
) -> Asked:
    """Return the question for the unit of a weight; `unit` is the column that may contain it, `names` are its cells."""
    name = name_in_mapping(weight, columns)
    could_be = ["kg", "g", "t"] if unit is None else list(dict.fromkeys(["g", *(names if len(names) == 1 else ())]))
    if unit is None:
        message = Message(
            "{header} is in tonnes, and no packaging of one item weighs so much; it is not read. If it is a total, "
            "leave it out; else say its unit: mapping={mapping}.",
            header=quote(weight.header),
            mapping={"units": {name: could_be[0]}},
        )
    else:
        message = Message(
            "{unit} may be the unit of {header}, or the one that the article is sold in; {header} is not read. Say "
            "the unit, mapping={mapping}, or that the column is its unit: mapping={other}.",
            unit=quote(unit.header),
            header=quote(weight.header),
            mapping={"units": {name: could_be[0]}},
            other={"columns": {"weight_unit": letter(unit.position)}},
        )
    return question(
        "unit",
        message,
        could_be=could_be,
        column=weight,
        sheet=sheet,
        text=", ".join(names[:_MOST_NAMED]),
        of_components=not any(column.table == "sku" for column in columns),
    )


def name_in_mapping(column: Column, columns: Sequence[Column]) -> str:
    """Return the name by which a mapping speaks of a column of a table: a part's beside SKUs has `component_`."""
    beside = column.table == "component" and column.group is None and any(c.table == "sku" for c in columns)
    return f"component_{column.field.name}" if beside else column.name


def choice_for(column: Column, choices: Mapping[str, str]) -> str | None:
    """Return what the mapping chooses for a column, named by its header or letter; None where it says nothing."""
    header, at = fold(column.header), letter(column.position)
    own = (choice for place, choice in choices.items() if fold(place) == header or place.strip().upper() == at)
    return next(own, None)


_COMPLETED: Final = ("weight_g", "weight_grams")
_OWN_UNIT: Final = re.compile(
    r"(?:[.,\s'’]*+\d++)++\s*+(?:[eE][+-]?\d++\s*+)?+(?P<unit>[^\d\s.,'’].*)",  # the unit behind a cell's number
    re.DOTALL,
)
Faults = list[tuple[str, pl.DataFrame]]


def complete_weights(
    columns: tuple[Column, ...], table: pl.DataFrame, values: dict[str, pl.Series]
) -> tuple[dict[str, pl.Series], Faults]:
    """Return the weights of each group in grams of the whole part, and the faults by column.

    The unit, the count of equal parts, the share and the measured value beside a weight complete it. `table` has the
    cells and `values` the typed values, by column name.
    """
    whole: dict[str, pl.Series] = {}
    faults: Faults = []
    for weight in (column for column in columns if column.field.name in _COMPLETED):
        beside = {c.field.name: c for c in columns if c.group == weight.group}
        unit, measured = beside.get("weight_unit"), beside.get("measured_weight_g")
        grams, faults_of_unit = _in_grams(weight, unit, table, values)
        faults += faults_of_unit
        if measured is not None:
            better, faults_of_unit = _in_grams(measured, unit, table, values)
            faults += faults_of_unit
            grams = better.fill_null(grams)
        if count := beside.get("unit_count"):
            grams = grams * values[count.name].fill_null(1)
        if total := beside.get("total_count"):
            grams = grams / values[total.name].fill_null(1)
        if share := beside.get("weight_share_percent"):
            grams = grams * values[share.name].fill_null(100) / 100
        whole[weight.name] = grams.round(9)
        if grams is not values[weight.name]:  # what stands beside it may have made it more than a weight can be
            faults.append((weight.name, outside_limits(grams, weight.field)))
    return whole, faults


def _in_grams(
    weight: Column, unit: Column | None, table: pl.DataFrame, values: dict[str, pl.Series]
) -> tuple[pl.Series, Faults]:
    """Return weights times the factor of the unit beside them; a unit in the cell or in the header must be the same."""
    grams = values[weight.name]
    if unit is None:
        return grams, []
    cells = table[weight.name]
    factor = _factors(table[unit.name], lambda cell: unit_of(cell, "g"))
    has_unit = _factors(
        cells.set(~cells.str.contains(r"\p{L}").fill_null(value=False), None),
        lambda cell: unit_of(match["unit"], "g") if (match := _OWN_UNIT.fullmatch(cell.strip())) else None,
    )
    if weight.factor != 1 or names_unit(weight, unit):
        has_unit = has_unit.fill_null(float(weight.factor))
    without = ((grams != 0) & factor.is_null() & has_unit.is_null()).fill_null(value=False)
    message = Message(
        "No unit of mass stands beside this weight, as in other lines; write g, kg, mg, t, oz or lb there."
    )
    differs = (has_unit.is_not_null() & factor.is_not_null() & (has_unit != factor)).fill_null(value=False)
    other = Message("The weight names one unit, and the unit column of its line another; make them the same.")
    faults = pl.concat([faults_where(without, "unknown_unit", message), faults_where(differs, "unknown_unit", other)])
    return grams * factor.set(has_unit.is_not_null(), 1.0).fill_null(1.0), [(weight.name, faults)]


def _factors(cells: pl.Series, unit_in_cell: Callable[[str], Unit | None]) -> pl.Series:
    """Return the factor of the unit in each cell; null where it names none."""
    distinct = cells.drop_nulls().unique()
    factors = [None if (unit := unit_in_cell(cell)) is None else float(unit.factor) for cell in distinct]
    return cells.replace_strict(distinct, factors, default=None, return_dtype=pl.Float64)
