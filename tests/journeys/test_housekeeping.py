"""Housekeeping by the real processes: what a kill and a year leave behind is gone moments after a start."""

import os
import socket
import time
from datetime import timedelta

import pytest

from pipelines.steps.housekeeping.orphans import GRACE
from tests.journeys.place import Place
from tests.pipelines.files.making import PDF
from tests.waiting import wait_until

THIRTEEN_MONTHS = int(timedelta(days=400).total_seconds())


def send_part_of_an_upload(place: Place, sku: object) -> socket.socket:
    """An upload of 20 MB of which a client has sent 12; the connection stays open."""
    head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    connection = socket.create_connection(("127.0.0.1", place.settings.port))
    connection.sendall(
        f"POST /api/v1/skus/{sku}/files HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {place.key}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 20000000\r\n\r\n{head}".encode()
        + PDF + bytes(12_000_000)
    )  # fmt: skip
    return connection


@pytest.mark.timeout(120)
def test_what_a_kill_and_a_year_leave_behind_goes_at_the_next_start(place: Place) -> None:
    folder = place.settings.data_dir / "objects" / str(place.company) / "files"
    place.start("api")
    sku = place.call("POST", "/api/v1/skus", json={"sku_code": "K-1", "name": "Bottle"})["data"]["id"]  # type: ignore[index]
    upload = {"files": {"file": ("a.pdf", PDF)}, "data": {"type": "test_report"}}
    kept = place.call("POST", f"/api/v1/skus/{sku}/files", **upload)["data"]["id"]  # type: ignore[index]

    with send_part_of_an_upload(place, sku):
        wait_until(lambda: [path for path in folder.iterdir() if "#" in path.name])
    wait_until(lambda: [path.name for path in folder.iterdir()] == [kept])  # the client went away: nothing is left

    with send_part_of_an_upload(place, sku):
        wait_until(lambda: [path for path in folder.iterdir() if "#" in path.name])
        place.end("api")
    (folder / "01a1fe75-6204-765a-9a77-bed566a62cd3").write_bytes(PDF)  # stored, and killed before the record
    assert len(list(folder.iterdir())) == 3
    then = time.time() - GRACE.total_seconds() - 60
    for path in folder.iterdir():
        os.utime(path, (then, then))

    assert place.one("SELECT count(*) FROM audit_transactions WHERE ip IS NOT NULL") == (2,)
    place.settings = place.settings.model_copy(update={"test_clock_offset": THIRTEEN_MONTHS})
    place.start("worker")
    wait_until(lambda: place.one("SELECT run_id FROM schedule_ticks"))
    place.kill("worker")  # anywhere in its run
    begun = time.monotonic()
    wait_until(lambda: place.one("SELECT tick_at FROM schedule_ticks WHERE tick_at IS NOT NULL"))
    assert time.monotonic() - begun < 60
    assert [path.name for path in folder.iterdir()] == [kept]
    assert place.one("SELECT count(ip), count(user_agent) FROM audit_transactions") == (0, 0)
    open_runs = "SELECT count(*) FROM dagster.runs WHERE status NOT IN ('SUCCESS', 'FAILURE', 'CANCELED')"
    wait_until(lambda: place.one(open_runs) == (0,))  # a snapshot of the same moment may be under way
