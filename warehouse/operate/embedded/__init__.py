"""Runs the embedded database: a real Postgres of a wheel or a folder, shared by the service's processes.

A process that needs it enters `running`; the first process starts it, the last to leave stops it. Each process in it
holds a lock that the kernel releases however the process ends, so a killed one never counts. With `DATABASE_URL`
nothing is started, and the same code runs against the operator's server.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from warehouse.operate.database import Database
from warehouse.operate.embedded import account
from warehouse.operate.embedded.server import Server, ServerError, major_of
from warehouse.operate.settings import Settings, SettingsError

__all__ = ["Server", "ServerError", "other_major", "prepare_data_dir", "revive", "running"]


@contextmanager
def running(settings: Settings, *, durable: bool = True) -> Iterator[Database]:
    """Keep the database of these settings running during the block.

    `durable` False turns fsync off, for tests only. Raises `ServerError` and `SettingsError`.
    """
    if settings.database_url is not None:
        yield Database.from_settings(settings)
        return
    data_dir, server = prepare_data_dir(settings.data_dir), _server(settings, durable=durable)
    with (data_dir / "postgres.users.lock").open("ab") as users:
        with _alone(data_dir):
            server.start()
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield Database.from_settings(settings)
        finally:
            with _alone(data_dir):
                if _nobody_else(users):
                    server.stop()


def _server(settings: Settings, *, durable: bool) -> Server:
    return Server(settings.data_dir, durable, settings.postgres_bin)


def revive(settings: Settings, *, durable: bool = True) -> bool:
    """Start the embedded server again where it died; return True where it had. Call it inside `running`."""
    server = _server(settings, durable=durable)
    if settings.database_url is not None or server.alive():
        return False
    with _alone(settings.data_dir):
        server.start()
    return True


def prepare_data_dir(data_dir: Path) -> Path:
    """Make the data directory so that the server's account can pass through it but not list it; return it.

    Callers that store files there need it with `DATABASE_URL` too. Raises `SettingsError` where it cannot be made.
    """
    if not data_dir.is_dir():
        try:
            data_dir.mkdir(parents=True, exist_ok=True)  # two commands may start at once
            data_dir.chmod(0o711)
        except OSError as error:
            sentence = f"{data_dir} cannot be made ({error.strerror}); name another directory with --data-dir."
            raise SettingsError(sentence) from None
    if not os.access(data_dir, os.W_OK):
        raise SettingsError(f"{data_dir} cannot be written to; name another directory with --data-dir.")
    return data_dir


def other_major(settings: Settings) -> int | None:
    """Return the major version that made the embedded database, where it is not this release's."""
    place = settings.data_dir / "postgres"
    if settings.database_url is not None or not (place / "PG_VERSION").exists():
        return None
    made_by = major_of(place)
    return made_by if made_by != account.MAJOR else None


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    """Lock the data directory: one process at a time starts or stops its server."""
    with (data_dir / "postgres.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _nobody_else(users: IO[bytes]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
