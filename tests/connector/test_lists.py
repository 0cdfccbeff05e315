"""Tools that list: with each filter, page by page, what the total counts is what the pages hold."""

from typing import Any

import pytest

from services import audit
from tests.connector.assistants import Assistant
from tests.connector.questions.company import filled
from warehouse.operate.clock import StoppedClock

pytestmark = pytest.mark.anyio

SIZE = 2
LISTS = ("items", "declarations", "components", "facts", "waiting", "changes", "rows", "entries")
"""The members of an answer that are paged."""
NEEDED = {
    "summarise_items": {"by": "item"},
    "check_market_readiness": {"market": "FR"},
    "get_market_figures": {"market": "FR"},
    "check_items_against_rule": {"rule": "format_bans"},
}
VALUES: dict[str, list[object]] = {
    "market": ["FR", "DE", "GB"],
    "search": ["e"],
    "material": ["PET", "plastic"],
    "supplier": ["Préformes du Rhône"],
    "component": ["cap PP 28 mm"],
    "flag": ["AV-1"],
    "field": ["weight", "name"],
    "since": ["2026-01-01"],
    "until": ["2026-11-15", "2026-12-31"],
    "actor": ["Ada Lovelace", "user", "night.csv"],
    "filters": [{"search": "e"}, {"gap": "polymer_missing"}],
    "year": [2025, 2026],
    "expires_within_days": [400],
    "sku_code": ["CHP-17"],
    "reusable": [False],
    "empty_space_above": [10],
    "sort": ["-weight_grams"],
    "fields": [["name", "markets"]],
    "least_first": [True],
}
"""Values of filters that are no closed list."""
OF_ONE = ("get_packaging_item", "what_if", "check_bulk_import")
"""Tools of one item or import, whose rows are paged without a filter."""


