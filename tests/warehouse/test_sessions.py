"""Isolation as the application meets it, and what a pool does when the database goes away under it."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.pq import PipelineStatus, TransactionStatus

from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate import sessions
from warehouse.operate.database import Database
from warehouse.operate.sessions import AsyncConnection, AsyncPool, Pool, TransactionLost, all_rows

_ADD = "INSERT INTO brands (id, company_id, name, created_at, updated_at) VALUES (%s, %s, %s, now(), now())"


def _add_brand(pool: Pool, company: UUID, name: str = "Vale") -> UUID:
    brand = uuid4()
    with pool.company(company) as connection:
        connection.execute(_ADD, (brand, company, name))
    return brand


def test_a_query_without_filter_sees_its_own_company_alone(pool: Pool, new_company: Callable[[str], UUID]) -> None:
    ours, theirs = new_company("growth"), new_company("growth")
    brand, foreign = _add_brand(pool, ours), _add_brand(pool, theirs)
    with pool.company(ours) as connection:
        assert connection.execute("SELECT id FROM brands").fetchall() == [(brand,)]
        assert connection.execute("SELECT id FROM companies").fetchall() == [(ours,)]
        assert connection.execute("UPDATE brands SET name = 'x' WHERE id = %s", (foreign,)).rowcount == 0
        assert connection.execute("DELETE FROM brands").rowcount == 1


def test_without_a_company_nothing_is_seen_and_nothing_written(pool: Pool, company: UUID) -> None:
    _add_brand(pool, company)
    with pool.system() as connection:
        assert connection.execute("SELECT count(*) FROM brands").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM plans").fetchone() == (4,)
    with pytest.raises(errors.InsufficientPrivilege), pool.system() as connection:
        connection.execute(_ADD, (uuid4(), company, "Other"))


def test_a_row_cannot_be_written_into_another_company(pool: Pool, new_company: Callable[[str], UUID]) -> None:
    ours, theirs = new_company("growth"), new_company("growth")
    with pytest.raises(errors.InsufficientPrivilege), pool.company(ours) as connection:
        connection.execute(_ADD, (uuid4(), theirs, "Vale"))
    brand = _add_brand(pool, ours)
    with pytest.raises(errors.InsufficientPrivilege), pool.company(ours) as connection:
        connection.execute("UPDATE brands SET company_id = %s WHERE id = %s", (theirs, brand))


def test_the_company_ends_with_its_transaction(database: Database, company: UUID) -> None:
    with Pool(database.app_url, size=1) as pool:  # one connection, so that the next session gets the same
        _add_brand(pool, company)
        with pool.system() as connection:
            assert connection.execute("SELECT count(*) FROM brands").fetchone() == (0,)


def test_who_comes_alone_after_many_at_once_stays_on_one_session(pool: Pool) -> None:
    with ExitStack() as at_once:
        held = {at_once.enter_context(pool.system()).info.backend_pid for _ in range(4)}
    alone = [pool.fetch_rows("SELECT pg_backend_pid()", {}) for _ in range(8)]
    assert len(held) == 4
    assert all(rows == alone[0] for rows in alone)


def test_an_exception_rolls_back(pool: Pool, company: UUID) -> None:
    def fail() -> None:
        with pool.company(company) as connection:
            connection.execute(_ADD, (uuid4(), company, "Vale"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pool.company(company) as connection:
        assert connection.execute("SELECT count(*) FROM brands").fetchone() == (0,)


def _cut_connections(database: Database) -> None:
    """What a restart of Postgres does to everybody else's connections."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'cut me' AND pid <> pg_backend_pid()"
        )


def test_a_lost_connection_is_replaced_before_the_block_begins(database: Database, company: UUID) -> None:
    with Pool(f"{database.app_url}&application_name=cut%20me", size=2) as pool:
        with pool.company(company), pool.company(company):
            pass
        _cut_connections(database)
        _add_brand(pool, company)
        with pool.company(company) as connection:
            assert connection.execute("SELECT count(*) FROM brands").fetchone() == (1,)


