"""Makes the report of an import: one row per fault, at the line and column of the cell; what a dry run foresees.

The reader's faults already have places in the file. A fault of the write path names a field of a record, as in a JSON
request; this module finds its sheet, line and column.

A dry run foresees grades chunk by chunk, and at its end tonnes, verdicts and due days. Tonnes are of the SKUs that it
would write, as the company's snapshot has them and as they would be; verdicts and days are of the whole snapshot with
either. They come from the functions that publish and list them: `pipelines.figures`, `pipelines.filings`.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast  # Any: a row of a frame, by column
from uuid import UUID

import polars as pl

from compliance.filings.document import scoped_tonnes
from compliance.rollup.parts import COMPONENT_COLUMNS, SKU_COLUMNS, Portfolio
from compliance.rollup.tonnes import Figures, combine_blocks
from compliance.ruleset import RuleSet
from pipelines.figures import PERIOD, blocks, compute_figures, compute_obligations, loaded_catalogue
from pipelines.filings import dated_duties
from pipelines.reading.grid import LINES_OF_SHEET, cut, own_line
from pipelines.reading.lines import EXAMPLE
from pipelines.reading.rows import ERRORS, TypedRows
from pipelines.reading.sheet import CREATED
from pipelines.reading.upload import Upload
from pipelines.reading.values import as_codes, unescaped
from pipelines.writing.json_fields import LEGACY
from pipelines.writing.patch import Patch, Prepared, RowIssue
from pipelines.writing.refuse import nameless
from schemas.actors import Actor, Origin
from schemas.imports.types import (
    ChangedGrade,
    Foreseen,
    ForeseenDuty,
    ForeseenFigures,
    ForeseenTonnes,
    GradeChange,
    ImportRowError,
    ImportSource,
    ImportWarnings,
    SourceColumn,
)
from schemas.issues import Issue
from schemas.json_values import instant_text
from schemas.messages import Message, from_json, stored_template, templates, to_json
from warehouse import library
from warehouse.audit import ledger
from warehouse.companies.queries import counters
from warehouse.figures.snapshots import Snapshot
from warehouse.figures.source import ARCHIVED, components_of, volumes_of
from warehouse.imports import queries
from warehouse.imports.claims import STALLED_AFTER
from warehouse.operate.sessions import Connection, Pool
from warehouse.skus.queries import existing_codes
from warehouse.skus.tables import DTYPES, Table


@dataclass(frozen=True, slots=True)
class Work:
    """An import. `position` counts typed rows that are committed; `attempts` counts runs since the last commit.

    `answers` is the import whose held-back values this one writes.
    """

    id: UUID
    company_id: UUID
    filename: str
    dry_run: bool
    default_year: int
    source: ImportSource
    rows_total: int
    company_name: str = ""
    size_bytes: int = 0
    sha256: str = ""
    upload_key: str = ""
    table_key: str = ""
    position: int = 0
    attempts: int = 0
    correlation_id: str = ""
    ip: str | None = None
    user_agent: str | None = None
    keep_archived: bool = False
    answers: UUID | None = None
    mapping: Mapping[str, object] | None = None
    status: str = "processing"
    claim: UUID | None = None
    run_id: str | None = None
    heartbeat_at: datetime | None = None

    @property
    def makes_records(self) -> bool:
        """Return whether suppliers, brands and sites are made by their names."""
        return bool((self.mapping or {}).get("create"))

    @property
    def before_key(self) -> str:
        """Return where an answer keeps the table as the import that it answers has read it."""
        return before_key(self.table_key)

    @property
    def has_ended(self) -> bool:
        """Return whether nothing of it is left to be written."""
        return self.status not in ("queued", "processing")

    @property
    def origin(self) -> Origin:
        """Return the import as the actor of its writes, under the correlation id of the request that sent it."""
        return Origin(
            actor_type="import",
            actor_id=str(self.id),
            actor_name=self.filename,
            correlation_id=self.correlation_id,
            ip=self.ip,
            user_agent=self.user_agent,
        )


def before_key(table_key: str) -> str:
    """Return the key of the table that was read before, beside that of an answer."""
    return f"{table_key}-before"


def load(pool: Pool, company_id: UUID, import_id: UUID) -> Work:
    """Return the row of a company's import. Raises `LookupError` where the company has no such import."""
    with pool.company(company_id) as conn:
        row = queries.one(conn, import_id, Work, Work.__slots__)
    if row is None:
        raise LookupError(f"The company has no import {import_id}.")
    return row


