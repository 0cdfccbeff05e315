"""The connector as the world reaches it: a real client in both eras."""

from contextlib import asynccontextmanager
from uuid import uuid4

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from tests.connector.serving import Served
from warehouse.operate.clock import Clock
from warehouse.rules import Rulesets


@asynccontextmanager
async def connected(place: Served, mode: str, answers=None):
    headers = {"Authorization": f"Bearer {place.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        transport = streamable_http_client(place.url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=answers) as client:
            yield client


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_real_client_reads_asks_and_files_in_both_eras(running: Served, pool, mode: str):
    code, now = f"S-{uuid4()}", Clock().now()
    with pool.company(running.company) as conn:
        record = parse_sku({"sku_code": code, "name": "Bottle", "material": "glass"})
        write_records(
            conn,
            Actor(running.company, Origin("operator", "t", "t", "t"), now),
            {0: record},
            rulesets=Rulesets(),
            dry_run=False,
        )
    asked = []

    async def agree(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"file": True})

    async with connected(running, mode, agree) as client:
        items = (await client.call_tool("list_packaging_items", {})).structured_content
        drafted = (await client.call_tool("generate_doc_draft", {"sku_code": code, "lang": "de"})).structured_content
        unknown = await client.call_tool("get_packaging_item", {"id": str(uuid4())})
        changed = (await client.call_tool("list_changes", {"since": "2020-01-01"})).structured_content["answer"]
    assert [item["sku_code"] for item in items["items"]] == [code]
    assert drafted["status"] == "filed"
    assert len(asked) == 1
    assert unknown.is_error
    [filed] = [change for change in changed["changes"] if change["action"] == "doc_draft.filed"]
    assert (filed["person"], filed["code"]) == (running.person.email, code)
