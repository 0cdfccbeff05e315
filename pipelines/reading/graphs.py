"""Builds the graph of each SKU that a components table names, as JSON text, and finds the SKUs whose graph has a fault.

A fault in one line rejects the whole graph: a graph is replaced as a whole or not at all.
"""

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from operator import or_
from typing import Final

import polars as pl

from pipelines.reading.cells import TypedSheet
from pipelines.reading.fields import PART_HELPERS, WEIGHT_HELPERS, Column, faults_where
from pipelines.reading.part_types import part_types
from pipelines.writing import json_fields
from pipelines.writing.json_fields import COLUMNS, PARTS
from schemas.messages import Message
from schemas.vocabularies import SUBSTANCES


def json_members(key: str, values: pl.Series, given: pl.Series) -> pl.Series:
    """Return `"key":value` for each row where the value is given (a given null is `null`), else null."""
    text = _encoded(values).fill_null("null")
    pairs = (
        pl.DataFrame({"text": text}).select(pl.concat_str(pl.lit(f"{json.dumps(key)}:"), pl.col("text"))).to_series()
    )
    return pairs.set(~given, None)


def join_json(parts: list[pl.Series], opening: str, closing: str) -> pl.Series:
    """Return the parts of each row between brackets; null where a row has no part."""
    frame = pl.DataFrame({str(at): part for at, part in enumerate(parts)})
    some = pl.any_horizontal(pl.all().is_not_null())
    text = pl.concat_str(pl.lit(opening), pl.concat_str(pl.all(), separator=",", ignore_nulls=True), pl.lit(closing))
    return frame.select(pl.when(some).then(text)).to_series()


def _encoded(values: pl.Series) -> pl.Series:
    """Return each value as JSON. Text is encoded once for each distinct value."""
    if values.dtype == pl.String:
        distinct = values.drop_nulls().unique(maintain_order=True)
        encoded = [json.dumps(value, ensure_ascii=False) for value in distinct]
        return values.replace_strict(distinct, encoded, default=None, return_dtype=pl.String)
    if values.dtype == pl.Boolean:
        return values.cast(pl.String)
    return values.cast(pl.String)


_WITHOUT_MATERIAL: Final = Message(
    "A component needs its material_family, or the component_id of a library component that has one."
)
_UNKNOWN_MATERIAL: Final = Message(
    "No material is known of this weight, and without it the total of the SKU would be too small. Name the material in "
    "the column's header, or in a mapping: glass_weight_g, wood_weight_g, other_weight_g."
)


_LINES_AT_A_TIME: Final = 20_000
"""A line's text needs several times its size while it is put together: of 200 000 lines at once 130 MiB."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """`texts` has a row per SKU without fault: `sku_code`, `components` (JSON array text), `line` (its first).

    `faulty` are the rejected SKUs, `nameless` is the number of lines without a SKU code.
    """

    texts: pl.DataFrame
    faulty: frozenset[str]
    nameless: int
    typed: TypedSheet | None = None


NO_GRAPHS = Graphs(
    pl.DataFrame(schema={"sku_code": pl.String, "components": pl.String, "line": pl.Int64}), frozenset(), 0
)


def read_graphs(typed: TypedSheet) -> Graphs:
    """Return the graphs of a typed components table, lines in their order, and within a line its groups in theirs."""
    groups = list(dict.fromkeys(column.group for column in typed.sheet.columns if column.name != "sku_code"))
    code, lines = typed.values["sku_code"], typed.sheet.table["line"]
    starts = range(0, max(len(code), 1), _LINES_AT_A_TIME)
    found = pl.concat([_line_texts(typed.part(start, _LINES_AT_A_TIME), groups) for start in starts])
    for group in groups:
        typed = _with_missing_values(typed, group, found[f"there:{group}"])
    table = pl.DataFrame({"sku_code": code, "line": lines, "text": found["text"]})
    faulty = set(table["sku_code"].gather(typed.faults["at"].unique()).drop_nulls())
    faulty |= {fault.sku_code for fault in typed.sheet.faults if fault.sku_code is not None}
    named = pl.col("sku_code").is_not_null() & pl.col("text").is_not_null()
    texts = (
        table.filter(named & ~pl.col("sku_code").is_in(list(faulty)))
        .group_by("sku_code", maintain_order=True)
        .agg(
            pl.concat_str(pl.lit("["), pl.col("text").str.join(","), pl.lit("]")).first().alias("components"),
            pl.col("line").first(),
        )
    )
    return Graphs(texts, frozenset(faulty), code.null_count(), typed)


def _line_texts(typed: TypedSheet, groups: list[str | None]) -> pl.DataFrame:
    """Return each line's components as `text`, with commas between them, and by group whether there is one."""
    objects = {group: _component_objects(typed, group) for group in groups}
    there = {f"there:{group}": found.is_not_null() for group, found in objects.items()}
    return pl.DataFrame({"text": join_json(list(objects.values()), "", ""), **there})


