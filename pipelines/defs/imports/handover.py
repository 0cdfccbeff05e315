"""What the assets of an import hand on to each other, and the form in which it is kept between them.

Each names its import, because an asset that runs alone takes the newest of each. How and where the parts are kept is
`pipelines.engine.outputs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable
from uuid import UUID

import polars as pl

from pipelines.reading import TypedRows, Upload

Packed = tuple[dict[str, Any], dict[str, pl.DataFrame]]
"""What is no table, as JSON takes it, and the tables by name."""


@runtime_checkable
class Kept(Protocol):
    """A value that outlives its run."""

    def packed(self) -> Packed:
        """Its parts."""

    @classmethod
    def unpacked(cls, about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Self:
        """The value of these parts."""


@dataclass(frozen=True, slots=True)
class Received:
    """An import that was sent; its row says the rest."""

    import_id: UUID
    company_id: UUID

    def packed(self) -> Packed:
        """Its parts."""
        return {"import_id": str(self.import_id), "company_id": str(self.company_id)}, {}

    @classmethod
    def unpacked(cls, about: Mapping[str, Any], _tables: Mapping[str, pl.DataFrame]) -> Self:
        """The value of these parts."""
        return cls(UUID(about["import_id"]), UUID(about["company_id"]))


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read from an import's file."""

    import_id: UUID
    upload: Upload

    def packed(self) -> Packed:
        """Its parts."""
        about, tables = self.upload.parted()
        return {"import_id": str(self.import_id), "upload": about}, tables

    @classmethod
    def unpacked(cls, about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Self:
        """The value of these parts."""
        return cls(UUID(about["import_id"]), Upload.of_parts(about["upload"], tables))


@dataclass(frozen=True, slots=True)
class Typed:
    """An import's rows as they are to be written."""

    import_id: UUID
    rows: TypedRows

    def packed(self) -> Packed:
        """Its parts."""
        rows = self.rows
        tables = {"values": rows.values, "given": rows.given, "errors": rows.errors, "unnamed": rows.unnamed}
        return {"import_id": str(self.import_id), "rejected": rows.rejected}, tables

    @classmethod
    def unpacked(cls, about: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Self:
        """The value of these parts."""
        return cls(UUID(about["import_id"]), TypedRows(rejected=about["rejected"], **tables))
