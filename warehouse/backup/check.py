"""Checks a backup's folder before anything is changed: its seal, and that it has exactly the files of its list."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import orjson

from warehouse.backup import dump
from warehouse.backup.folder import BackupError, digests
from warehouse.backup.held import Held, list_of
from warehouse.backup.seal import is_sealed


class Checked(NamedTuple):
    """A folder whose files equal its list, byte for byte; `held` is None for an older release's dump."""

    folder: Path
    held: Held | None


def check(folder: Path, find_key: Callable[[], bytes] | None, *, trust_dump: bool = False) -> Checked:
    """Check a backup against its seal and every file against its list.

    Raises `BackupError`, which names the difference. `find_key` is called for the key where there is a seal. With None
    the seal is not checked: damage is still found, a forgery is not. `trust_dump` accepts a dump of release 1.8 or
    older, which executes whatever its author wrote.
    """
    data = list_of(folder)
    if not _is_older(data):
        contents = Held.read(data, folder)
        if find_key is not None and not is_sealed(find_key(), contents.sealed(), contents.seal):
            raise BackupError(
                f"{folder} is not sealed by this key: it is another deployment's, or somebody has altered it. Nothing "
                "was changed; name the right key with --key."
            )
        _compare(folder, contents.files)
        return Checked(folder, contents)
    if not trust_dump:
        raise BackupError(
            f"{folder} is a backup of release 1.8 or older: a dump, which runs what whoever made it has written, "
            "and has no seal. If you made it and nobody could alter it since, use --trust-dump."
        )
    listed = dump.checksums(data, folder)
    _compare(folder, listed)
    return Checked(folder, None)


def _is_older(data: bytes) -> bool:
    try:
        listed = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(listed, dict) and dump.FILE in listed


def _compare(folder: Path, listed: dict[str, str]) -> None:
    differing = dict(listed.items() ^ digests(folder).items())
    if differing:
        raise BackupError(
            f"{folder} is no whole backup: {min(differing)} is not as it was backed up. Nothing was changed; take "
            "another one."
        )
