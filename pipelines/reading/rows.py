"""Types the rows of an upload: types every cell, collects faults with their place, leaves out rows with a fault.

The graph of each SKU that a components table names, and the volumes of each row, become JSON text. A fault in one line
of a graph rejects the whole graph: it is replaced as a whole or not at all. `values.py` types a cell of each kind; the
writing step finds faults between a row and the stored record.
"""

import json
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from operator import or_
from typing import Final

import polars as pl

from pipelines.reading.cells import TypedSheet, type_sheet
from pipelines.reading.grid import (
    ARTICLE,
    BESIDE,
    FAULTS,
    LINES_OF_SHEET,
    PART_HELPERS,
    SKU_HELPERS,
    SUPPLIER,
    VOLUME,
    VOLUME_HALF,
    VOLUME_YEAR,
    WEIGHT_HELPERS,
    Column,
    codes_of_faults,
    cut,
    faults_where,
    letter,
    repeated,
)
from pipelines.reading.placed import Period, is_whole_year, period_of
from pipelines.reading.sheet import Sheet
from pipelines.reading.upload import Upload
from pipelines.reading.words import part_types
from pipelines.writing.json_fields import COLUMNS, PARTS, no_halves, not_served, served_market
from schemas.imports.types import ImportSource
from schemas.issues import Issue
from schemas.messages import Message, from_json, stored_template, to_json
from schemas.refusals import Refused
from schemas.vocabularies import SUBSTANCES, VOCABULARIES

ERRORS: Final = pl.Schema(
    {
        "sheet": pl.String,
        "line": pl.Int64,
        "sku_code": pl.String,
        "field": pl.String,
        "column": pl.String,
        "value": pl.String,
        "code": pl.String,
        "message": pl.String,
        "template": pl.String,
    }
)
_TAKEN: Final = Message(
    "Another line of the file that was sent first has this sku_code, and counts; give this line another code."
)
_PLACE: Final = ("row", "line", "sheet")


@dataclass(frozen=True, slots=True)
class TypedRows:
    """The rows of an import, ready to be written, and the report of those that are not.

    `values` has one row per SKU: `row`, `line`, `sheet`, `sku_code`, `name`, then each given field typed; lists are
    Postgres array literals, `volumes`, `components`, `printed` and `roles` JSON text, and so is `articles` where a
    column has them: the supplier's number of each component, empty to clear it, null where none is given. `presence`
    has the same fields as booleans: an empty cell is not given, the word `null` is given and null. `errors` are report
    rows, ordered by sheet and line; `rejected` counts the SKUs and lines that they keep out. `unnamed` are rows with a
    fault and no name, which is one more fault where the SKU is not stored: `sheet`, `line`, `sku_code`, `column`.
    """

    values: pl.DataFrame
    presence: pl.DataFrame
    errors: pl.DataFrame
    rejected: int
    unnamed: pl.DataFrame


