"""Shapes of an import's answers: what was read from the file, how far the import is, what it rejects and remembers.

Each is written once: the reader makes them, Postgres stores them, REST publishes and answers them, and the pages, the
tools and `pcds import` read them.

What belongs here: the shape of the answers. What does not: reading a file (`pipelines.reading`), and finding its faults
(`pipelines.imports.report`).
"""

from typing import Annotated, Any, Literal, NotRequired  # Any: codes that a vocabulary or a reader names

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # Pydantic publishes no other before Python 3.12

from schemas.answers import Grade, Half, Identifier, Instant, Number, Verdict, code
from schemas.issues import ISSUE_CODES, QuestionKind
from schemas.json_values import JsonObject
from schemas.pages import Pagination


class SourceColumn(TypedDict):
    """One column of the caller's file; `column` is its spreadsheet letter."""

    field: str
    column: str
    header: str


class IgnoredColumn(TypedDict):
    """A column that fits no field."""

    column: str
    header: str


class Asked(TypedDict):
    """What was not read because it was not understood, or can mean several things (`could_be`).

    `lines` is one line or a range, `12-18`; `text` is what was not understood; `answer` is the piece of mapping that
    settles the question by the first of `could_be`.
    """

    kind: QuestionKind
    column: str | None
    header: str | None
    sheet: str | None
    lines: str | None
    text: str | None
    could_be: list[str]
    message: str
    answer: JsonObject


class Reading(TypedDict):
    """What a text of the file became: `value` is what is stored, with its unit; `rows` counts the rows that have it.

    Of each column of numbers there is one sample.
    """

    column: str
    field: str
    text: str
    value: str
    rows: int


class HiddenPlaces(TypedDict):
    """Rows and columns that were read although the spreadsheet hides them."""

    rows: int
    lines: list[int]
    columns: list[str]


class UnreadSheet(TypedDict):
    """A sheet that was not read, and why."""

    sheet: str
    reason: str


class ReadSheet(TypedDict):
    """One of the several sheets that the table is read from, and the line of its header."""

    sheet: str
    header_row: int


class SwitchedOff(TypedDict):
    """A field that the mapping reads from no column, with the column that it would have been read from."""

    field: str
    column: str | None
    header: str | None


class SkippedLine(TypedDict):
    """A line that is not data, and why; `sheet` is there where the table is read from several."""

    line: int
    reason: str
    sheet: NotRequired[str | SkipJsonSchema[None]]


class MappedBy(TypedDict, total=False):
    """What the caller's mapping has settled of a table; absent from imports of earlier releases.

    `mapped` are the fields whose column it names, `constants` the values that every line has, `values` what the texts
    of a field's cells mean, as the mapping says it. `header_row_mapped` is true where it names the header's line.
    `sheets` are there where the table is read from several, of which `sheet` is the first.
    """

    mapped: list[str]
    switched_off: list[SwitchedOff]
    constants: dict[str, str]
    values: dict[str, JsonObject]
    header_row_mapped: bool
    sheets: list[ReadSheet]


class SourceSheet(MappedBy):
    """Where the components sheet was read from."""

    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    decimal_marks: dict[str, str]
    hidden: NotRequired[HiddenPlaces | None]
    samples: NotRequired[dict[str, list[str]]]
    words: NotRequired[dict[str, JsonObject]]


class FileFormat(TypedDict):
    """What the bytes are: `encoding` and `delimiter` are null for a workbook."""

    format: Literal["csv", "xlsx"]
    encoding: str | None
    delimiter: str | None


Layout: Any = Literal["rows", "long", "wide", "materials"]


class ImportSource(FileFormat, MappedBy):
    """Which sheet, header row and column each field was read from; `header_row` counts from 1."""

    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    components: SourceSheet | None
    layout: Layout
    decimal_marks: dict[str, str]
    volume_year: Annotated[int | None, Field(description="Year of volume columns that name none.")]
    skipped: list[SkippedLine]
    mapping_name: str | None
    hidden: NotRequired[HiddenPlaces | None]
    unread_sheets: NotRequired[list[UnreadSheet]]
    asked: NotRequired[list[Asked]]
    samples: NotRequired[dict[str, list[str]]]
    words: NotRequired[dict[str, JsonObject]]
    readings: NotRequired[list[Reading]]


