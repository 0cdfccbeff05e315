"""Reads and copies the files of a backup's folder, which may come from somebody else: plain files only, no links.

What belongs here: reading and copying files that may not be links. What does not: which files a backup has.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from warehouse.objects import IDENTITY, is_key

OBJECTS = "objects"
KEY = "connector.key"
LIST = "backup.json"


class BackupError(Exception):
    """A backup was not made or not restored; `str()` says why in plain sentences."""

    code = "backup_failed"


def files(folder: Path) -> Iterator[Path]:
    """Yield every file below the folder. Raises `BackupError` for a link or a device."""
    with os.scandir(folder) as entries:
        for entry in entries:
            state = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(state.st_mode):
                yield from files(Path(entry.path))
            elif stat.S_ISREG(state.st_mode) and state.st_nlink == 1:
                yield Path(entry.path)
            else:
                raise BackupError(
                    f"{entry.path} is a link or a device; a backup holds plain files alone. Nothing was changed; where "
                    "the folder was copied with links, copy it again without."
                )


@contextmanager
def open_file(path: Path, digest: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file that is no link. Raises `BackupError` where it is one, or has another SHA-256 than the given one."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from None
    with os.fdopen(handle, "rb") as file:
        if digest is not None and digest_of(file) != digest:
            raise BackupError(f"{path} is not as it was backed up.")
        file.seek(0)
        yield file


def digest_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of an open file, in hexadecimal digits."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file except the list, by its path in the folder."""
    found = {}
    for path in files(folder):
        if path != folder / LIST:
            with open_file(path) as file:
                found[path.relative_to(folder).as_posix()] = digest_of(file)
    return found


def copy_objects(source: Path, target: Path) -> None:
    """Copy each object that the target does not have; an object that is removed meanwhile is skipped.

    Skips files that are no objects, such as an upload under way, and the deployment's identity: a restored database is
    another deployment.
    """
    for path in files(source) if source.is_dir() else ():
        key = path.relative_to(source).as_posix()
        if is_key(key) and key != IDENTITY:
            copy_file(path, target, target / path.relative_to(source))


def copy_file(path: Path, root: Path, copy: Path, digest: str | None = None) -> None:
    """Copy a file to its place below the root, for this account alone; skips a copy that has the same size."""
    with suppress(FileNotFoundError):
        if copy.lstat().st_size == path.lstat().st_size:
            return
    for step in reversed([copy.parent, *copy.parent.parents]):
        if step == root or root in step.parents:
            step.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError), open_file(path, digest) as file:
        draft = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(draft, "wb") as out:
            shutil.copyfileobj(file, out)
