"""What changed since Friday and who did it, as an assistant reads it in one call."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from connector.tools.kit import SHORT
from schemas.actors import Actor, Origin
from services import library
from tests.connector.assistants import Assistant
from tests.connector.questions.company import NOW, filled
from warehouse.audit import ledger
from warehouse.operate.clock import StoppedClock

pytestmark = pytest.mark.anyio


async def history(assistant: Assistant, **arguments: Any) -> dict[str, Any]:
    answer = await assistant.call("list_changes", **arguments)
    assert not answer.refused, answer.text
    return answer.told["answer"]


async def test_what_changed_since_friday_and_who_did_it_is_one_call(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    told = await history(assistant, since="2026-11-20")
    assert told["total"] == len(told["changes"]) == 4
    by_action = {change["action"]: change for change in told["changes"]}
    assert by_action.keys() == {"sku.updated", "import", "import.submitted", "declaration.kept"}
    weighed = by_action["sku.updated"]
    assert (weighed["who"], weighed["sku_code"], weighed["name"]) == ("Ada Lovelace", "CHP-17", "Crisps bag")
    imported = by_action["import"]
    assert (imported["who"], imported["person"]) == ("night.csv", "Night sync")
    assert imported["counts"] == {"sku.created": 1, "import.completed": 1}
    assert "fields" not in imported
    counts = {"sku.created": 1, "sku.updated": 1, "import.submitted": 1, "import.completed": 1, "declaration.kept": 1}
    assert told["counts"] == counts
    rows = await history(assistant, actor=imported["actor_id"])
    assert [change["action"] for change in rows["changes"]] == ["import.completed", "sku.created"]
    assert rows["changes"][1]["sku_code"] == "IMP-1"
    assert {change["person"] for change in rows["changes"]} == {"Night sync"}


async def test_changes_of_a_time_and_of_an_actor_are_those(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    whole = await history(assistant, limit=200)
    before = await history(assistant, until="2026-11-15", limit=200)
    since = await history(assistant, since="2026-11-16", limit=200)
    assert before["total"] + since["total"] == whole["total"]
    assert {change["at"][:10] for change in before["changes"]} == {"2026-11-11"}
    instant = NOW - timedelta(seconds=1)
    assert (await history(assistant, until=instant.isoformat(), limit=200))["total"] == before["total"]
    ada = await history(assistant, actor="Ada Lovelace", limit=200)
    assert {change["who"] for change in ada["changes"]} == {"Ada Lovelace"}
    assert ada["total"] == sum(change["who"] == "Ada Lovelace" for change in whole["changes"])
    of_one = await history(assistant, sku_code="CHP-17", actor="Ada Lovelace", until="2026-11-21")
    assert [change["action"] for change in of_one["changes"]] == ["sku.updated"]
    assert (await history(assistant, sku_code="CHP-17", actor="Nobody"))["changes"] == []
    refused = await assistant.call("list_changes", until="Friday")
    assert (refused.refused, "until: Send a day" in refused.text) == (True, True)


async def test_pages_of_lines_have_each_line_once(assistant: Assistant):
    """Transactions of several entries and imports between them, cut at every place."""
    for block in range(4):
        by = Origin("import", str(UUID(int=block % 2)), "parts.csv", str(uuid4()))
        for number in range(3):
            _supplier(assistant, by, f"S-{block}-{number}")
        entries = [(uuid4(), None, {"name": f"Brand {block}-{number}"}) for number in range(3)]
        actor = Actor(assistant.company, Origin("user", "u", "Ada", str(uuid4())), assistant.service.clock.now())
        with assistant.service.writes.company(assistant.company) as conn:
            ledger.enter_many(conn, actor, "brand.created", entries)
    whole = (await history(assistant, limit=200))["changes"]
    lines = [change.get("counts") or change["name"] for change in whole]
    names = [f"Brand {block}-{number}" for block in (3, 2, 1, 0) for number in (2, 1, 0)]
    imports = {"supplier.created": 6}
    assert lines == [*names[:3], imports, *names[3:6], imports, *names[6:]]
    for size in (1, 2, 5):
        paged: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            page = await history(assistant, limit=size, offset=offset)
            assert page["total"] == len(whole)
            paged, offset = paged + page["changes"], page["next_offset"]
        assert paged == whole


async def test_each_line_names_its_record_and_the_answer_is_short(assistant: Assistant):
    by = Origin("user", "u", "Ada", str(uuid4()))
    brand = _added(assistant, by, "brand", {"name": "Aurora"})
    with assistant.service.writes.company(assistant.company) as conn:
        actor = Actor(assistant.company, by, assistant.service.clock.now())
        library.change(conn, actor, "brand", brand, {"owner_name": "Somebody"})
    told = await history(assistant)
    assert [(change["action"], change["name"]) for change in told["changes"]] == [
        ("brand.updated", "Aurora"),
        ("brand.created", "Aurora"),
    ]
    for number in range(15):
        made = assistant.made(name=f"{number} {'n' * 240}")
        assistant.write(sku_code=made.sku_code, name=f"{number} {'m' * 240}", description="d" * 900)
    answer = await assistant.call("list_changes")
    assert len(answer.text) <= SHORT
    assert answer.told["answer"]["next_offset"] == len(answer.told["answer"]["changes"])


def _supplier(assistant: Assistant, by: Origin, name: str) -> None:
    _added(assistant, by, "supplier", {"name": name})


def _added(assistant: Assistant, by: Origin, resource: str, values: dict[str, str]) -> UUID:
    with assistant.service.writes.company(assistant.company) as conn:
        added = library.add(conn, Actor(assistant.company, by, assistant.service.clock.now()), resource, values)
    return UUID(str(added.record["id"]))
