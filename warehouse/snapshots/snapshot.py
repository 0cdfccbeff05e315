"""Reads published snapshots: their files and contents, and which one of a company is current.

A folder per snapshot contains the Parquet files of three tables, each in parts, and a manifest; the file `current`
beside the folders names one of them. Figures that are computed from a snapshot are in `warehouse.figures`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Self, TypeAlias, TypedDict
from uuid import UUID

import orjson

from warehouse.published import POINTER, are_whole

TABLES: Final = ("skus", "components", "volumes")
FOLDER: Final = "snapshots"
"""The folder's name in the data directory."""

MANIFEST: Final = "manifest.json"
FORM: Final = 7
"""The version of files and manifest; it grows whenever a column or its meaning changes."""

PartRows: TypeAlias = Mapping[str, int]
"""The number of rows of a part by each of `TABLES`, without those of archived SKUs; `archived` counts these SKUs."""


class SnapshotEntry(TypedDict):
    """What `pcds snapshot --json` publishes of one company (decisions §10)."""

    company_id: str
    path: str
    as_of: str
    rows: dict[str, int]


class OtherForm(Exception):  # noqa: N818  (no fault: the next snapshot has ours)
    """Another release wrote the snapshot, with other columns."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One company's portfolio as it was at `as_of`, with every write up to the audit chain's link `number`.

    `link_hash` is that link's, as hexadecimal digits. `made_by` names release and rule-set that made it. `parts` counts
    the rows of each part, which has its SKUs with all their components and volumes. `size_bytes` is the size of all
    files.
    """

    company_id: UUID
    name: str
    as_of: datetime
    number: int
    link_hash: str
    made_by: str
    parts: Sequence[PartRows] = field(hash=False)
    size_bytes: int
    folder: Path

    @property
    def rows(self) -> dict[str, int]:
        """Return the number of rows of each of `TABLES` that lists and counts read: those of no archived SKU."""
        return {table: sum(part[table] for part in self.parts) for table in TABLES}

    @property
    def path(self) -> str:
        """Return the folder, relative to the data directory; it contains the company's id."""
        return f"{FOLDER}/{self.company_id}/{self.name}"

    @property
    def skus(self) -> list[Path]:
        """Return the Parquet files of SKUs, one row each."""
        return self.files("skus")

    @property
    def components(self) -> list[Path]:
        """Return the Parquet files of components, one row each."""
        return self.files("components")

    @property
    def volumes(self) -> list[Path]:
        """Return the Parquet files of units placed on the market, one row per SKU, market, year and half."""
        return self.files("volumes")

    def files(self, table: str) -> list[Path]:
        """Return the files of a table, one for each part."""
        return [part_file(self.folder, table, number) for number in range(len(self.parts))]

    def is_whole(self) -> bool:
        """Return whether all files are there to their ends."""
        return are_whole(path for table in TABLES for path in self.files(table))

    def as_dict(self) -> SnapshotEntry:
        """Return the published shape of one company in `pcds snapshot --json` (decisions §10)."""
        return {
            "company_id": str(self.company_id),
            "path": self.path,
            "as_of": self.as_of.isoformat().replace("+00:00", "Z"),
            "rows": self.rows,
        }

    def manifest(self) -> bytes:
        """Return the folder's manifest."""
        content = {
            "form": FORM,
            "name": self.name,
            "number": self.number,
            "link_hash": self.link_hash,
            "made_by": self.made_by,
            "parts": self.parts,
            "size_bytes": self.size_bytes,
        }
        return orjson.dumps({**self.as_dict(), **content})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the snapshot of a complete folder. Raises `OtherForm`, and `OSError` or `ValueError` for any other."""
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        if manifest.get("form") != FORM:
            raise OtherForm(f"{folder.name} was written by another release; publish again.")
        return cls(
            UUID(manifest["company_id"]),
            manifest["name"],
            datetime.fromisoformat(manifest["as_of"]),
            manifest["number"],
            manifest["link_hash"],
            manifest["made_by"],
            manifest["parts"],
            manifest["size_bytes"],
            folder,
        )


def part_file(folder: Path, table: str, number: int) -> Path:
    """Return the file of a table's part in the folder of a snapshot; parts count from 0."""
    return folder / f"{table}-{number:05d}.parquet"


def folder_of(data_dir: Path, company_id: UUID) -> Path:
    """Return the folder of a company's snapshots."""
    return data_dir / FOLDER / str(company_id)


def current(data_dir: Path, company_id: UUID) -> Snapshot | None:
    """Return the company's newest complete snapshot; None where none was published in this data directory.

    None, too, where its manifest is lost or cut off, and where another release wrote it in another form: it is made
    again within a minute. A newer snapshot does not disturb readers of this one: it stays for a while.
    """
    folder = folder_of(data_dir, company_id)
    try:
        found = Snapshot.read(folder / (folder / POINTER).read_text(encoding="ascii"))
    except (FileNotFoundError, orjson.JSONDecodeError, OtherForm):
        return None
    if found.company_id != company_id or found.folder.resolve().parent != folder.resolve():
        raise ValueError(f"{folder.name}/{POINTER} names a snapshot of another company.")
    return found