def next_waiting(pool: Pool, company_id: UUID, now: datetime) -> UUID | None:
    """Return the company's oldest import that no run works on; None where none waits."""
    with pool.company(company_id) as conn:
        return queries.next_waiting(conn, stalled_before=now - STALLED_AFTER)


_FAULTS: Final = pl.Schema([*ERRORS.items(), ("sheet_position", pl.Int64())])
_COMPONENT: Final = re.compile(r"components\[(\d+)\](?:\.(.+))?")
_SUBSTANCE: Final = re.compile(r"substances\.(\w+)")
_CONTROL: Final = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"]
_PICTURES: Final = [chr(0x2400 + ord(control)) if control < " " else "\ufffd" for control in _CONTROL]
"""Replacements of control characters in a report: the picture of each (U+2400 and on), or the replacement character."""
_SHOWN_AS: Final = str.maketrans(dict(zip(_CONTROL, _PICTURES, strict=True)))


def reader_faults(typed: TypedRows, work: Work) -> pl.DataFrame:
    """Return the reader's faults with `sheet_position`, in the order of the file."""
    return with_sheet(typed.errors, work).sort("sheet_position", "line", maintain_order=True)


def with_sheet(frame: pl.DataFrame, work: Work) -> pl.DataFrame:
    """Return a frame with `sheet` and its `sheet_position`, counted from 0: a components sheet of its own is last."""
    sheets = _sheets(work)
    place = pl.col("sheet").replace_strict(sheets, range(len(sheets)), default=0, return_dtype=pl.Int64)
    return frame.with_columns(sheet_position=place if len(sheets) > 1 else pl.lit(0, pl.Int64))


def _sheets(work: Work) -> list[str | None]:
    """Return the sheets of the SKUs, then that of the components where it is apart."""
    several = work.source.get("sheets")
    apart = _components_sheet(work)
    of_skus: list[str | None] = [work.source["sheet"]] if several is None else [sheet["sheet"] for sheet in several]
    return of_skus if apart is None else [*of_skus, apart]


def _components_sheet(work: Work) -> str | None:
    """Return the name of a separate components sheet; None where components are in the main sheet or nowhere."""
    components = work.source["components"]
    return None if components is None or components["sheet"] == work.source["sheet"] else components["sheet"]


def missing_names(conn: Connection, typed: TypedRows, faults: pl.DataFrame) -> pl.DataFrame:
    """Return faults for the missing names of rows that the reader rejects in `faults`, where no stored SKU has one."""
    if typed.unnamed.is_empty() or faults.is_empty():
        return pl.DataFrame(schema=_FAULTS)
    unnamed = typed.unnamed.join(faults, on=["sheet", "line"], how="semi", nulls_equal=True)
    codes = unnamed["sku_code"].to_list()
    stored = existing_codes(conn, codes) if codes else set()
    rows = [
        {**row, "field": "name", "sheet_position": 0, **_said(issue)}
        for row in unnamed.iter_rows(named=True)
        if row["sku_code"] not in stored and (issue := nameless(row["sku_code"]))
    ]
    return pl.DataFrame(rows, schema=_FAULTS)


def writer_faults(issues: Sequence[RowIssue], values: pl.DataFrame, upload: Upload, work: Work) -> pl.DataFrame:
    """Return the write path's faults, or warnings, of some rows of `values`, with their places in the file."""
    if not issues:
        return pl.DataFrame(schema=_FAULTS)
    of_rows = values.filter(pl.col("row").is_in([row for row, _ in issues]))
    records = {
        record["row"]: record for record in of_rows.select("row", "sheet", "line", "sku_code").iter_rows(named=True)
    }
    lines = _lines_of_parts(of_rows["sku_code"], upload)
    rows = [{**_place(records[row], issue.field, lines, upload, work), **_said(issue)} for row, issue in issues]
    return pl.DataFrame(rows, schema=_FAULTS)


