"""The limit itself: no 60 seconds hold more than the ceiling, nothing is refused that would fit, the wait is right."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from math import ceil
from threading import Barrier
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drawing import examples
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

START = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
MINUTE = timedelta(seconds=60)
MICROSECONDS = (0, 1, 999_999, 10_000_000, 19_999_999, 20_000_000, 59_999_999, 60_000_000)
GAPS = st.lists(st.sampled_from(MICROSECONDS), max_size=40)

Owner = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def owner(database: Database) -> Iterator[Owner]:
    with psycopg.connect(database.owner_url, autocommit=True) as connection:
        yield connection


def spend(owner: Owner, at: datetime, ceiling: int, spender: str) -> int:
    row = owner.execute("SELECT pcds_take(%s, %s, %s)", [spender, ceiling, at]).fetchone()
    assert row is not None
    return int(str(row[0]))


def fresh() -> str:
    return f"test:{uuid4()}"


@examples(60)
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


@examples(60)
@given(
    sent=st.lists(st.tuples(st.sampled_from(MICROSECONDS), st.integers(0, 20_000_000)), max_size=40),
    ceiling=st.integers(1, 5),
)
def test_instants_out_of_order_never_pass_the_ceiling(owner: Owner, sent: list[tuple[int, int]], ceiling: int):
    """A request may wait for its connection and come to the count after one that set out later."""
    spender = fresh()
    begun = accumulate(gap for gap, _ in sent)
    instants = [START + timedelta(microseconds=at + late) for at, (_, late) in zip(begun, sent, strict=True)]
    admitted = [at for at in instants if spend(owner, at, ceiling, spender) == 0]
    for first in admitted:
        assert len([at for at in admitted if first <= at < first + MINUTE]) <= ceiling


def test_whoever_waited_is_let_in_and_not_a_second_sooner(owner: Owner):
    spender = fresh()
    for second in range(3):
        assert spend(owner, START + timedelta(seconds=second * 7), 3, spender) == 0
    wait = spend(owner, START + timedelta(seconds=20), 3, spender)
    assert wait == 40
    assert spend(owner, START + timedelta(seconds=19 + wait), 3, spender) > 0
    assert spend(owner, START + timedelta(seconds=20 + wait), 3, spender) == 0


def test_a_ceiling_that_rises_gives_room_at_once_and_one_that_falls_holds_from_then_on(owner: Owner):
    spender = fresh()
    assert [spend(owner, START, 3, spender) for _ in range(4)] == [0, 0, 0, 60]
    assert [spend(owner, START, 5, spender) for _ in range(3)] == [0, 0, 60]
    late = START + timedelta(seconds=59)
    assert spend(owner, late, 3, spender) == 1
    assert [spend(owner, START + MINUTE, 3, spender) for _ in range(4)] == [0, 0, 0, 60]


@pytest.mark.parametrize("milliseconds", [5, 20])
def test_a_wide_ceiling_is_counted_by_handfuls_and_never_passed(owner: Owner, milliseconds: int):
    spender, ceiling = fresh(), 2_400
    instants = [START + timedelta(milliseconds=tick * milliseconds) for tick in range(3_000)]
    admitted = [at for at in instants if at < START + MINUTE and spend(owner, at, ceiling, spender) == 0]
    assert len(admitted) == min(ceiling, len([at for at in instants if at < START + MINUTE]))
    [(places,)] = owner.execute("SELECT count(*) FROM request_slots WHERE spender = %s", [spender])
    assert int(str(places)) == 120
    last_of_first = admitted[19] + MINUTE
    assert spend(owner, last_of_first - timedelta(microseconds=1), ceiling, spender) == 1
    assert [spend(owner, last_of_first, ceiling, spender) for _ in range(21)] == [0] * 20 + [1]


def test_a_few_at_once_and_seconds_apart_are_not_refused_under_a_wide_ceiling(database: Database):
    """Each holds a place of its own while it is under way, and no place of a moment ago is near its last second."""
    spender, callers = fresh(), 8
    with ExitStack() as open_:
        connections = [open_.enter_context(psycopg.connect(database.owner_url)) for _ in range(callers)]
        assert spend(connections[0], START - MINUTE, 1_000_000, spender) == 0  # makes the places
        connections[0].commit()
        for second in range(0, 90, 2):
            at = START + timedelta(seconds=second)
            assert [spend(connection, at, 1_000_000, spender) for connection in connections] == [0] * callers
            for connection in connections:
                connection.commit()


def test_the_first_requests_of_a_spender_at_once_are_all_let_in(database: Database):
    """One of them makes the places; the others, which looked before, must not take those for taken ones."""
    callers = 12
    start = Barrier(callers)

    def first(connection: Owner, spender: str) -> int:
        start.wait(timeout=PATIENCE_SECONDS)
        return spend(connection, START, callers, spender)

    with ExitStack() as open_:
        connections = [
            open_.enter_context(psycopg.connect(database.owner_url, autocommit=True)) for _ in range(callers)
        ]
        threads = open_.enter_context(ThreadPoolExecutor(callers))
        for _ in range(60):
            assert list(threads.map(first, connections, [fresh()] * callers)) == [0] * callers


def test_what_another_clock_took_is_free(owner: Owner):
    spender = fresh()
    assert spend(owner, START + timedelta(days=1), 1, spender) == 0
    assert spend(owner, START, 1, spender) == 0
    assert spend(owner, START + timedelta(seconds=59), 1, spender) == 1
    assert spend(owner, START - MINUTE, 1, spender) == 0


def test_nobody_waits_for_a_request_that_is_still_under_way(owner: Owner, database: Database):
    """Its place counts as taken; where it is given up, it is free again."""
    spender = fresh()
    assert spend(owner, START - MINUTE, 2, spender) == 0
    with psycopg.connect(database.owner_url) as slow:
        assert spend(slow, START, 2, spender) == 0
        assert spend(owner, START, 2, spender) == 0
        assert spend(owner, START, 2, spender) == 60
        slow.rollback()
    assert spend(owner, START, 2, spender) == 0
    assert spend(owner, START, 2, spender) == 60


@pytest.mark.parametrize("ceiling", [37, 1_000, 2_400])
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
    at, hour = START + timedelta(days=400), timedelta(hours=1)
    quiet, busy = fresh(), fresh()
    spend(owner, at - hour, 1, quiet)
    spend(owner, at - hour + timedelta(microseconds=1), 1, busy)
    with pool.system() as connection:
        swept = connection.execute("SELECT pcds_sweep_access(%s)", [at]).fetchone()
    assert swept is not None
    assert swept[0] >= 1
    kept = owner.execute("SELECT spender FROM request_slots WHERE spender = ANY(%s)", [[quiet, busy]]).fetchall()
    assert kept == [(busy,)]
    assert spend(owner, at, 1, quiet) == 0


def test_who_comes_during_the_sweep_is_let_in(owner: Owner, database: Database):
    """The sweep holds every place of a spender who was quiet for an hour; none of them is taken."""
    spender, at = fresh(), START + timedelta(days=500)
    assert spend(owner, at - timedelta(hours=2), 3, spender) == 0
    with (
        psycopg.connect(database.owner_url) as sweeping,
        psycopg.connect(database.owner_url, autocommit=True) as caller,
        ThreadPoolExecutor(1) as thread,
    ):
        sweeping.execute("SELECT pcds_sweep_access(%s)", [at])
        waits = thread.submit(lambda: [spend(caller, at, 3, spender) for _ in range(4)])
        wait_until(lambda: waits.done() or waiting_for_a_lock(owner, caller))
        sweeping.commit()
        assert waits.result(PATIENCE_SECONDS) == [0, 0, 0, 60]


def waiting_for_a_lock(owner: Owner, connection: Owner) -> bool:
    """Whether a statement of the connection waits for another transaction."""
    query = "SELECT cardinality(pg_blocking_pids(%s)) > 0"
    return owner.execute(query, [connection.info.backend_pid]).fetchone() == (True,)


def test_the_application_may_neither_see_nor_change_what_decides(database: Database):
    statements = (
        "SELECT * FROM request_slots",
        "DELETE FROM request_slots",
        "SELECT * FROM request_windows",
        "SELECT * FROM bearer_tokens",
        "DELETE FROM bearer_tokens",
        "SELECT pcds_take('a', 1, now())",
        "INSERT INTO request_windows VALUES (gen_random_uuid(), gen_random_uuid(), 9, now(), null)",
        "INSERT INTO bearer_tokens VALUES ('x', gen_random_uuid(), gen_random_uuid(), '{read}', now())",
    )
    with psycopg.connect(database.app_url, autocommit=True) as app:
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement)
