"""Postgres killed under load: no answer is a lie, nothing is half written, and the service goes on by itself."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2

from tests.journeys.place import Place
from tests.waiting import PATIENCE_SECONDS

WRITERS, READERS, KILLS = 3, 2, 3
PAUSE_SECONDS = 2.0
RECOVERY_SECONDS = PATIENCE_SECONDS
WAITED_FOR = 8.0
"""An API process waits ten seconds for its database; a machine so busy that it is away for longer shows failures."""
IN_DOUBT = KILLS * WRITERS
"""Each writer has at most one commit under way when the database dies."""


@dataclass(slots=True)
class Seen:
    """What one client sent and was told: the codes acknowledged, how often it failed, how often nobody answered."""

    sent: int = 0
    acknowledged: list[str] = field(default_factory=list)
    failed: int = 0
    unanswered: int = 0

    def told(self, answer: httpx2.Response | None) -> bool:
        """Note a failure, which is to be an honest one; whether the request succeeded."""
        if answer is None:
            self.unanswered += 1
            return False
        if not answer.is_success:
            self.failed += 1
            assert answer.json()["error"] == "internal_error", answer.text
            # 500 where the commit is in doubt; 503 while the server takes no connection (decisions §13, operation)
            assert answer.status_code == 500 or (answer.status_code, "retry-after" in answer.headers) == (503, True)
            assert answer.json()["correlationId"] == answer.headers["x-correlation-id"]
        return answer.is_success


@dataclass(slots=True)
class Load:
    """Clients that send one request after the other until it is over."""

    place: Place
    over: threading.Event = field(default_factory=threading.Event)

    def keyed(self, name: str) -> Seen:
        """Each SKU is asked for with its own Idempotency-Key until it is acknowledged."""
        seen = Seen()
        while not self.over.is_set():
            code = f"{name}-{seen.sent}"
            seen.sent += 1
            deadline = time.monotonic() + RECOVERY_SECONDS
            while not seen.told(answer := self.write(code, {"Idempotency-Key": code})):
                assert time.monotonic() < deadline, "the service did not recover"
                time.sleep(0.1)
            assert answer is not None
            assert answer.json()["outcome"] == "created"  # were it written twice, it would be unchanged
            seen.acknowledged.append(code)
        return seen

    def plain(self, name: str) -> Seen:
        """Each SKU is sent once, whatever becomes of it."""
        seen = Seen()
        while not self.over.is_set():
            code = f"{name}-{seen.sent}"
            seen.sent += 1
            if seen.told(self.write(code, {})):
                seen.acknowledged.append(code)
        return seen

    def reads(self, _: str) -> Seen:
        seen = Seen()
        while not self.over.is_set():
            seen.sent += 1
            seen.told(self.place.ask("GET", "/api/v1/skus?limit=5"))
        return seen

    def write(self, code: str, headers: dict[str, str]) -> httpx2.Response | None:
        return self.place.ask("POST", "/api/v1/skus", json={"sku_code": code, "name": "n"}, headers=headers)


def test_postgres_killed_under_load(place: Place):
    place.start_and_wait("api")
    load, longest = Load(place), 0.0
    with ThreadPoolExecutor(2 * WRITERS + READERS) as clients:

        def started(kind: str, number: int) -> list[Future[Seen]]:
            return [clients.submit(getattr(load, kind), f"{kind}{n}") for n in range(number)]

        running = {
            "keyed": started("keyed", WRITERS),
            "plain": started("plain", WRITERS),
            "reads": started("reads", READERS),
        }
        try:
            for _ in range(KILLS):
                time.sleep(PAUSE_SECONDS)
                begun = time.monotonic()
                place.kill("postgres")
                longest = max(longest, time.monotonic() - begun)
            time.sleep(PAUSE_SECONDS)
        finally:
            load.over.set()
    seen = {kind: [client.result() for client in clients] for kind, clients in running.items()}
    told = {kind: {code for one in group for code in one.acknowledged} for kind, group in seen.items()}
    held = place.column("SELECT sku_code FROM skus WHERE version = 1")
    assert {code for code in held if code.startswith("keyed")} == told["keyed"]
    assert told["plain"] <= set(held)
    failed = {kind: sum(one.failed for one in group) for kind, group in seen.items()}
    if longest < WAITED_FOR:
        assert failed["plain"] <= IN_DOUBT
        assert (failed["keyed"], failed["reads"]) == (0, 0)
    assert place.one("SELECT count(*), count(DISTINCT resource_id) FROM audit_entries") == (len(held),) * 2
    assert place.one("SELECT (SELECT count(*) FROM skus), skus FROM company_counters") == (len(held),) * 2
