"""Stores a company's figures as Parquet files: the results computed from one snapshot, published under a new name.

Each rollup makes a folder of four tables and a manifest. The file `current` beside the folders names the last complete
one; it changes after all files of the new folder are on the disk (decision 0013). How figures are computed does not
belong here.
"""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Literal, NamedTuple  # Any: a row of DuckDB, whose columns the query names
from uuid import UUID

import orjson
import polars as pl

from compliance.rollup.exact import in_tonnes
from schemas.figures import MarketObligation, TonnesFigure, UncountedSku, UndecidedSku
from schemas.json_values import JsonObject
from warehouse.figures import snapshots
from warehouse.figures.snapshots import Snapshot
from warehouse.operate import whole_files

TABLES: Final = ("tonnes", "uncounted", "scope_missing", "obligations")
FORM: Final = 5
"""The version of the files' form. Figures of another form come from another release and are computed anew."""
FOLDER: Final = "figures"
"""The folder's name in the data directory."""
KEPT: Final = 3
"""How many of a company's newest figures are kept, for readers that have just looked up the current ones."""
_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class Basis:
    """The input of figures: a snapshot (its path, instant, last link and `writes`), a rule-set and a catalogue."""

    snapshot: str
    as_of: datetime
    number: int
    ruleset_version: str
    catalogue_hash: str
    writes: int = 0


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """One company's figures. `rows` counts each of `TABLES`, `rows_written` the figures that differ from before."""

    company_id: UUID
    name: str
    origin: Basis
    rows: Mapping[str, int]
    rows_written: int
    folder: Path

    @property
    def tonnes(self) -> Path:
        """The file of tonnes by market, year, half and category, with units and SKUs, and which are in scope."""
        return self.folder / "tonnes.parquet"

    @property
    def uncounted(self) -> Path:
        """The file of SKUs that could not be counted: a row per market, year, half, SKU and reason."""
        return self.folder / "uncounted.parquet"

    @property
    def scope_missing(self) -> Path:
        """The file of undecided category scopes: a row per market, year, half, SKU and the fields that are missing."""
        return self.folder / "scope_missing.parquet"

    @property
    def obligations(self) -> Path:
        """The file of verdicts by market and calendar year."""
        return self.folder / "obligations.parquet"

    def is_whole(self) -> bool:
        """Return whether all files are there to their ends."""
        return whole_files.are_whole(self.folder / f"{table}.parquet" for table in TABLES)

    def manifest(self) -> bytes:
        """Return the manifest of the folder, as JSON."""
        content = {
            "form": FORM,
            "company_id": self.company_id,
            "name": self.name,
            "origin": asdict(self.origin),
            "rows": dict(self.rows),
            "rows_written": self.rows_written,
        }
        return orjson.dumps(content, option=orjson.OPT_UTC_Z)


def publish(
    data_dir: Path, company_id: UUID, origin: Basis, frames: Mapping[str, pl.DataFrame], rows_written: int
) -> StoredFigures:
    """Publish the frames, one for each of `TABLES`, as the company's current figures.

    Figures of a later snapshot stay in place and are returned instead: of two rollups at once, the later data wins.
    Figures of the current snapshot are the latest, whatever its number: after a restore, the number counts links anew.
    """
    folder = data_dir / FOLDER / str(company_id)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_files.lock_folder(folder):
        before = current(data_dir, company_id)
        if before is not None and _is_later(before.origin, origin, snapshots.current(data_dir, company_id)):
            return before
        name = f"{origin.as_of:%Y%m%dT%H%M%SZ}-{origin.number}-{token_hex(3)}"
        rows = {table: frames[table].height for table in TABLES}
        made = StoredFigures(company_id, name, origin, rows, rows_written, folder / name)
        made.folder.mkdir(mode=0o700)
        for table in TABLES:
            frames[table].write_parquet(made.folder / f"{table}.parquet", compression="zstd")
        (made.folder / _MANIFEST).write_bytes(made.manifest())
        whole_files.point(folder, made.folder)
        _sweep(folder, made.folder)
    return made


def current(data_dir: Path, company_id: UUID) -> StoredFigures | None:
    """Return the company's last complete figures; None where this release computed none in this data directory."""
    folder = data_dir / FOLDER / str(company_id)
    try:
        name = (folder / whole_files.POINTER).read_text(encoding="ascii")
        manifest: JsonObject = orjson.loads((folder / name / _MANIFEST).read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):  # none, or its manifest is cut off
        return None
    if manifest.get("form") != FORM:
        return None
    origin = Basis(**{**manifest["origin"], "as_of": datetime.fromisoformat(manifest["origin"]["as_of"])})
    return StoredFigures(
        company_id, manifest["name"], origin, manifest["rows"], manifest["rows_written"], folder / name
    )


def _is_later(stored: Basis, basis: Basis, snapshot: Snapshot | None) -> bool:
    """Return whether the stored figures were computed from later data than the given ones."""
    current_path = None if snapshot is None else snapshot.path
    if current_path in (stored.snapshot, basis.snapshot):
        return basis.snapshot != current_path
    return stored.number > basis.number


def _sweep(folder: Path, keep: Path) -> None:
    """Remove folders that a killed process left unfinished, and folders older than the newest `KEPT`."""
    others = [path for path in folder.iterdir() if path.is_dir() and path != keep]
    finished = [path for path in others if (path / _MANIFEST).exists()]
    finished.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others:
        if path not in finished[: KEPT - 1]:
            shutil.rmtree(path)


Table = Literal["tonnes", "uncounted", "scope_missing", "obligations"]
_PERIOD: Final = ("market", "year", "half")
COLUMNS: Final[Mapping[Table, tuple[str, ...]]] = {
    "tonnes": tuple(TonnesFigure.__annotations__),
    "uncounted": tuple(UncountedSku.__annotations__),
    "scope_missing": tuple(UndecidedSku.__annotations__),
    "obligations": tuple(MarketObligation.__annotations__),
}
"""The columns of each table as they are published; grams stay in the files."""


class Rows(NamedTuple):
    """A page of rows, and how many rows there are in all."""

    data: list[dict[str, Any]]
    total: int


def figure_rows(
    figures: StoredFigures, table: Table, filters: Mapping[str, object], *, limit: int, offset: int
) -> Rows:
    """Return a page of a table's rows that have the values of `filters`; one that is None filters nothing."""
    rows = pl.scan_parquet(figures.folder / f"{table}.parquet")
    for column, value in filters.items():
        if value is not None:
            rows = rows.filter(pl.col(column) == value)
    page = rows.slice(offset, limit)
    if table == "uncounted":
        page = page.with_columns(in_tonnes().alias("tonnes"))
    page = page.select(COLUMNS[table])
    if table == "tonnes":  # sums of tonnes count units in a decimal without places
        page = page.with_columns(pl.col("units").cast(pl.Int64))
    rows_of_page, counted = pl.collect_all([page, rows.select(pl.len())])
    return Rows(rows_of_page.to_dicts(), counted.item())


def periods(figures: StoredFigures) -> list[tuple[str, int, int]]:
    """Return each market, year and half that has a figure."""
    frame = pl.scan_parquet(figures.folder / "tonnes.parquet").select(_PERIOD).unique().sort(_PERIOD).collect()
    return frame.rows()