class ImportAccepted(TypedDict):
    """The file is queued; poll `poll_url` until its status is completed or failed."""

    id: Identifier
    status: Literal["queued"]
    poll_url: str
    dry_run: bool
    filename: str
    rows: int
    source: ImportSource


class ImportProgress(TypedDict):
    """Data lines that have an outcome."""

    done: int
    total: int


class ImportCounts(TypedDict):
    """Number of SKUs decided so far, by outcome."""

    total: int
    created: int
    updated: int
    unchanged: int
    rejected: int


class ImportRowError(TypedDict):
    """One fault; `line` is the line of the caller's file as their editor or spreadsheet shows it."""

    sheet: str | None
    line: int
    sku_code: str | None
    field: str | None
    column: str | None
    value: str | None
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str


class ImportWarnings(TypedDict):
    """Warnings of rows that are written all the same: the first of them, and how many there are by code."""

    warnings: list[ImportRowError]
    warning_counts: dict[str, int]


class StoredRowError(ImportRowError):
    """One fault with the template of its message, which makes it translatable; older reports have none."""

    template: str | None


class RejectedHeader(TypedDict):
    """The header of a sheet, by column letter."""

    sheet: str | None
    line: int
    cells: dict[str, str]


class RejectedRow(RejectedHeader):
    """A rejected row of the file: `line` is its line there, `cells` are its texts by column letter."""

    errors: list[ImportRowError]


class RejectedRowListResponse(TypedDict):
    """A page of an import's rejected rows, in the order of the file, with the headers of their sheets.

    A row without errors belongs to a SKU that is rejected as a whole.
    """

    headers: list[RejectedHeader]
    data: list[RejectedRow]
    pagination: Pagination


class ImportFailure(TypedDict):
    """Why the import as a whole failed; support finds it by `correlationId`, that of the request that sent the file."""

    field: Annotated[str | None, Field(description="Dotted path in the body, or null for the whole.")]
    row: NotRequired[Annotated[int, Field(description="Zero-based index in an array body.")]]
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str
    kind: NotRequired[Annotated[QuestionKind, Field(description="What the file asks about.")]]
    could_be: NotRequired[Annotated[list[str], Field(description="What it could be, the likeliest first.")]]
    answer: NotRequired[
        Annotated[JsonObject, Field(description="The piece of mapping that settles it by the first of could_be.")]
    ]
    correlationId: NotRequired[str]


class ImportState(TypedDict):
    """How far an import is."""

    id: Identifier
    status: code("import_status")  # type: ignore[valid-type]
    dry_run: bool
    filename: str
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    progress: ImportProgress
    counts: ImportCounts


class ImportListItem(ImportState):
    """An import of the list; `GET /imports/{id}` has its source and its report."""

    undone_at: Annotated[Instant | None, Field(description="When its writes were last taken back.")]


class RecentImport(ImportListItem):
    """An import of the list as the company's people see it, with the name of its sender.

    `questions` counts those that are open; `failure_kind` is the kind of the one for which the file was refused.
    """

    key_name: str
    failure_code: str | None
    failure_kind: str | None
    questions: int


class ImportListResponse(TypedDict):
    """A page of imports, newest first."""

    data: list[ImportListItem]
    pagination: Pagination


class GradeChange(TypedDict):
    """How many SKUs a dry run would bring from one grade to another."""

    before: Grade | None
    after: Grade | None
    skus: int


class ChangedGrade(TypedDict):
    """A stored SKU whose grade a dry run would change."""

    sku_id: Annotated[str, Field(json_schema_extra={"format": "uuid"})]
    sku_code: str
    before: Grade | None
    after: Grade | None


class TonnesByScope(TypedDict):
    """Tonnes of a figure: all of them, those in scope, and those that no recorded fact decides."""

    tonnes: Number
    in_scope_tonnes: Number
    undecided_tonnes: Number


class ForeseenTonnes(TypedDict):
    """Tonnes of a market, calendar year and category that a dry run would change, of its SKUs alone."""

    market: str
    year: int
    category_code: str
    category_name: str
    before: TonnesByScope
    after: TonnesByScope


