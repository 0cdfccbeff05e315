"""A backup taken while callers write, upload and import comes back as a service that passes its checks."""

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.journeys.place import ROOT, Place
from tests.ruling import BOTTLE
from tests.services.making import PDF
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.files import key_of
from warehouse.operate.backup.restore import check
from warehouse.operate.backup.take import BackupError, back_up, find_key
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.objects import IDENTITY, Objects
from warehouse.operate.settings import Settings

KILLED = """
import os, signal, sys
from pathlib import Path
from warehouse.operate.backup.take import back_up
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

event, about, folder = sys.argv[1:]
settings = Settings.load()

def kill(name, arguments):
    if name == event and about in str(arguments):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
back_up(settings, Database.from_settings(settings), Path(folder))
"""
"""A backup whose process is killed when Python is about to do something, as `sys.audit` names it."""
INSTANTS = {
    "first file": ("open", "/objects/"),
    "rows": ("open", "companies.copy.gz"),
    "key": ("shutil.copyfile", "connector.key"),
    "list": ("open", "backup.json"),
    "name": ("os.rename", ".backup-"),
}
ROWS = 3_000
STARTED_WITHIN = PATIENCE_SECONDS
"""Seconds until the worker is at work."""


@pytest.fixture
def restored(place: Place, data_dir: Path) -> Iterator[Place]:
    """Another service of the same company, whose data directory is not there yet."""
    settings = Settings.load(data_dir=data_dir.parent / "restored", port=free_port(), dagster_port=free_port())
    place_of = Place(settings, place.company, place.key)
    with place_of.client:
        yield place_of
    place_of.end()


def write_until(stop: threading.Event, place: Place) -> list[str]:
    """Items S00000, S00001, … each with a technical file; the codes of those whose file was answered, too."""
    done = []
    for number in count():
        if stop.wait(0.05):
            return done
        body = {"sku_code": f"S{number:05}", "name": "n", **BOTTLE}
        sku = place.call("POST", "/api/v1/skus", json=body)["data"]["id"]  # type: ignore[index]
        upload = {"files": {"file": ("a.pdf", PDF)}, "data": {"type": "test_report"}}
        place.call("POST", f"/api/v1/skus/{sku}/files", **upload)
        done.append(body["sku_code"])
    return done


def test_a_backup_under_load_comes_back_as_a_service_that_passes_its_checks(
    place: Place, restored: Place, tmp_path: Path
) -> None:
    folder, stop = tmp_path / "backup", threading.Event()
    place.start_and_wait("api", "worker")
    with ThreadPoolExecutor(1) as threads:
        writer = threads.submit(write_until, stop, place)
        written = "SELECT count(*) > 5 FROM technical_files"
        try:
            wait_until(lambda: writer.done() or place.one(written) == (True,), STARTED_WITHIN)
            file = "\n".join(["sku_code,name", *(f"I{number:05},Bottle" for number in range(ROWS))]).encode()
            accepted = place.call("POST", "/api/v1/imports?filename=many.csv", content=file)
            wait_until(lambda: place.one("SELECT sum(rows_done) > 0 FROM imports") == (True,), STARTED_WITHIN)
            (before,) = place.one("SELECT count(*) FROM skus")
            made = place.pcds("backup", str(folder), "--json")
            (after,) = place.one("SELECT count(*) FROM skus")
        finally:
            stop.set()
        assert len(writer.result()) > 5
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["objects"] > 5
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    place.end()

    # Without its key nothing is made; with it, the keys that callers hold stay only where that is asked for.
    assert "There is no key" in restored.pcds("restore", str(folder)).stderr
    assert not restored.settings.data_dir.exists()
    by_key = ("--key", str(place.settings.data_dir / "backup.key"), "--keep-keys")
    back = restored.pcds("restore", str(folder), *by_key, "--json")
    assert back.returncode == 0, back.stderr
    assert json.loads(back.stdout).items() >= json.loads(made.stdout).items()
    assert "Dagster's record" not in back.stderr
    with running(restored.settings, durable=False):
        assert "not empty" in restored.pcds("restore", str(folder), *by_key).stderr
        (held,) = restored.one("SELECT count(*) FROM skus")
        assert before <= held <= after, "one instant between the beginning and the end"
        restored.start_and_wait("api", "worker")
        passes_its_checks(restored, str(accepted["poll_url"]))


def passes_its_checks(place: Place, poll_url: str) -> None:
    wait_until(place.is_ready, STARTED_WITHIN)
    # It goes on where the dump found it.
    wait_until(lambda: place.call("GET", poll_url)["status"] == "completed", STARTED_WITHIN)
    assert place.call("GET", poll_url)["counts"]["created"] == ROWS  # type: ignore[index]
    verified = place.pcds("audit", "verify", "--company", str(place.company), "--json")
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["ok"]
    [listed] = place.call("GET", "/api/v1/skus?sku_code=S00000")["data"]  # type: ignore[misc]
    item: Any = place.call("GET", f"/api/v1/skus/{listed['id']}")["data"]
    assert item["recyclability_grade"] == "B"
    assert item["compliance"]["grade_trace"]["ruleset_version"] == place.one("SELECT min(ruleset_version) FROM skus")[0]
    for file_id in place.column("SELECT id FROM technical_files"):
        stored = place.settings.data_dir / "objects" / str(place.company) / "files" / str(file_id)
        assert stored.read_bytes() == PDF
    wait_until(lambda: list((place.settings.data_dir / "snapshots" / str(place.company)).glob("*/*.parquet")))


