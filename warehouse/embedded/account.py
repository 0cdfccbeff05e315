"""Chooses the account that runs the embedded server, and tests which directories it can reach.

Postgres refuses to run as root. Then an unprivileged account of the machine runs it, from binaries and in a directory
that this account can reach. The service changes no permission of a directory that is not its own, and adds no account.
"""

import os
import pwd
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self  # Any: arguments of subprocess

from warehouse.settings import SettingsError

_UNPRIVILEGED: Final = "nobody"
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the machine; `other` where it is not the account of this process."""

    uid: int
    gid: int
    other: bool

    @classmethod
    def of(cls, cluster: Path) -> Self:
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
