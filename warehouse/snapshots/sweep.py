"""Removes old snapshots, and the remains of one whose writing was killed.

A process that has a removed file open can still read it.
"""

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Final

from warehouse.published import POINTER
from warehouse.snapshots.snapshot import MANIFEST

KEPT: Final = 3
"""How many of a company's newest snapshots stay, however old they are."""
KEPT_FOR: Final = timedelta(minutes=15)
"""How long any other stays, for readers that have just looked up the current one."""


def sweep_folder(folder: Path) -> int:
    """Remove old and unfinished snapshots of one company, whose lock the caller has, and return how many.

    Ages are measured on the file system's own clock, which no setting of ours shifts.
    """
    pointer = folder / POINTER
    named = pointer.read_text(encoding="ascii") if pointer.exists() else ""
    snapshots = sorted((path for path in folder.iterdir() if path.is_dir()), key=_written_at, reverse=True)
    finished = [path for path in snapshots if (path / MANIFEST).exists()]
    oldest = _now(folder) - KEPT_FOR.total_seconds()
    old = [path for path in finished[KEPT:] if path.name != named and _written_at(path) < oldest]
    removed = [*old, *(path for path in snapshots if path not in finished)]
    for path in removed:
        shutil.rmtree(path)
    return len(removed)


def _written_at(path: Path) -> float:
    return path.stat().st_mtime


def _now(folder: Path) -> float:
    os.utime(folder)
    return _written_at(folder)
