"""Housekeeping by the real processes: what a kill, a stop and a year leave behind is made up for after a start."""

import csv
import json
import os
import socket
import time
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg

from compliance.catalogue import PINNED, REVIEW_HOLDS_MONTHS
from pipelines.operate import GRACE
from tests.journeys.place import Place
from tests.services.making import PDF
from tests.waiting import wait_until
from warehouse.operate.database import Database

THIRTEEN_MONTHS = int(timedelta(days=400).total_seconds())


def send_part_of_an_upload(place: Place, sku: object) -> socket.socket:
    """An upload of 20 MB of which a client has sent 12; the connection stays open."""
    head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    connection = socket.create_connection(("127.0.0.1", place.settings.port))
    connection.sendall(
        f"POST /api/v1/skus/{sku}/files HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {place.key}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 20000000\r\n\r\n{head}".encode()
        + PDF
        + bytes(12_000_000)
    )
    return connection


def test_what_a_kill_and_a_year_leave_behind_goes_at_the_next_start(place: Place) -> None:
    folder = place.settings.data_dir / "objects" / str(place.company) / "files"
    place.start_and_wait("api")
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
    kept_house = "SELECT count(*) > 0 FROM dagster.runs WHERE pipeline_name = 'keep_house'"
    wait_until(lambda: place.one(kept_house) == (True,))
    place.kill("worker")  # anywhere in its run
    wait_until(lambda: place.one(f"{kept_house} AND status = 'SUCCESS'") == (True,))
    assert [path.name for path in folder.iterdir()] == [kept]
    assert place.one("SELECT count(ip), count(user_agent) FROM audit_transactions") == (0, 0)
    open_runs = "SELECT count(*) FROM dagster.runs WHERE status NOT IN ('SUCCESS', 'FAILURE', 'CANCELED')"
    wait_until(lambda: place.one(open_runs) == (0,))  # a snapshot of the same moment may be under way


def reviewed_until(day: date) -> date:
    """The review of a lawyer that holds up to this day and no longer."""
    year, month = divmod(day.year * 12 + day.month - 1 - REVIEW_HOLDS_MONTHS, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def catalogue_with(code: str, reviewed_on: date, file: Path) -> Path:
    """The release's catalogue with one row that a lawyer has reviewed."""
    with PINNED.open(encoding="utf-8", newline="") as pinned:
        rows = list(csv.DictReader(pinned))
    [row] = [row for row in rows if row["code"] == code]
    row |= {"depth": "3", "reviewed_on": reviewed_on.isoformat()}
    with file.open("w", encoding="utf-8", newline="") as written:
        writer = csv.DictWriter(written, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return file


def as_read(place: Place) -> tuple[object, object]:
    """The SKU's DoC status and Austria's depth, as the API tells them."""
    [sku] = place.call("GET", "/api/v1/skus?sku_code=K-1")["data"]  # type: ignore[misc]
    listed = place.call("GET", "/api/v1/jurisdictions")["data"]
    return sku["doc_status"], next(row["depth"] for row in listed if row["code"] == "AT")  # type: ignore[index, union-attr]


BACK = """
UPDATE dagster.instigators SET instigator_body = regexp_replace(
    instigator_body, '"(start_timestamp|last_iteration_timestamp)": [0-9.]+', '"\\1": ' || %s, 'g'
) WHERE instigator_type = 'SCHEDULE'
"""


def away_for(place: Place, days: int) -> None:
    """Have the daemon believe, at its next start, that it last looked at its schedules so many days ago."""
    with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        assert owner.execute(BACK, [f"{time.time() - days * 86_400:.3f}"]).rowcount == 2


def test_days_that_passed_while_the_service_was_stopped_are_made_up_for_once(place: Place, tmp_path: Path) -> None:
    """A DoC and a lawyer's review that end the day after tomorrow; nothing runs for ten days."""
    last_day = datetime.now(UTC).date() + timedelta(days=2)
    file = catalogue_with("AT", reviewed_until(last_day), tmp_path / "catalogue.csv")
    succeeded = "SELECT count(*) FROM dagster.runs WHERE pipeline_name = '{}' AND status = 'SUCCESS'"

    def done(job: str) -> object:
        return place.one(succeeded.format(job))[0]

    place.start_and_wait("api", "worker")
    wait_until(lambda: (done("keep_house"), done("refresh_catalogue")) == (1, 1))  # the first day
    place.call("POST", "/api/v1/skus", json={"sku_code": "K-1", "name": "Bottle"})
    company = ("--company", str(place.company))
    for command in (
        ("catalogue", "refresh", "--file", str(file)),
        (
            "doc",
            "add",
            *company,
            "--sku",
            "K-1",
            "--reference",
            "D-1",
            "--status",
            "valid",
            "--expires-on",
            last_day.isoformat(),
        ),
    ):
        result = place.pcds(*command)
        assert result.returncode == 0, result.stderr
    assert as_read(place) == ("valid", 3)

    place.end()
    away_for(place, 10)
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0) + timedelta(days=10)
    offset = int((noon - datetime.now(UTC)).total_seconds())
    place.settings = place.settings.model_copy(update={"test_clock_offset": offset})
    place.start_and_wait("api")
    assert as_read(place) == ("expired", 2), "by themselves, whatever ran"
    entered = (
        "SELECT count(*), min(reason) FROM audit_entries JOIN audit_transactions t ON t.id = transaction_id "
        "WHERE action = 'doc.expired'"
    )
    assert place.one(entered) == (0, None)
    place.start("worker")
    wait_until(lambda: (done("keep_house"), done("refresh_catalogue")) == (2, 3))
    assert place.one(entered) == (1, f"Its last day, {last_day}, has passed.")
    place.restart("worker")
    wait_until(lambda: place.one("SELECT count(*) = 0 FROM dagster.runs WHERE status = 'STARTED'") == (True,))
    assert place.one(entered)[0] == 1
    assert done("keep_house") == 2, "ten days that were missed are one run"
    assert done("refresh_catalogue") == 3, "of the first day, the operator's and the schedule's"
    told = (
        "SELECT event::jsonb #>> '{dagster_event,event_specific_data,materialization,metadata_entries}' "
        "FROM dagster.event_logs WHERE dagster_event_type = 'ASSET_MATERIALIZATION' "
        "AND asset_key = '[\"jurisdiction_catalogue\"]' ORDER BY id DESC LIMIT 1"
    )
    [codes] = [entry for entry in json.loads(str(place.one(told)[0])) if entry["label"] == "codes"]
    records = [record["data"] for record in codes["entry_data"]["records"]]
    assert {"change": "demoted", "codes": "AT"} in records
