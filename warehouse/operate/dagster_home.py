"""Makes Dagster's home in the data directory. This module does not import Dagster.

Every process that opens Dagster's instance uses it. What belongs here: the paths of the instance's settings and
storage, the command that has Dagster make its tables, and the lock under which they are made. What does not: the
settings themselves (`dagster.yaml` at the top of the repository) and the code that runs.
"""

import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from warehouse.operate import whole_files
from warehouse.operate.database import Database
from warehouse.operate.sessions import dagster_transaction
from warehouse.operate.settings import Settings, SettingsError

log = structlog.get_logger(__name__)

_INSTANCE: Final = Path(__file__).parents[2] / "dagster.yaml"
LOCATION: Final = "pcds"
"""The name of the code location. It is a part of every run's origin, so it never changes."""
DEFINITIONS: Final = "pipelines.definitions"
"""The module that the code server serves."""
_MAKES_TABLES: Final = "pipelines.engine.instance"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('pcds/dagster tables', 0))"
STORAGE: Final = "PCDS_DAGSTER_STORAGE_URL"
"""The variable with the URL of Dagster's storage, as dagster.yaml names it."""
_WORKSPACE: Final = "load_from:\n  - grpc_server: {{socket: {}, location_name: {}}}\n"
_ANSWER_SECONDS: Final = 1.0
_CALL_SECONDS: Final = 3.0
_ON_THE_CALL: Final = 1
"""The stream of the only call of a connection; its frames are those of the call."""
_HEALTH: Final = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/grpc.health.v1.Health/Check",
    ":authority": "localhost",
    "content-type": "application/grpc",
    "te": "trailers",
}
_LONGEST_SOCKET: Final = 100
"""Most bytes of a socket's path: Linux takes 107, macOS 103."""


HOST: Final = "127.0.0.1"
"""The only address on which Dagster's web server listens."""
PREFIX: Final = "/dagster"
"""The path under which Dagster's web server, and the API's proxy in front of it, answer."""
DOOR_HEADER: Final = "x-pcds-door"
"""The header with the shared key that the API sends to Dagster's web server, which refuses others (decision 0032)."""
ACTOR_HEADER: Final = "x-pcds-actor"
"""The header with who acts by a request: an operator's email (quoted), or the service. Without it all is read-only."""
STAFF_HEADER: Final = "x-pcds-staff"
"""The header with the id of the member of staff who sent a request, for the log."""
SERVICE: Final = "pcds"
"""The service itself as the one who acts: on its runs the UI shows it as *Launched by*."""


def environment(settings: Settings, database: Database) -> dict[str, str]:
    """Return the variables by which Dagster finds its instance; makes the home, or brings it up to date.

    Raises `SettingsError` where the instance's file cannot be read.
    """
    home = _made(_home(settings))
    _keep(home / _INSTANCE.name, _instance(settings))
    _keep(workspace(settings), _WORKSPACE.format(json.dumps(str(code_socket(settings))), LOCATION).encode())
    return {
        "DAGSTER_HOME": str(home),
        STORAGE: database.dagster_url,
        "PCDS_LAUNCH_URL": database.app_url,
        # A backfill waits for a code server that is away. Without this, one check at that moment fails the backfill for
        # good.
        "DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1",
    }


def _instance(settings: Settings) -> bytes:
    try:
        return (settings.dagster_yaml or _INSTANCE).read_bytes()
    except OSError as error:
        raise SettingsError(f"PCDS_DAGSTER_YAML is not usable: {error.strerror}.") from None


def workspace(settings: Settings) -> Path:
    """Return the file that tells Dagster's webserver and daemon where the definitions are served."""
    return _home(settings) / "workspace.yaml"


def code_socket(settings: Settings) -> Path:
    """Return the path of the code server's socket, which only the service's own account can reach."""
    return _socket(settings, "code.sock")


def forker_socket(settings: Settings) -> Path:
    """Return the path of the socket at which `api.operate.forker` is asked for a process, as private as that."""
    return _socket(settings, "forker.sock")


def readers_socket(settings: Settings) -> Path:
    """Return the path of the socket at which `pipelines.readers.template` is asked for a reader, as private."""
    return _socket(settings, "readers.sock")


def _socket(settings: Settings, name: str) -> Path:
    """Return a path in the data directory, or in a folder of temporary files where that is too long for a socket."""
    socket = _home(settings) / name
    if len(os.fsencode(socket)) <= _LONGEST_SOCKET:
        return socket
    folder = Path(tempfile.gettempdir()) / f"pcds-{hashlib.sha256(os.fsencode(socket)).hexdigest()[:16]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / socket.name


def answers(path: Path) -> bool:
    """Return whether a program accepts connections at a socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_ANSWER_SECONDS)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def serves(path: Path) -> bool:
    """Return whether a gRPC server at a socket answers a call in time, whatever it says.

    One that hangs is still connected to by the system. The call is of gRPC's health service, in bytes of HTTP/2 (RFC
    9113), because every process of the API asks and gRPC's library takes 20 MiB of each.
    """
    header = b"".join(b"\0%c%b%c%b" % (len(n), n.encode(), len(v), v.encode()) for n, v in _HEALTH.items())
    call = _frame(4, 0, 0) + _frame(1, 4, _ON_THE_CALL, header) + _frame(0, 1, _ON_THE_CALL, bytes(5))
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_CALL_SECONDS)
            client.connect(str(path))
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + call)
            return any(stream == _ON_THE_CALL for stream in _streams(client, time.monotonic() + _CALL_SECONDS))
    except OSError:
        return False


def _streams(client: socket.socket, deadline: float) -> Iterator[int]:
    """Yield the stream of each frame that comes until the deadline. Raises `OSError`, also where it has passed."""
    came = b""
    while True:
        client.settimeout(max(0.001, deadline - time.monotonic()))
        if not (more := client.recv(4096)):
            return
        came += more
        while len(came) >= 9 and len(came) >= (end := 9 + int.from_bytes(came[:3])):
            yield int.from_bytes(came[5:9])
            came = came[end:]


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def _keep(path: Path, wanted: bytes) -> None:
    if not path.exists() or path.read_bytes() != wanted:
        whole_files.replace(path, wanted)


def door_key(settings: Settings) -> str:
    """Return the key that the API sends to Dagster's web server: a secret of this data directory, made at first use."""
    return whole_files.made_once(_made(_home(settings)) / "door.key", secrets.token_urlsafe(32).encode()).decode()


def _home(settings: Settings) -> Path:
    return settings.data_dir / "dagster"


def _made(home: Path) -> Path:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def make_tables(settings: Settings, database: Database) -> bool:
    """Have Dagster make its tables where some are missing, in a process of its own. Return whether that succeeded."""
    command = [sys.executable, "-m", _MAKES_TABLES]
    variables = os.environ | environment(settings, database)
    made = subprocess.run(command, env=variables, check=False, capture_output=True)  # noqa: S603  (our own program)
    if made.returncode != 0:
        log.error("dagster.tables_not_made", status=made.returncode, said=made.stderr.decode(errors="replace")[-2000:])
    return made.returncode == 0


@contextmanager
def tables_locked(dagster_url: str) -> Iterator[None]:
    """Have Dagster's tables to oneself while they are made; `dagster_url` is `Database.dagster_url`.

    Dagster looks for a table and then makes it. Of many processes that begin with an empty database, as those of a
    compose file do, each loses to another again and again, and Dagster gives up after five times.
    """
    with dagster_transaction(dagster_url) as connection:
        connection.execute(_LOCK)
        yield
