"""The whole application on a port of this machine, with a connection whose token a client sends."""

import base64
import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

import uvicorn

from api.app import create
from connector.oauth.addresses import SCOPES
from tests.api.people import added
from warehouse.database import Database
from warehouse.queries import connections, oauth_clients
from warehouse.sessions import Pool
from warehouse.settings import Settings

REDIRECT = "https://assistant.example/callback"


@dataclass(frozen=True)
class Served:
    """Where it is, and a token of a connection of the company."""

    port: int
    token: str
    company: UUID

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/mcp"


@contextmanager
def served(database: Database, pool: Pool, company: UUID, data_dir) -> Iterator[Served]:
    """The application for the time of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = Settings.load(data_dir=data_dir, public_url=f"http://127.0.0.1:{port}")
    config = uvicorn.Config(create(settings, database), log_config=None, lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            thread.join(0.05)
            assert thread.is_alive(), "it did not start"
        yield Served(port, _token(pool, company, settings), company)
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def _token(pool: Pool, company: UUID, settings: Settings) -> str:
    """A token as it is given at the end of signing in and consenting."""
    person, client, now = added(pool, company), f"test-{uuid4()}", datetime.now(UTC)
    resource, verifier = f"{settings.base_url}/api/mcp", "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    with pool.system() as conn:
        oauth_clients.hold(conn, oauth_clients.Client(client, "Suite", (REDIRECT,), "none", None, now))
    with pool.company(company) as conn:
        connection = connections.authorise(
            conn, company, person.id, new_id=uuid4(), client_id=client, scopes=list(SCOPES), at=now
        )
        code = connections.hold_code(
            conn, company, connection, redirect_uri=REDIRECT, code_challenge=challenge, resource=resource,
            scopes=list(SCOPES), at=now,
        )  # fmt: skip
    with pool.system() as conn:
        tokens = connections.redeem(
            conn, code, client_id=client, redirect_uri=REDIRECT, challenge=challenge, resource=resource, at=now
        )
    assert tokens is not None
    return tokens.access