def test_a_backup_is_made_whole_or_not_at_all_and_refusals_are_sentences(place: Place, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    assert "is there already" in place.pcds("backup", str(there)).stderr
    assert "There is no folder" in place.pcds("backup", str(tmp_path / "none" / "backup")).stderr
    assert "is no backup: there is no backup.json in it" in place.pcds("restore", str(there)).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.fixture
def with_files(place: Place) -> Place:
    """A service that has a file and a key to copy."""
    data_dir = place.settings.data_dir
    (data_dir / "objects" / str(place.company)).mkdir(parents=True)
    (data_dir / "objects" / str(place.company) / "file").write_bytes(PDF)
    (data_dir / "connector.key").write_bytes(b"k" * 32)
    return place


def test_a_killed_backup_leaves_nothing_that_could_be_taken_for_one(with_files: Place, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    for number, (event, about) in enumerate(INSTANTS.values(), 1):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, event, about, str(folder)],
            cwd=ROOT,
            check=False,
            env=os.environ | with_files.settings.environment(),
        )
        assert ended.returncode == -signal.SIGKILL, about
        assert not folder.exists()
        assert len([*tmp_path.iterdir()]) == number, "a hidden folder of another name"
    refused = 0
    for draft in tmp_path.iterdir():
        assert draft.name.startswith(".backup-")
        try:
            check(draft, lambda: find_key(with_files.settings, None))
        except BackupError:
            refused += 1
    assert refused == len(INSTANTS) - 1, "the one that lacks nothing but its name is whole"
    back_up(with_files.settings, Database.from_settings(with_files.settings), folder)
    assert check(folder, lambda: find_key(with_files.settings, None)).folder == folder


def test_a_damaged_backup_is_refused_before_anything_is_touched(with_files: Place, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    back_up(with_files.settings, Database.from_settings(with_files.settings), folder)
    rows, file = folder / "tables" / "companies.copy.gz", folder / "objects" / str(with_files.company) / "file"
    listed = folder / "backup.json"
    damages = {
        rows: rows.read_bytes()[:-1],
        file: b"X" + PDF[1:],
        folder / "connector.key": None,
        folder / "tables" / "strangers.copy.gz": b"not backed up",
        listed: listed.read_bytes()[:-5],
    }
    for path, data in damages.items():
        before = path.read_bytes() if path.exists() else None
        _put(path, data)
        with pytest.raises(BackupError, match=f"{path.relative_to(folder)} is not as it was backed up"):
            check(folder, lambda: find_key(with_files.settings, None))
        if path != listed:
            _put(path, before)
    elsewhere = Place(Settings.load(data_dir=tmp_path / "data"))
    with elsewhere.client:
        done = elsewhere.pcds("restore", str(folder))
    assert (done.returncode, "backup.json is not as it was backed up" in done.stderr) == (1, True)
    assert not elsewhere.settings.data_dir.exists()


def test_a_backup_and_a_restore_name_the_files_that_are_lost_or_altered(
    place: Place, restored: Place, tmp_path: Path
) -> None:
    objects, keys = Objects.from_settings(place.settings), [key_of(place.company, uuid4()) for _ in range(3)]
    with psycopg.connect(Database.from_settings(place.settings).owner_url) as owner:
        for key in keys:
            owner.execute(
                "INSERT INTO review_files (id, company_id, request_id, type, filename, media_type, size_bytes, sha256, "
                "created_at) VALUES (%s, %s, %s, 'test_report', 'a.pdf', 'application/pdf', 4, %s, now())",
                [key.rpartition("/")[2], place.company, uuid4(), hashlib.sha256(PDF).hexdigest()],
            )
    for key, data in zip(keys, (PDF, PDF, PDF[:-1] + b"!"), strict=True):
        objects.put(key, data)
    whole, lost, altered = keys
    made = place.pcds("backup", str(tmp_path / "verified"), "--verify", "--json")
    assert (made.returncode, json.loads(made.stdout)["altered"]) == (1, [altered])
    assert f"altered: {altered}" in made.stderr
    objects.delete(lost)
    made = place.pcds("backup", str(tmp_path / "backup"), "--json")
    found = json.loads(made.stdout)
    assert (made.returncode, found["missing"], found["altered"]) == (1, [lost], []), "only --verify reads the files"
    assert f"missing: {lost}" in made.stderr
    by_key = ("--key", str(place.settings.data_dir / "backup.key"))
    back = restored.pcds("restore", str(tmp_path / "backup"), *by_key, "--json")
    found = json.loads(back.stdout)
    assert (back.returncode, found["missing"], found["altered"]) == (1, [lost], [altered])
    assert Objects.from_settings(restored.settings).get(whole) == PDF

    # It is another deployment: its store carries an identity of its own, and another's is not restored into.
    identity = restored.settings.data_dir / "objects" / IDENTITY
    theirs = Settings.load(data_dir=tmp_path / "theirs")
    (theirs.data_dir / "objects" / IDENTITY).parent.mkdir(parents=True)
    shutil.copy(identity, theirs.data_dir / "objects" / IDENTITY)
    other = Place(theirs)
    with other.client:
        refused = other.pcds("restore", str(tmp_path / "backup"), *by_key)
    assert (refused.returncode, "another deployment" in refused.stderr) == (1, True)
    assert len([path for path in (theirs.data_dir / "objects").rglob("*") if path.is_file()]) == 1


def _put(path: Path, data: bytes | None) -> None:
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)
