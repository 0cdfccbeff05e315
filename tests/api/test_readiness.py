"""`/readyz` tries what callers ask for: with a full disk, a read-only database or none it says which of them it is."""

import asyncio
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from starlette.testclient import TestClient

from api.app import create
from api.operate import routes
from schemas.operate import Health, State
from services import operate
from tests import stores
from tests.code_servers import code_server
from tests.conftest import migrated
from tests.keys import with_keys
from tests.waiting import wait_until
from warehouse.imports import claims
from warehouse.imports.claims import LISTENER
from warehouse.operate import dagster_home, keys, launches
from warehouse.operate.database import Database
from warehouse.operate.objects import IDENTITY, own_identity, prepare_identity
from warehouse.operate.settings import Settings


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "STANDS_SECONDS", 0.05)
    monkeypatch.setattr(routes, "LOOKS_SECONDS", 0.05)


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
    """A disk of 2 MiB and 200 files."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=200", "tmpfs", place], check=False, capture_output=True
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


def test_a_disk_without_inodes_is_told_with_its_remedy(database: Database, catalogue: object, disk: Path) -> None:
    def told() -> list[str]:
        """Remedies told of the storage; filled anew before, as a look of the app frees the inode of its own file."""
        with suppress(OSError):
            for number in range(1_000):
                (disk / f"empty-{number}").touch()
        problems = operate.of_place(Settings.load(data_dir=disk, free_bytes=0))
        return [problem.remedy for problem in problems if problem.check is State.STORAGE]

    with serving(database, disk, free_bytes=0) as ask:
        wait_until(lambda: any("inode" in remedy for remedy in told()) and ask() == (503, ["storage"]))
        assert 0 < len([*disk.glob("empty-*")]) < 1_000
        for empty in disk.glob("empty-*"):
            empty.unlink()
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
    monkeypatch.setattr(operate, "write_probe", lambda folder: written.append(folder) or True)
    monkeypatch.setattr(routes, "STANDS_SECONDS", 3_600)
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


def test_a_worker_that_hangs_is_named_and_one_with_a_run_is_not(
    database: Database, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped stays connected; one that executes a run does not look for others."""
    monkeypatch.setattr(claims, "SILENT_AFTER", timedelta(seconds=2))
    with (
        serving(database, tmp_path, warm_workers=True) as ask,
        psycopg.connect(database.app_url, application_name=LISTENER, autocommit=True) as worker,
    ):
        wait_until(lambda: worker.execute("SELECT 1") and ask() == (200, []))
        wait_until(lambda: ask() == (200, ["worker"]))
        run_id = str(uuid4())
        launches.seize(worker, launches.enrol(worker), run_id)
        time.sleep(2)
        wait_until(lambda: ask() == (200, []))
        worker.execute("UPDATE launches SET ended_at = clock_timestamp() WHERE run_id = %s", [run_id])
        wait_until(lambda: ask() == (200, ["worker"]))


def test_a_code_server_that_is_gone_or_hangs_is_named_and_so_is_its_return(
    database: Database, catalogue: object, tmp_path: Path
) -> None:
    with serving(database, tmp_path) as ask:
        assert ask() == (200, []), "where none was ever started, none is away"
        path = dagster_home.code_socket(Settings.load(data_dir=tmp_path))
        path.parent.mkdir(exist_ok=True)
        with socket.socket(socket.AF_UNIX) as hanging:
            hanging.bind(str(path))
            hanging.listen()
            wait_until(lambda: ask() == (200, ["code_server"]))
        path.unlink()
        with code_server(path):
            wait_until(lambda: ask() == (200, []))
        wait_until(lambda: ask() == (200, ["code_server"]))


def test_a_store_that_hangs_is_told_in_the_background_and_all_else_is_ready(
    database: Database, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "STORE_SECONDS", 0.05)
    with serving(database, tmp_path, objects_seconds=0.3, free_bytes=0) as ask:
        wait_until(lambda: ask() == (200, []))
        with stores.hanging():
            wait_until(lambda: ask() == (200, ["object_store"]))
            begun = time.monotonic()
            ask()
            assert time.monotonic() - begun < 0.25, "no caller waits for the store"
        wait_until(lambda: ask() == (200, []))


def test_an_empty_store_belongs_to_the_deployment_from_its_first_start(server: Database, tmp_path: Path) -> None:
    """Before anything is stored: no other deployment becomes its first writer later."""
    with migrated(server) as database, psycopg.connect(database.owner_url, autocommit=True) as owner:
        prepare_identity(owner)
        with serving(database, tmp_path):
            wait_until((tmp_path / "objects" / IDENTITY).exists)
        assert (tmp_path / "objects" / IDENTITY).read_bytes() == own_identity(database.app_url)


def test_a_key_that_is_not_the_deployments_is_noted_at_the_start(
    server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = list[str]()
    monkeypatch.setattr(keys.log, "error", lambda event, **more: noted.append(f"{event} {more['key']}"))
    settings = with_keys(Settings.load(data_dir=tmp_path / "other", warm_workers=False))
    with migrated(server) as database:
        with psycopg.connect(database.owner_url) as owner:
            keys.prepare(owner, Settings.load(data_dir=tmp_path / "first"))
        with TestClient(create(settings, database)) as http:
            assert http.get("/readyz").json() == {"status": "starting", "failing": ["catalogue"]}
    assert noted == ["key.wrong connector.key", "key.wrong audit.key"]


def test_nobody_who_asks_has_a_part_looked_at(
    database: Database, catalogue: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[Path]()
    monkeypatch.setattr(routes, "LOOKS_SECONDS", 3_600)
    monkeypatch.setattr(operate, "is_code_server_away", lambda settings: looked.append(settings.data_dir))
    with serving(database, tmp_path) as ask:
        assert [ask() for _ in range(20)] == [(200, [])] * 20
    assert looked.count(tmp_path) == 1


def test_the_document_names_the_states_that_it_can_answer() -> None:
    named = Health.model_json_schema()["properties"]["failing"]["items"]["enum"]
    assert named == [state for state in State if state.part is not None]


def test_looks_end_where_what_they_wait_for_takes_their_cancellation() -> None:
    """Python 3.11's `asyncio.wait_for`, by which psycopg waits, may return instead: an app then never ended."""

    async def look(_: object) -> float:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return 60.0

    async def cancelled() -> bool:
        task = asyncio.create_task(routes._repeat(look, None))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        return task in done

    assert asyncio.run(cancelled())
