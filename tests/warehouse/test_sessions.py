"""Isolation as the application meets it, and what a pool does when the database goes away under it."""

import asyncio
import threading
from collections.abc import Callable
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors

from warehouse.database import Database
from warehouse.sessions import AsyncPool, Pool

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
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
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


def test_a_deadlock_is_repeated_until_both_have_written(pool: Pool, company: UUID) -> None:
    first, second = _add_brand(pool, company, "First"), _add_brand(pool, company, "Second")
    both_hold_one = threading.Barrier(2, timeout=10)

    def rename(order: tuple[UUID, UUID]) -> None:
        tries = iter((True, False))

        def work() -> None:
            with pool.company(company) as connection:
                connection.execute("UPDATE brands SET name = name || '!' WHERE id = %s", (order[0],))
                if next(tries, False):
                    both_hold_one.wait()
                connection.execute("UPDATE brands SET name = name || '!' WHERE id = %s", (order[1],))

        pool.retrying(work)

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
        assert [heard.payload for heard in listener.notifies(timeout=5, stop_after=1)] == ["hello"]


def test_reads_in_the_event_loop_see_the_same_rows(database: Database, pool: Pool, company: UUID) -> None:
    brand = _add_brand(pool, company)

    async def fail(reads: AsyncPool) -> None:
        async with reads.company(company) as connection:
            await connection.execute("DELETE FROM brands")
            raise KeyError

    async def read() -> None:
        async with AsyncPool(f"{database.app_url}&application_name=cut%20me") as reads:
            async with reads.company(company) as connection:
                assert await (await connection.execute("SELECT id FROM brands")).fetchall() == [(brand,)]
            _cut_connections(database)
            with pytest.raises(KeyError):
                await fail(reads)
            async with reads.connection() as connection:
                assert await (await connection.execute("SELECT count(*) FROM brands")).fetchone() == (0,)

    asyncio.run(read())
    with pool.company(company) as connection:
        assert connection.execute("SELECT count(*) FROM brands").fetchone() == (1,)
