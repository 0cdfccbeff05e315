"""The connector behind `pcds serve --workers 2`: many connections at once, sessions through any process, one killed."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import mcp_types as types
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api.people import added
from tests.connector.serving import Served, token_of
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.service import Service, running
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

AT_ONCE = 50
FRESH = httpx2.Limits(max_keepalive_connections=0)
"""A connection for each request: the machine gives it to whichever process is free."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running("--workers", "2") as service:
        yield service


@pytest.fixture
def place(service: Service) -> Served:
    """A connection of the company's person."""
    settings = Settings.load(data_dir=service.data_dir, port=service.port)
    with Pool(Database.from_settings(settings).app_url) as pool:
        person = added(pool, UUID(service.company_id))
        return Served(service.port, token_of(pool, person, settings), person)


def older(http: httpx2.Client, place: Served, method: str, params: Any = None, **headers: str) -> httpx2.Response:
    sent = {"Authorization": f"Bearer {place.token}", "Accept": "application/json, text/event-stream", **headers}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return http.post(place.url, json=body, headers=sent)


def opened(http: httpx2.Client, place: Served) -> dict[str, str]:
    """The headers of a new session."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answer = older(http, place, "initialize", client)
    assert answer.status_code == 200, answer.text
    return {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}


def owner(session: dict[str, str]) -> str:
    return session["Mcp-Session-Id"].partition("-")[0]


def process_of(folder: Path, name: str) -> psutil.Process:
    """The process that listens at an owner's socket, which the kernel knows by the name that it had at first."""
    place = str(folder / name)
    return psutil.Process(
        next(found.pid for found in psutil.net_connections("unix") if found.laddr == place and found.pid is not None)
    )


def test_50_connections_at_once_are_all_answered(place: Served):
    call = {"name": "list_packaging_items", "arguments": {}}

    def answers(_: int) -> list[int]:
        with httpx2.Client(timeout=PATIENCE_SECONDS, limits=FRESH) as http:
            session = opened(http, place)
            return [
                older(http, place, *asked, **session).status_code
                for asked in (("tools/list",), ("tools/call", call), ("tools/call", call))
            ]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert list(threads.map(answers, range(AT_ONCE))) == [[200] * 3] * AT_ONCE


@pytest.mark.anyio
async def test_a_question_over_the_stream_is_answered_through_whichever_process(place: Served, service: Service):
    asked: list[str] = []

    async def agree(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"file": True})

    @asynccontextmanager
    async def connected():
        headers = {"Authorization": f"Bearer {place.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS, limits=FRESH) as http:
            transport = streamable_http_client(place.url, http_client=http)
            async with Client(transport, mode="legacy", elicitation_callback=agree) as client:
                yield client

    async def filed(number: int) -> str:
        async with connected() as client:
            told = await client.call_tool("generate_doc_draft", {"sku_code": f"S-{number}"})
        return str(told.structured_content["status"])

    with httpx2.Client(timeout=PATIENCE_SECONDS) as http:
        for number in range(10):
            made = http.post(
                f"{place.base}/api/v1/skus",
                json={"sku_code": f"S-{number}", "name": "Bottle"},
                headers={"X-API-Key": service.key},
            )
            assert made.status_code == 201
    assert await asyncio.gather(*(filed(number) for number in range(10))) == ["filed"] * 10
    assert len(asked) == 10


def test_of_a_killed_process_the_sessions_are_gone_and_the_others_stay(place: Served, service: Service):
    with httpx2.Client(timeout=PATIENCE_SECONDS, limits=FRESH) as http:
        sessions: dict[str, dict[str, str]] = {}
        wait_until(lambda: sessions.update({owner(new := opened(http, place)): new}) or len(sessions) == 2)
        (killed, lost), (_, stays) = sessions.items()
        wanted = {"Authorization": f"Bearer {place.token}", "Accept": "text/event-stream", **lost}
        with http.stream("GET", place.url, headers=wanted) as stream:
            assert stream.status_code == 200
            process_of(service.data_dir / "connector", killed).kill()
            with pytest.raises(httpx2.TransportError):
                stream.read()

        def told(session: dict[str, str]) -> set[int]:
            answers = set()
            for _ in range(8):
                try:
                    answers.add(older(http, place, "tools/list", **session).status_code)
                except httpx2.TransportError:
                    continue  # the one that was killed had taken the connection
            return answers

        assert told(lost) == {404}
        assert told(stays) == {200}
        wait_until(lambda: owner(opened(http, place)) not in sessions)  # a new process in its place
        assert told(stays) == {200}
