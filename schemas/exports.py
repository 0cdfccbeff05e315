"""Model of the body of POST /exports: what kind of file, and of which records."""

from typing import Annotated, Final, Literal, NotRequired, TypeAlias

from pydantic import Field as PydanticField
from typing_extensions import TypedDict

from schemas.answers import Identifier, Instant, Issue
from schemas.pages import Pagination
from schemas.skus.inputs import Strict

ExportFormat: TypeAlias = Literal["csv", "xlsx", "parquet"]
ExportSource: TypeAlias = Literal["records", "snapshot"]
MEDIA_TYPES: Final = {
    "csv": "application/zip",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/zip",
}
"""The media type of an export's file: CSV and Parquet are three files in a ZIP."""
EXTENSIONS: Final = {"csv": "zip", "xlsx": "xlsx", "parquet": "zip"}


class ExportInput(Strict):
    """An export of the whole portfolio."""

    format: Annotated[
        ExportFormat,
        PydanticField(description="csv and parquet: a ZIP with a file for each table; xlsx: a sheet for each table."),
    ]
    source: Annotated[
        ExportSource,
        PydanticField(
            description="records: every stored field, as it is when the run reads it. snapshot: the newest published "
            "snapshot with its columns, `flags` and `rules` among them."
        ),
    ] = "records"


class ExportRows(TypedDict):
    """Rows by table of the file."""

    skus: int
    components: int
    volumes: int


class Export(TypedDict):
    """An export of the whole portfolio."""

    id: Annotated[Identifier | None, PydanticField(description="The export's id; null with `dry_run`.")]
    format: ExportFormat
    source: ExportSource
    status: Literal["queued", "processing", "completed", "failed"]
    skus_total: Annotated[int, PydanticField(description="SKUs of the company when the export was asked for.")]
    skus_done: Annotated[int, PydanticField(description="SKUs that have been written to the file.")]
    as_of: Annotated[
        Instant | None,
        PydanticField(
            description="Time of the records. Send it to `GET /skus` as `updated_since` to get what was written since."
        ),
    ]
    rows: ExportRows | None
    size_bytes: int | None
    sha256: Annotated[str | None, PydanticField(description="SHA-256 of the file, hexadecimal.")]
    failure: Annotated[Issue | None, PydanticField(description="Why there is no file.")]
    created_at: Instant
    finished_at: Instant | None
    expires_at: Annotated[Instant | None, PydanticField(description="Time until which the file is kept.")]
    file_url: Annotated[str | None, PydanticField(description="Address of the file, once the export is completed.")]


class ExportResponse(TypedDict):
    """One export."""

    dry_run: NotRequired[
        Annotated[bool | None, PydanticField(description="Whether nothing was written; only in the answer to POST.")]
    ]
    data: Export


class ExportListResponse(TypedDict):
    """A page of exports, newest first."""

    data: list[Export]
    pagination: Pagination
