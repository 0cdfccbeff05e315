"""Stores the key of a data directory, which seals what its own processes alone may read: 32 random bytes in a file.

It is in a backup beside the data (`warehouse.backup`). What belongs here: the file. What does not: what is sealed with
it (`connector.seal`, `warehouse.sealing`).
"""

import os
from typing import Final

from warehouse import whole_files
from warehouse.settings import Settings

_BYTES: Final = 32
_FILE: Final = "connector.key"


def of(settings: Settings, name: str = _FILE) -> bytes:
    """Return this data directory's key of a file's name; the first who needs it makes it, for this account alone."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    return whole_files.made_once(settings.data_dir / name, os.urandom(_BYTES))