def _with_missing_values(typed: TypedSheet, group: str | None, there: pl.Series) -> TypedSheet:
    """Add the faults of components without a family or a library component, and of values without their status."""
    columns = {column.field.name: column for column in typed.sheet.columns if column.group == group}
    names = {field: column.name for field, column in columns.items()}
    if not any(column.fixed for column in columns.values()):
        nothing = there
        for field in ("material_family", "component_id"):
            nothing &= ~typed.given[names[field]] if field in names else True
        name, message = names.get("material_family", "material_family"), _WITHOUT_MATERIAL
        if not {"material_family", "component_id"} & names.keys() and "weight_g" in names:
            name, message = names["weight_g"], _UNKNOWN_MATERIAL
        typed = typed.with_faults(name, faults_where(nothing, "required", message))
    for substance in SUBSTANCES:
        status = names.get(f"{substance}_status")
        for part in PARTS[1:]:
            named = names.get(f"{substance}_{part}")
            if named is not None:
                alone = typed.given[named] if status is None else typed.given[named] & ~typed.given[status]
                message = Message(
                    "A measured value needs its status beside it; write {substance}_status as well.",
                    substance=substance,
                )
                typed = typed.with_faults(named, faults_where(alone, "required", message))
    return typed


def _component_objects(typed: TypedSheet, group: str | None) -> pl.Series:
    """Return each line's component as a JSON object of the values it gives.

    Null where a group's columns give none, or a weight of 0: a packaging can have fewer parts than there are groups.
    """
    columns = [column for column in typed.sheet.columns if column.group == group and column.name != "sku_code"]
    values = {column.field.name: typed.values[column.name] for column in columns}
    parts = []
    for column in columns:
        name = column.field.name
        if column.field in PART_HELPERS or name in COLUMNS or name == "component_type":
            continue
        if column.field.kind == "codes":
            parts.append(_array_members(name, values[name]))
        else:
            parts.append(_member(name, values[name]))
    if (substances := _substance_members(values)) is not None:
        parts.append(substances)
    if group is None:
        if "component_type" not in values:  # the mapping switches it off: a part without a word for it is a body
            values["component_type"] = _component_types(values, len(typed.values["sku_code"]))
        return join_json([_member("component_type", values["component_type"]), *parts], "{", "}").fill_null("{}")
    fixed = dict(columns[0].fixed)
    constants = [
        pl.repeat(value, len(parts[0]), dtype=pl.String, eager=True).alias(name) for name, value in fixed.items()
    ]
    if "component_type" not in fixed:
        constants = [_component_types(values, len(parts[0]))]
    weighs = values["weight_g"] != 0 if "weight_g" in values else pl.Series([True])
    # A material's column is only its weight; in a numbered group the weight may be left out.
    there = weighs.fill_null(value=False) if fixed else _any_given(typed, columns) & weighs.fill_null(value=True)
    return join_json([*(_member(constant.name, constant) for constant in constants), *parts], "{", "}").set(
        ~there, None
    )


def _member(name: str, values: pl.Series) -> pl.Series:
    return json_members(name, values, values.is_not_null())


def _any_given(typed: TypedSheet, columns: list[Column]) -> pl.Series:
    """Return the lines where a group's columns give more than helpers of weights and constants of the mapping."""
    telling = [column for column in columns if column.field not in WEIGHT_HELPERS]
    telling = [column for column in telling if column.constant is None] or telling
    return reduce(or_, (typed.given[column.name] for column in telling))


def _component_types(values: dict[str, pl.Series], height: int) -> pl.Series:
    """Return the component_type of a numbered group: its own column's, else the one of its shape, else `body`."""
    nothing = pl.repeat(None, height, dtype=pl.String, eager=True)
    of_shape = part_types(values.get("shape", nothing))
    return values.get("component_type", nothing).fill_null(of_shape).alias("component_type")


def _array_members(name: str, literals: pl.Series) -> pl.Series:
    """Return array literals (`{a,b}`) as members with a JSON array."""
    distinct = literals.drop_nulls().unique(maintain_order=True)
    texts = [f'"{name}":' + json.dumps([code for code in text.strip("{}").split(",") if code]) for text in distinct]
    return literals.replace_strict(distinct, texts, default=None, return_dtype=pl.String)


