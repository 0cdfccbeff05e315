"""Webhooks survive kills: the worker that sends and the daemon that asks for it die, and every change arrives in order.

What was sent and not recorded comes again under its id; nothing else does.
"""

import time
from collections import Counter
from typing import Any

from pipelines.changes import AT_ONCE
from tests import receiver as receivers
from tests.journeys.place import Place
from tests.waiting import wait_until

CODES = [f"K-{number:02}" for number in range(40)]
ROUNDS = 3


def test_every_change_arrives_in_order_whoever_is_killed(place: Place) -> None:
    place.settings = place.settings.model_copy(update={"webhooks_to_loopback": True})
    place.start_and_wait("api", "worker")
    with receivers.opened() as receiver:

        def slowly(_id: str, _data: object) -> int:
            time.sleep(0.02)
            return 204

        receiver.answer = slowly
        place.call("POST", "/api/v1/webhooks", json={"url": receiver.url})
        for round_of in range(ROUNDS):
            rows = [{"sku_code": code, "name": f"Round {round_of}"} for code in CODES]
            place.call("POST", "/api/v1/skus/batch", json={"skus": rows})
        for reached, victim in ((10, "worker"), (50, "dagster-daemon")):
            wait_until(lambda reached=reached: len(receiver.got) >= reached)
            place.kill(victim)
        arrived = [row["id"] for row in changes(place)]
        wait_until(lambda: {got.id for got in receiver.got} >= set(arrived))
        wait_until(lambda: place.one("SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'") == (0,))
        for code in CODES:
            versions = [got.data["version"] for got in receiver.got if got.data["sku_code"] == code]
            assert versions == sorted(versions), "in order, what came again included"
        again = {change: count for change, count in Counter(got.id for got in receiver.got).items() if count > 1}
        assert set(arrived) == {got.id for got in receiver.got}
        assert len(again) <= AT_ONCE, "what one round sends"


def changes(place: Place) -> list[Any]:
    """The changes of SKUs, as the feed has them."""
    page: dict[str, Any] = place.call("GET", "/api/v1/changes?limit=1000")
    return [each for each in page["data"] if each["sku_code"]]
