"""Makes, starts, finds and stops one embedded server: its files, its process and its port.

Every function here expects that the caller holds the data directory's lock (`warehouse.operate.embedded`). Postgres
judges its own lock by whether the process number exists. That is too careful in two cases that are common in
containers: the number now belongs to another program, or to a dead server that no parent has reaped.
"""

import contextlib
import json
import os
import random
import secrets
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from psycopg import pq

from warehouse.operate import whole_files
from warehouse.operate.database import OWNER, Address
from warehouse.operate.embedded import account as account_embedded
from warehouse.operate.embedded.account import Account

_NAME: Final = "postgres"
_SEGMENTS: Final = Path("/proc/sysvipc/shm")  # Linux: key, shmid, perms, size, cpid, lpid, nattch, ...
_SEGMENT_LINE: Final = 6  # of postmaster.pid, from 0: key and shmid of the segment that every process attaches


def postmaster(cluster: Path) -> psutil.Process | None:
    """Return the cluster's running postmaster. Every account can read its command line, but not its directory."""
    try:
        process = psutil.Process(int(_lines(cluster)[0]))
        return process if str(cluster) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, IndexError, psutil.Error):
        return None


def clear(cluster: Path) -> None:
    """Remove the lock of a server that is not running, where Postgres itself would keep it.

    A number without a process is left to Postgres, which also looks for surviving children of the old server. So is the
    number of a running Postgres: it may be this cluster's under another path, and two servers would destroy the
    cluster.
    """
    lock = cluster / "postmaster.pid"
    try:
        lines = _lines(cluster)
        process = psutil.Process(int(lines[0]))
    except (OSError, psutil.NoSuchProcess):
        return
    except (ValueError, IndexError):  # the file was cut off while it was written: no server had started
        _remove(lock)
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.name() != _NAME or (process.status() == psutil.STATUS_ZOMBIE and _is_abandoned(lines, process.pid)):
            _remove(lock)


def _remove(lock: Path) -> None:
    """Remove the lock, and the socket's lock beside it, which names the same process."""
    for path in lock.parent.glob(".s.PGSQL.*"):
        path.unlink()
    lock.unlink()


def _is_abandoned(lines: list[str], number: int) -> bool:
    """Return whether no process of a dead server is left: its children outlive it for a moment."""
    with contextlib.suppress(ChildProcessError):  # as the container's first process, we reap it
        os.waitpid(number, os.WNOHANG)
    if not _SEGMENTS.exists():
        return False
    shmid = lines[_SEGMENT_LINE].split()[1]
    segments = (row.split() for row in _SEGMENTS.read_text(encoding="ascii").splitlines()[1:])
    return all(segment[6] == "0" for segment in segments if segment[1] == shmid)