def closed(schema: dict[str, Any], definitions: dict[str, Any]) -> list[object]:
    """The values of an argument that is a closed list."""
    if "$ref" in schema:
        return closed(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    for inner in schema.get("anyOf", ()):
        if found := closed(inner, definitions):
            return found
    return [value for value in schema.get("enum", ()) if value is not None]


def page_of(told: dict[str, Any], asked: object) -> tuple[list[Any], int, int | None]:
    """The rows of an answer, their total and the next page's offset, wherever the tool has them."""
    for holder in (told, told.get("answer", {}), told.get("answer", {}).get("uncounted", {})):
        page = holder.get("page") or holder.get("pagination") or holder
        member = next((name for name in LISTS if isinstance(holder.get(name), list)), None)
        if "total" in page and member is not None:
            end = page.get("offset", 0) + len(holder[member])
            return holder[member], page["total"], page.get("next_offset", end if end < page["total"] else None)
    raise AssertionError(f"{asked} has no page: {list(told)}, {list(told.get('answer', {}))}")


async def listed(assistant: Assistant, client: Any, tool: str, **arguments: object) -> list[Any]:
    """All that a tool lists, by pages of two; each page tells the same total."""
    found: list[Any] = []
    offset: int | None = 0
    totals = set()
    while offset is not None:
        answer = await assistant.ask(client, tool, {"limit": SIZE, "offset": offset, **arguments})
        assert not answer.refused, (tool, arguments, answer.text)
        rows, total, offset = page_of(answer.told, (tool, arguments))
        assert rows or len(found) == total, (tool, arguments, "an empty page")
        found += rows
        totals.add(total)
    assert totals == {len(found)}, (tool, arguments)
    return found


@pytest.mark.long
async def test_pages_of_tools_hold_what_their_total_counts(assistant: Assistant, clock: StoppedClock) -> None:
    await filled(assistant, clock)
    longest: dict[str, int] = {}
    async with assistant.connected() as client:
        for tool in (await client.list_tools()).tools:
            schema, definitions = tool.input_schema["properties"], tool.input_schema.get("$defs", {})
            if "offset" not in schema or tool.name in OF_ONE:
                continue
            bases = [NEEDED.get(tool.name, {})]
            if "rule" in schema:
                bases = [{"rule": rule} for rule in closed(schema["rule"], definitions)]
            if tool.name == "check_market_readiness":  # it lists the items of a state alone
                bases = [{"market": "FR", "state": state} for state in closed(schema["state"], definitions)]
            for base in bases:
                longest[tool.name] = max(
                    longest.get(tool.name, 0), len(await listed(assistant, client, tool.name, **base))
                )
                for name in schema.keys() - {"limit", "offset", "id", "half", *base}:
                    values = closed(schema[name], definitions) or VALUES[name]
                    if "rule" in base:  # each rule has its own states
                        told = (await assistant.ask(client, tool.name, base)).told["answer"]
                        values = list(told["counts"])
                    for value in values:
                        if tool.name == "check_missing_data" and name == "sku_code":
                            continue
                        await listed(assistant, client, tool.name, **base, **{name: value})
    assert {name for name, rows in longest.items() if rows > 2 * SIZE} >= {
        "list_packaging_items",
        "check_missing_data",
        "list_changes",
        "check_items_against_rule",
        "get_product_facts",
    }, "three pages and more"


@pytest.mark.parametrize("offset", [2**31, 2**63 - 1, 2**70])
async def test_an_offset_beyond_every_list_is_an_empty_page(assistant: Assistant, offset: int) -> None:
    """Not an error of ours: REST takes it as the largest that there is."""
    assistant.made(sku_code="FAR", weight_grams=10)
    async with assistant.connected() as client:
        for tool in (await client.list_tools()).tools:
            if "offset" in tool.input_schema["properties"] and tool.name not in OF_ONE:
                answer = await assistant.ask(client, tool.name, {**NEEDED.get(tool.name, {}), "offset": offset})
                assert not answer.refused or answer.text.startswith("not_found: No "), (tool.name, answer.text)


async def test_a_year_of_which_no_units_can_be_recorded_is_refused(assistant: Assistant) -> None:
    """It was answered as 0 tonnes, and as an error of ours where it was very long."""
    async with assistant.connected() as client:
        for tool in ("get_market_figures", "summarise_items", "list_filed_declarations"):
            for year in (1999, 2101, 10**25):
                answer = await assistant.ask(client, tool, {**NEEDED.get(tool, {}), "year": year})
                assert answer.refused, tool
                assert answer.text.startswith("invalid_body: year: "), answer.text


async def test_changes_of_a_field_are_found_before_they_are_paged(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`list_changes field=weight` without an item once said 476 beside an empty first page."""
    for number in range(5):
        assistant.made(sku_code=f"W-{number}", weight_grams=10)
    for weight, name in ((11, "Bottle"), (12, "Jar")):
        for number in range(5):
            assistant.write(sku_code=f"W-{number}", weight_grams=weight, name="Bottle")
            assistant.write(sku_code=f"W-{number}", name=f"{name} {number}")
    async with assistant.connected() as client:
        everything = await listed(assistant, client, "list_changes")
        weights = await listed(assistant, client, "list_changes", field="weight")
        of_one = await listed(assistant, client, "list_changes", field="weight", sku_code="W-3")
        assert await listed(assistant, client, "list_changes", field="gtin") == []
    assert len(everything) > len(weights) == 10
    assert {field["field"] for change in weights for field in change["fields"]} == {"weight_grams"}
    assert [change["fields"][0]["after"] for change in of_one] == [12, 11]
    monkeypatch.setattr(audit, "LOOKED_AT", 4)
    monkeypatch.setattr(audit, "_AT_ONCE", 2)
    told = (await assistant.call("list_changes", field="weight")).told
    assert told["answer"]["looked_back_to"], "what was not looked at is said"
    assert "Only changes since" in told["next_step"]