def _substance_members(values: dict[str, pl.Series]) -> pl.Series | None:
    """Return the substance columns of each line as one member, null where none is given."""
    entries = []
    for name in SUBSTANCES:
        keys = {part: values[f"{name}_{part}"] for part in PARTS if f"{name}_{part}" in values}
        found = [_member(part, keys[part]) for part in PARTS if part in keys]
        if found:
            entry = join_json(found, "{", "}")
            entries.append(
                pl.DataFrame({"entry": entry}).select(pl.concat_str(pl.lit(f'"{name}":'), "entry")).to_series()
            )
    if not entries:
        return None
    return join_json(entries, '"substances":{', "}")


Faults = tuple[str, pl.DataFrame]
"""A column's name and faults of its cells."""


def volume_texts(
    columns: list[Column],
    values: dict[str, pl.Series],
    given: dict[str, pl.Series],
    years: pl.Series,
    served_markets: Set[str],
) -> tuple[pl.Series, list[Faults]]:
    """Return the volumes of each row as JSON text, keys in order, and the faults by column.

    `years` is the year of each row for columns that name none. A column of a subdivision that the catalogue does not
    serve counts for its country; a market that it does not serve at all is the fault `unknown_market` of each given
    cell. The same market, year and half twice in a row is the fault `duplicate_row` of the later column.
    """
    markets = {column.name: json_fields.served_market(str(column.market), served_markets) for column in columns}
    counted = [replace(column, market=market) for column in columns if (market := markets[column.name])]
    ordered = sorted(counted, key=lambda column: f"{column.market}/{column.year or 0}/{column.half}")
    dated = [_volume_members(column, values[column.name], given[column.name], years) for column in ordered]
    nothing = pl.repeat(None, len(years), dtype=pl.String, eager=True)
    texts = join_json(dated, "{", "}") if dated else nothing
    faults = [_unserved_market(column, given) for column in columns if markets[column.name] is None]
    found = list(_overlap_faults(ordered, {column.name: str(column.market) for column in columns}, given, years))
    if not found:
        return texts, faults
    sort = partial(json.dumps, sort_keys=True, separators=(",", ":"))
    ordered_texts = [None if text is None else sort(json.loads(text)) for text in texts]
    return pl.Series(texts.name, ordered_texts, dtype=pl.String), faults + found


def _unserved_market(column: Column, given: dict[str, pl.Series]) -> Faults:
    sentence = Message(
        "The catalogue does not serve {market}; GET /jurisdictions lists what it serves.", market=column.market
    )
    return column.name, faults_where(given[column.name], "unknown_market", sentence)


def _volume_members(column: Column, values: pl.Series, given: pl.Series, years: pl.Series) -> pl.Series:
    """Return the members of one column, each under its market, its year or that of its row, and its half."""
    if column.year:
        return json_members(f"{column.market}/{column.year}/{column.half}", values, given)
    row = pl.DataFrame({"year": years, "units": values})
    units = pl.col("units").cast(pl.String).fill_null("null")
    text = row.select(pl.format(f'"{column.market}/{{}}/{column.half}":{{}}', "year", units)).to_series()
    return text.set(~given, None)


def _overlap_faults(
    ordered: list[Column], codes: dict[str, str], given: dict[str, pl.Series], years: pl.Series
) -> Iterator[Faults]:
    """Yield the faults of rows where two columns give the same units; `codes` are the markets that headers name."""
    for first, later in combinations(ordered, 2):
        if (first.market, first.half) != (later.market, later.half):
            continue
        if first.year is not None and later.year is not None and first.year != later.year:
            continue
        met = given[first.name] & given[later.name]
        if first.year != later.year:
            met &= years == (first.year or later.year)
        as_named = {codes[first.name], codes[later.name]} == {first.market}
        yield later.name, faults_where(met, "duplicate_row", _meeting(first, later, as_named=as_named))


def _meeting(first: Column, later: Column, *, as_named: bool) -> Message:
    """Return what a row is told that gives the units of two columns; `as_named` where both name the market itself."""
    if as_named:
        return Message("{later} gives units that {first} gives too.", later=later.name, first=first.name)
    return Message(
        "{later} gives units that {first} gives too: both count for {market}, as a part of a country that the catalogue"
        " does not serve counts as the country. Fill in one column.",
        later=later.name,
        first=first.name,
        market=first.market,
    )
