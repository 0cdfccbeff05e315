"""Removing old snapshots, and what a kill left of one that was being written.

A file that somebody has open stays readable for them when it is removed here.
"""

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Final

from warehouse.published import POINTER
from warehouse.snapshots.snapshot import MANIFEST

KEPT: Final = 3
"""The newest of a company stay, however old they are."""
KEPT_FOR: Final = timedelta(minutes=15)
"""Any other stays for so long, for those who have just asked which one is current."""


def sweep_folder(folder: Path) -> int:
    """Remove what is old or unfinished in the folder of one company, whose lock the caller holds; how many.

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