def _said(issue: Issue) -> dict[str, str | None]:
    """Return the columns of a report row that say what is wrong."""
    return {"code": issue.code, "message": issue.message, "template": stored_template(issue.message)}


def _lines_of_parts(codes: pl.Series, upload: Upload) -> dict[str, list[int]]:
    """Return the lines of the components of these SKUs, by code, in the order of the file."""
    if upload.components is None:
        return {}
    cells = unescaped(upload.components["sku_code"]).to_frame("code")
    with_codes = cells.select(as_codes(pl.col("code")), line=upload.components["line"])
    lines = with_codes.filter(pl.col("code").is_in(codes.unique().implode())).group_by("code").agg("line")
    return dict(lines.iter_rows())


def _place(
    record: dict[str, Any], path: str | None, lines: Mapping[str, list[int]], upload: Upload, work: Work
) -> dict[str, object]:
    """Return sheet, line, field, column and cell of a fault at `path` of the SKU in `record`.

    A part that is stored and stands nowhere in the file has the place of its SKU, without a column.
    """
    apart, sheets = _components_sheet(work), _sheets(work)
    named_there = apart is not None and record["sheet"] == apart
    at = sheets.index(record["sheet"])
    place = {"sheet_position": at, **{name: record[name] for name in ("sheet", "line", "sku_code")}}
    line = place["line"] + (0 if named_there else at * LINES_OF_SHEET)
    one_line = work.source["layout"] in ("wide", "materials")  # its components have no line of their own
    component = None if one_line else _COMPONENT.match(path or "")
    of_parts = work.source["components"]
    if upload.components is not None and of_parts is not None and (component or named_there):
        field = _column_name(path, of_parts["columns"])
        if component:
            of_sku = lines.get(record["sku_code"], [])
            if int(component[1]) >= len(of_sku):
                return place | {"field": path, "column": None, "value": None}
            line = of_sku[int(component[1])]
            at = len(sheets) - 1 if apart is not None else line // LINES_OF_SHEET
            place |= {"sheet_position": at, "sheet": sheets[at], "line": own_line(line)}
            field = _column_name(component[2], of_parts["columns"])
        return place | _cell(field, of_parts["columns"], upload.components, line)
    columns = work.source["columns"]
    return place | _cell(_column_name(path, columns), columns, upload.table, line)


def _column_name(path: str | None, columns: Sequence[SourceColumn]) -> str | None:
    """Return the import column of a field path of the JSON API, whether the file has it; a component's has a prefix."""
    mapped = {column["field"] for column in columns}
    substance = _SUBSTANCE.match(path or "")
    if substance is None:
        return f"component_{path}" if path not in mapped and f"component_{path}" in mapped else path
    name = substance[1]
    candidates = (f"{name}_status", f"{name}_value", LEGACY[name])
    of_parts = [f"component_{column}" for column in candidates]
    return next((column for column in (*candidates, *of_parts) if column in mapped), candidates[0])


def _cell(field: str | None, columns: Sequence[SourceColumn], table: pl.DataFrame, line: int) -> dict[str, str | None]:
    """Return the field with its column's letter and the cell as it was sent; nulls where the file has no column."""
    letter = next((column["column"] for column in columns if column["field"] == field), None)
    if letter is None or field not in table.columns:
        return {"field": field, "column": letter, "value": None}
    at = bisect_left(
        table["line"], line
    )  # lines ascend; to filter a table for each of 200 faults took a sixth of a run
    cell = table[field][at] if at < table.height and table["line"][at] == line else None
    return {"field": field, "column": letter, "value": cell and cut(cell)}