def _lines(cluster: Path) -> list[str]:
    return (cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()


LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(20_000, 32_000)  # below the range that systems use for outgoing connections
_PORT_SECONDS: Final = 3.0


def becomes_free(port: int) -> bool:
    """Return whether the port is free, or becomes free: processes of a killed server release it in a moment."""
    deadline = time.monotonic() + _PORT_SECONDS
    while not (free := _is_free(port)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return free


def free_port() -> int:
    """Return a port that nobody listens on."""
    return next(port for port in random.sample(_PORTS, len(_PORTS)) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


class ServerError(Exception):
    """The embedded server could not be made, started or stopped; `str()` says what failed and names its log."""

    code = "embedded_postgres_failed"


def major_of(cluster: Path) -> int:
    """Return the major version that made the cluster."""
    return int((cluster / "PG_VERSION").read_text(encoding="ascii").strip())


def make_cluster(account: Account, data_dir: Path, secret: str, binaries: Path, *, durable: bool) -> Path:
    """Make a cluster beside its later place, whose owner signs in with the secret; return its directory."""
    cluster = account_embedded.new_cluster(account, data_dir)
    with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=cluster.parent) as password:
        password.write(secret)
        password.flush()
        account.own(Path(password.name))
        made = account.run(
            [
                binaries / "initdb",
                "-D",
                cluster,
                "-U",
                OWNER,
                f"--pwfile={password.name}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                *([] if durable else ["--no-sync"]),
            ]
        )
    if made.returncode != 0:
        raise ServerError(f"The embedded Postgres could not be made in {cluster}: {made.stderr.strip()}")
    return cluster


def refuse_other_major(cluster: Path) -> None:
    """Raise `ServerError` where another major version made the cluster, which this release's programs cannot read."""
    if (made_by := major_of(cluster)) != account_embedded.MAJOR:
        raise ServerError(
            f"The database in {cluster} was made by Postgres {made_by}; this release brings Postgres "
            f"{account_embedded.MAJOR}, "
            "which cannot read it. Start the release that last ran here, take `pcds backup`, and restore that into a "
            "new data directory. Nothing was changed."
        )


_CONFIGURATION: Final = Path(__file__).parent / "postgresql.conf"
_SOCKET_PATH_LIMIT: Final = 100  # bytes; a socket's whole path must fit into about 104 (macOS) to 108 (Linux)
_RECOVERY_SECONDS: Final = 300
_LEFTOVER_SECONDS: Final = 15.0
_LOG_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """The server of one data directory. `durable` False turns fsync off, for tests only.

    `binaries` is the folder of its programs that the operator names; without it they are those of the release.
    """

    data_dir: Path
    durable: bool = True
    binaries: Path | None = None

    def start(self) -> None:
        """Start the server unless it runs, and wait until it answers. Raises `ServerError` and `SettingsError`."""
        place = self.data_dir / "postgres"
        if not (place / "PG_VERSION").exists():
            self._initialise()
        if self._joined(place.resolve()):
            return
        cluster = place.resolve()
        refuse_other_major(cluster)
        self._configure(cluster)
        deadline = time.monotonic() + _LEFTOVER_SECONDS
        clear(cluster)
        # Processes of a killed postmaster keep its shared memory for a moment, for which Postgres does not wait.
        while self._control(cluster, "start", "-l", cluster / "log", "-t", str(_RECOVERY_SECONDS)) != 0:
            if time.monotonic() > deadline:
                raise ServerError(f"The embedded Postgres did not start; its log is {cluster / 'log'}.")
            time.sleep(0.1)
            clear(cluster)
            self._configure(cluster)  # another program may have taken the port just now

    def stop(self) -> None:
        """Stop the server and its connections in good order; does nothing where it is not running."""
        cluster = (self.data_dir / "postgres").resolve()
        if postmaster(cluster) is None or self._control(cluster, "stop", "-m", "fast", "-t", "60") == 0:
            return
        if postmaster(cluster) is not None:  # else it died meanwhile
            raise ServerError(f"The embedded Postgres did not stop; its log is {cluster / 'log'}.")

    def alive(self) -> bool:
        """Return whether the server's postmaster runs."""
        return postmaster((self.data_dir / "postgres").resolve()) is not None

    def _initialise(self) -> None:
        account, secret = Account.for_cluster(self.data_dir / "postgres"), secrets.token_urlsafe(32)
        binaries = account_embedded.binaries(account, self.binaries)
        cluster = make_cluster(account, self.data_dir, secret, binaries, durable=self.durable)
        _write_address(self.data_dir, Address(LOOPBACK, free_port(), secret))
        account_embedded.settle(cluster, self.data_dir / "postgres")

    def _configure(self, cluster: Path) -> None:
        """Write the settings of this start; the port stays the same unless another program took it in the meantime."""
        address = Address.read(self.data_dir)
        port = address.port if becomes_free(address.port) else free_port()
        by_socket = len(os.fsencode(cluster / f".s.PGSQL.{port}")) <= _SOCKET_PATH_LIMIT
        directory = str(cluster).replace("'", "''") if by_socket else ""
        lines = [
            _CONFIGURATION.read_text(encoding="utf-8"),
            f"port = {port}",
            f"unix_socket_directories = '{directory}'",
            f"fsync = {'on' if self.durable else 'off'}",
        ]
        (cluster / "postgresql.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        log = cluster / "log"
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.rename(cluster / "log.1")
        _write_address(self.data_dir, Address(str(cluster) if by_socket else LOOPBACK, port, address.secret))

    def _joined(self, cluster: Path) -> bool:
        """Return whether a server that another process started answers; waits for it to recover or to end."""
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while postmaster(cluster) is not None:
            if pq.PGconn.ping(Address.read(self.data_dir).url().encode()) == pq.Ping.OK:
                return True
            if time.monotonic() > deadline:
                raise ServerError(f"The embedded Postgres is not ready; its log is {cluster / 'log'}.")
            time.sleep(0.05)
        return False

    def _control(self, cluster: Path, action: str, *arguments: str | Path) -> int:
        account = Account.for_cluster(cluster)
        return account.run(
            [
                account_embedded.binaries(account, self.binaries) / "pg_ctl",
                action,
                "-s",
                "-w",
                "-D",
                cluster,
                *arguments,
            ]
        ).returncode


def _write_address(data_dir: Path, address: Address) -> None:
    stored = json.dumps({"host": address.host, "port": address.port, "secret": address.secret})
    whole_files.replace(Address.file(data_dir), stored.encode(), whole_files.PRIVATE)
