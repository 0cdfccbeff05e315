"""Parses `backup.json`, the list of a backup, and checks its form before any of it is used.

What belongs here: the list's fields and the paths that files may have. What does not: comparing the list with files.
"""

import re
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warehouse.backup.folder import KEY, LIST, OBJECTS, BackupError, open_file
from warehouse.objects import is_key

FORMAT: Final = 2
OURS: Final = "public"
DAGSTERS: Final = "dagster"
PLACES: Final = {OURS: "tables", DAGSTERS: "dagster"}
"""The folder of the tables of each schema."""

Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
Columns = dict[Name, list[Name]]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_TABLE: Final = re.compile(r"(tables|dagster)/([a-z_][a-z0-9_]{0,62})\.copy\.gz")


class Held(BaseModel):
    """The list of a backup's folder. Names in it are only ever compared with those of our own catalogue."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal[2]
    revision: Annotated[str, Field(pattern=r"^[0-9a-z_]{1,32}$")]
    """The revision of our migrations that the tables had."""
    dagster_revision: Annotated[str, Field(pattern=r"^[0-9a-z_]{1,32}$")] | None
    """The revision of Dagster's own tables; None where it had made none yet."""
    tables: Columns
    """The columns of each table, in the order of its file."""
    dagster: Columns
    files: dict[str, Digest]
    seal: Digest

    def sealed(self) -> bytes:
        """Return the bytes that the seal covers: everything but the seal."""
        return orjson.dumps(self.model_dump(exclude={"seal"}), option=orjson.OPT_SORT_KEYS)

    def columns(self, schema: str) -> Columns:
        """Return the columns of each table of a schema."""
        return self.tables if schema == OURS else self.dagster

    @classmethod
    def read(cls, data: bytes, folder: Path) -> "Held":
        """Parse the list. Raises `BackupError` where it is invalid, or names a path that no backup has."""
        try:
            listed = cls.model_validate_json(data)
        except ValidationError:
            raise BackupError(
                f"{folder} is no whole backup: {LIST} is not as it was backed up. Nothing was changed; take another "
                "one."
            ) from None
        named = {place_of(schema, table) for schema in PLACES for table in listed.columns(schema)}
        for place in listed.files:
            kind, _, key = place.partition("/")
            if not (place == KEY or _TABLE.fullmatch(place) or (kind == OBJECTS and is_key(key))):
                raise BackupError(f"{folder} is no backup of ours: {LIST} names {place!r}. Nothing was changed.")
        if {place for place in listed.files if _TABLE.fullmatch(place)} != named:
            raise BackupError(f"{folder} is no backup of ours: {LIST} names other tables than it has files of.")
        return listed


class Backup(NamedTuple):
    """The size of a backup: bytes of the tables, and files beside them with their bytes."""

    database_bytes: int
    objects: int
    object_bytes: int

    @classmethod
    def of(cls, folder: Path) -> "Backup":
        """Measure a folder that was checked, or was just made."""
        objects = [path.stat().st_size for path in (folder / OBJECTS).rglob("*") if path.is_file()]
        tables = [path.stat().st_size for place in PLACES.values() for path in (folder / place).glob("*.copy.gz")]
        return cls(sum(tables), len(objects), sum(objects))


def place_of(schema: str, table: str) -> str:
    """Return the path of a table's rows in the folder."""
    return f"{PLACES[schema]}/{table}.copy.gz"


def list_of(folder: Path) -> bytes:
    """Return the bytes of a folder's list. Raises `BackupError` where it has none."""
    if not (folder / LIST).exists():
        raise BackupError(f"{folder} is no backup: there is no {LIST} in it, which is written last.")
    with open_file(folder / LIST) as file:
        return file.read()
