"""Makes, starts, finds and stops one embedded server.

Every function here expects that the caller holds the data directory's lock (`warehouse.operate.embedded`).
"""

import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psycopg import pq

from warehouse.operate import whole_files
from warehouse.operate.database import Address
from warehouse.operate.embedded import account as account_embedded
from warehouse.operate.embedded import clusters, upgrade
from warehouse.operate.embedded.account import Account
from warehouse.operate.embedded.clusters import ServerError
from warehouse.operate.embedded.upgrade import LOOPBACK, becomes_free, free_port

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
        clusters.refuse_other_major(cluster)
        self._configure(cluster)
        deadline = time.monotonic() + _LEFTOVER_SECONDS
        upgrade.clear(cluster)
        # Processes of a killed postmaster keep its shared memory for a moment, for which Postgres does not wait.
        while self._control(cluster, "start", "-l", cluster / "log", "-t", str(_RECOVERY_SECONDS)) != 0:
            if time.monotonic() > deadline:
                raise ServerError(f"The embedded Postgres did not start; its log is {cluster / 'log'}.")
            time.sleep(0.1)
            upgrade.clear(cluster)
            self._configure(cluster)  # another program may have taken the port just now

    def stop(self) -> None:
        """Stop the server and its connections in good order; does nothing where it is not running."""
        cluster = (self.data_dir / "postgres").resolve()
        if upgrade.postmaster(cluster) is None or self._control(cluster, "stop", "-m", "fast", "-t", "60") == 0:
            return
        if upgrade.postmaster(cluster) is not None:  # else it died meanwhile
            raise ServerError(f"The embedded Postgres did not stop; its log is {cluster / 'log'}.")

    def alive(self) -> bool:
        """Return whether the server's postmaster runs."""
        return upgrade.postmaster((self.data_dir / "postgres").resolve()) is not None

    def _initialise(self) -> None:
        account, secret = Account.of(self.data_dir / "postgres"), secrets.token_urlsafe(32)
        binaries = account_embedded.binaries(account, self.binaries)
        cluster = clusters.make(account, self.data_dir, secret, binaries, durable=self.durable)
        _write_address(self.data_dir, Address(LOOPBACK, free_port(), secret))
        account_embedded.settle(cluster, self.data_dir / "postgres")

    def _configure(self, cluster: Path) -> None:
        """Write the settings of this start; the port stays the same unless another program took it in the meantime."""
        known = Address.read(self.data_dir)
        port = known.port if becomes_free(known.port) else free_port()
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
        _write_address(self.data_dir, Address(str(cluster) if by_socket else LOOPBACK, port, known.secret))

    def _joined(self, cluster: Path) -> bool:
        """Return whether a server that another process started answers; waits for it to recover or to end."""
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while upgrade.postmaster(cluster) is not None:
            if pq.PGconn.ping(Address.read(self.data_dir).url().encode()) == pq.Ping.OK:
                return True
            if time.monotonic() > deadline:
                raise ServerError(f"The embedded Postgres is not ready; its log is {cluster / 'log'}.")
            time.sleep(0.05)
        return False

    def _control(self, cluster: Path, action: str, *arguments: str | Path) -> int:
        account = Account.of(cluster)
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
