"""Models of the answers about exports of whole portfolios."""

from typing import Annotated, Literal

from pydantic import Field as PydanticField

from schemas.exports import ExportFormat, ExportSource
from schemas.responses.base import Answer, Identifier, Instant, Issue, Pagination


class ExportRows(Answer):
    """Rows by table of the file."""

    skus: int
    components: int
    volumes: int


class Export(Answer):
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


class ExportResponse(Answer):
    """One export."""

    dry_run: Annotated[
        bool | None, PydanticField(description="Whether nothing was written; only in the answer to POST.")
    ] = None
    data: Export


class ExportListResponse(Answer):
    """A page of exports, newest first."""

    data: list[Export]
    pagination: Pagination
