"""An upload as whoever takes it needs it: what is published about it, its codes, and its tables packed for a worker.

The tables are not looked into again before a worker types them (`pipelines.reading.rows`).
"""

from dataclasses import dataclass
from typing import Any, Self

from pipelines.reading.upload import Upload


@dataclass(frozen=True, slots=True)
class PackedUpload:
    """`source` and `rows` as in `Upload`; `codes` are the distinct ones of the main sheet, `table` is `to_bytes`."""

    source: dict[str, Any]
    rows: int
    codes: list[str]
    table: bytes

    @classmethod
    def of(cls, upload: Upload) -> Self:
        """The upload, packed."""
        codes = upload.table["sku_code"].drop_nulls().unique().to_list()
        return cls(upload.source, upload.rows, codes, upload.to_bytes())
