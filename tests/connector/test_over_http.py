"""The connector as the world reaches it: a real client in both eras, and the protocol's own suite where it is had."""

import gc
from collections.abc import Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pipelines.steps.origin import Origin
from pipelines.steps.records import write_records
from schemas.models import parse_sku
from tests.connector.serving import Served, served
from tools import mcp_conformance
from warehouse.clock import Clock
from warehouse.rulesets import Rulesets


@pytest.fixture
def running(database, pool, company, tmp_path) -> Iterator[Served]:
    with served(database, pool, company, tmp_path) as place:
        yield place
    gc.collect()  # what this leaves behind is told here, and not in whichever test comes next


@asynccontextmanager
async def connected(place: Served, mode: str, answers=None):
    headers = {"Authorization": f"Bearer {place.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(place.url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=answers) as client:
            yield client


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_real_client_reads_asks_and_files_in_both_eras(running: Served, pool, mode: str):
    code, now = f"S-{uuid4()}", Clock().now()
    with pool.company(running.company) as conn:
        record = parse_sku({"sku_code": code, "name": "Bottle", "material": "glass"})
        write_records(conn, running.company, {0: record}, origin=Origin("operator", "t", "t", "t"), now=now,
                      rulesets=Rulesets(), dry_run=False)  # fmt: skip
    asked = []

    async def agree(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"file": True})

    async with connected(running, mode, agree) as client:
        items = (await client.call_tool("list_packaging_items", {})).structured_content
        drafted = (await client.call_tool("generate_doc_draft", {"sku_code": code, "lang": "fr"})).structured_content
        unknown = await client.call_tool("get_packaging_item", {"id": str(uuid4())})
    assert [item["sku_code"] for item in items["items"]] == [code]
    assert drafted["status"] == "filed"
    assert len(asked) == 1
    assert unknown.is_error


def test_the_protocols_own_suite_passes_in_every_era(running: Served):
    program = mcp_conformance.installed()
    if program is None:
        pytest.skip("the conformance suite could not be installed: no npm registry answers here")
    with mcp_conformance.Proxy(running.port, running.token) as proxy:
        failed = [
            f"{era} {name}" for era, names in mcp_conformance.SCENARIOS.items() for name in names
            if mcp_conformance.run(program, proxy.port, era, name)
        ]  # fmt: skip
    assert failed == []
