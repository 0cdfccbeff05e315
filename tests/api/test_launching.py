"""The API asks for a company's runs in the order in which it accepted what they are of."""

import asyncio
from collections.abc import Set
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import httpx2
import orjson

from api.operate.launching import Launching, launch_of_import
from api.staff.access import Upstream

STARTED = {"data": {"launchRun": {"__typename": "LaunchRunSuccess"}}}
ONE, OTHER = UUID(int=1), UUID(int=2)


def asked(companies: list[UUID], broken: Set[int] = frozenset()) -> list[int]:
    """Which launches, by their number, Dagster was asked for, in that order; it answers each later sooner."""
    numbers: list[int] = []

    async def answer(request: httpx2.Request) -> httpx2.Response:
        tags = orjson.loads(request.content)["variables"]["run"]["executionMetadata"]["tags"]
        number = next(int(tag["value"]) for tag in tags if tag["key"] == "pcds/filename")
        numbers.append(number)
        await asyncio.sleep(0.01 * (len(companies) - number))
        return httpx2.Response(500 if number in broken else 200, json=STARTED)

    async def launch() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            upstream = cast(Any, SimpleNamespace(client=client, address="dagster", key_header={}))
            launching = Launching(cast(Upstream, upstream))
            for number, company in enumerate(companies):
                launching.soon(launch_of_import(uuid4(), company, "acme", str(number), 1, dry_run=False))
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

    asyncio.run(launch())
    return numbers


def test_a_companys_launch_waits_for_the_one_before_it_and_not_for_another_companys() -> None:
    assert asked([ONE, ONE, OTHER, ONE]) == [0, 2, 1, 3]


def test_what_comes_behind_a_launch_that_failed_is_left_to_the_sensor() -> None:
    assert asked([ONE, ONE, OTHER, ONE], broken={1}) == [0, 2, 1]