def type_rows(upload: Upload, *, default_year: int, served_markets: Set[str]) -> TypedRows:
    """Type the rows of an upload.

    `default_year` is the year of volumes that name none; `served_markets` are the codes that volumes may have.
    """
    main = type_sheet(upload.main)
    if main.sheet.taken:
        taken = main.values["sku_code"].is_in(list(main.sheet.taken))
        main = main.with_faults("sku_code", faults_where(taken, "duplicate_sku_code", _TAKEN))
    main = _with_repeat_faults(main)
    main, volumes = _with_volumes(main, default_year, served_markets)
    units = None if upload.units is None else type_sheet(upload.units)
    units, of_skus = (None, {}) if units is None else _units_of_skus(units, upload.source, default_year, served_markets)
    graphs = _NO_GRAPHS if upload.parts is None else _read_graphs(type_sheet(upload.parts))
    code = main.values["sku_code"]
    long = upload.source["layout"] == "long"  # only there a line that could not be read can have others of its SKU
    unread = codes_of_faults(upload.main.faults) if long else set[str]()
    if units is not None:
        unread |= codes_of_faults(units.sheet.faults)
        unread |= set(units.values["sku_code"].gather(units.faults["at"].unique()).drop_nulls())
        volumes = pl.Series([of_skus.get(of_row) for of_row in code], dtype=pl.String)
    others = graphs.faulty | unread
    of_others = code.is_in(list(others)).fill_null(value=False)
    bad = _is_at(main.faults["at"], len(code)) | of_others
    columns = [column for column in main.sheet.columns if column.market is None and column.field not in SKU_HELPERS]
    values = pl.DataFrame([main.values[column.name].alias(column.name) for column in columns])
    presence = pl.DataFrame([main.presence[column.name].alias(column.name) for column in columns])
    if volumes is not None:
        values, presence = values.with_columns(volumes=volumes), presence.with_columns(volumes=volumes.is_not_null())
    for name, texts in _beside(main):
        values, presence = (
            values.with_columns(texts.alias(name)),
            presence.with_columns(texts.is_not_null().alias(name)),
        )
    values = values.with_columns(main.sheet.places(main.sheet.table["line"])).filter(~bad)
    presence = presence.filter(~bad)
    if upload.parts is not None:
        values, presence = _with_graphs(values, presence, code, graphs, upload.parts)
    values = values.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).select(*_PLACE, pl.exclude(_PLACE))
    with_row = set(code.filter(of_others))
    without_row = sum(fault.sku_code not in unread & with_row for fault in main.sheet.faults)
    rejected = int(bad.sum()) + without_row + len(graphs.faulty - with_row) + graphs.nameless
    errors = pl.concat([_error_rows(typed) for typed in (main, units, graphs.typed) if typed is not None])
    if units is not None or (upload.parts is not None and upload.parts.name == upload.main.name):
        errors = errors.sort("line", maintain_order=True)
    errors = errors.with_columns(pl.col("line") % LINES_OF_SHEET)
    return TypedRows(values, presence, errors, rejected, _unnamed(main))


def _beside(main: TypedSheet) -> Iterator[tuple[str, pl.Series]]:
    """Yield what rows say of their SKUs that is stored beside these, by the name of its column, as JSON objects."""
    for name, fields in BESIDE.items():
        columns = [column for column in main.sheet.columns if column.field in fields]
        if columns:
            given = [_members(c.field.name, main.values[c.name], main.presence[c.name]) for c in columns]
            yield name, _joined(given, "{", "}")


def _unnamed(main: TypedSheet) -> pl.DataFrame:
    """Return the rows with a fault and a code that give no name, except repeated lines: there an earlier one counts."""
    repeats = main.faults.filter(pl.col("code") == "duplicate_sku_code")["at"]
    height = main.sheet.table.height
    faulty = _is_at(main.faults["at"], height) & ~_is_at(repeats, height)
    column = next((column for column in main.sheet.columns if column.name == "name"), None)
    place = None if column is None or column.constant is not None else letter(column.position)
    rows = pl.DataFrame({"line": main.sheet.table["line"], "sku_code": main.values["sku_code"]})
    unnamed = faulty if column is None else faulty & ~main.presence["name"]
    nameless = rows.filter(unnamed & rows["sku_code"].is_not_null())
    return nameless.with_columns(main.sheet.places(nameless["line"])).with_columns(column=pl.lit(place, pl.String))


def _is_at(at: pl.Series, height: int) -> pl.Series:
    """Return a boolean for each of `height` rows: whether it is among the positions."""
    return repeated(value=False, height=height).scatter(at, values=True)


def _with_repeat_faults(main: TypedSheet) -> TypedSheet:
    """Add the faults of lines that repeat an earlier line's sku_code."""
    table = pl.DataFrame({"code": main.values["sku_code"], "line": main.sheet.table["line"]}).with_row_index("at")
    repeats = table.filter(pl.col("code").is_not_null() & ~pl.col("code").is_first_distinct())
    if not repeats.height:
        return main
    first = table.filter(pl.col("code").is_first_distinct()).select("code", first="line")
    later = repeats.join(first, on="code", how="left", maintain_order="left")
    messages = [
        Message(
            "The same sku_code stands in line {line}, which counts; give each SKU one line, or another code.", line=line
        )
        for line in later["first"]
    ]
    texts = pl.Series(map(to_json, messages), dtype=pl.String)
    return main.with_faults("sku_code", later.select("at", code=pl.lit("duplicate_sku_code"), message=texts))


