"""The limit itself: no 60 seconds hold more than the ceiling, nothing is refused that would fit, the wait is right."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from math import ceil
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.database import Database
from warehouse.queries import tokens
from warehouse.sessions import Pool

START = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
MINUTE = timedelta(seconds=60)
GAPS = st.lists(
    st.sampled_from([0, 1, 999_999, 10_000_000, 19_999_999, 20_000_000, 59_999_999, 60_000_000]), max_size=40
)

Owner = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def owner(database: Database) -> Iterator[Owner]:
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        yield connection


def spend(owner: Owner, at: datetime, ceiling: int, *spenders: str) -> int:
    asked = [list(spenders), [ceiling] * len(spenders), at]
    row = owner.execute("SELECT pcds_spend(%s, %s::integer[], %s)", asked).fetchone()
    assert row is not None
    return int(str(row[0]))


def fresh() -> str:
    return f"test:{uuid4()}"


@settings(max_examples=60, deadline=None)
@given(gaps=GAPS, ceiling=st.integers(1, 5))
def test_a_request_is_let_in_exactly_when_the_last_60_seconds_have_room(owner: Owner, gaps: list[int], ceiling: int):
    spender, admitted = fresh(), list[datetime]()
    for offset in accumulate(gaps):
        at = START + timedelta(microseconds=offset)
        live = [instant for instant in admitted if instant > at - MINUTE]
        wait = spend(owner, at, ceiling, spender)
        if len(live) < ceiling:
            assert wait == 0
            admitted.append(at)
        else:
            assert wait == ceil((live[-ceiling] + MINUTE - at).total_seconds())


@settings(max_examples=30, deadline=None)
@given(gaps=GAPS, ceilings=st.lists(st.integers(1, 6), min_size=40, max_size=40))
def test_a_ceiling_that_changes_on_the_way_holds_from_then_on(owner: Owner, gaps: list[int], ceilings: list[int]):
    spender, admitted = fresh(), list[datetime]()
    for offset, ceiling in zip(accumulate(gaps), ceilings, strict=False):
        at = START + timedelta(microseconds=offset)
        live = [instant for instant in admitted if instant > at - MINUTE]
        wait = spend(owner, at, ceiling, spender)
        assert (wait == 0) == (len(live) < ceiling)
        if wait == 0:
            admitted.append(at)
        else:
            later = at + timedelta(seconds=wait)
            assert len([instant for instant in admitted if instant > later - MINUTE]) < ceiling


def test_whoever_waited_is_let_in_and_not_a_second_sooner(owner: Owner):
    spender = fresh()
    for second in range(3):
        assert spend(owner, START + timedelta(seconds=second * 7), 3, spender) == 0
    wait = spend(owner, START + timedelta(seconds=20), 3, spender)
    assert wait == 40
    assert spend(owner, START + timedelta(seconds=19 + wait), 3, spender) > 0
    assert spend(owner, START + timedelta(seconds=20 + wait), 3, spender) == 0


def test_a_wide_ceiling_is_counted_by_the_second_and_never_passed(owner: Owner):
    spender, ceiling, admitted = fresh(), 1_200, list[datetime]()
    for tick in range(1_500):
        at = START + timedelta(milliseconds=tick * 35)
        if spend(owner, at, ceiling, spender) == 0:
            admitted.append(at)
    assert len(admitted) == ceiling
    [(entries,)] = owner.execute("SELECT cardinality(instants) FROM spent_requests WHERE spender = %s", [spender])
    assert int(str(entries)) < 65
    assert spend(owner, admitted[0] + MINUTE, ceiling, spender) == 1, "its second counts until its last request ends"
    assert spend(owner, START + MINUTE + timedelta(seconds=1), ceiling, spender) == 0
    assert spend(owner, START + MINUTE + timedelta(seconds=2), 120, spender) > 0, "the old ceiling, over the same past"


def test_several_spenders_spend_together_or_not_at_all(owner: Owner):
    address, client = fresh(), fresh()
    assert spend(owner, START, 1, client) == 0
    for _ in range(3):
        assert spend(owner, START, 1, address, client) == 60
    assert spend(owner, START, 1, address) == 0


def test_instants_out_of_order_count_and_those_of_another_clock_do_not(owner: Owner):
    spender, late = fresh(), START - timedelta(seconds=30)
    assert spend(owner, START, 2, spender) == 0
    assert spend(owner, late, 2, spender) == 0
    assert spend(owner, late, 2, spender) == 60, "the two before it were let in at START: instants never step back"
    assert spend(owner, START + timedelta(seconds=59), 2, spender) == 1
    assert spend(owner, START - MINUTE, 2, spender) == 0


@pytest.mark.parametrize("ceiling", [37, 1_037])
def test_spenders_at_once_get_exactly_the_ceiling(database: Database, ceiling: int):
    """A thread for each connection; every one of them asks more often than there is room."""
    spender, each = fresh(), ceiling // 4

    def ask(_: int) -> int:
        with psycopg.connect(database.owner_url, autocommit=True) as connection:
            waits: Sequence[int] = [spend(connection, START, ceiling, spender) for _ in range(each)]
        return waits.count(0)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, range(8))) == ceiling


def test_what_has_ended_is_swept_and_nothing_else(owner: Owner, pool: Pool):
    at = START + timedelta(days=400)
    quiet, busy = fresh(), fresh()
    spend(owner, at - MINUTE, 1, quiet)
    spend(owner, at - MINUTE + timedelta(microseconds=1), 1, busy)
    with pool.system() as connection:
        assert tokens.sweep(connection, at) >= 1
    kept = owner.execute("SELECT spender FROM spent_requests WHERE spender = ANY(%s)", [[quiet, busy]]).fetchall()
    assert kept == [(busy,)]
    assert spend(owner, at, 1, quiet) == 0


def test_the_application_may_neither_see_nor_change_what_decides(database: Database):
    statements = (
        "SELECT * FROM spent_requests", "DELETE FROM spent_requests", "SELECT * FROM request_windows",
        "SELECT * FROM bearer_tokens", "DELETE FROM bearer_tokens", "SELECT pcds_spend('{a}', '{1}', now())",
        "INSERT INTO request_windows VALUES (gen_random_uuid(), gen_random_uuid(), 9, now(), null)",
        "INSERT INTO bearer_tokens VALUES ('x', gen_random_uuid(), gen_random_uuid(), '{read}', now())",
    )  # fmt: skip
    with psycopg.connect(database.app_url, autocommit=True) as app:
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement)
