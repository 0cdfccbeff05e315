"""Packs an upload for the process that accepts it: its published source, its codes, and its tables as bytes.

No process opens the tables again before a worker types them (`pipelines.reading.rows`).
"""

from dataclasses import dataclass
from typing import Self

from pipelines.reading.upload import Upload
from schemas.report import ImportSource


@dataclass(frozen=True, slots=True)
class PackedUpload:
    """`source` and `rows` as in `Upload`; `codes` are the distinct ones of the main sheet, `table` is `to_bytes`."""

    source: ImportSource
    rows: int
    codes: list[str]
    table: bytes

    @classmethod
    def of(cls, upload: Upload) -> Self:
        """Return the upload, packed."""
        codes = upload.table["sku_code"].drop_nulls().unique().to_list()
        return cls(upload.source, upload.rows, codes, upload.to_bytes())
