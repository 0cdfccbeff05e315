"""Every question of the table is answered by tool results alone: the real tools, called on a company with records."""

import re
from typing import Any

import pytest

from tests.connector.assistants import Answer, Assistant
from tests.connector.questions.company import filled
from tests.connector.questions.table import QUESTIONS
from warehouse.operate.clock import StoppedClock
from warehouse.skus import store

pytestmark = pytest.mark.anyio

MOST_CHARACTERS = 8_000
"""Of an answer whose size was not asked for."""
STEP = re.compile(r"([^.\[\]]+)|\[([^=\]]+)=((?:[^\[\]]|\[\d+\])*)\]")


def at(value: Any, path: str) -> Any:
    """The value at a path of the table."""
    for found in STEP.finditer(path):
        name, member, wanted = found.groups()
        if member:
            [*matching] = [entry for entry in value if str(entry.get(member)) == wanted]
            assert matching, f"no entry with {member}={wanted} in {value}"
            value = matching[0]
        elif name == "#":
            value = len(value)
        elif name == "*":
            rest = path[found.end() + 1 :]
            return [at(entry, rest) for entry in value]
        else:
            value = value[name]
    return value


def faults_of(answer: Answer, contains: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """What is not right in an answer."""
    if answer.refused:
        return [answer.text]
    faults = []
    for path, wanted in contains.items():
        try:
            found = at(answer.told, path)
        except (AssertionError, KeyError, TypeError) as missing:
            found = repr(missing)
        if found != wanted:
            faults.append(f"{path}: {found!r}, not {wanted!r}")
    if len(answer.text) > MOST_CHARACTERS and "limit" not in asked:
        faults.append(f"{len(answer.text)} characters")
    if not (answer.told.get("as_of") and answer.told.get("sources")):
        faults.append("no as_of or no sources")
    return faults


@pytest.mark.promise("CON-05", "CON-06", "CON-07", "CON-08", "CON-09", "CON-10")
async def test_each_question_is_answered(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    with assistant.service.writes.company(assistant.company) as conn:
        body = next(line for line in store.of_code(conn, "WTR-02") or [] if line["component_type"] == "body")
    wrong = {}
    async with assistant.connected() as client:
        for question in QUESTIONS:
            for call in question.calls:
                arguments = dict(call.arguments)
                if "component_changes" in arguments:
                    [change] = arguments["component_changes"]
                    arguments["component_changes"] = [{**change, "id": body["id"]}]
                answer = await assistant.ask(client, call.tool, arguments)
                if faults := faults_of(answer, call.contains, arguments):
                    wrong[f"{question.number} {question.text} ({call.tool})"] = faults
    assert wrong == {}


@pytest.mark.long
@pytest.mark.promise("CON-11")
async def test_counts_are_the_same_from_every_tool(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    async with assistant.connected() as client:

        async def told(tool: str, **arguments: Any) -> dict[str, Any]:
            return (await assistant.ask(client, tool, arguments)).told

        async def listed(**filters: Any) -> int:
            return (await told("list_packaging_items", limit=1, **filters))["page"]["total"]

        overview = (await told("compliance_overview"))["answer"]
        assert overview["skus"] == await listed()
        for grade, count in overview["grades"].items():
            assert await listed(grade=grade) == count, grade
        for gap in (await told("check_missing_data"))["answer"]["gaps"]:
            assert await listed(gap=gap["code"]) == gap["skus"], gap["code"]
        for code in ("FR", "DE"):
            ready = (await told("check_market_readiness", market=code))["answer"]
            assert ready["skus"] == await listed(market=code)
            for state in ("blocked", "to_decide", "incomplete", "ready"):
                of_state = (await told("check_market_readiness", market=code, state=state))["answer"]
                assert of_state["pagination"]["total"] == ready[state]