def store(conn: Connection, work: Work, faults: pl.DataFrame) -> None:
    """Add report rows in the caller's transaction; `faults` contains every fault of each line that it names."""
    if faults.is_empty():
        return
    rows = faults.with_columns(
        pl.col(pl.String)
        .exclude("template")
        .str.replace_many(_CONTROL, _PICTURES),  # a report is read in terminals, too
        pl.col("template").map_elements(
            lambda template: to_json(from_json(template).with_texts(lambda text: text.translate(_SHOWN_AS))), pl.String
        ),
        number=pl.int_range(pl.len()).over("sheet_position", "line"),
    )
    queries.insert_faults(conn, work.company_id, work.id, rows.select(queries.COLUMNS).to_dicts())


MOST_LISTED: Final = 200
"""Warnings that are listed with their places; all of them are counted."""
_SKIPPED_EXAMPLE: Final = Message("The line is an example and was left out; delete it from the sheet if you like.")


def listed(issues: Sequence[RowIssue], values: pl.DataFrame, upload: Upload, work: Work, most: int) -> ImportWarnings:
    """Return the warnings of some rows of `values`: the first `most` with their places, and the counts of all."""
    places = writer_faults(issues[:most], values, upload, work).drop("sheet_position", "template").to_dicts()
    for place, (_, issue) in zip(places, issues, strict=False):
        place["message"] = issue.message  # with its template, for other languages
    return {
        "warnings": cast(list[ImportRowError], places),
        "warning_counts": dict(Counter(issue.code for _, issue in issues)),
    }


def of_source(source: ImportSource) -> ImportWarnings:
    """Return the warnings of the lines that were left out as examples."""
    issues: list[ImportRowError] = [
        {
            "sheet": skipped.get("sheet", source["sheet"]),
            "line": skipped["line"],
            "sku_code": None,
            "field": None,
            "column": None,
            "value": None,
            "code": "example_row_skipped",
            "message": _SKIPPED_EXAMPLE,
        }
        for skipped in source["skipped"]
        if skipped["reason"] == EXAMPLE
    ]
    return {"warnings": issues[:MOST_LISTED], "warning_counts": {"example_row_skipped": len(issues)} if issues else {}}


def together(parts: Iterable[ImportWarnings]) -> ImportWarnings:
    """Return the warnings of several parts of one import, in their order, as one."""
    counts: Counter[str] = Counter()
    warnings: list[ImportRowError] = []
    for part in parts:
        counts.update(part["warning_counts"])
        warnings += part["warnings"][: MOST_LISTED - len(warnings)]
    return {"warnings": warnings, "warning_counts": dict(counts)}


def add(
    conn: Connection, work: Work, issues: Sequence[RowIssue], values: pl.DataFrame, upload: Upload, *, first: bool
) -> None:
    """Add the warnings of a chunk to those of its import, in the transaction of the chunk; `first` with the source's.

    An import without warnings costs no statement.
    """
    of_file = of_source(work.source) if first else {"warnings": [], "warning_counts": {}}
    if not issues and not of_file["warnings"]:
        return
    before = queries.stored_warnings(conn, work.id) or of_file
    room = max(MOST_LISTED - len(before["warnings"]), 0)
    new = listed(issues, values, upload, work, room)
    queries.store_warnings(conn, work.id, together([before, new]), templates(new["warnings"]))


_ROLES: Final = {"manufacturing_site_id": ["manufacturing"], "packing_site_id": ["packing"]}


class _Named(NamedTuple):
    """A name of the file, the id that its cells were given, and the record that it may be."""

    id: str
    name: str
    resource: str
    roles: list[str]


def make_records(conn: Connection, work: Work, patch: Patch, now: datetime) -> None:
    """Make the records that the patch refers to and that the company lacks, in the caller's transaction.

    A name that a record has meanwhile makes none: its rows name an id of nobody then, and are rejected.
    """
    texts = [
        text for name in patch.values.names if name in CREATED or name == "components" for text in patch.values[name]
    ]
    cells, graphs = set(texts), "".join(text for text in texts if text and text.startswith("["))
    for record in _records(work):
        if record.id not in cells and record.id not in graphs:
            continue
        if library.resolved(conn, record.resource, UUID(record.id)) or library.find_by_name(
            conn, record.resource, record.name
        ):
            continue
        values = {"name": record.name} | ({"roles": record.roles} if record.roles else {})
        library.add(conn, record.resource, work.company_id, UUID(record.id), values=values, at=now)
        ledger.enter(
            conn,
            Actor(work.company_id, work.origin, now),
            f"{record.resource}.created",
            UUID(record.id),
            before=None,
            after=values,
        )


