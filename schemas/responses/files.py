"""Models of answers about technical files: metadata only, never bytes or a download address."""

from typing import Annotated

from pydantic import Field as PydanticField

from schemas.responses.base import Answer, Day, Identifier, Instant, Pagination, code


class TechnicalFile(Answer):
    """A document of a SKU's technical documentation."""

    id: Annotated[Identifier | None, PydanticField(description="The file's id; null for what a dry run would store.")]
    sku_id: Identifier
    type: code("technical_file_type")  # type: ignore[valid-type]
    filename: Annotated[
        str,
        PydanticField(
            description="Name of the file as it was sent, without folders, and with the ending of its media type."
        ),
    ]
    media_type: Annotated[str, PydanticField(description="Media type of the file, judged by its bytes.")]
    size_bytes: int
    sha256: Annotated[
        str, PydanticField(description="SHA-256 of the stored bytes, hexadecimal.", pattern=r"^[0-9a-f]{64}$")
    ]
    reference: str | None
    issuer: str | None
    issued_on: Day | None
    expires_on: Day | None
    created_at: Instant
    updated_at: Instant


class TechnicalFilesListResponse(Answer):
    """A page of a SKU's technical files, newest first."""

    data: list[TechnicalFile]
    pagination: Pagination


class TechnicalFileUploadResponse(Answer):
    """What was stored, or with `dry_run` would be."""

    dry_run: bool
    data: TechnicalFile