def _with_volumes(main: TypedSheet, default_year: int, served_markets: Set[str]) -> tuple[TypedSheet, pl.Series | None]:
    """Return the sheet with the faults of volumes, and each row's volumes; None where no column contains volumes.

    They are JSON text, keys in order. A column of a subdivision that the catalogue does not serve counts for its
    country; a market that it does not serve at all is the fault `unknown_market` of each given cell. The same market,
    year and half twice in a row is the fault `duplicate_row` of the later column.
    """
    columns = [column for column in main.sheet.columns if column.market is not None]
    if not columns:
        return main, None
    none = repeated(None, main.sheet.table.height, pl.Int64)
    years = main.values.get(VOLUME_YEAR.name, none).fill_null(default_year)
    counted: list[Column] = []
    for column in columns:
        if (served := served_market(str(column.market), served_markets)) is not None:
            counted.append(replace(column, market=served))
            continue
        sentence = not_served(str(column.market))
        main = main.with_faults(column.name, faults_where(main.presence[column.name], "unknown_market", sentence))
    ordered = sorted(counted, key=lambda column: f"{column.market}/{column.year or 0}/{column.half}")
    dated = [_volume_members(column, main.values[column.name], main.presence[column.name], years) for column in ordered]
    texts = _joined(dated, "{", "}") if dated else none.cast(pl.String)
    overlaps = list(_overlap_faults(ordered, {column.name: str(column.market) for column in columns}, main, years))
    for name, faults in overlaps:
        main = main.with_faults(name, faults)
    if overlaps:
        sort = partial(json.dumps, sort_keys=True, separators=(",", ":"))
        ordered_texts = [None if text is None else sort(json.loads(text)) for text in texts]
        texts = pl.Series(texts.name, ordered_texts, dtype=pl.String)
    return main, texts


def _units_of_skus(
    lines: TypedSheet, source: ImportSource, default_year: int, served_markets: Set[str]
) -> tuple[TypedSheet, dict[str, str]]:
    """Return lines of units with their faults, and the volumes of each SKU as JSON text, keys in order.

    Each line names one market that the catalogue serves, and its year in a column's header or a cell; parts of a year
    are added up, two columns of its halves too where the market is declared by the year. The same market,
    year and half of a SKU with other units is the fault `duplicate_row` of the later line; with the same units, too,
    where a column that is not read may tell the lines apart, such as a channel.
    """
    lines = replace(lines, faults=lines.faults.filter(pl.col("name") != "sku_code"))  # those of `main`
    none = [None] * lines.sheet.table.height
    codes, markets = lines.values["sku_code"].to_list(), lines.values["markets"].to_list()
    years, halves = (lines.values.get(field.name, none) for field in (VOLUME_YEAR, VOLUME_HALF))
    faults: dict[str, list[tuple[int, str, str]]] = {}
    of_period = next((column for column in lines.sheet.columns if column.field == VOLUME_HALF), None)
    parts: dict[tuple[str, str], list[tuple[int, str]]] = {}
    seen: dict[tuple[str, str, str], tuple[int | None, int]] = {}
    faulty = set(lines.faults["at"])
    columns = [column for column in lines.sheet.columns if column.field == VOLUME]
    both = {column.year for column in columns if column.half == 1} & {c.year for c in columns if c.half == 2}
    for column in columns:
        units, is_sent = lines.values[column.name], lines.presence[column.name]
        for at in is_sent.arg_true():
            if codes[at] is None or at in faulty:
                continue
            try:
                period = period_of(halves[at] or "", "" if of_period is None else of_period.header)
                added = column.half if column.year in both and markets[at] != "{GB}" else 0
                part = period.part or (f"h{added}" if added else "")
                of = replace(column, half=0) if added else column
                key = _volume_key(of, markets[at], (years[at], period), default_year, served_markets)
            except Refused as refused:
                [issue] = refused.issues
                faults.setdefault(str(issue.field), []).append((at, issue.code, to_json(issue.message)))
                continue
            line = lines.sheet.table["line"][at]
            before, first = seen.setdefault((codes[at], key, part), (units[at], line))
            if before != units[at] or (first != line and source["ignored"]):
                message = Message(
                    "Line {line} gives units of this SKU for the same market and period; send their sum, once.",
                    line=first,
                )
                faults.setdefault(column.name, []).append((at, "duplicate_row", to_json(message)))
            parts.setdefault((codes[at], key), []).append((at, part))
    partial = [] if of_period is None or of_period.mapped else _faults_of_partial_years(parts.values())
    if partial:
        faults.setdefault(VOLUME_HALF.name, []).extend(partial)
    for name, of_column in faults.items():
        lines = lines.with_faults(name, pl.DataFrame(of_column, schema=FAULTS, orient="row"))
    volumes: dict[str, dict[str, int | None]] = {}
    for (code, key, part), (number, _) in seen.items():
        of_sku = volumes.setdefault(code, {})
        of_sku[key] = (of_sku.get(key) or 0) + (number or 0) if part else number
    return lines, {code: json.dumps(of, sort_keys=True, separators=(",", ":")) for code, of in volumes.items()}


