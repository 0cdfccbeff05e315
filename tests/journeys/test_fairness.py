"""Files of one company and of others at once, small and large: all end, each report its own, in turns and in order.

Nothing here depends on the machine's speed: a lock keeps a large import from its end until the others are there.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg

from tests.journeys.place import Place
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.accounts.keys import new_key
from warehouse.imports.claims import SMALL_ROWS
from warehouse.operate.database import Database

LARGE = SMALL_ROWS
"""Good rows; with the two others it is no small import any more."""
SMALL = 20
FILES = 14
SHARED = "SHARED"
"""A SKU that every import of the first company writes."""


def file(mark: str, count: int) -> bytes:
    """Good rows, then one that is rejected with the file's own mark in its cell, then the SKU that others write too."""
    good = (f"{mark}-{number};Pack {number};plastic;12,5;FR;{number}" for number in range(count))
    lines = ["sku_code;name;material;weight_grams;markets;annual_volume_fr_2026", *good]
    return "\n".join([*lines, f"{mark}-BAD;Pack;plastic;{mark};FR;1", f"{SHARED};Of {mark};glass;1;FR;1"]).encode()


def sent(place: Place, mark: str, count: int) -> str:
    answer = place.answered("POST", f"/api/v1/imports?filename={mark}.csv", content=file(mark, count))
    return str(answer.json()["poll_url"])


def ended(place: Place, poll_url: str) -> dict[str, Any]:
    """The import when it has an end."""
    wait_until(lambda: place.call("GET", poll_url)["status"] in ("completed", "failed"), 3 * PATIENCE_SECONDS)
    return dict(place.call("GET", poll_url))


@contextmanager
def held_back(place: Place, code: str) -> Iterator[None]:
    """No import that writes this SKU gets any further meanwhile."""
    place.call("POST", "/api/v1/skus", json={"sku_code": code, "name": "Before"})
    with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        query = "SELECT FROM skus WHERE company_id = %s AND sku_code = %s FOR UPDATE"
        assert owner.execute(query, (place.company, code)).rowcount == 1
        yield


def test_small_imports_do_not_wait_for_a_large_one_and_every_report_is_its_own(place: Place) -> None:
    database = Database.from_settings(place.settings)
    others = [replace(place, company=uuid4(), key=new_key(), processes={}, kept={}) for _ in range(10)]
    for other in others:
        other.found(database)
    place.start("api")
    place.start("worker 1", "worker 2")  # with chunks of their own size, not a test's
    wait_until(place.is_ready)

    senders = {f"M{number}": place for number in range(9)} | {f"T{number}": o for number, o in enumerate(others)}
    with held_back(place, "LARGE-0"), ThreadPoolExecutor(len(senders)) as threads:
        large = sent(place, "LARGE", LARGE)
        wait_until(lambda: place.call("GET", large)["status"] == "processing")
        urls = dict(zip(senders, threads.map(lambda mark: sent(senders[mark], mark, SMALL), senders), strict=True))
        done = {mark: ended(senders[mark], url) for mark, url in urls.items()}
        assert place.call("GET", large)["status"] == "processing"
    done["LARGE"] = ended(place, large)

    for mark, report in done.items():
        count = LARGE if mark == "LARGE" else SMALL
        counts = dict(report["counts"])
        assert (report["status"], counts["total"], counts["rejected"]) == ("completed", count + 2, 1), mark
        assert counts["created"] + counts["updated"] == count + 1
        assert [(e["sku_code"], e["value"], e["code"]) for e in report["errors"]] == [
            (f"{mark}-BAD", mark, "invalid_number")
        ]
    created = sum(report["counts"]["created"] for mark, report in done.items() if mark[0] != "T")
    assert created == LARGE - 1 + 9 * SMALL + 1, "the shared SKU is created by one import, LARGE-0 by none"
    held = f"FROM skus WHERE company_id = '{place.company}'"
    assert place.one(f"SELECT count(*) {held}") == (LARGE + 9 * SMALL + 1,)
    assert place.one(f"SELECT version {held} AND sku_code = '{SHARED}'") == (10,)
    for other in others:
        assert place.one(f"SELECT count(*) FROM skus WHERE company_id = '{other.company}'") == (SMALL + 1,)


def test_files_that_a_company_sends_without_waiting_are_written_in_their_order(place: Place) -> None:
    """Of what two of them say, what the later one says stays; dry runs between them wait for none."""
    place.start("api")
    place.start("worker 1", "worker 2")
    wait_until(place.is_ready)
    with held_back(place, "F0-0"):
        urls = [sent(place, f"F{number}", SMALL) for number in range(FILES)]
        dry = place.answered("POST", "/api/v1/imports?filename=dry.csv&dry_run=true", content=file("DRY", SMALL)).json()
        assert ended(place, dry["poll_url"])["status"] == "completed"
        assert {place.call("GET", url)["status"] for url in urls[1:]} == {"queued"}
    reports = [ended(place, url) for url in urls]
    assert [report["status"] for report in reports] == ["completed"] * FILES
    ends = [report["finished_at"] for report in reports]
    assert ends == sorted(ends)
    named = f"SELECT name FROM skus WHERE company_id = '{place.company}' AND sku_code = '{SHARED}'"
    assert place.one(named) == (f"Of F{FILES - 1}",)


def test_a_company_with_many_large_files_does_not_keep_another_waiting_for_all_of_them(place: Place) -> None:
    other = replace(place, company=uuid4(), key=new_key(), processes={}, kept={})
    other.found(Database.from_settings(place.settings))
    place.start("api")
    place.start("worker 1", "worker 2")
    wait_until(place.is_ready)

    queued = (
        "SELECT count(DISTINCT value) FROM dagster.runs JOIN dagster.run_tags USING (run_id) "
        "WHERE key = 'pcds/import_id' AND status = 'QUEUED'"
    )
    with held_back(place, "L0-0"):
        urls = {"L0": sent(place, "L0", LARGE)}
        wait_until(lambda: place.call("GET", urls["L0"])["status"] == "processing")
        urls |= {mark: sent(place, mark, LARGE) for mark in ("L1", "L2", "L3")}
        wait_until(lambda: place.one(queued) == (3,))
        url = sent(other, "OTHER", LARGE)
        wait_until(lambda: place.one(queued) == (4,))
    reports = {mark: ended(place, url) for mark, url in urls.items()} | {"OTHER": ended(other, url)}

    for mark, report in reports.items():
        counts = dict(report["counts"])
        assert (report["status"], counts["total"], counts["rejected"]) == ("completed", LARGE + 2, 1), mark
        assert [(e["sku_code"], e["value"]) for e in report["errors"]] == [(f"{mark}-BAD", mark)]
    later = [mark for mark in urls if reports[mark]["finished_at"] > reports["OTHER"]["finished_at"]]
    assert later == ["L1", "L2", "L3"], "its file was the next, though three had waited longer"
