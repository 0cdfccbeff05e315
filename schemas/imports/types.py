"""Types of an import's answers: what was read from the file, how far the import is, and what it rejects.

They are JSON objects under the contract's field names: the reader makes them, Postgres stores them, and the pages, the
tools and `pcds import` read them. Those without a vocabulary are published as they are here; of the others
`schemas.imports.answers` publishes Pydantic models of the same fields, and a test compares both.

What belongs here: the shape of the answers. What does not: reading a file (`pipelines.reading`), and finding its faults
(`pipelines.imports.report`).
"""

from typing import Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict  # Pydantic publishes no other before Python 3.12

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


QuestionKind: TypeAlias = Literal[
    "column", "unit", "value", "quantity", "fraction", "list", "lines", "sheet", "encoding"
]
"""What a question is about (decisions §13)."""


class Asked(TypedDict):
    """What was not read because it was not understood, or can mean several things.

    `lines` is one line or a range, `text` what was not understood; `answer` is the piece of mapping that settles the
    question by the first of `could_be`.
    """

    kind: QuestionKind
    column: str | None
    header: str | None
    sheet: str | None
    lines: str | None
    text: str | None
    could_be: list[str]
    message: str
    answer: dict[str, object]


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
    sheet: NotRequired[str | None]


class MappedBy(TypedDict, total=False):
    """What the caller's mapping has settled of a table; absent from imports of earlier releases.

    `sheets` are there where it is read from several, of which `sheet` is the first.
    """

    mapped: list[str]
    switched_off: list[SwitchedOff]
    constants: dict[str, str]
    values: dict[str, dict[str, object]]
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
    words: NotRequired[dict[str, dict[str, object]]]


class FileFormat(TypedDict):
    """What the bytes are: `encoding` and `delimiter` are null for a workbook."""

    format: Literal["csv", "xlsx"]
    encoding: str | None
    delimiter: str | None


class ImportSource(FileFormat, MappedBy):
    """Which sheet, header row and column each field was read from; `header_row` counts from 1."""

    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    components: SourceSheet | None
    layout: str
    decimal_marks: dict[str, str]
    volume_year: int | None
    skipped: list[SkippedLine]
    mapping_name: str | None
    hidden: NotRequired[HiddenPlaces | None]
    unread_sheets: NotRequired[list[UnreadSheet]]
    asked: NotRequired[list[Asked]]
    samples: NotRequired[dict[str, list[str]]]
    words: NotRequired[dict[str, dict[str, object]]]
    readings: NotRequired[list[Reading]]


class ImportAccepted(TypedDict):
    """The file is queued."""

    id: str
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
    code: str
    message: str


class ImportWarnings(TypedDict):
    """Warnings of rows that are written all the same: the first of them, and how many there are by code."""

    warnings: list[ImportRowError]
    warning_counts: dict[str, int]


class StoredRowError(ImportRowError):
    """One fault with the template of its message, which makes it translatable; older reports have none."""

    template: str | None


class ImportFailure(TypedDict):
    """Why the import as a whole failed."""

    field: str | None
    row: NotRequired[int]
    code: str
    message: str
    correlationId: NotRequired[str]
    kind: NotRequired[QuestionKind]
    could_be: NotRequired[list[str]]
    answer: NotRequired[dict[str, object]]


class GradeChange(TypedDict):
    """How many SKUs a dry run would bring from one grade to another; `before` is null for new ones."""

    before: str | None
    after: str | None
    skus: int


class ChangedGrade(TypedDict):
    """A stored SKU whose grade a dry run would change."""

    sku_id: str
    sku_code: str
    before: str | None
    after: str | None


class ForeseenGrades(TypedDict):
    """What a dry run would do to grades: counts of all SKUs that it accepts, and the first whose grade changes."""

    grades: list[GradeChange]
    changed: list[ChangedGrade]


class ImportReport(ImportWarnings):
    """How far an import is, with one page of its faults: ImportStatusResponse."""

    id: str
    status: str
    dry_run: bool
    filename: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    progress: ImportProgress
    counts: ImportCounts
    source: ImportSource
    failure: ImportFailure | None
    errors: list[ImportRowError]
    pagination: Pagination
    preview: NotRequired[ForeseenGrades]


def has_counts(status: str, rows_done: int) -> bool:
    """Return whether the counts of an import say something yet: before its first rows are decided they are all 0.

    `rows_done` are the lines that have an outcome.
    """
    return status in ("completed", "failed") or rows_done > 0


class PolledReport(ImportReport, total=False):
    """A report with the templates of its messages by their English text, where they were asked for."""

    templates: dict[str, str]


class ImportPreview(ImportWarnings):
    """What an import of rows would answer that are not sent yet."""

    rows: int
    counts: ImportCounts
    source: ImportSource
    errors: list[ImportRowError]
