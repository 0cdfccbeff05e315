"""Runs one API process: `python -m api.operate.server`, with its settings from the environment.

`pcds serve` starts it with `--fd`, the number of a listening socket that all API processes of the machine share.
Without it the process listens itself, at the address of the settings. With `--after` it loads its code while the
supervisor prepares the database, and opens it when that pipe is closed.
"""

import argparse
import gc
import os
import resource
import socket
import time
from typing import Any, Final  # Any: uvicorn's own signature

import structlog
import uvicorn

from api.operate.server.protocol import BoundedProtocol, Bounds, Peers
from warehouse.operate.settings import Settings

GRACE_SECONDS: Final = 5
"""How long requests may run after SIGTERM; those left then get an answer that says so (`api.http.middleware`)."""
_LOOK_TICKS: Final = 5
"""Number of uvicorn's ticks, ten a second, between two checks of every connection."""
_NAMED_NETWORKS: Final = 8
"""Networks that a log line of refused connections names: those with the most."""
_LONGEST_STEP_SECONDS: Final = 1.0
"""More than this between two checks is this machine's fault, and no caller's."""
_DESCRIPTORS: Final = 512
"""Files, database sockets and pipes that a process may open beside its callers' connections."""
_OBJECTS_WHILE_LOADING: Final = 100_000
"""New objects to a garbage collection until the app sets its own number (decision 0024): what is loaded stays."""

log = structlog.get_logger(__name__)


class Config(uvicorn.Config):
    """uvicorn's configuration with the limits."""

    def __init__(self, settings: Settings, app: Any = "api.app:app_of_process", **options: Any) -> None:
        """`app` and `options` as uvicorn takes them."""
        super().__init__(
            app,
            host=settings.host,
            port=settings.port,
            factory=isinstance(app, str),
            http=BoundedProtocol,
            timeout_keep_alive=settings.keep_alive_seconds,
            timeout_graceful_shutdown=GRACE_SECONDS,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            **{"log_level": "warning", **options},
        )
        self.bounds = Bounds.of(settings)
        self.peers = Peers(self.bounds.connections_per_address, self.bounds.trusted_proxies)


class Server(uvicorn.Server):
    """uvicorn's server, which also checks its connections."""

    def __init__(self, config: Config) -> None:
        """`config` has the limits."""
        super().__init__(config)
        self._peers = config.peers
        self._looked = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """Check every connection at intervals."""
        if counter % _LOOK_TICKS == 0:
            now = time.monotonic()
            step, self._looked = min(now - self._looked, _LONGEST_STEP_SECONDS), now
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.look(step)
            self._tell_of_refused()
        return await super().on_tick(counter)

    def _tell_of_refused(self) -> None:
        """Log one line for many refused connections: opening thousands must not fill the log."""
        if away := self._peers.turned_away:
            networks = dict(away.most_common(_NAMED_NETWORKS))
            log.warning(
                "connections.refused", count=away.total(), networks=networks, open=len(self.server_state.connections)
            )
            away.clear()


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m api.operate.server", description=main.__doc__)
    parser.add_argument("--fd", type=int, help="a listening socket that was inherited")
    parser.add_argument("--after", type=int, help="an inherited pipe, closed when the database is ready")
    given = parser.parse_args()
    gc.set_threshold(_OBJECTS_WHILE_LOADING, *gc.get_threshold()[1:])
    settings = Settings.load()
    _allow_descriptors(settings.connections + _DESCRIPTORS)
    config = Config(settings)
    if given.after is not None:
        config.load()  # imports the app, the greater part of a start
        os.read(given.after, 1)
    Server(config).run([socket.socket(fileno=given.fd)] if given.fd is not None else None)


def _allow_descriptors(wanted: int) -> None:
    """Raise the limit of open files to what the connections need, where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


if __name__ == "__main__":
    main()
