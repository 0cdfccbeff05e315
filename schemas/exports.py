"""Model of the body of POST /exports: what kind of file, and of which records."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field as PydanticField

from schemas.models import Strict

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
