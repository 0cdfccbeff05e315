"""Publishes folders of files: flushes them to the disk, then moves a pointer to the new folder.

A reader sees the last complete folder at any instant, whichever process is killed. What belongs here: the lock against
other publishers, the flush and the pointer. What does not: the files in a folder (`warehouse.snapshots`,
`warehouse.figures`).
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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
