"""Seals backups: HMAC-SHA-256 over the list, with a key that is stored apart from the backup.

Without the key nobody can make or alter a backup that a restore accepts. What belongs here: the key and the seal.
"""

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Final

from warehouse import whole_files
from warehouse.backup.folder import BackupError
from warehouse.settings import Settings

_NAME: Final = "backup.key"
_LEAST_LETTERS: Final = 32


def seal_of(key: bytes, sealed: bytes) -> str:
    """Return the seal over these bytes, in hexadecimal digits."""
    return hmac.new(key, sealed, hashlib.sha256).hexdigest()


def is_sealed(key: bytes, sealed: bytes, seal: str) -> bool:
    """Return whether the seal was made with the key; compares in constant time."""
    return hmac.compare_digest(seal_of(key, sealed), seal)


def made_key(settings: Settings) -> bytes:
    """Return the deployment's key, made at its first backup, for this account alone. Raises `BackupError`."""
    path = _place(settings)
    whole_files.made_once(path, f"{secrets.token_hex(32)}\n".encode())
    return _read(path)


def find_key(settings: Settings, given: Path | None) -> bytes:
    """Return the key that a restore checks with: the given file's, or the deployment's. Raises `BackupError`."""
    path = given or _place(settings)
    if not path.exists():
        raise BackupError(
            f"There is no key {path} to check the backup's seal with. Name the {_NAME} of the data directory that the "
            "backup was taken of with --key; where it is lost and you know who made the backup, use --without-seal."
        )
    return _read(path)


def _place(settings: Settings) -> Path:
    return settings.backup_key_file or settings.data_dir / _NAME


def _read(path: Path) -> bytes:
    key = path.read_bytes().strip()
    if len(key) < _LEAST_LETTERS:
        raise BackupError(f"{path} holds no key: it has less than {_LEAST_LETTERS} letters.")
    return key
