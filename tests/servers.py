"""Servers of an operator's, which know nothing of us yet: the embedded release, and others where a binary is found.

`PCDS_TEST_POSTGRES` names the other releases to look for, at Debian's places; `make test-all` looks for the oldest that
is supported, `make soak` for those between as well.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tools.ports import free_port
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.embedded.account import Account
from warehouse.operate.settings import Settings

EMBEDDED: Final = "embedded"
RELEASES: Final = [EMBEDDED, *os.environ.get("PCDS_TEST_POSTGRES", "15").split()]
_PASSWORD: Final = "operator"
_BINARIES: Final = "/usr/lib/postgresql/{}/bin"
_OPTIONS: Final = "-p {port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"


@contextmanager
def operators(release: str, directory: Path) -> Iterator[Database]:
    """A server of the release, in a directory that every account can go through, as its superuser sees it."""
    if release == EMBEDDED:
        with running(Settings.load(data_dir=directory / release), durable=False) as database:
            yield database
        return
    with made(release, directory / release, "operator", _PASSWORD) as port:
        url = f"postgresql://operator:{_PASSWORD}@127.0.0.1:{port}/postgres"
        yield Database.from_settings(Settings.load(database_url=url))
    shutil.rmtree(directory / release, ignore_errors=True)


@contextmanager
def made(release: str, home: Path, owner: str, password: str) -> Iterator[int]:
    """A new cluster of an installed release in the folder, served at the port during the block."""
    binaries = Path(_BINARIES.format(release))
    if not (binaries / "initdb").exists():
        pytest.skip(f"no Postgres {release} is installed (apt install postgresql-{release})")
    port = free_port()
    home.mkdir(mode=0o700)
    account = Account.for_cluster(home.parent / "none")
    account.own(home)
    control = [binaries / "pg_ctl", "-s", "-w", "-D", home / "data"]
    (home / "password").write_text(password, encoding="ascii")
    account.own(home / "password")
    _done(
        account,
        [
            binaries / "initdb",
            "-D",
            home / "data",
            "-U",
            owner,
            f"--pwfile={home / 'password'}",
            "--auth=scram-sha-256",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ],
    )
    _done(account, [*control, "-l", home / "log", "-o", _OPTIONS.format(port=port), "start"])
    try:
        yield port
    finally:
        _done(account, [*control, "-m", "immediate", "stop"])


def _done(account: Account, command: list[str | Path]) -> None:
    ended = account.run(command)
    assert ended.returncode == 0, ended.stderr


def on(server: Database, name: str, role: str = "", password: str = "") -> str:
    """The URL of a database of the server, as the role with the password where one is named."""
    user, _, address = server.owner_url.removeprefix("postgresql://").rpartition("@")
    return f"postgresql://{f'{role}:{password}' if role else user}@{address.replace('/postgres', f'/{name}', 1)}"
