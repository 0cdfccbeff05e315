"""A published snapshot: where its files lie and what they hold, and which one of a company is current.

A folder per snapshot holds three Parquet files and a manifest; the file `current` beside the folders names one of
them. What is computed from a snapshot lies elsewhere (`warehouse.figures`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self
from uuid import UUID

import orjson

TABLES: Final = ("skus", "components", "volumes")
FOLDER: Final = "snapshots"
"""Below the data directory."""
POINTER: Final = "current"
MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One company's portfolio as it was at `as_of`, with every write up to the audit chain's link `number`.

    `path` is relative to the data directory (decisions §11). `rows` counts each of `TABLES`; `size_bytes` is what they
    take on the disk.
    """

    company_id: UUID
    name: str
    as_of: datetime
    number: int
    rows: Mapping[str, int]
    size_bytes: int
    folder: Path

    @property
    def path(self) -> str:
        """Where it lies, relative to the data directory; contains the company's id."""
        return f"{FOLDER}/{self.company_id}/{self.name}"

    @property
    def skus(self) -> Path:
        """The Parquet file of SKUs, one row each."""
        return self.folder / "skus.parquet"

    @property
    def components(self) -> Path:
        """The Parquet file of components, one row each."""
        return self.folder / "components.parquet"

    @property
    def volumes(self) -> Path:
        """The Parquet file of units placed on the market, one row per SKU, market, year and half."""
        return self.folder / "volumes.parquet"

    def as_dict(self) -> dict[str, Any]:
        """The published shape of one company in `pcds snapshot --json` (decisions §10)."""
        return {
            "company_id": str(self.company_id),
            "path": self.path,
            "as_of": self.as_of.isoformat().replace("+00:00", "Z"),
            "rows": dict(self.rows),
        }

    def manifest(self) -> bytes:
        """What the folder says of itself."""
        return orjson.dumps({**self.as_dict(), "name": self.name, "number": self.number, "size_bytes": self.size_bytes})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The snapshot of a complete folder. Raises `OSError` or `ValueError` where it is none."""
        said = orjson.loads((folder / MANIFEST).read_bytes())
        return cls(
            UUID(said["company_id"]), said["name"], datetime.fromisoformat(said["as_of"]), said["number"],
            said["rows"], said["size_bytes"], folder,
        )  # fmt: skip


def folder_of(data_dir: Path, company_id: UUID) -> Path:
    """Where the snapshots of a company lie."""
    return data_dir / FOLDER / str(company_id)


def current(data_dir: Path, company_id: UUID) -> Snapshot | None:
    """The company's newest complete snapshot; None where none was published in this data directory.

    A snapshot that takes its place meanwhile does not disturb whoever reads this one: it stays for a day.
    """
    folder = folder_of(data_dir, company_id)
    try:
        name = (folder / POINTER).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    found = Snapshot.read(folder / name)
    if found.company_id != company_id or found.folder.resolve().parent != folder.resolve():
        raise ValueError(f"{folder.name}/{POINTER} names a snapshot of another company.")
    return found
