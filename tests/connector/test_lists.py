"""Tools that list: with each filter, page by page, what the total counts is what the pages hold."""

from typing import Any

import pytest

from services.audit import recent
from tests.connector.assistants import Assistant

pytestmark = pytest.mark.anyio


async def listed(assistant: Assistant, tool: str, member: str, **arguments: object) -> list[dict[str, Any]]:
    """All that a tool lists, by pages of two; each page tells the same total."""
    found: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        told = (await assistant.call(tool, limit=2, offset=offset, **arguments)).told["answer"]
        assert told[member] or told["total"] == 0, (arguments, "an empty page")
        found += told[member]
        offset = told["next_offset"]
    assert len(found) == told["total"], arguments
    return found


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
    everything = await listed(assistant, "list_changes", "changes")
    weights = await listed(assistant, "list_changes", "changes", field="weight")
    assert len(everything) > len(weights) == 10
    assert {field["field"] for change in weights for field in change["fields"]} == {"weight_grams"}
    of_one = await listed(assistant, "list_changes", "changes", field="weight", sku_code="W-3")
    assert [change["fields"][0]["after"] for change in of_one] == [12, 11]
    assert await listed(assistant, "list_changes", "changes", field="gtin") == []
    monkeypatch.setattr(recent, "LOOKED_AT", 4)
    monkeypatch.setattr(recent, "_AT_ONCE", 2)
    told = (await assistant.call("list_changes", field="weight")).told
    assert told["answer"]["looked_back_to"], "what was not looked at is said"
    assert "Only changes since" in told["next_step"]
