"""The key that seals the questions which an assistant takes to its user and brings back: one for a data directory."""

import os
from pathlib import Path
from typing import Final

from mcp.server.request_state import RequestStateSecurity

from warehouse.settings import Settings

_KEY_BYTES: Final = 32
_KEY_FILE: Final = "connector.key"


def security(settings: Settings) -> RequestStateSecurity:
    """How every process of the data directory seals a question, so that any of them takes the answer."""
    return RequestStateSecurity(keys=[_key(settings)])


def _key(settings: Settings) -> bytes:
    """The key of this data directory, made by the first process that asks, whole or not at all."""
    file = settings.data_dir / _KEY_FILE
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        _made(file)
    return file.read_bytes()


def _made(file: Path) -> None:
    """Write a new key beside the place and link it there: the first process's stands, others find it."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(os.urandom(_KEY_BYTES))
    try:
        os.link(draft, file)
    except FileExistsError:
        return
    finally:
        draft.unlink()
