"""Writes small files whole: under its name a file is complete and on the disk, or is not there.

What belongs here: how such a file comes to its name, whoever else writes it at the same time. What does not: what is in
it, and files that are too large to be held in memory.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

PRIVATE: Final = 0o600
"""For this account alone."""
PUBLIC: Final = 0o666
"""For everyone whom the process's umask lets read or write it."""


def replace(path: Path, data: bytes, mode: int = PUBLIC) -> None:
    """Write a file, or all of it anew. Raises `OSError`, and then it is as it was."""
    draft = drafted(path, data, mode)
    try:
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def made_once(path: Path, data: bytes, mode: int = PRIVATE) -> bytes:
    """Return a file's bytes. The first caller's data become the file; of several at once, all get what one brought."""
    if not path.exists():
        draft = drafted(path, data, mode)
        try:
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
    return path.read_bytes()


def drafted(path: Path, data: bytes, mode: int = PUBLIC) -> Path:
    """Return a hidden file beside the path, with this data on the disk; its name is nobody else's."""
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


POINTER: Final = "current"
"""Name of the file beside the folders that names the last complete one."""
_PARQUET_END: Final = b"PAR1"
_LOCK: Final = "lock"


@contextmanager
def lock_folder(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a company's folder against other publishers; the kernel releases the lock however the process ends.

    Raises `BlockingIOError` where another process has the lock and `wait` is false.
    """
    with (folder / _LOCK).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield


def point(folder: Path, new: Path) -> None:
    """Flush the files of the folder `new`, then move the pointer in `folder` to it in one step."""
    moved = folder / f"{POINTER}.new"
    moved.write_text(new.name, encoding="ascii")
    for path in (*new.iterdir(), new, moved):
        _flush(path)
    moved.replace(folder / POINTER)
    _flush(folder)


def are_whole(files: Iterable[Path]) -> bool:
    """Return whether all these Parquet files are there to their last bytes: one that was cut off has lost them."""
    try:
        for path in files:
            with path.open("rb") as file:
                file.seek(-len(_PARQUET_END), os.SEEK_END)
                if file.read() != _PARQUET_END:
                    return False
    except OSError:  # it is gone, or shorter than these bytes
        return False
    return True


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
