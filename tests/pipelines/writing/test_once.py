"""Once: the lock that lets one of several equal requests in, and what the next one sees when it has waited."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.answers import FIND, Answer, RepeatableRequest, ReusedKey
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Connection, Pool

DONE = Answer(201, "application/json", b'{"done": true}')


def once(company: UUID, *, key: str = "k", fingerprint: bytes = b"p" * 32) -> RepeatableRequest:
    return RepeatableRequest.from_key(company, method="POST", path="/api/v1/skus", key=key, fingerprint=fingerprint)


def waiting(database: Database) -> bool:
    """Whether some session waits for an advisory lock."""
    with psycopg.connect(database.owner_url) as owner:
        asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
        return owner.execute(asked).fetchone() != (0,)


@pytest.fixture
def twins(pool: Pool, company: UUID, database: Database) -> Callable[..., tuple[object, list[Answer | None]]]:
    """A first request that ends as it is told once its twin waits for it; what became of both."""

    def run(*, fails: bool, pipelined: bool) -> tuple[object, list[Answer | None]]:
        first_is_in, seen = threading.Event(), list[Answer | None]()

        def first(conn: Connection) -> None:
            seen.append(once(company).recall(conn, Clock().now()))
            first_is_in.set()
            wait_until(lambda: waiting(database), otherwise=lambda: "the twin does not wait")
            if fails:
                raise KeyError
            once(company).keep(conn, DONE, Clock().now())

        def twin(conn: Connection) -> None:
            assert first_is_in.wait(PATIENCE_SECONDS)
            conn.execute("SELECT count(*) FROM kept_answers").fetchone()  # a snapshot from before the wait
            seen.append(once(company).recall(conn, Clock().now()))

        with ThreadPoolExecutor(2) as threads:
            ended: list[Future[None]] = [
                threads.submit(pool.run, company, one, pipelined=pipelined) for one in (first, twin)
            ]
        ended[1].result()
        return ended[0].exception(), seen

    return run


@pytest.mark.parametrize("pipelined", [True, False])
def test_a_twin_waits_and_sees_what_the_first_has_committed(twins, pipelined):
    """The look comes after the lock in a statement of its own, so that it is not answered from before the wait."""
    assert twins(fails=False, pipelined=pipelined) == (None, [None, DONE])


@pytest.mark.parametrize("pipelined", [True, False])
def test_a_twin_of_a_request_that_failed_does_the_work_itself(twins, pipelined):
    failure, seen = twins(fails=True, pipelined=pipelined)
    assert isinstance(failure, KeyError)
    assert seen == [None, None]


def test_other_keys_and_companies_do_not_wait_for_each_other(pool: Pool, company: UUID):
    with pool.company(company) as conn:
        assert once(company).recall(conn, Clock().now()) is None
        for other in (once(company, key="other"), once(uuid4())):
            with pool.company(other.company_id) as another:
                another.execute("SET LOCAL lock_timeout = '30s'")
                assert other.recall(another, Clock().now()) is None


def test_one_companys_kept_answer_is_never_anothers(pool: Pool, company: UUID, new_company: Callable[[str], UUID]):
    mine, theirs = once(company), new_company("enterprise")
    with pool.company(company) as conn:
        mine.keep(conn, DONE, Clock().now())
    with pool.company(theirs) as conn:
        assert mine.recall(conn, Clock().now()) is None  # asked for by its own digest, in a foreign session
        assert conn.execute("SELECT count(*) FROM kept_answers").fetchone() == (0,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), pool.company(theirs) as conn:
        mine.keep(conn, DONE, Clock().now())


def test_another_payload_is_told_apart(pool: Pool, company: UUID):
    with pool.company(company) as conn:
        once(company).keep(conn, DONE, Clock().now())
        with pytest.raises(ReusedKey):
            once(company, fingerprint=b"q" * 32).recall(conn, Clock().now())


def test_among_fifty_thousand_an_answer_is_found_by_its_key(database: Database, pool: Pool, company: UUID):
    """In a table that was never analysed, as after a busy night's start."""
    with pool.company(company) as conn:
        conn.execute(
            "INSERT INTO kept_answers SELECT %s, sha256(n::text::bytea), 'f', 201, 'application/json', 'b', now() "
            "FROM generate_series(1, 50000) AS n",
            [company],
        )
        plan = conn.execute(f"EXPLAIN {FIND}", [company, b"x" * 32]).fetchall()
    assert "pk_kept_answers" in str(plan)
    assert "Seq Scan" not in str(plan)
