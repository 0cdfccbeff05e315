"""The resource and the prompt, in both eras."""

import json

import pytest

from connector.server import SUMMARY
from tests.connector.assistants import Assistant
from tests.connector.test_tools_portfolio import published

pytestmark = pytest.mark.anyio


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_summary_is_the_overview_of_the_company(assistant: Assistant, mode: str):
    assistant.mode = mode
    assistant.made(markets=["FR"])
    async with assistant.connected() as client:
        none_yet = await client.read_resource(SUMMARY)
        published(assistant)
        [listed] = (await client.list_resources()).resources
        [content] = (await client.read_resource(str(listed.uri))).contents
    told = json.loads(content.text)
    assert "snapshot" in str(none_yet.contents[0])
    assert told == (await assistant.call("compliance_overview")).told


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_prompt_names_tools_that_exist(assistant: Assistant, mode: str):
    assistant.mode = mode
    async with assistant.connected() as client:
        [prompt] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt(prompt.name, {"quarter": "2026-Q3"})).messages
        tools = {tool.name for tool in (await client.list_tools()).tools}
    steps = [line for line in message.content.text.splitlines() if line[:1].isdigit()]
    assert "of 2026-Q3" in message.content.text
    assert len(steps) == 7
    assert all(any(tool in step for tool in tools) for step in steps)
