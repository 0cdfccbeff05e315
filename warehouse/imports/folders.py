"""Stores which folders are watched for files of which company: one JSON file in the data directory, no table.

The operator gives them (`pcds folder`); files that are put into one become imports (`pipelines.imports.folders`). The
file is read at each look, so that no process is started anew.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID, uuid5

import orjson

from warehouse.operate import whole_files

_FILE: Final = "folders.json"


class FolderError(Exception):
    """A folder cannot be watched, or the list of folders cannot be read; `str()` is a sentence that says why."""

    code = "folder_unusable"


class Folder(NamedTuple):
    """A watched folder, by its real path, and the name of the company's kept mapping; `mail_to` hears of each file."""

    company_id: UUID
    path: Path
    mapping_name: str
    mail_to: str | None

    @property
    def id(self) -> UUID:
        """Return what imports name as their sender."""
        return uuid5(self.company_id, str(self.path))


def load(data_dir: Path) -> list[Folder]:
    """Return the watched folders. Raises `FolderError` where one is within another, as in a file edited by hand."""
    try:
        stored = orjson.loads((data_dir / _FILE).read_bytes())
        folders = [
            Folder(UUID(row["company_id"]), Path(row["path"]), str(row["mapping_name"]), row["mail_to"])
            for row in stored
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError):
        raise FolderError(f"{_FILE} in the data directory cannot be read; `pcds folder` writes it.") from None
    for at, folder in enumerate(folders):
        check(folder.path, folders[:at], data_dir)
    return folders


def check(path: Path, others: Sequence[Folder], data_dir: Path) -> None:
    """Raise `FolderError` where a folder is, holds or is in another one, or the data directory; look at no disk."""
    for other in (*(folder.path for folder in others), data_dir.resolve()):
        if path.is_relative_to(other) or other.is_relative_to(path):
            raise FolderError(f"{path} is, holds or is in {other}: a file in it would belong to two.")


def save(data_dir: Path, folders: Sequence[Folder]) -> None:
    """Store the folders in place of the earlier ones."""
    rows = [folder._asdict() | {"path": str(folder.path)} for folder in folders]
    whole_files.replace(data_dir / _FILE, orjson.dumps(rows, option=orjson.OPT_INDENT_2), whole_files.PRIVATE)
