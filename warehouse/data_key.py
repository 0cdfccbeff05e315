"""Stores the key of a data directory, which seals what its own processes alone may read: 32 random bytes in a file.

It is in a backup beside the data (`warehouse.backup`). What belongs here: the file. What does not: what is sealed with
it (`connector.seal`, `warehouse.sealing`).
"""

import os
from pathlib import Path
from typing import Final

from warehouse.settings import Settings

_BYTES: Final = 32
_FILE: Final = "connector.key"


def of(settings: Settings, name: str = _FILE) -> bytes:
    """Return this data directory's key of a file's name; the first process that needs it makes it atomically."""
    file = settings.data_dir / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        _made(file)
    return file.read_bytes()


def _made(file: Path) -> None:
    """Write a new key to a draft file and link it into place: the first process's key is kept, others read it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(os.urandom(_BYTES))
    try:
        os.link(draft, file)
    except FileExistsError:
        return
    finally:
        draft.unlink()
