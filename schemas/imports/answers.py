"""Models of an import's answers: what was accepted, the source of each field, the progress, the rejected rows."""

from typing import Annotated, Any, Literal  # Any: values of fields of every kind

from pydantic import Field as PydanticField
from pydantic.json_schema import SkipJsonSchema

from schemas.answers import Answer, AskingIssue, Grade, Identifier, Instant, Number, QuestionKind, code
from schemas.imports.types import (
    HiddenPlaces,
    IgnoredColumn,
    ImportCounts,
    ImportProgress,
    Reading,
    ReadSheet,
    SourceColumn,
    SwitchedOff,
    UnreadSheet,
)
from schemas.issues import ISSUE_CODES
from schemas.json_values import JsonObject
from schemas.pages import Pagination


class Asked(Answer):
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
    answer: dict[str, Any]


class MappingEffect(Answer):
    """What the caller's mapping has settled of a table; absent from imports of earlier releases.

    `mapped` are the fields whose column it names, `constants` the values that every line has, `values` what the texts
    of a field's cells mean, as the mapping says it. `header_row_mapped` is true where it names the header's line.
    `sheets` are there where the table is read from several, of which `sheet` is the first.
    """

    mapped: list[str] | SkipJsonSchema[None] = None
    switched_off: list[SwitchedOff] | SkipJsonSchema[None] = None
    constants: dict[str, str] | SkipJsonSchema[None] = None
    values: dict[str, dict[str, Any]] | SkipJsonSchema[None] = None
    header_row_mapped: bool | SkipJsonSchema[None] = None
    sheets: list[ReadSheet] | SkipJsonSchema[None] = None


class SourceSheet(MappingEffect):
    """Where the components sheet was read from."""

    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    decimal_marks: dict[str, str]
    hidden: HiddenPlaces | None = None
    samples: dict[str, list[str]] | SkipJsonSchema[None] = None
    words: dict[str, dict[str, Any]] | SkipJsonSchema[None] = None


class SkippedLine(Answer):
    """A line that is not data, and why; `sheet` is there where the table is read from several."""

    line: int
    reason: str
    sheet: str | SkipJsonSchema[None] = None


class ImportSource(MappingEffect):
    """Which sheet, header row and column each field was read from; `header_row` counts from 1."""

    format: Literal["csv", "xlsx"]
    encoding: str | None
    delimiter: str | None
    sheet: str | None
    header_row: int
    columns: list[SourceColumn]
    ignored: list[IgnoredColumn]
    components: SourceSheet | None
    layout: Literal["rows", "long", "wide", "materials"]
    decimal_marks: dict[str, str]
    volume_year: Annotated[int | None, PydanticField(description="Year of volume columns that name none.")]
    skipped: list[SkippedLine]
    mapping_name: str | None
    hidden: HiddenPlaces | None = None
    unread_sheets: list[UnreadSheet] | SkipJsonSchema[None] = None
    asked: list[Asked] | SkipJsonSchema[None] = None
    samples: dict[str, list[str]] | SkipJsonSchema[None] = None
    words: dict[str, dict[str, Any]] | SkipJsonSchema[None] = None
    readings: list[Reading] | SkipJsonSchema[None] = None


class ImportAccepted(Answer):
    """The file is queued; poll `poll_url` until its status is completed or failed."""

    id: Identifier
    status: Literal["queued"]
    poll_url: str
    dry_run: bool
    filename: str
    rows: int
    source: ImportSource


class ImportRowError(Answer):
    """One fault; `line` is the line of the caller's file as their editor or spreadsheet shows it."""

    sheet: str | None
    line: int
    sku_code: str | None
    field: str | None
    column: str | None
    value: str | None
    code: Literal[tuple(ISSUE_CODES)]  # type: ignore[valid-type]
    message: str


class RejectedRow(Answer):
    """A rejected row of the file: `line` is its line there, `cells` are its texts by column letter."""

    sheet: str | None
    line: int
    cells: dict[str, str]
    errors: list[ImportRowError]


class RejectedHeader(Answer):
    """The header of a sheet, by column letter."""

    sheet: str | None
    line: int
    cells: dict[str, str]


class RejectedRowListResponse(Answer):
    """A page of an import's rejected rows, in the order of the file, with the headers of their sheets.

    A row without errors belongs to a SKU that is rejected as a whole.
    """

    headers: list[RejectedHeader]
    data: list[RejectedRow]
    pagination: Pagination


class ImportFailure(AskingIssue):
    """Why the import as a whole failed; support finds it by `correlationId`, that of the request that sent the file."""

    correlationId: str | SkipJsonSchema[None] = None  # noqa: N815  (the contract's name)


class ImportListItem(Answer):
    """An import of the list; `GET /imports/{id}` has its source and its report."""

    id: Identifier
    status: code("import_status")  # type: ignore[valid-type]
    dry_run: bool
    filename: str
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    progress: ImportProgress
    counts: ImportCounts
    undone_at: Annotated[Instant | None, PydanticField(description="When its writes were last taken back.")]


class ImportListResponse(Answer):
    """A page of imports, newest first."""

    data: list[ImportListItem]
    pagination: Pagination


class GradeChange(Answer):
    """How many SKUs a dry run would bring from one grade to another."""

    before: Grade | None
    after: Grade | None
    skus: int


class ChangedGrade(Answer):
    """A stored SKU whose grade a dry run would change."""

    sku_id: Identifier
    sku_code: str
    before: Grade | None
    after: Grade | None


class ForeseenGrades(Answer):
    """What a dry run would do to grades: every SKU that it accepts is counted once."""

    grades: list[GradeChange]
    changed: list[ChangedGrade]


class ImportStatusResponse(Answer):
    """How far an import is, with one page of its error report."""

    id: Identifier
    status: code("import_status")  # type: ignore[valid-type]
    dry_run: bool
    filename: str
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    progress: ImportProgress
    counts: ImportCounts
    source: ImportSource
    failure: ImportFailure | None
    errors: list[ImportRowError]
    warnings: Annotated[
        list[ImportRowError],
        PydanticField(description="The first 200 warnings; a row that is warned about is stored."),
    ]
    warning_counts: Annotated[dict[str, int], PydanticField(description="Number of warnings by code, of all rows.")]
    pagination: Pagination
    preview: ForeseenGrades | SkipJsonSchema[None] = None


class OwnWord(Answer):
    """A text in a column of the company's files, and the value that it means."""

    field: str
    text: str
    value: Annotated[
        str | Number | bool | list[str] | None,
        PydanticField(description="The value that the text means, written as in a mapping; null is an empty cell."),
    ]
    updated_at: Instant


class OwnWordListResponse(Answer):
    """A page of words, by field and word."""

    data: list[OwnWord]
    pagination: Pagination


class OwnWordsChange(Answer):
    """How many words were stored and removed."""

    stored: int
    removed: int


class OwnWordsWriteResult(Answer):
    """What a write of words did; with `dry_run` what it would do."""

    dry_run: bool
    data: OwnWordsChange


class KeptMapping(Answer):
    """A mapping that an import recalls by its `mapping_name`."""

    id: Identifier
    name: str
    mapping: JsonObject
    updated_at: Instant


class KeptMappingListResponse(Answer):
    """A page of mappings, the last kept first."""

    data: list[KeptMapping]
    pagination: Pagination


class KeptMappingRemoval(Answer):
    """The mapping that was removed; with `dry_run` the one that would be."""

    dry_run: bool
    data: KeptMapping