class ForeseenDuty(TypedDict):
    """A verdict on a duty of the company that a dry run would change; null where there is none."""

    market: str
    year: int
    obligation: str
    material: str
    operator: str | None
    scope_key: str
    threshold_tonnes: Number | None
    before: Verdict | None
    after: Verdict | None


class ForeseenDay(TypedDict):
    """A day on which a duty of the company is due, which a dry run would bring (`begins`), or end."""

    market: str
    year: int
    half: Half
    duty: str
    due_on: Annotated[str, Field(json_schema_extra={"format": "date"})]
    begins: bool


class ForeseenFigures(TypedDict, total=False):
    """What a dry run would do to tonnes and duties, once it has ended; absent where the figures are not known."""

    figures_as_of: Instant | None
    tonnes: list[ForeseenTonnes]
    duties: list[ForeseenDuty]
    days: list[ForeseenDay]


class Foreseen(ForeseenFigures):
    """What a dry run would do: every SKU that it accepts is counted once."""

    grades: list[GradeChange]
    changed: list[ChangedGrade]


class ImportStatusResponse(ImportState):
    """How far an import is, with one page of its error report."""

    source: ImportSource
    failure: ImportFailure | None
    errors: list[ImportRowError]
    warnings: Annotated[
        list[ImportRowError], Field(description="The first 200 warnings; a row that is warned about is stored.")
    ]
    warning_counts: Annotated[dict[str, int], Field(description="Number of warnings by code, of all rows.")]
    pagination: Pagination
    preview: NotRequired[Foreseen]


class PolledReport(ImportStatusResponse, total=False):
    """A report with the templates of its messages by their English text, where they were asked for."""

    templates: dict[str, str]


def has_counts(status: str, rows_done: int) -> bool:
    """Return whether the counts of an import say something yet: before its first rows are decided they are all 0.

    `rows_done` are the lines that have an outcome.
    """
    return status in ("completed", "failed") or rows_done > 0


def has_not_ended(status: str) -> bool:
    """Return whether an import waits or is under way."""
    return status in ("queued", "processing")


class ImportPreview(ImportWarnings):
    """What an import of rows would answer that are not sent yet."""

    rows: int
    counts: ImportCounts
    source: ImportSource
    errors: list[ImportRowError]


class OwnWord(TypedDict):
    """A text in a column of the company's files, and the value that it means."""

    field: str
    text: str
    value: Annotated[
        str | Number | bool | list[str] | None,
        Field(description="The value that the text means, written as in a mapping; null is an empty cell."),
    ]
    updated_at: Instant


class OwnWordListResponse(TypedDict):
    """A page of words, by field and word."""

    data: list[OwnWord]
    pagination: Pagination


class OwnWordsChange(TypedDict):
    """How many words were stored and removed."""

    stored: int
    removed: int


class OwnWordsWriteResult(TypedDict):
    """What a write of words did; with `dry_run` what it would do."""

    dry_run: bool
    data: OwnWordsChange


class KeptMapping(TypedDict):
    """A mapping that an import recalls by its `mapping_name`."""

    id: Identifier
    name: str
    mapping: JsonObject
    updated_at: Instant


class KeptMappingListResponse(TypedDict):
    """A page of mappings, the last kept first."""

    data: list[KeptMapping]
    pagination: Pagination


class KeptMappingRemoval(TypedDict):
    """The mapping that was removed; with `dry_run` the one that would be."""

    dry_run: bool
    data: KeptMapping


class UndoCounts(TypedDict):
    """Number of SKUs that the import had written, by what became of them."""

    restored: Annotated[int, Field(description="SKUs that were put back to the version before the import.")]
    archived: Annotated[int, Field(description="SKUs that the import had created, now archived and without its units.")]
    unchanged: Annotated[int, Field(description="SKUs that already were as before the import.")]
    kept: Annotated[int, Field(description="SKUs that were left as they are; `kept` of the answer says why.")]


UndoCode: Any = Literal["changed_since", "archived_since", "pfas_food_contact_prohibited"]


class UndoKept(TypedDict):
    """A SKU that was left as it is."""

    sku_code: str
    code: UndoCode
    message: str


class ImportUndoResult(TypedDict):
    """What undoing an import did, or with `dry_run` would do."""

    dry_run: bool
    counts: UndoCounts
    kept: Annotated[list[UndoKept], Field(description="SKUs that were left as they are; the first 100, by sku_code.")]