def test_a_connection_lost_inside_the_block_is_told_even_when_the_block_did_not_notice(
    database: Database, company: UUID
) -> None:
    def write(pool: Pool) -> None:
        with pool.company(company) as connection:
            connection.execute(_ADD, (uuid4(), company, "Vale"))
            _cut_connections(database)

    with (
        Pool(f"{database.app_url}&application_name=cut%20me", size=1) as pool,
        pytest.raises(psycopg.OperationalError),
    ):
        write(pool)


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize(
    ("noticed", "repeatable", "tries"),
    [(True, False, 2), (False, False, 1), (False, True, 2)],
    ids=["before the commit", "at the commit", "at the commit, repeatable"],
)
def test_what_a_lost_connection_cut_off_is_repeated_where_that_is_safe(
    database: Database, company: UUID, *, noticed: bool, repeatable: bool, tries: int, pipelined: bool
) -> None:
    """A commit that was sent may have been done, so only what finds that out for itself is sent again."""
    begun = []

    def work(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        begun.append(connection.execute("SELECT 1").fetchone())
        if len(begun) == 1:
            _cut_connections(database)
        if noticed or len(begun) > 1:
            connection.execute(_ADD, (uuid4(), company, "Vale"))
            connection.execute("SELECT 1").fetchone()

    with Pool(f"{database.app_url}&application_name=cut%20me", size=2) as pool:
        if tries == 2:
            pool.run(company, work, pipelined=pipelined, repeatable=repeatable)
        else:
            with pytest.raises(TransactionLost) as lost:
                pool.run(company, work, pipelined=pipelined, repeatable=repeatable)
            assert lost.value.in_doubt
        with pool.company(company) as connection:
            assert connection.execute("SELECT count(*) FROM brands").fetchone() == (tries - 1,)
    assert len(begun) == tries


def test_in_a_pipeline_a_statement_that_failed_is_told_at_the_commit_and_undoes_all(
    database: Database, company: UUID
) -> None:
    def write(pool: Pool, *names: str, then: Exception | None = None) -> None:
        def add(connection: psycopg.Connection[tuple[object, ...]]) -> None:
            for name in names:
                connection.execute(_ADD, (uuid4(), company, name))
            if then:
                raise then

        pool.run(company, add, pipelined=True)

    with Pool(database.app_url, size=1) as pool:
        with pytest.raises(errors.UniqueViolation):
            write(pool, "Vale", "Vale")
        with pool.company(company) as connection:  # else the collector ends it while others use the connection
            assert connection.info.pipeline_status is PipelineStatus.OFF
        with pytest.raises(KeyError):
            write(pool, "Vale", then=KeyError())
        write(pool, "Vale", "Peak")
        with pool.company(company) as connection:
            assert connection.execute("SELECT name FROM brands ORDER BY name").fetchall() == [("Peak",), ("Vale",)]


@pytest.mark.parametrize("pipelined", [True, False])
def test_what_a_write_has_committed_is_durable_when_it_returns(pool: Pool, company: UUID, pipelined: bool) -> None:
    """Its own commit let go of the locks before that (decision 0016)."""

    def write(connection: psycopg.Connection[tuple[object, ...]]) -> tuple[object, ...] | None:
        connection.execute(_ADD, (uuid4(), company, "Vale"))
        return connection.execute(
            "SELECT pg_current_wal_insert_lsn(), current_setting('synchronous_commit')"
        ).fetchone()

    place, waits = pool.run(company, write, pipelined=pipelined) or ()
    with pool.system() as connection:
        reached = connection.execute(
            "SELECT pg_current_wal_flush_lsn() > %s::pg_lsn, current_setting('synchronous_commit')", (place,)
        ).fetchone()
    assert (waits, reached) == ("off", (True, "on"))


@pytest.mark.parametrize("pipelined", [True, False])
def test_what_is_done_while_the_commit_travels_holds_no_lock(pool: Pool, company: UUID, pipelined: bool) -> None:
    brand = _add_brand(pool, company)

    def name() -> object:
        with pool.company(company) as other:
            other.execute("SET LOCAL lock_timeout = '30s'")
            return other.execute("SELECT name FROM brands FOR UPDATE").fetchone()

    for attempt in pool.attempts(company, pipelined=pipelined):
        with attempt as connection:
            connection.execute("UPDATE brands SET name = 'Peak' WHERE id = %s", (brand,))
            attempt.commit()
            wait_until(lambda: name() == ("Peak",))  # the server may not have begun with what travels


@pytest.mark.parametrize("pipelined", [True, False])
def test_what_fails_while_the_commit_travels_is_raised_once_and_the_connection_is_good(
    database: Database, company: UUID, pipelined: bool
) -> None:
    def write(pool: Pool) -> None:
        for attempt in pool.attempts(company, pipelined=pipelined):
            with attempt as connection:
                connection.execute(_ADD, (uuid4(), company, "Vale"))
                attempt.commit()
                raise KeyError

    with Pool(database.app_url, size=1) as pool:
        with pytest.raises(KeyError):
            write(pool)
        with pool.company(company) as connection:
            assert connection.execute("SELECT name FROM brands").fetchall() == [("Vale",)]


def test_a_question_is_its_own_transaction_and_asked_again_where_the_connection_had_died(database: Database) -> None:
    with Pool(f"{database.app_url}&application_name=cut%20me", size=1) as pool:
        query = "SELECT pg_backend_pid(), pg_current_xact_id()::text, %(n)s::int"
        [first], [again] = pool.fetch_rows(query, {"n": 1}), pool.fetch_rows(query, {"n": 2})
        assert first[0] == again[0]
        assert first[1] != again[1]
        _cut_connections(database)
        assert pool.fetch_rows("SELECT generate_series(1, %(n)s::int)", {"n": 3}) == [(1,), (2,), (3,)]
        with pytest.raises(errors.DivisionByZero):
            pool.fetch_rows("SELECT 1 / %(n)s::int", {"n": 0})
        assert pool.fetch_rows("SELECT 1 WHERE %(n)s::int = 1", {"n": 0}) == []


def test_who_takes_a_name_second_is_repeated_and_finds_it(pool: Pool, company: UUID) -> None:
    """Both look, neither finds it, both make it: the second one looks again."""
    both_looked = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    tries = []

    def make(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        tries.append(connection.execute("SELECT FROM brands").rowcount)
        if len(tries) <= 2:
            both_looked.wait()
        if not tries[-1]:
            connection.execute(_ADD, (uuid4(), company, "Vale"))

    threads = [threading.Thread(target=pool.run, args=(company, make)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tries == [0, 0, 1]


def test_who_comes_second_to_one_new_name_after_another_is_repeated_until_no_other_is_first(
    pool: Pool, company: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time another writer is first, so that no number of collisions tells that one will never end."""
    numbers = iter(range(20))

    def make(others: int, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        if (number := next(numbers)) < others:
            _add_brand(pool, company, f"Vale {number}")
        connection.execute(_ADD, (uuid4(), company, f"Vale {number}"))

    pool.run(company, partial(make, 12))
    assert next(numbers) == 13
    monkeypatch.setattr(sessions, "_COLLISIONS_SECONDS", 0)
    numbers = iter(range(20, 40))
    with pytest.raises(errors.UniqueViolation):
        pool.run(company, partial(make, 40))
    assert next(numbers) == 28


def _is_settled(pool: Pool, company: UUID) -> bool:
    """Whether every transaction has ended that was under way when the brands were written, of other tests too."""
    with pool.company(company) as connection:
        query = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > max(xmin::text::bigint) FROM brands"
        return connection.execute(query).fetchone() == (True,)


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("held", [True, False], ids=["a row that was there", "a row of its own"])
def test_a_value_that_no_other_writer_has_taken_is_told_at_once(
    pool: Pool, company: UUID, new_company: Callable[[str], UUID], pipelined: bool, held: bool
) -> None:
    """Others write meanwhile, to other tables and for other companies."""
    if held:
        _add_brand(pool, company)
        wait_until(lambda: _is_settled(pool, company))
    other, tries = new_company("growth"), []

    def make(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        tries.append("Vale")
        _add_brand(pool, other, f"Vale {len(tries)}")
        for _ in range(1 if held else 2):
            connection.execute(_ADD, (uuid4(), company, "Vale"))

    with pytest.raises(errors.UniqueViolation):
        pool.run(company, make, pipelined=pipelined)
    assert len(tries) == 2, "the first time, nothing tells it from a race"


def test_a_deadlock_is_repeated_until_both_have_written(pool: Pool, company: UUID) -> None:
    first, second = _add_brand(pool, company, "First"), _add_brand(pool, company, "Second")
    both_hold_one = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def rename(order: tuple[UUID, UUID]) -> None:
        tries = iter((True, False))

        def work() -> None:
            with pool.company(company) as connection:
                connection.execute("UPDATE brands SET name = name || '!' WHERE id = %s", (order[0],))
                if next(tries, False):
                    both_hold_one.wait()
                connection.execute("UPDATE brands SET name = name || '!' WHERE id = %s", (order[1],))

        pool.retrying(company, work)

    threads = [threading.Thread(target=rename, args=(order,)) for order in ((first, second), (second, first))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pool.company(company) as connection:
        names = connection.execute("SELECT name FROM brands ORDER BY name").fetchall()
    assert names == [("First!!",), ("Second!!",)]


def test_a_listener_hears_what_is_notified(pool: Pool) -> None:
    with pool.listening("pcds_test") as listener:
        with pool.system() as connection:
            connection.execute("SELECT pg_notify('pcds_test', 'hello')")
        assert [heard.payload for heard in listener.notifies(timeout=PATIENCE_SECONDS, stop_after=1)] == ["hello"]


def test_reads_in_the_event_loop_see_the_same_rows(database: Database, pool: Pool, company: UUID) -> None:
    brand = _add_brand(pool, company)

    async def count(connection: AsyncConnection) -> tuple[object, ...] | None:
        assert connection.info.transaction_status is TransactionStatus.IDLE
        return await (await connection.execute("SELECT count(*) FROM brands")).fetchone()

    async def divide(connection: AsyncConnection) -> None:
        await connection.execute("BEGIN")
        await connection.execute("SELECT 1 / 0")

    async def read() -> None:
        async with AsyncPool(f"{database.app_url}&application_name=cut%20me") as reads:
            of_company = partial(all_rows, company_id=company, query="SELECT id FROM brands", parameters={})
            assert await reads.run(of_company) == (["id"], [(brand,)])
            assert await reads.run(count) == (0,)
            _cut_connections(database)
            assert await reads.run(count) == (0,)
            with pytest.raises(errors.DivisionByZero):
                await reads.run(divide)
            assert await reads.run(count) == (0,)

    asyncio.run(read())
    with pool.company(company) as connection:
        assert connection.execute("SELECT count(*) FROM brands").fetchone() == (1,)
