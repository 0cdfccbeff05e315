"""Stores the key that seals questions which an assistant passes to its user and back: one for a data directory."""

import os
from pathlib import Path
from typing import Final

from mcp.server.request_state import RequestStateSecurity

from warehouse.settings import Settings

_KEY_BYTES: Final = 32
_KEY_FILE: Final = "connector.key"


def security(settings: Settings) -> RequestStateSecurity:
    """Return the sealing that all processes of the data directory use, so that any of them accepts the answer."""
    return RequestStateSecurity(keys=[_key(settings)])


def _key(settings: Settings) -> bytes:
    """Return the key of this data directory; the first process that needs it makes it atomically."""
    file = settings.data_dir / _KEY_FILE
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        _made(file)
    return file.read_bytes()


def _made(file: Path) -> None:
    """Write a new key to a draft file and link it into place: the first process's key is kept, others read it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(os.urandom(_KEY_BYTES))
    try:
        os.link(draft, file)
    except FileExistsError:
        return
    finally:
        draft.unlink()
