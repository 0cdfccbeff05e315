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

import httpx2
import uvicorn

from api.app import create
from connector.oauth.endpoints import SCOPES
from tests.api.people import Person, added, hidden
from tests.keys import with_keys
from tests.waiting import PATIENCE_SECONDS
from warehouse import assistants
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

REDIRECT = "https://assistant.example/callback"


@dataclass(frozen=True)
class Served:
    """Where it is, and a token of a connection of the company."""

    port: int
    token: str
    person: Person

    @property
    def company(self) -> UUID:
        return self.person.company

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.base}/api/mcp"


def allowed(place: Served, address: str) -> str:
    """Where the person is sent back to, who opens an application's address, signs in and allows."""
    same_origin = {"Sec-Fetch-Site": "same-origin"}
    with httpx2.Client(base_url=place.base, headers=same_origin, timeout=PATIENCE_SECONDS) as browser:
        form = hidden(browser.get("/sign-in").text)
        signed = browser.post("/sign-in", data=form | {"email": place.person.email, "password": place.person.password})
        assert signed.status_code == 303, signed.text
        asked = browser.get(address)
        assert asked.status_code == 200, asked.text
        answer = browser.post("/oauth/authorize", data=hidden(asked.text) | {"decision": "allow"})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


@contextmanager
def served(database: Database, pool: Pool, company: UUID, data_dir, **more: str) -> Iterator[Served]:
    """The application for the time of the block, with more settings."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = with_keys(Settings.load(data_dir=data_dir, public_url=f"http://127.0.0.1:{port}", **more))
    config = uvicorn.Config(create(settings, database), log_config=None, lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            thread.join(0.05)
            assert thread.is_alive(), "it did not start"
        person = added(pool, company)
        yield Served(port, token_of(pool, person, settings), person)
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        listening.close()


def token_of(pool: Pool, person: Person, settings: Settings) -> str:
    """A token as it is given at the end of signing in and consenting."""
    company, client, now = person.company, f"test-{uuid4()}", datetime.now(UTC)
    resource, verifier = f"{settings.base_url}/api/mcp", "v" * 64
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    application = assistants.Client(client, "Suite", (REDIRECT,), "none", None, now)
    asked = assistants.AuthorizationRequest(application, REDIRECT, challenge, resource, SCOPES)
    with pool.system() as conn:
        assistants.hold(conn, application)
    with pool.company(company) as conn:
        connection = assistants.authorise(conn, company, person.id, asked, now)
        code = assistants.hold_code(conn, company, connection, asked, now)
    with pool.system() as conn:
        tokens = assistants.redeem(
            conn, code, client_id=client, redirect_uri=REDIRECT, challenge=challenge, resource=resource, at=now
        )
    assert tokens is not None
    return tokens.access