def _faults_of_partial_years(years: Iterable[list[tuple[int, str]]]) -> list[tuple[int, str, str]]:
    """Return the faults of lines that give a part of a year of which others are not there; `years` are row and part.

    Where a mapping names the column, its sender has said that no others count.
    """
    message = to_json(Message("Write H1 or H2, with the year or without; leave it empty for the year."))
    partial = (parts for parts in years if not is_whole_year({part for _, part in parts}))
    return [(at, "invalid_format", message) for parts in partial for at, part in parts if part]


def _volume_key(
    column: Column, markets: str | None, said: tuple[int | None, Period], default_year: int, served: Set[str]
) -> str:
    """Return market, year and half of the units in a cell, as volumes name them; `said` is what its line says.

    Raise `Refused` with the column.
    """
    named = [code for code in (markets or "").strip("{}").split(",") if code]
    if len(named) != 1:
        message = Message("Name one market beside the units.")
        raise Refused([Issue("invalid_format" if named else "required", message, "markets")])
    if (market := served_market(named[0], served)) is None:
        raise Refused([Issue("unknown_market", not_served(named[0]), "markets")])
    year, period = said
    years, halves = {column.year, year, period.year} - {None}, {column.half, period.half} - {0}
    if len(years) > 1 or len(halves) > 1:
        raise Refused([Issue("invalid_format", Message("The line names several periods; name one."), column.name)])
    if halves and market != "GB":
        raise Refused([Issue("out_of_range", no_halves(market), VOLUME_HALF.name if period.half else column.name)])
    return f"{market}/{next(iter(years), default_year)}/{next(iter(halves), 0)}"


def _volume_members(column: Column, values: pl.Series, presence: pl.Series, years: pl.Series) -> pl.Series:
    """Return the members of one column, each under its market, its year or that of its row, and its half."""
    if column.year:
        return _members(f"{column.market}/{column.year}/{column.half}", values, presence)
    row = pl.DataFrame({"year": years, "units": values})
    units = pl.col("units").cast(pl.String).fill_null("null")
    text = row.select(pl.format(f'"{column.market}/{{}}/{column.half}":{{}}', "year", units)).to_series()
    return text.set(~presence, None)


