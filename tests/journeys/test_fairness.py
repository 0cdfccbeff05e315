"""Ten imports of one company and ten companies at once, one of 50 000 rows among them: all end, each report its own."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

from tests.journeys.place import ROOT, Place
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.database import Database
from warehouse.queries.keys import new_key

LARGE = 49_998
"""Good rows; with the two others it is as large as an import can be."""
SMALL = 20
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
    """The import when it has an end, asked for as often as a caller would."""
    deadline = time.monotonic() + 3 * PATIENCE_SECONDS
    while (report := place.call("GET", poll_url))["status"] not in ("completed", "failed"):
        assert time.monotonic() < deadline, report
        time.sleep(1)
    return report


def test_small_imports_do_not_wait_for_a_large_one_and_every_report_is_its_own(place: Place) -> None:
    database = Database.of(place.settings)
    others = [replace(place, company=uuid4(), key=new_key(), processes={}) for _ in range(10)]
    for other in others:
        other.found(database)
    place.start("api")
    place.processes["worker"] = subprocess.Popen(  # with chunks of its own size, not a test's
        [sys.executable, "-m", "pipelines.worker"], cwd=ROOT, env=os.environ | place.settings.environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: (answer := place.ask("GET", "/readyz")) is not None and answer.is_success)

    large = sent(place, "LARGE", LARGE)
    first = ended(others[0], sent(others[0], "T0", SMALL))
    with ThreadPoolExecutor(10) as threads:
        mine = [threads.submit(sent, place, f"M{number}", SMALL) for number in range(9)]
        theirs = [threads.submit(sent, other, f"T{number}", SMALL) for number, other in enumerate(others) if number]
        reports = {"LARGE": threads.submit(ended, place, large)}
        reports |= {f"M{number}": threads.submit(ended, place, url.result()) for number, url in enumerate(mine)}
        reports |= {
            f"T{n}": threads.submit(ended, o, url.result())
            for n, (o, url) in enumerate(zip(others[1:], theirs, strict=True), 1)
        }
    done = {"T0": first} | {mark: report.result() for mark, report in reports.items()}

    for mark, report in done.items():
        count = LARGE if mark == "LARGE" else SMALL
        counts = dict(report["counts"])
        assert (report["status"], counts["total"], counts["rejected"]) == ("completed", count + 2, 1), mark
        assert counts["created"] + counts["updated"] == count + 1
        assert [(e["sku_code"], e["value"], e["code"]) for e in report["errors"]] == [
            (f"{mark}-BAD", mark, "invalid_number")
        ]
    ends = {mark: report["finished_at"] for mark, report in done.items()}
    assert ends["T0"] < ends["LARGE"], f"a small import sent after the large one has waited for it: {ends}"
    held = f"FROM skus WHERE company_id = '{place.company}'"
    assert place.one(f"SELECT count(*) {held}") == (LARGE + 9 * SMALL + 1,)
    assert place.one(f"SELECT version {held} AND sku_code = '{SHARED}'") == (10,)
    for other in others:
        assert place.one(f"SELECT count(*) FROM skus WHERE company_id = '{other.company}'") == (SMALL + 1,)
