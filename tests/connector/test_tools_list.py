"""What an assistant is told of the tools before it calls one."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from compliance.statements import facts
from connector.server import tools_of
from tests.connector.assistants import Assistant

pytestmark = pytest.mark.anyio

READING = {
    "list_packaging_items",
    "get_packaging_item",
    "compliance_overview",
    "check_market_readiness",
    "check_missing_data",
    "summarise_items",
    "check_regulation_statement",
    "check_pricing_statement",
    "get_product_facts",
    "list_declarations",
    "list_shared_components",
    "check_bulk_import",
    "get_market_figures",
    "list_filed_declarations",
    "check_items_against_rule",
    "what_if",
    "list_changes",
    "list_supplier_requests",
    "list_review_queue",
}
DRAFTING = {"generate_doc_draft", "propose_sku_update", "submit_supplier_document"}
FREE = {
    ("check_bulk_import", "rows"),
    ("check_bulk_import", "mapping"),
    ("propose_sku_update", "component_changes"),
    ("what_if", "changes"),
    ("what_if", "component_changes"),
    ("what_if", "component_fields"),
    ("summarise_items", "filters"),
}
"""Objects that the list does not describe: columns of an import, what it asks, and fields that another tool's schema
has already; the call refuses a name that is none of them.
"""
WORDS_FOR_SEARCH = re.compile(r"^[A-Z][^.:;\n]{0,40}; [^.:;\n]{0,40}\.$", re.MULTILINE)
"""A line of words in two languages, for clients that search: descriptions are sentences for people (decision 0056)."""
MOST_TOOLS, MOST_CHARACTERS = 22, 32_000  # decisions §13


def objects(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every object of a schema that has named properties, or none at all."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for name, part in schema.items():
            yield from objects(part, path if name in ("properties", "$defs", "items", "anyOf") else (*path, name))
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part, path)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_say_what_they_do_and_take_nothing_else(assistant: Assistant, mode: str):
    assistant.mode = mode
    async with assistant.connected() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == READING | DRAFTING
    for name, tool in tools.items():
        assert tool.title
        assert tool.output_schema
        assert 80 < len(tool.description or "") < 600
        assert not WORDS_FOR_SEARCH.search(tool.description or ""), name
        assert tool.annotations.read_only_hint is (name in READING)
        assert tool.annotations.destructive_hint is False
        assert "company" not in str(tool.input_schema["properties"].keys())
        for path, found in objects(tool.input_schema):
            assert found.get("additionalProperties") is False or (name, *path) in FREE, (name, path)
        for field in tool.input_schema["properties"].values():
            assert field.get("description"), (name, field)
        assert "'default': None" not in str(tool.input_schema), name  # left out means untouched, null means cleared


@pytest.mark.promise("CON-13")
async def test_the_list_fits_into_a_models_context(assistant: Assistant):
    async with assistant.connected() as client:
        tools = (await client.list_tools()).tools
    sent = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    assert len(tools) <= MOST_TOOLS
    assert len(sent) < MOST_CHARACTERS


async def test_product_facts_say_the_numbers_of_the_tools_that_are_registered(assistant: Assistant):
    """How many there are, read, and draft, and how long a page is without a limit (decisions §13)."""
    tools = tools_of(assistant.service)
    reading = [tool for tool in tools if tool.annotations.read_only_hint]
    arguments = [parameter for tool in tools for parameter in inspect.signature(tool.function).parameters.values()]
    defaults = {each.default for each in arguments if each.name == "limit" and each.default is not None}
    told = {fact.key: fact for fact in facts.load("service")}
    assert list(told["tools"].figures) == [f"{len(tools)} tools", str(len(tools))]
    assert told["tools_count"].figures == told["tools"].figures
    assert list(told["tools_read"].figures) == [f"{len(reading)} tools", str(len(reading))]
    assert list(told["tools_draft"].figures) == [
        f"{len(tools) - len(reading)} tools",
        str(len(tools) - len(reading)),
    ]
    assert {int(number) for number in told["page_default_tools"].figures} == defaults
    for key, numbers in {
        "tools": (len(tools), 14, len(tools) - 14),
        "tools_read": (len(reading), len(tools)),
        "page_default_tools": sorted(defaults, reverse=True),
    }.items():
        assert [int(number) for number in re.findall(r"[0-9]+", told[key].sentence)] == [*numbers], told[key].sentence
    published = (await assistant.call("get_product_facts", limit=200)).told["facts"]
    assert {fact["key"]: fact["sentence"] for fact in published} == {key: fact.sentence for key, fact in told.items()}
    assert "50" not in {number for fact in published if "tool" in fact["sentence"] for number in fact["values"]}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("what_if", {"changes": {"colour": "red"}}),
        ("what_if", {"component_changes": [{"id": "x"}]}),
        ("what_if", {"component_changes": [{"id": str(uuid4()), "weight": 1}]}),
        ("propose_sku_update", {"component_changes": [{"id": str(uuid4())}]}),
        ("propose_sku_update", {"component_changes": [{"id": str(uuid4()), "component_type": "cap"}]}),
        ("propose_sku_update", {}),
    ],
)
async def test_an_object_that_the_list_does_not_describe_is_checked(assistant: Assistant, tool: str, arguments: dict):
    made = assistant.made()
    answer = await assistant.call(tool, sku_code=made.sku_code, **arguments)
    assert answer.refused
    assert "invalid_body" in answer.text


@pytest.mark.long
async def test_an_unknown_argument_is_refused_by_every_tool(assistant: Assistant):
    for name in sorted(READING | DRAFTING):
        answer = await assistant.call(name, company_id="another", sku_code="A")
        assert answer.refused, name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"limit": "x"}, "limit: Send a whole number."),
        ({"limit": 1.5}, "limit: Send a whole number."),
        ({"search": "a\0"}, "search: The text holds the control character U+0000 as its character 2"),
        ({"colour": "red"}, "colour: This field is not part of the contract; leave it out."),
        ({"offset": None, "colour": 1}, "offset: This field cannot be cleared"),
    ],
)
async def test_arguments_are_refused_in_our_words(assistant: Assistant, arguments: dict[str, Any], said: str):
    answer = await assistant.call("list_packaging_items", **arguments)
    assert answer.refused
    assert answer.text.startswith(f"invalid_body: {said}")
    assert "pydantic" not in answer.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_packaging_item", {"sku_code": "a\x00b"}),
        ("check_regulation_statement", {"statement": "a\x00"}),
        ("propose_sku_update", {"sku_code": "A", "changes": {"name": "a\x00"}}),
        ("check_bulk_import", {"rows": [{"sku_code\x00": "A"}]}),
    ],
)
async def test_a_text_that_no_record_can_hold_is_told_so(assistant: Assistant, tool: str, arguments: dict[str, Any]):
    answer = await assistant.call(tool, **arguments)
    assert (answer.refused, "U+0000" in answer.text) == (True, True)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_is_not_there_is_an_error_of_the_protocol(assistant: Assistant, mode: str):
    assistant.mode = mode
    async with assistant.connected() as client:
        for ask in (
            lambda: client.call_tool("delete_everything", {}),
            lambda: client.get_prompt("none"),
            lambda: client.list_tools(cursor="another"),
        ):
            with pytest.raises(MCPError) as told:
                await ask()
            assert told.value.error.code == INVALID_PARAMS


async def test_nothing_is_told_without_a_principal(assistant: Assistant):
    async with assistant.connected() as client:
        auth_context_var.set(None)
        result = await client.call_tool("list_packaging_items", {})
    assert result.is_error