def _records(work: Work) -> Iterator[_Named]:
    """Yield each record that the file's words refer to, once; a site has the roles of all columns that name it."""
    parts = work.source["components"]
    records: dict[str, _Named] = {}
    for words in (work.source.get("words", {}), parts.get("words", {}) if parts else {}):
        for field, names in words.items():
            own = next((name for name in CREATED if f"_{field}".endswith(f"_{name}")), None)  # in any group
            if own is None:
                continue
            for name, record_id in names.items():
                record = records.setdefault(str(record_id), _Named(str(record_id), name, CREATED[own], []))
                record.roles.extend(role for role in _ROLES.get(own, ()) if role not in record.roles)
    yield from records.values()


_Change: TypeAlias = tuple[str | None, str | None]
"""A grade before and after; null before for a new SKU."""
MOST_NAMED: Final = 100
"""Items, and rows of figures, that are named; all items are counted."""
_CHUNKS: Final = 10
"""Chunks whose figures are computed together."""
_CATEGORY: Final = ("market", "year", "category_code", "category_name")
_SCOPED: Final[tuple[Literal["tonnes", "in_scope_tonnes", "undecided_tonnes"], ...]] = (
    *("tonnes", "in_scope_tonnes", "undecided_tonnes"),
)
_DUTY: Final = ("market", "year", "obligation", "material", "operator", "scope_key")


def foreseen_grades(written: Prepared, unchanged: Mapping[str, int]) -> Foreseen:
    """Return what a dry run did to grades; `unchanged` counts by grade the rows that were not even written."""
    counts: Counter[_Change] = Counter({(grade, grade): number for grade, number in unchanged.items()})
    changed: list[ChangedGrade] = []
    for code, sku_id, after in written.merged.rows(("sku_code", "id", "recyclability_grade")):
        before = written.grades_before.get(code)
        counts[before, after] += 1
        if before not in (None, after) and len(changed) < MOST_NAMED:
            changed.append({"sku_id": str(sku_id), "sku_code": code, "before": before, "after": after})
    return {"grades": _by_grade(counts), "changed": changed}


def add_grades(first: Foreseen | None, then: Foreseen) -> Foreseen:
    """Return the grades of two parts of one import as one; `first` is None before the first."""
    if first is None:
        return then
    counts: Counter[_Change] = Counter()
    for entry in (*first["grades"], *then["grades"]):
        counts[entry["before"], entry["after"]] += entry["skus"]
    return {"grades": _by_grade(counts), "changed": [*first["changed"], *then["changed"]][:MOST_NAMED]}


def _by_grade(counts: Counter[_Change]) -> list[GradeChange]:
    """Return the counts as they are published: new SKUs first, then by grade."""
    ordered = sorted(counts.items(), key=lambda pair: (pair[0][0] or "", pair[0][1] or ""))
    return [{"before": before, "after": after, "skus": skus} for (before, after), skus in ordered]


def portfolio_of(merged: Table) -> Portfolio:
    """Return SKUs, components and volumes of rows as they would be stored, with all their value columns."""
    names = [name for name in (*SKU_COLUMNS, "components", "volumes") if name != ARCHIVED]
    rows = merged.frame({name: DTYPES[name] for name in names}).with_columns(
        pl.lit(value=False).alias(ARCHIVED), pl.col("use_contexts").str.extract_all(r'[^{},"]+')
    )
    return Portfolio(
        rows.select(list(SKU_COLUMNS)), components_of(rows).select(list(COMPONENT_COLUMNS)), volumes_of(rows)
    )


