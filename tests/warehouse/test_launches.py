"""Launched runs: each taken once, companies in turn, and known as lost when their worker is gone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from tests.waiting import wait_until
from warehouse.operate import launches
from warehouse.operate.database import Database


@pytest.fixture
def look(database: Database) -> Iterator[psycopg.Connection]:
    """A connection of the application's, to a table without other tests' launches."""
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("DELETE FROM launches")
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        yield connection


@contextmanager
def enrolled(database: Database) -> Iterator[tuple[psycopg.Connection, int]]:
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        yield connection, launches.enrol(connection)


def test_a_run_is_taken_once_however_many_ask(look: psycopg.Connection, database: Database) -> None:
    for number in range(20):
        launches.put(look, f"r{number}", company=None, resume=False)

    def all_that_are_to_be_had(_: int) -> list[str]:
        with enrolled(database) as (connection, me):
            return [run.run_id for run in iter(lambda: launches.take(connection, me), None)]

    with ThreadPoolExecutor(4) as threads:
        taken = [run_id for runs in threads.map(all_that_are_to_be_had, range(4)) for run_id in runs]
    assert sorted(taken) == sorted(f"r{number}" for number in range(20))


def test_a_company_with_nothing_under_way_goes_first(look: psycopg.Connection, database: Database) -> None:
    for run_id, company in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("n", None)):
        launches.put(look, run_id, company=company, resume=False)
    with enrolled(database) as (connection, me):
        order = [launches.take(connection, me).run_id for _ in range(4)]
    assert order == ["a1", "b1", "n", "a2"]


def test_what_its_worker_leaves_is_lost_and_is_to_be_had_again(look: psycopg.Connection, database: Database) -> None:
    launches.put(look, "r", company=None, resume=False)
    assert launches.state(look, "r") == "waiting"
    with enrolled(database) as (connection, me):
        assert launches.take(connection, me) == launches.Launched("r", False)
        assert launches.state(look, "r") == "running"
        launches.queue_again(look, "r")  # asked for by somebody who looked before it was taken
        assert launches.state(look, "r") == "running"
    wait_until(lambda: launches.state(look, "r") == "lost")
    launches.adopt(look, "r", company=None)  # it was launched
    assert launches.state(look, "r") == "lost"
    launches.queue_again(look, "r")
    assert launches.state(look, "r") == "waiting"
    launches.put(look, "r", company=None, resume=True)
    with enrolled(database) as (connection, me):
        assert launches.take(connection, me) == launches.Launched("r", True)
        launches.end(connection, me, "r")
        assert launches.state(look, "r") == "ended"
    assert launches.state(look, "never launched") is None


def test_an_ended_run_that_dagster_still_asks_about_is_lost(look: psycopg.Connection, database: Database) -> None:
    """The worker was done with it and could not say so: the database was away."""
    launches.put(look, "r", company=None, resume=False)
    with enrolled(database) as (connection, me):
        launches.take(connection, me)
        launches.end(connection, me, "r")
    launches.queue_again(look, "r")
    assert launches.state(look, "r") == "ended"
    look.execute("UPDATE launches SET ended_at = ended_at - interval '6 seconds'")
    assert launches.state(look, "r") == "lost"
    launches.queue_again(look, "r")
    assert launches.state(look, "r") == "waiting"


def test_a_run_without_a_launch_is_adopted_once(look: psycopg.Connection, database: Database) -> None:
    with enrolled(database) as (connection, me):
        launches.adopt(look, "r", company="a")
        assert launches.take(connection, me) == launches.Launched("r", False)
        launches.adopt(look, "r", company="a")
        assert launches.state(look, "r") == "running"


def test_a_run_that_a_command_executes_lives_as_long_as_the_command(
    look: psycopg.Connection, database: Database
) -> None:
    with enrolled(database) as (connection, me):
        launches.seize(connection, me, "r")
        assert launches.state(look, "r") == "running"
        launches.close(look, "r")
        assert launches.lost(look) == []
    wait_until(lambda: launches.lost(look) == ["r"])
    assert launches.state(look, "r") == "lost"
    launches.close(look, "r")
    assert (launches.state(look, "r"), launches.lost(look)) == ("ended", [])


def test_a_run_that_was_brought_by_something_else_is_executed_by_one(
    look: psycopg.Connection, database: Database
) -> None:
    """A broker brings it twice: while the first has it, after the first has died, and when it was never put here."""
    launches.put(look, "r", company=None, resume=False)
    with enrolled(database) as (connection, me), enrolled(database) as (other_connection, other):
        assert launches.seize(connection, me, "r")
        assert not launches.seize(other_connection, other, "r")
        assert launches.state(look, "r") == "running"
        launches.end(connection, me, "r")
        assert launches.seize(other_connection, other, "r")
        assert not launches.seize(connection, me, "r")
    wait_until(lambda: launches.state(look, "r") == "lost")
    with enrolled(database) as (connection, me):
        assert launches.seize(connection, me, "r")
        assert launches.seize(connection, me, "unknown")
        assert launches.state(look, "unknown") == "running"


def test_only_what_nobody_has_is_withdrawn(look: psycopg.Connection, database: Database) -> None:
    for run_id in ("r1", "r2"):
        launches.put(look, run_id, company=None, resume=False)
    with enrolled(database) as (connection, me):
        launches.take(connection, me)
        assert [launches.withdraw(look, run_id) for run_id in ("r1", "r2")] == [False, True]


def test_only_days_old_ends_are_forgotten(look: psycopg.Connection, database: Database) -> None:
    for run_id in ("old", "new", "waits"):
        launches.put(look, run_id, company=None, resume=False)
    look.execute("UPDATE launches SET asked_at = asked_at - interval '9 days'")
    look.execute("UPDATE launches SET worker = 1, ended_at = clock_timestamp() WHERE run_id <> 'waits'")
    look.execute("UPDATE launches SET ended_at = ended_at - interval '25 hours' WHERE run_id = 'old'")
    launches.sweep(look)
    assert {row[0] for row in look.execute("SELECT run_id FROM launches")} == {"new", "waits"}
