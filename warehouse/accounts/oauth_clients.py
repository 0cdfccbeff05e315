"""Stores the applications that may ask for a connection: registered ones, and those known by a document they publish.

They belong to no company: the connection decides which company an application sees (`warehouse.accounts.connections`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from warehouse.sessions import Connection

PER_ADDRESS: Final = 30
"""Registrations from one address in any 60 seconds."""

_OF: Final = "SELECT id, name, redirect_uris, auth_method, secret_hash, held_since FROM oauth_clients WHERE id = %s"
_HOLD: Final = """
INSERT INTO oauth_clients (id, name, redirect_uris, auth_method, secret_hash, held_since)
VALUES (%(id)s, %(name)s, %(redirect_uris)s, %(auth_method)s, %(secret_hash)s, %(held_since)s)
ON CONFLICT (id) DO UPDATE
SET name = excluded.name, redirect_uris = excluded.redirect_uris, held_since = excluded.held_since
"""


@dataclass(frozen=True, slots=True)
class Client:
    """An application: its name, its redirect addresses, and how it authenticates.

    `auth_method` is none, client_secret_basic or client_secret_post; without a secret it is none.
    """

    id: str
    name: str
    redirect_uris: Sequence[str]
    auth_method: str
    secret_hash: bytes | None
    held_since: datetime


def of(connection: Connection, client_id: str) -> Client | None:
    """Return the application of an id, None where there is none."""
    with connection.cursor(row_factory=class_row(Client)) as cursor:
        return cursor.execute(_OF, [client_id]).fetchone()


def hold(connection: Connection, client: Client) -> None:
    """Store a new application, or the current content of a known one's document."""
    connection.execute(
        _HOLD,
        {
            "id": client.id,
            "name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "auth_method": client.auth_method,
            "secret_hash": client.secret_hash,
            "held_since": client.held_since,
        },
    )


def seconds_to_wait(connection: Connection, address: str, at: datetime) -> int:
    """Count a registration from an address; return 0, or the seconds until it may register again."""
    asked = [address, PER_ADDRESS, at]
    row = connection.execute("SELECT pcds_take_registration(%s, %s, %s)", asked).fetchone()
    assert row is not None, "the function answers one row whoever asks"
    return int(row[0])
