"""Which faults of the machine pass: the errors that the libraries really raise, and those that wrap them."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import psycopg
import pytest
import sqlalchemy
from psycopg_pool import PoolTimeout

from warehouse.operate.sessions import Pool, TransactionLost
from warehouse.operate.surroundings import is_passing, sentence_of

PASSING = ("08006", "25006", "25P03", "40001", "40P01", "53100", "53200", "53300", "55P03", "57P01", "57P03", "58030")
LASTING = ("22021", "23505", "42P01", "42501", "54000", "XX000", "P0001")
"""A text that no database takes, a duplicate, a missing table, a missing right, too complex, a bug: our own faults."""


def raised(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def statement(state: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'as the server says' USING ERRCODE = '{state}'; END $$"


@pytest.mark.parametrize("state", PASSING + LASTING)
def test_the_database_says_by_its_state_whether_a_fault_passes(database, state):
    def by_psycopg() -> None:
        with psycopg.connect(database.app_url) as connection:
            connection.execute(statement(state))

    error = raised(by_psycopg)
    assert getattr(error, "sqlstate", None) == state
    assert is_passing(error) == (state in PASSING)


@pytest.mark.parametrize("state", ["53100", "23505"])
def test_what_dagsters_storage_raises_is_judged_by_what_it_wraps(database, state):
    """Dagster reaches Postgres by SQLAlchemy and psycopg2; its own errors have these as their cause."""
    engine = sqlalchemy.create_engine(database.app_url.replace("postgresql://", "postgresql+psycopg2://"))

    def by_storage() -> None:
        try:
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text(statement(state)))
        except sqlalchemy.exc.DBAPIError as error:
            raise RuntimeError("a step of Dagster's") from error

    assert is_passing(raised(by_storage)) == (state == "53100")
    engine.dispose()


def test_no_connection_passes(database):
    nowhere = "postgresql://nobody@127.0.0.1:9/nothing"
    assert is_passing(raised(lambda: psycopg.connect(nowhere, connect_timeout=1)))
    engine = sqlalchemy.create_engine(nowhere.replace("postgresql://", "postgresql+psycopg2://"))
    assert is_passing(raised(engine.connect))
    assert is_passing(PoolTimeout("no connection"))
    assert is_passing(TransactionLost(in_doubt=True))
    engine = sqlalchemy.create_engine(
        database.app_url.replace("postgresql://", "postgresql+psycopg2://"),
        pool_size=1,
        max_overflow=0,
        pool_timeout=0.01,
    )
    with engine.connect():
        assert is_passing(raised(engine.connect))
    engine.dispose()


def test_a_group_and_a_fault_in_the_handling_of_another_are_what_they_come_from():
    full = OSError(errno.ENOSPC, "full")
    assert is_passing(ExceptionGroup("tasks", [ValueError("of ours"), full]))

    def tidied() -> None:
        try:
            raise full
        finally:
            {}["a draft that was not made"]

    assert is_passing(raised(tidied))

    def looked_up() -> None:
        try:
            raise full
        except OSError:
            raise KeyError("a fault of its own") from None

    assert not is_passing(raised(looked_up))
    assert not is_passing(None)


def test_a_full_disk_passes_whoever_writes(tmp_path: Path):
    """`/dev/full` is as full as a disk can be, for everybody."""

    def by_python() -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(b"1")

    frame = pl.DataFrame({"n": range(1_000)})
    for work in (
        by_python,
        lambda: frame.write_parquet("/dev/full"),
        lambda: frame.write_ipc("/dev/full"),
        lambda: frame.write_csv("/dev/full"),
    ):
        error = raised(work)
        assert is_passing(error), repr(error)
    for error in (FileNotFoundError(errno.ENOENT, "no"), PermissionError(errno.EACCES, "no"), OSError("no number")):
        assert not is_passing(error)
    assert not is_passing(raised(lambda: pl.read_parquet(tmp_path / "missing.parquet")))


_WITHOUT_FILES = """
import resource, sys
from warehouse.operate.objects import Objects
from warehouse.operate.settings import Settings
from warehouse.operate.surroundings import is_passing
from pathlib import Path
objects = Objects.from_settings(Settings.load(data_dir=Path(sys.argv[1])))
key = "00000000-0000-0000-0000-000000000001/name"
objects.put(key, b"1")
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
for work in (lambda: objects.put(key, b"2"), lambda: objects.get(key), lambda: objects.file(key)):
    try:
        work()
    except Exception as error:
        print(is_passing(error), repr(error)[:200])
"""


def test_an_object_store_without_file_handles_passes(tmp_path: Path):
    code = [sys.executable, "-c", _WITHOUT_FILES, str(tmp_path)]
    ended = subprocess.run(code, capture_output=True, text=True, check=True, env=os.environ)
    said = [line for line in ended.stdout.splitlines() if "objects.away" not in line]
    assert [line.split()[0] for line in said] == ["True"] * 3, ended.stdout


def test_a_pool_raises_what_passes_as_it_is(pool: Pool, company):
    """Nothing between the statement and the caller hides the state."""

    def write() -> None:
        with pool.company(company) as connection:
            connection.execute(statement("53100"))

    assert is_passing(raised(write))


@pytest.mark.parametrize("name", [None, "/data/postgres.json"])
def test_a_full_disk_is_said_in_a_sentence_whether_or_not_a_file_is_named(name):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([name] if name else []))
    sentence = sentence_of(error)
    assert sentence is not None
    assert "full: free space on it" in sentence
    assert (name or "") in sentence


def test_a_database_that_refuses_connections_for_its_full_disk_does_not_blame_its_address():
    said = "connection failed: FATAL:  could not write init file: " + os.strerror(errno.ENOSPC)
    sentence = sentence_of(psycopg.OperationalError(said))
    assert sentence is not None
    assert ("disk is full" in sentence, "DATABASE_URL" in sentence) == (True, False)