def _overlap_faults(
    ordered: list[Column], codes: dict[str, str], main: TypedSheet, years: pl.Series
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the faults of rows where two columns give the same units; `codes` are the markets that headers name."""
    for first, later in combinations(ordered, 2):
        if (first.market, first.half) != (later.market, later.half):
            continue
        if first.year is not None and later.year is not None and first.year != later.year:
            continue
        met = main.presence[first.name] & main.presence[later.name]
        if first.year != later.year:
            met &= years == (first.year or later.year)
        if {codes[first.name], codes[later.name]} == {first.market}:
            message = Message("{later} gives units that {first} gives too.", later=later.name, first=first.name)
        else:
            message = Message(
                "{later} gives units that {first} gives too: both count for {market}, as a part of a country that the "
                "catalogue does not serve counts as the country. Fill in one column.",
                later=later.name,
                first=first.name,
                market=first.market,
            )
        yield later.name, faults_where(met, "duplicate_row", message)


def _with_graphs(
    values: pl.DataFrame, presence: pl.DataFrame, codes: pl.Series, graphs: "_Graphs", parts: Sheet
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add their graphs to the rows, and a row for each SKU that only the components name."""
    texts = graphs.texts
    lists = [name for name in texts.columns if name in ("components", "articles")]
    values = values.join(texts.select("sku_code", *lists), on="sku_code", how="left", maintain_order="left")
    presence = presence.with_columns(values[name].is_not_null() for name in lists)
    alone = texts.filter(~pl.col("sku_code").is_in(codes.drop_nulls().unique().implode()))
    if alone.height:
        extra = alone.with_columns(parts.places(alone["line"]))
        values = pl.concat([values, extra.select("line", "sheet", "sku_code", *lists)], how="diagonal")
        given_alone = alone.select("sku_code", *lists).select(pl.all().is_not_null())
        presence = pl.concat([presence, given_alone], how="diagonal").fill_null(value=False)
    return values, presence


def _error_rows(typed: TypedSheet) -> pl.DataFrame:
    """Return the report rows of a table, by its lines and then by column."""
    sheet, table = typed.sheet, typed.sheet.table
    columns = {column.name: column for column in sheet.columns}
    lines, codes = table["line"], typed.values["sku_code"]
    rows: list[tuple[object, ...]] = []
    for at, code, text, name in typed.faults.iter_rows():
        message = sheet.told(from_json(text))
        column = columns.get(name)
        place = letter(column.position) if column and column.constant is None else None
        cell = table[name][at] if column else None
        sku_code = codes[at] if codes[at] is not None else (code_cell := table["sku_code"][at]) and cut(code_cell)
        report = (sku_code, name, place, cell and cut(cell), code, message, stored_template(message))
        rows.append((sheet.sheet_of(lines[at]), lines[at], *report, column.position if column else len(columns)))
    for fault in sheet.faults:
        message, value = sheet.told(fault.message), fault.value and cut(fault.value)
        report = (fault.sku_code, None, None, value, fault.code, message, stored_template(message))
        rows.append((sheet.sheet_of(fault.line), fault.line, *report, -1))
    rows.sort(key=lambda row: (row[1], row[-1]))
    return pl.DataFrame([row[:-1] for row in rows], schema=ERRORS, orient="row")


_WITHOUT_MATERIAL: Final = Message(
    "A component needs its material_family, or the component_id of a library component that has one."
)
_LINES_AT_A_TIME: Final = 20_000
"""A line's text needs several times its size while it is put together: of 200 000 lines at once 130 MiB."""


@dataclass(frozen=True, slots=True)
class _Graphs:
    """`texts` has a row per SKU without fault: `sku_code`, `components` (JSON array text), `line` (its first).

    It has `articles` too where a column gives them.

    `faulty` are the rejected SKUs, `nameless` is the number of lines without a SKU code.
    """

    texts: pl.DataFrame
    faulty: frozenset[str]
    nameless: int
    typed: TypedSheet | None = None


_NO_GRAPHS: Final = _Graphs(
    pl.DataFrame(schema={"sku_code": pl.String, "components": pl.String, "line": pl.Int64}), frozenset(), 0
)


def _read_graphs(typed: TypedSheet) -> _Graphs:
    """Return the graphs of a typed components table, lines in their order, and within a line its groups in theirs."""
    groups = list(dict.fromkeys(column.group for column in typed.sheet.columns if column.name != "sku_code"))
    groups = [group for group in groups if group is not None] or groups  # beside groups: the row's supplier
    code, lines = typed.values["sku_code"], typed.sheet.table["line"]
    pieces: list[pl.DataFrame] = []
    has_articles = any(column.field == ARTICLE for column in typed.sheet.columns)
    for start in range(0, max(len(code), 1), _LINES_AT_A_TIME):
        part = typed.part(start, _LINES_AT_A_TIME)
        objects = {group: _component_objects(part, group) for group in groups}
        there = {f"there:{group}": object_texts.is_not_null() for group, object_texts in objects.items()}
        lists = {"components": _joined(list(objects.values()), "", "")}
        if has_articles:
            lists["articles"] = _joined([_articles(part, group, of) for group, of in objects.items()], "", "")
        pieces.append(pl.DataFrame({**lists, **there}))
    whole = pl.concat(pieces)
    names = ["components", "articles"] if has_articles else ["components"]
    for group in groups:
        typed = _with_missing_values(typed, group, whole[f"there:{group}"])
    table = pl.DataFrame({"sku_code": code, "line": lines, **{name: whole[name] for name in names}})
    faulty = set(table["sku_code"].gather(typed.faults["at"].unique()).drop_nulls())
    faulty |= codes_of_faults(typed.sheet.faults)
    has_graph = pl.col("sku_code").is_not_null() & pl.col("components").is_not_null()
    texts = (
        table.filter(has_graph & ~pl.col("sku_code").is_in(list(faulty)))
        .group_by("sku_code", maintain_order=True)
        .agg(
            *(pl.concat_str(pl.lit("["), pl.col(n).str.join(","), pl.lit("]")).first().alias(n) for n in names),
            pl.col("line").first(),
        )
    )
    return _Graphs(texts, frozenset(faulty), code.null_count(), typed)


def _with_missing_values(typed: TypedSheet, group: str | None, there: pl.Series) -> TypedSheet:
    """Add the faults of components without a family or a library component, and of values without their status."""
    columns = {column.field.name: column for column in typed.sheet.columns if column.group == group}
    names = {field: column.name for field, column in columns.items()}
    if not any("material_family" in dict(column.fixed) for column in columns.values()):
        nothing = there
        for field in ("material_family", "component_id"):
            nothing &= ~typed.presence[names[field]] if field in names else True
        name, message = names.get("material_family", "material_family"), _WITHOUT_MATERIAL
        if not {"material_family", "component_id"} & names.keys() and "weight_g" in names:
            name, message = names["weight_g"], _unknown_material(columns["weight_g"])
        typed = typed.with_faults(name, faults_where(nothing, "required", message))
    for substance in SUBSTANCES:
        status = names.get(f"{substance}_status")
        for part in PARTS[1:]:
            value_column = names.get(f"{substance}_{part}")
            if value_column is not None:
                alone = (
                    typed.presence[value_column]
                    if status is None
                    else typed.presence[value_column] & ~typed.presence[status]
                )
                message = Message(
                    "A measured value needs its status beside it; write {substance}_status as well.",
                    substance=substance,
                )
                typed = typed.with_faults(value_column, faults_where(alone, "required", message))
    return typed


def _unknown_material(column: Column) -> Message:
    """Return what a weight of a part without a material lacks, and the mapping that names one.

    It lists words for materials and no names of columns: a file of rejected rows has the sentence in its cells, which
    must not look like a header.
    """
    families = [family for family in VOCABULARIES["material_family"] if family != "other"]
    return Message(
        "No material is known of this weight, and without it the total of the SKU would be too small. Name the "
        "material in the column's header, or in a mapping: mapping={mapping}, where other may be {families}.",
        mapping=json.dumps({"columns": {"other_weight_g": letter(column.position)}}),
        families=", ".join(families),
    )


_BESIDE_PARTS: Final = (*PART_HELPERS, ARTICLE, SUPPLIER)
"""Columns of parts that are no member of a component by themselves."""


def _component_objects(typed: TypedSheet, group: str | None) -> pl.Series:
    """Return each line's component as a JSON object of the values it gives.

    Null where a group's columns give no more than helpers of weights and constants of the mapping, or a weight of 0: a
    packaging can have fewer parts than there are groups. A material's column is only its weight; in a numbered group
    the weight may be left out.
    """
    columns = [column for column in typed.sheet.columns if column.group == group and column.name != "sku_code"]
    values = {column.field.name: typed.values[column.name] for column in columns}
    parts = [
        _member(column.field.name, values[column.field.name], are_lists=column.field.kind == "codes")
        for column in columns
        if column.field not in _BESIDE_PARTS and column.field.name not in (*COLUMNS, "component_type")
    ]
    of_row = [c.name for c in typed.sheet.columns if c.field == SUPPLIER and c.group in (None, group)]
    if of_row:  # the part's own column is before the row's
        parts.append(_member(SUPPLIER.name, reduce(pl.Series.fill_null, (typed.values[name] for name in of_row))))
    if (substances := _substance_members(values)) is not None:
        parts.append(substances)
    height = len(typed.values["sku_code"])
    if group is None:
        # Where the mapping switches component_type off, a part without a word for it is a body.
        types = values["component_type"] if "component_type" in values else _component_types(values, height)
        return _joined([_member("component_type", types), *parts], "{", "}").fill_null("{}")
    fixed = dict(columns[0].fixed)
    constants = {name: repeated(value, height, pl.String) for name, value in fixed.items()}
    if "component_type" not in fixed:
        constants = {"component_type": _component_types(values, height)}
    there = values["weight_g"] != 0 if "weight_g" in values else repeated(value=True, height=height)
    if "material_family" in fixed:
        there = there.fill_null(value=False)
    else:
        telling = [column for column in columns if column.field not in WEIGHT_HELPERS]
        telling = [column for column in telling if column.constant is None] or telling
        there = reduce(or_, (typed.presence[column.name] for column in telling)) & there.fill_null(value=True)
    members = [_member(name, constant) for name, constant in constants.items()]
    return _joined([*members, *parts], "{", "}").set(~there, None)


def _articles(typed: TypedSheet, group: str | None, objects: pl.Series) -> pl.Series:
    """Return the supplier's number of each line's component as JSON; null where the line has no such component."""
    name = next((c.name for c in typed.sheet.columns if c.field == ARTICLE and c.group == group), None)
    numbers = repeated("null", len(objects), pl.String)
    if name is not None:
        distinct = typed.values[name].drop_nulls().unique()
        encoded = [json.dumps(number, ensure_ascii=False) for number in distinct]
        given = typed.values[name].replace_strict(distinct, encoded, default=None, return_dtype=pl.String)
        numbers = given.set(given.is_null() & typed.presence[name], '""').fill_null("null")
    return numbers.set(objects.is_null(), None)


def _component_types(values: dict[str, pl.Series], height: int) -> pl.Series:
    """Return the component_type of a numbered group: its own column's, else the one of its shape, else `body`."""
    nothing = repeated(None, height, pl.String)
    return values.get("component_type", nothing).fill_null(part_types(values.get("shape", nothing)))


def _substance_members(values: dict[str, pl.Series]) -> pl.Series | None:
    """Return the substance columns of each line as one member, null where none is given."""
    entries = []
    for name in SUBSTANCES:
        members = [_member(part, values[f"{name}_{part}"]) for part in PARTS if f"{name}_{part}" in values]
        if members:
            entries.append(_joined(members, f'"{name}":{{', "}"))
    return _joined(entries, '"substances":{', "}") if entries else None


def _member(name: str, values: pl.Series, *, are_lists: bool = False) -> pl.Series:
    return _members(name, values, values.is_not_null(), are_lists=are_lists)


def _members(key: str, values: pl.Series, presence: pl.Series, *, are_lists: bool = False) -> pl.Series:
    """Return `"key":value` for each row where the value is given (a given null is `null`), else null.

    Text is encoded once for each distinct value; array literals (`{a,b}`) become JSON arrays.
    """
    if values.dtype == pl.String:
        distinct = values.drop_nulls().unique(maintain_order=True)
        read = [[code for code in text.strip("{}").split(",") if code] for text in distinct] if are_lists else distinct
        encoded = [json.dumps(value, ensure_ascii=False) for value in read]
        texts = values.replace_strict(distinct, encoded, default=None, return_dtype=pl.String)
    else:
        texts = values.cast(pl.String)
    pairs = pl.DataFrame({"text": texts.fill_null("null")}).select(pl.lit(f"{json.dumps(key)}:") + pl.col("text"))
    return pairs.to_series().set(~presence, None)


def _joined(parts: list[pl.Series], opening: str, closing: str) -> pl.Series:
    """Return the parts of each row between brackets; null where a row has no part."""
    frame = pl.DataFrame({str(at): part for at, part in enumerate(parts)})
    some = pl.any_horizontal(pl.all().is_not_null())
    text = pl.concat_str(pl.lit(opening), pl.concat_str(pl.all(), separator=",", ignore_nulls=True), pl.lit(closing))
    return frame.select(pl.when(some).then(text)).to_series()
