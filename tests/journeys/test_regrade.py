"""A regrade by the real processes: worker and database are killed while callers write, and nothing is lost or twice."""

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import psycopg

from schemas.actors import Origin
from services import audit as audit_services
from services import rules
from tests import ruling
from tests.journeys.place import Place
from tests.ruling import BOTTLE, LINES
from tests.waiting import wait_until
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

SKUS = 3_000
VERSION = "2027-01-01"
SEED = int(os.environ.get("PCDS_REGRADE_SEED", "15"))
VICTIMS = ("worker", "postgres", "worker", "worker", "postgres")


def instants() -> list[int]:
    """After how many SKUs each victim is killed: one instant of the seed in each fifth of the regrade but its end."""
    chance = random.Random(SEED)
    part = SKUS // len(VICTIMS)
    return [part * fifth + chance.randrange(part // 8, part * 3 // 4) for fifth in range(len(VICTIMS))]


def activate(place: Place, folder: Path) -> None:
    """What `pcds ruleset` does, ended before it began the regrade."""
    for act in (
        lambda owner: rules.add(owner, folder, Clock().now()),
        lambda owner: rules.activate(owner, VERSION, Origin("operator", "me", "operator", "c"), Clock().now()),
    ):
        with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
            act(owner)


def test_a_regrade_survives_every_kill_with_writers_at_work(place: Place, tmp_path: Path) -> None:
    place.start_and_wait("api", "other api")
    for start in range(0, SKUS, 1_000):
        body = {
            "skus": [{"sku_code": f"S{number:05}", "name": "n", **BOTTLE} for number in range(start, start + 1_000)]
        }
        assert place.call("POST", "/api/v1/skus/batch", json=body)["summary"]["created"] == 1_000
    stop, written = threading.Event(), Counter[str]()

    def write(of: str) -> None:
        chance = random.Random(of)
        for number in count():
            if stop.is_set():
                return
            code = f"S{chance.randrange(SKUS):05}"
            change = {"sku_code": code, "name": "n", "description": f"{of} {number}"}
            header = {"Idempotency-Key": f"{of}-{number}"}
            answer = place.answered("POST", "/api/v1/skus", of=of, json=change, headers=header).json()
            assert answer["outcome"] == "updated"
            written[code] += 1

    with ThreadPoolExecutor(2) as threads:
        writers = [threads.submit(write, of) for of in place.ports]
        activate(place, ruling.folder(tmp_path, VERSION, LINES))
        place.start("worker")
        try:
            for done, victim in zip(instants(), VICTIMS, strict=True):
                wait_until(lambda done=done: place.one("SELECT skus FROM regrades")[0] >= done)
                place.kill(victim)
            wait_until(lambda: place.one("SELECT finished_at FROM regrades") != (None,))
        finally:
            stop.set()
        for writer in writers:
            writer.result()

    assert place.one("SELECT skus FROM regrades") == (SKUS,)
    graded = "SELECT recyclability_grade, ruleset_version, count(*) FROM skus GROUP BY 1, 2"
    assert place.one(graded) == ("C", VERSION, SKUS)
    by_regrade = "FROM audit_entries e JOIN audit_transactions t ON t.id = transaction_id WHERE actor_name = 'regrade'"
    entries, skus = place.one(f"SELECT count(*), count(DISTINCT resource_id) {by_regrade}")
    assert entries == skus, "no SKU was regraded twice"
    assert place.one("SELECT changed FROM regrades") == (entries,)
    assert place.one("SELECT sum(version) - count(*) FROM skus") == (entries + written.total(),), "no write was lost"
    with Pool(Database.from_settings(place.settings).app_url) as pool, pool.company(place.company) as conn:
        assert audit_services.verify(conn).ok
    [shown] = place.call("GET", "/api/v1/skus?sku_code=S00000")["data"]
    for of in place.ports:
        sku = place.answered("GET", f"/api/v1/skus/{shown['id']}", of=of).json()["data"]
        assert (sku["recyclability_grade"], sku["compliance"]["grade_trace"]["ruleset_version"]) == ("C", VERSION)
    runs = (
        "SELECT count(*) FROM dagster.runs WHERE pipeline_name = 'regrade_portfolios' "
        "AND status NOT IN ('SUCCESS', 'FAILURE', 'CANCELED')"
    )
    wait_until(lambda: place.one(runs) == (0,))
