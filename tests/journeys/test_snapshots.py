"""Half a snapshot is never seen: publishers and the database are killed anywhere, and the last complete one stays."""

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import psutil
import psycopg

from tests.journeys.place import ROOT, Place
from tests.waiting import wait_until
from warehouse.figures.snapshots import MANIFEST, TABLES, Snapshot, current, folder_of, publish
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets

SKUS = 4_000
_STORE = """
INSERT INTO skus (id, company_id, sku_code, name, components, volumes, recyclability_grade, grade_provisional,
                  ruleset_version, version, transaction_id, created_at, updated_at)
SELECT gen_random_uuid(), %(company)s, 'S' || number, 'Bottle',
       '[{"id":"1","component_type":"body","material_family":"plastic","weight_g":25.0}]', '{"FR/2026/0":7}', 'A', true,
       '2026-11-21', 1, gen_random_uuid(), now(), now()
FROM generate_series(1, %(skus)s) AS number
"""
_PUBLISHER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID
from warehouse.operate.database import Database
from warehouse.rules import Rulesets
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.figures.snapshots import publish
settings, rulesets = Settings.load(), Rulesets()
with Pool(Database.from_settings(settings).app_url) as pool:
    while True:
        publish(pool, UUID(sys.argv[1]), settings.data_dir, datetime.now(UTC), rulesets)
"""


def publisher(place: Place) -> subprocess.Popen[bytes]:
    """A process that publishes again and again."""
    return subprocess.Popen(
        [sys.executable, "-c", _PUBLISHER, str(place.company)],
        cwd=ROOT,
        env=os.environ | place.settings.environment(),
        stderr=subprocess.DEVNULL,
    )


def whole(place: Place) -> Snapshot:
    """The current snapshot, read to its end."""
    snapshot = current(place.settings.data_dir, place.company)
    assert snapshot is not None
    for table in TABLES:
        assert pl.read_parquet(snapshot.files(table)).height == snapshot.rows[table] == SKUS
    return snapshot


def stop_within_one(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Stop the publisher in the middle of a snapshot, where it is then killed."""

    def is_stopped_there() -> bool:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        if half_written(folder):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    wait_until(is_stopped_there)


def half_written(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and not (path / MANIFEST).exists()]


def test_a_kill_at_any_instant_leaves_the_last_complete_snapshot(place: Place) -> None:
    with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        owner.execute(_STORE, {"company": place.company, "skus": SKUS})
    chance, names = random.Random(20261121), set()
    folder = folder_of(place.settings.data_dir, place.company)
    for kill in range(8):
        process = publisher(place)
        try:
            wait_until(lambda: (now := current(place.settings.data_dir, place.company)) and now.name not in names)
            time.sleep(chance.uniform(0, 0.3))  # anywhere in the next one
            if kill == 3:
                stop_within_one(process, folder)
            if kill == 5:
                place.kill("postgres")
        finally:
            process.kill()
            process.wait()
        names.add(whole(place).name)
        assert kill != 3 or half_written(folder)
    with Pool(Database.from_settings(place.settings).app_url) as pool:
        last = publish(pool, place.company, place.settings.data_dir, datetime.now(UTC), Rulesets())
    assert whole(place) == last
    assert not half_written(folder), "the next publisher takes away what a kill left"


def test_an_import_is_published_at_its_end_and_a_killed_worker_publishes_at_its_return(place: Place) -> None:
    place.start_and_wait("api", "worker")
    rows = "\n".join(["sku_code,name", *(f"S{number},Bottle" for number in range(300))])
    accepted = place.call("POST", "/api/v1/imports?filename=p.csv", content=rows.encode())
    wait_until(lambda: place.call("GET", str(accepted["poll_url"]))["status"] == "completed")
    place.kill("worker")  # before, within or after the publication
    wait_until(lambda: (now := current(place.settings.data_dir, place.company)) and now.rows["skus"] == 300)
    links = place.one("SELECT links FROM company_counters")
    wait_until(lambda: place.one("SELECT number FROM snapshots") == links)
