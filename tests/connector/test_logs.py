"""Nothing that a company asks or is answered through the connector stands in a log, however much is logged."""

import logging
from collections.abc import Iterator
from uuid import uuid4

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.connector.serving import Served, served
from tests.connector.test_over_http import connected

pytestmark = pytest.mark.anyio


@pytest.fixture
def talkative(database, pool, company, tmp_path) -> Iterator[Served]:
    """The application at the lowest level of its log; other tests get theirs back."""
    held = logging.getLogger().level
    with served(database, pool, company, tmp_path, log_level="debug") as place:
        yield place
    logging.getLogger().setLevel(held)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_neither_what_was_asked_nor_what_was_answered_is_logged(talkative: Served, caplog, capsys, mode: str):
    told = str(uuid4())
    calls = [
        ("get_packaging_item", {"sku_code": told}),
        ("get_packaging_item", {"id": told, told: 1}),
        ("check_regulation_statement", {"statement": told}),
        ("check_bulk_import", {"csv": f"sku_code;name\n{told};x"}),
        ("generate_doc_draft", {"sku_code": told}),
        ("generate_doc_draft", {"sku_code": "S", "confirmation": told}),
    ]
    async with connected(talkative, mode, decline) as client:
        for name, arguments in calls:
            await client.call_tool(name, arguments)
        with pytest.raises(MCPError):
            await client.call_tool(told, {})
        with pytest.raises(MCPError) as missing:
            await client.get_prompt(told)
        assert missing.value.code == types.INVALID_PARAMS
        with pytest.raises(MCPError):
            await client.read_resource(f"test://{told}")
    requests = capsys.readouterr().err.splitlines()
    assert [line for line in requests if '"event": "request"' in line]
    lines = [*caplog.text.splitlines(), *requests]
    assert [line for line in lines if told in line or talkative.token in line] == []


async def decline(_: object, __: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="decline")
