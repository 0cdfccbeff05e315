"""The real tools over the real database, called in this process by a client whose principal a test chooses."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

import pytest
from mcp import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer

from api.http.service import Service, open_service
from connector.principal import Principal
from connector.server import build_server
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import WriteOutcome, write_records
from tests.keys import with_keys
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def principal(company: UUID) -> Principal:
    """A connection of somebody at the company."""
    return Principal(company, uuid4(), uuid4(), "a.person@example.org", "An assistant", str(uuid4()), "editor")


def token_of(who: Principal) -> AccessToken:
    """The token as the gate makes it."""
    return AccessToken(
        token="t",
        client_id=str(who.connection_id),
        scopes=["read", "write"],
        subject=str(who.user_id),
        claims=who.claims(),
    )


@dataclass
class Answer:
    """What a tool answered."""

    refused: bool
    text: str
    told: dict[str, Any]


@dataclass
class Assistant:
    """A company's assistant, with what it can do itself."""

    service: Service
    who: Principal
    mode: str = "auto"
    answers: Callable[..., Any] | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def company(self) -> UUID:
        return self.who.company_id

    @cached_property
    def server(self) -> MCPServer[None]:
        """Built once, as in a deployment: to describe all tools takes longer than most calls."""
        return build_server(self.service)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        seen = auth_context_var.set(AuthenticatedUser(token_of(self.who)))
        try:
            async with Client(self.server, mode=self.mode, elicitation_callback=self.answers) as client:
                yield client
        finally:
            auth_context_var.reset(seen)

    async def call(self, tool: str, **arguments: Any) -> Answer:
        async with self.connected() as client:
            return await self.ask(client, tool, arguments)

    async def ask(self, client: Client, tool: str, arguments: dict[str, Any]) -> Answer:
        """What a tool answers over a connection that is open."""
        result = await client.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        return Answer(bool(result.is_error), text, result.structured_content or {})

    def made(self, **fields: Any) -> WriteOutcome:
        """A new SKU of the company, as the write shows it."""
        row = self.write(**{"sku_code": f"S-{uuid4()}", "name": "Bottle", **fields})
        assert row.outcome == "created", row.errors
        return row

    def write(self, **fields: Any) -> WriteOutcome:
        """A SKU written to the company."""
        record = parse_sku(fields)
        origin = Origin("operator", "test", "test", str(uuid4()))
        with self.service.writes.company(self.company) as conn:
            [row] = write_records(
                conn,
                Actor(self.company, origin, self.service.clock.now()),
                {0: record},
                rulesets=self.service.rulesets,
                dry_run=False,
            ).values()
        return row


@pytest.fixture
async def service(
    database: Database, clock: StoppedClock, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    settings = with_keys(Settings.load(data_dir=tmp_path_factory.mktemp("connector")))
    async with open_service(settings, database, clock) as service:
        yield service


@pytest.fixture
def assistants(service: Service, new_company: Callable[[str], UUID]) -> Callable[[], Assistant]:
    """An assistant of a new company."""
    return lambda: Assistant(service, principal(new_company("enterprise")))


@pytest.fixture
def assistant(assistants: Callable[[], Assistant]) -> Assistant:
    return assistants()
