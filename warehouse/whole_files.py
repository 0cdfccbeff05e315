"""Writes small files whole: under its name a file is complete and on the disk, or is not there.

What belongs here: how such a file comes to its name, whoever else writes it at the same time. What does not: what is in
it, and files that are too large to be held in memory.
"""

import os
from contextlib import suppress
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
