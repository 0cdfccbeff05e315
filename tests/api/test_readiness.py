"""`/readyz` tries what callers ask for: with a full disk, a read-only database or none it says which of them it is."""

import resource
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from starlette.testclient import TestClient

from api import readiness
from api.app import create
from schemas.responses.service import Health
from schemas.states import State
from services import place_checks
from tests.waiting import wait_until
from warehouse import dagster_home
from warehouse.database import Database
from warehouse.imports.queue import LISTENER
from warehouse.settings import Settings


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "STANDS_SECONDS", 0.05)
    monkeypatch.setattr(readiness, "LOOKS_SECONDS", 0.05)


@contextmanager
def serving(database: Database, data_dir: Path, **settings: object) -> Iterator[Callable[[], tuple[int, list[str]]]]:
    """What an app of these settings says of itself; no worker is asked for."""
    chosen = Settings.load(data_dir=data_dir, **{"warm_workers": False, **settings})
    with TestClient(create(chosen, database)) as http:

        def ask() -> tuple[int, list[str]]:
            answer = http.get("/readyz")
            body = answer.json()
            kinds = {503: "starting", 200: "degraded" if body.get("failing") else "ok"}
            assert body["status"] == kinds[answer.status_code]
            return answer.status_code, body.get("failing", [])

        yield ask


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a disk of its own needs root")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_is_told_and_so_is_its_end(database: Database, catalogue: object, disk: Path) -> None:
    with serving(database, disk, free_bytes=0) as ask:
        assert ask() == (200, [])
        with pytest.raises(OSError, match="No space left"):
            (disk / "everything").write_bytes(bytes(4_194_304))
        wait_until(lambda: ask() == (503, ["storage"]))
        (disk / "everything").unlink()
        wait_until(lambda: ask() == (200, []))


def test_a_disk_that_is_nearly_full_is_told(database: Database, catalogue: object, tmp_path: Path) -> None:
    with serving(database, tmp_path, free_bytes=2**62) as ask:
        assert ask() == (503, ["storage"])


def test_a_quota_that_ends_writing_is_told(database: Database, catalogue: object, tmp_path: Path) -> None:
    with serving(database, tmp_path, free_bytes=0) as ask:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
        try:
            told = ask()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert told == (503, ["storage"])
        wait_until(lambda: ask() == (200, []))


def test_a_data_directory_that_is_gone_is_told(database: Database, catalogue: object, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    with serving(database, place) as ask:
        place.rename(tmp_path / "elsewhere")
        assert ask() == (503, ["storage"])


def test_a_database_that_takes_no_writes_is_told(database: Database, catalogue: object, tmp_path: Path) -> None:
    mark = "&" if "?" in database.app_url else "?"
    read_only = replace(database, app_url=f"{database.app_url}{mark}options=-c%20default_transaction_read_only%3Don")
    with serving(read_only, tmp_path) as ask:
        assert ask() == (503, ["database_writes"])


def test_one_answer_stands_for_a_second(
    database: Database, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone may ask, and asking writes."""
    written = list[Path]()
    monkeypatch.setattr(place_checks, "write_probe", lambda folder: written.append(folder) or True)
    monkeypatch.setattr(readiness, "STANDS_SECONDS", 3_600)
    with serving(database, tmp_path) as ask:
        assert {ask()[0] for _ in range(20)} == {200}
    assert len(written) == 1


def test_after_the_first_worker_a_missing_one_degrades_and_refuses_nobody(
    database: Database, catalogue: object, tmp_path: Path
) -> None:
    """decisions §13, Operation: 503 until catalogue and worker were there once; then what works goes on."""
    with serving(database, tmp_path, warm_workers=True) as ask:
        assert ask() == (503, ["worker"])
        with psycopg.connect(database.app_url, application_name=LISTENER):
            wait_until(lambda: ask() == (200, []))
        wait_until(lambda: ask() == (200, ["worker"]))


def test_a_code_server_that_is_gone_is_named_and_so_is_its_return(
    database: Database, catalogue: object, tmp_path: Path
) -> None:
    with serving(database, tmp_path) as ask:
        assert ask() == (200, []), "where none was ever started, none is away"
        path = dagster_home.code_socket(Settings.load(data_dir=tmp_path))
        path.parent.mkdir(exist_ok=True)
        with socket.socket(socket.AF_UNIX) as served:
            served.bind(str(path))
            wait_until(lambda: ask() == (200, ["code_server"]))
            served.listen()
            wait_until(lambda: ask() == (200, []))
        wait_until(lambda: ask() == (200, ["code_server"]))


def test_nobody_who_asks_has_a_part_looked_at(
    database: Database, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[Path]()
    monkeypatch.setattr(readiness, "LOOKS_SECONDS", 3_600)
    monkeypatch.setattr(place_checks, "is_code_server_away", lambda settings: looked.append(settings.data_dir))
    with serving(database, tmp_path) as ask:
        assert [ask() for _ in range(20)] == [(200, [])] * 20
    assert looked.count(tmp_path) == 1


def test_the_document_names_the_states_that_it_can_answer() -> None:
    named = Health.model_json_schema()["properties"]["failing"]["items"]["enum"]
    assert named == [state for state in State if state.part is not None]
