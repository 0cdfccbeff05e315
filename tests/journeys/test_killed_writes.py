"""Nothing lost: API and Postgres are killed while eight clients write with one key, so that writes share transactions.

More seeds: PCDS_KILL_SEEDS="1 2 3".
"""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2
import pytest

from tests.journeys.place import Place
from tests.waiting import PATIENCE_SECONDS, wait_until

SEEDS = [int(seed) for seed in os.environ.get("PCDS_KILL_SEEDS", "20261129").split()]
CLIENTS, CODES, KILLS = 8, 40, 4
VICTIMS = ("api", "api", "postgres")


@dataclass(slots=True)
class Writer:
    """A client that writes its own SKUs again and again; half of them send an Idempotency-Key and repeat a request."""

    place: Place
    number: int
    over: threading.Event
    sent: dict[str, int] = field(default_factory=dict)
    """How many different writes of each code were sent."""
    acknowledged: dict[str, int] = field(default_factory=dict)
    """The version of each code that was answered last."""

    def work(self) -> None:
        with httpx2.Client(timeout=PATIENCE_SECONDS) as client:
            while not self.over.is_set():
                self._write(client, sum(self.sent.values()))

    def _write(self, client: httpx2.Client, write: int) -> None:
        code, is_keyed = f"K{self.number}-{write % CODES}", self.number % 2 == 0
        key = {"Idempotency-Key": f"{self.number}/{write}"} if is_keyed else {}
        self.sent[code] = self.sent.get(code, 0) + 1
        body = {"sku_code": code, "name": f"Write {write}"}
        while not self._is_answered(client, code, body, key) and is_keyed and not self.over.is_set():
            time.sleep(0.05)

    def _is_answered(self, client: httpx2.Client, code: str, body: dict[str, str], key: dict[str, str]) -> bool:
        url = f"http://127.0.0.1:{self.place.ports['api']}/api/v1/skus"
        try:
            answer = client.post(url, json=body, headers={"X-API-Key": self.place.key, **key})
        except httpx2.TransportError:
            return False
        if not answer.is_success:
            assert answer.status_code in (500, 503), answer.text
            return False
        told = answer.json()
        assert (told["outcome"], told["data"]["name"]) in (("created", body["name"]), ("updated", body["name"]))
        self.acknowledged[code] = told["version"]
        return True


@pytest.mark.parametrize("seed", SEEDS)
def test_writes_that_share_a_transaction_survive_every_kill(place: Place, seed: int) -> None:
    place.start_and_wait("api")
    chance, over = random.Random(seed), threading.Event()
    writers = [Writer(place, number, over) for number in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        running = [clients.submit(writer.work) for writer in writers]
        try:
            for _ in range(KILLS):
                time.sleep(chance.uniform(0.3, 1.2))
                place.kill(chance.choice(VICTIMS))
                wait_until(lambda: place.ask("GET", "/healthz"))
            time.sleep(1)
        finally:
            over.set()
    for client in running:
        client.result()
    codes, versions = (place.column(f"SELECT {name} FROM skus ORDER BY sku_code") for name in ("sku_code", "version"))
    stored = dict(zip(codes, map(int, versions), strict=True))
    for writer in writers:
        assert all(stored[code] >= version for code, version in writer.acknowledged.items())
        assert all(stored.get(code, 0) <= number for code, number in writer.sent.items())
    counted = place.one("SELECT skus, links, audit_entries FROM company_counters")
    assert counted == (len(stored), sum(stored.values()), sum(stored.values()))
    assert place.one("SELECT count(DISTINCT correlation_id) FROM audit_transactions") == (sum(stored.values()),)
    verified = place.pcds("audit", "verify", "--company", str(place.company), "--json")
    assert verified.returncode == 0, verified.stdout