def foreseen_figures(
    conn: Connection, snapshot: Snapshot | None, written: Sequence[Portfolio], rules: RuleSet, today: date
) -> ForeseenFigures:
    """Return the figures of a preview for the SKUs that would be `written`, the chunks of an import.

    Nothing where the company has SKUs but no snapshot yet, and for tonnes beyond the reach of figures.
    """
    if snapshot is None and counters(conn).skus:
        return {}
    entries = loaded_catalogue(conn).entries
    chunks = [
        Portfolio(*map(pl.concat, zip(*written[first : first + _CHUNKS], strict=True)))
        for first in range(0, len(written), _CHUNKS)
    ]
    codes = pl.concat([part.skus.select("sku_code") for part in chunks])

    def computed(parts: Iterable[Portfolio]) -> Figures:
        return compute_figures(parts, entries, rules, lambda: None)

    def stored(how: Literal["semi", "anti"]) -> Figures:
        """Compute the figures of the snapshot's SKUs that are among the written ones, or of the others."""
        parts = blocks(snapshot) if snapshot else ()
        return computed(Portfolio(*(frame.join(codes, on="sku_code", how=how) for frame in part)) for part in parts)

    try:
        before, after = stored("semi"), computed(chunks)
        as_of, tonnes = instant_text(snapshot.as_of) if snapshot else None, _tonnes(before, after)
        if all(old.equals(new) for old, new in zip(before, after, strict=True)):
            return cast(ForeseenFigures, {"figures_as_of": as_of, "tonnes": tonnes, "duties": [], "days": []})
        others = stored("anti")
        now, then = combine_blocks([others, before]), combine_blocks([others, after])
    except OverflowError:
        return {}
    verdicts, verdicts_then = compute_obligations(now), compute_obligations(then)
    days, days_then = (
        dated_duties(conn, figures.tonnes.select(PERIOD).unique().rows(), rows, today)
        for figures, rows in ((now, verdicts), (then, verdicts_then))
    )
    changed = [(day, False) for day in days if day not in days_then] + [(d, True) for d in days_then if d not in days]
    listed = [
        {
            "market": day.market,
            "year": day.year,
            "half": day.half,
            "duty": day.stated.duty,
            "due_on": day.on.isoformat(),
            "begins": begins,
        }
        for day, begins in changed
    ]
    made = {"figures_as_of": as_of, "tonnes": tonnes, "duties": _duties(verdicts, verdicts_then), "days": listed}
    return cast(ForeseenFigures, made)


def _tonnes(before: Figures, after: Figures) -> list[ForeseenTonnes]:
    """Return the calendar years' categories of which some tonnes differ, those that change the most first."""
    sides = [
        {
            tuple(row[name] for name in _CATEGORY): [float(scoped[name]) for name in _SCOPED]
            for row in figures.tonnes.filter(pl.col("half") == 0).iter_rows(named=True)
            if (scoped := scoped_tonnes(row))
        }
        for figures in (before, after)
    ]
    none = [0.0 for _ in _SCOPED]
    pairs = [(key, sides[0].get(key, none), sides[1].get(key, none)) for key in sides[0] | sides[1]]
    pairs.sort(key=lambda pair: -max(abs(new - old) for old, new in zip(*pair[1:], strict=True)))
    rows = [
        {
            **dict(zip(_CATEGORY, key, strict=True)),
            "before": dict(zip(_SCOPED, old, strict=True)),
            "after": dict(zip(_SCOPED, new, strict=True)),
        }
        for key, old, new in pairs[:MOST_NAMED]
        if old != new
    ]
    return cast(list[ForeseenTonnes], rows)


def _duties(before: pl.DataFrame, after: pl.DataFrame) -> list[ForeseenDuty]:
    """Return the verdicts that differ, in the order of their table."""
    sides = [
        rows.select(*_DUTY, pl.col("threshold_tonnes").cast(pl.Float64), "verdict").unique() for rows in (before, after)
    ]
    key = (*_DUTY, "threshold_tonnes")
    both = sides[0].join(sides[1], on=key, how="full", coalesce=True, nulls_equal=True, suffix="_then")
    changed = both.filter(pl.col("verdict").ne_missing(pl.col("verdict_then"))).sort(key).head(MOST_NAMED)
    return cast(list[ForeseenDuty], changed.rename({"verdict": "before", "verdict_then": "after"}).to_dicts())
