"""Addresses and user agents are forgotten after 12 calendar months, and nothing else can be changed on that road."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from warehouse.operate.measures import anonymise


def seen(pool, company):
    with pool.company(company) as conn:
        return conn.execute("SELECT ip, user_agent FROM audit_transactions ORDER BY number").fetchall()


KEPT, FORGOTTEN = ("192.0.2.7", "erp/1"), (None, None)


def test_twelve_calendar_months_and_not_a_moment_less(enter, pool, company, clock):
    now = clock.now()
    clock.instant = datetime(2025, 11, 21, 9, 30, tzinfo=UTC)  # twelve months before the clock of the tests
    enter(company, "brand.created", "b-1")
    clock.advance(timedelta(microseconds=1))
    enter(company, "brand.created", "b-2")
    with pool.company(company) as conn:
        assert anonymise(conn, now - timedelta(microseconds=1)) == 0
        assert anonymise(conn, now) == 1
        assert anonymise(conn, now) == 0
    assert seen(pool, company) == [FORGOTTEN, KEPT]


def test_the_import_that_came_with_the_request_forgets_it_too(pool, owner, company, clock):
    owner.execute(
        "INSERT INTO imports (id, company_id, status, dry_run, filename, size_bytes, sha256, upload_key, table_key, "
        "default_year, source, rows_total, key_id, key_name, correlation_id, ip, user_agent, created_at) VALUES "
        "(%s, %s, 'completed', false, 'f', 1, 's', 'u', 't', 2025, '{}', 1, %s, 'k', 'c', '192.0.2.7', 'a', %s)",
        [uuid4(), company, uuid4(), clock.now() - timedelta(days=366)],
    )
    with pool.company(company) as conn:
        assert anonymise(conn, clock.now()) == 1
        assert conn.execute("SELECT ip, user_agent, filename FROM imports").fetchall() == [(None, None, "f")]


def test_another_companys_are_not_touched_and_without_a_company_none_are(enter, pool, new_company, clock):
    ours, theirs = new_company("enterprise"), new_company("enterprise")
    enter(theirs, "brand.created", "b-1")
    much_later = clock.now() + timedelta(days=1000)
    with pool.company(ours) as conn:
        assert anonymise(conn, much_later) == 0
    with pool.system() as conn:
        assert anonymise(conn, much_later) == 0
    assert seen(pool, theirs) == [KEPT]


@pytest.mark.parametrize("column", ["ip", "user_agent", "reason", "hash", "actor_name"])
def test_the_application_can_change_no_column_of_the_ledger_itself(database, company, column):
    with psycopg.connect(database.app_url) as app, pytest.raises(errors.InsufficientPrivilege):
        app.execute(f"UPDATE audit_transactions SET {column} = NULL")
