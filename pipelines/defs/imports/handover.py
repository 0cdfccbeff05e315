"""Defines the values that the assets of an import pass to each other, and the form in which they are stored.

Each names its import, because an asset that runs alone takes the newest of each. `pipelines.engine.outputs` stores the
parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable
from uuid import UUID

import polars as pl

from pipelines.reading import TypedRows, Upload
from schemas.json_values import JsonMapping, JsonObject

Packed = tuple[JsonObject, dict[str, pl.DataFrame]]
"""The values that are not tables, as JSON types, and the tables by name."""


@runtime_checkable
class Kept(Protocol):
    """A value that outlives its run."""

    def packed(self) -> Packed:
        """Return its parts."""

    @classmethod
    def unpacked(cls, about: JsonMapping, tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts."""


@dataclass(frozen=True, slots=True)
class Received:
    """An import that was sent; its row has the rest."""

    import_id: UUID
    company_id: UUID

    def packed(self) -> Packed:
        """Return its parts."""
        return {"import_id": str(self.import_id), "company_id": str(self.company_id)}, {}

    @classmethod
    def unpacked(cls, about: JsonMapping, _tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts."""
        return cls(UUID(about["import_id"]), UUID(about["company_id"]))


@dataclass(frozen=True, slots=True)
class Parsed:
    """The content read from an import's file."""

    import_id: UUID
    upload: Upload

    def packed(self) -> Packed:
        """Return its parts."""
        about, tables = self.upload.to_parts()
        return {"import_id": str(self.import_id), "upload": about}, tables

    @classmethod
    def unpacked(cls, about: JsonMapping, tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts."""
        return cls(UUID(about["import_id"]), Upload.from_parts(about["upload"], tables))


@dataclass(frozen=True, slots=True)
class Typed:
    """An import's rows, ready to be written."""

    import_id: UUID
    rows: TypedRows

    def packed(self) -> Packed:
        """Return its parts."""
        rows = self.rows
        tables = {"values": rows.values, "given": rows.given, "errors": rows.errors, "unnamed": rows.unnamed}
        return {"import_id": str(self.import_id), "rejected": rows.rejected}, tables

    @classmethod
    def unpacked(cls, about: JsonMapping, tables: Mapping[str, pl.DataFrame]) -> Self:
        """Return the value of these parts. Faults from before migration 0025 have no templates."""
        faults = tables["errors"]
        if "template" not in faults.columns:
            tables = {**tables, "errors": faults.with_columns(template=pl.lit(None, pl.String))}
        return cls(UUID(about["import_id"]), TypedRows(rejected=about["rejected"], **tables))
