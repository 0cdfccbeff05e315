"""A company's figures as Parquet files: what was computed from one snapshot, published under a new name.

A folder per rollup holds three files and a manifest; the file `current` beside the folders names the last complete
one, and is moved when all that it names is on the disk (decision 0013). How figures are computed is not here.
"""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from uuid import UUID

import orjson
import polars as pl

from warehouse import published, snapshots
from warehouse.snapshots import Snapshot

TABLES: Final = ("tonnes", "uncounted", "scope_missing", "obligations")
FORM: Final = 2
"""Of the files; figures of another form are another release's, and are computed anew."""
FOLDER: Final = "figures"
"""Below the data directory."""
KEPT: Final = 3
"""The newest of a company stay, for those who have just asked which one is current."""
_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Basis:
    """What figures were computed from: a snapshot (`path`, `as_of`, its last chain link), a rule-set, a catalogue."""

    snapshot: str
    as_of: datetime
    number: int
    ruleset_version: str
    catalogue_hash: str


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """One company's figures; `rows` counts each of `TABLES`, `rows_written` the figures that differ from before."""

    company_id: UUID
    name: str
    origin: Basis
    rows: Mapping[str, int]
    rows_written: int
    folder: Path

    @property
    def tonnes(self) -> Path:
        """Tonnes by market, year, half and category, with units and SKUs, and which of them are in scope."""
        return self.folder / "tonnes.parquet"

    @property
    def uncounted(self) -> Path:
        """What could not be counted: a row per market, year, half, SKU and reason."""
        return self.folder / "uncounted.parquet"

    @property
    def scope_missing(self) -> Path:
        """What no record decides about the scope of a category: a row per market, year, half, SKU and fields."""
        return self.folder / "scope_missing.parquet"

    @property
    def obligations(self) -> Path:
        """Verdicts by market and calendar year."""
        return self.folder / "obligations.parquet"

    def manifest(self) -> bytes:
        """What the folder says of itself."""
        said = {
            "form": FORM,
            "company_id": self.company_id,
            "name": self.name,
            "origin": asdict(self.origin),
            "rows": dict(self.rows),
            "rows_written": self.rows_written,
        }
        return orjson.dumps(said, option=orjson.OPT_UTC_Z)


def publish(
    data_dir: Path, company_id: UUID, origin: Basis, frames: Mapping[str, pl.DataFrame], rows_written: int
) -> StoredFigures:
    """The frames, one for each of `TABLES`, as the company's figures, current when this returns.

    Figures of a later snapshot are left in place, and returned: of two rollups at once the later data stands. Those of
    the current snapshot are the latest, whatever its number: it counts links anew where a backup was put back.
    """
    folder = data_dir / FOLDER / str(company_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with published.locked(folder):
        held = current(data_dir, company_id)
        if held is not None and _is_later(held.origin, origin, snapshots.current(data_dir, company_id)):
            return held
        name = f"{origin.as_of:%Y%m%dT%H%M%SZ}-{origin.number}-{token_hex(3)}"
        rows = {table: frames[table].height for table in TABLES}
        made = StoredFigures(company_id, name, origin, rows, rows_written, folder / name)
        made.folder.mkdir(mode=0o700)
        for table in TABLES:
            frames[table].write_parquet(made.folder / f"{table}.parquet", compression="zstd")
        (made.folder / _MANIFEST).write_bytes(made.manifest())
        published.point(folder, made.folder)
        _sweep(folder, made.folder)
    return made


def current(data_dir: Path, company_id: UUID) -> StoredFigures | None:
    """The company's last complete figures; None where none were computed in this data directory by this release."""
    folder = data_dir / FOLDER / str(company_id)
    try:
        name = (folder / published.POINTER).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    said: dict[str, Any] = orjson.loads((folder / name / _MANIFEST).read_bytes())
    if said.get("form") != FORM:
        return None
    origin = Basis(**{**said["origin"], "as_of": datetime.fromisoformat(said["origin"]["as_of"])})
    return StoredFigures(company_id, said["name"], origin, said["rows"], said["rows_written"], folder / name)


def _is_later(held: Basis, given: Basis, snapshot: Snapshot | None) -> bool:
    """Whether what is held was computed from later data than what is given."""
    current_path = None if snapshot is None else snapshot.path
    if current_path in (held.snapshot, given.snapshot):
        return given.snapshot != current_path
    return held.number > given.number


def _sweep(folder: Path, named: Path) -> None:
    """Remove what a kill left unfinished, and what is older than the newest of `KEPT`."""
    others = [path for path in folder.iterdir() if path.is_dir() and path != named]
    finished = [path for path in others if (path / _MANIFEST).exists()]
    finished.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others:
        if path not in finished[: KEPT - 1]:
            shutil.rmtree(path)
