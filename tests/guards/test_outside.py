"""The guard of `tests.outside`: a call to the outside inside a transaction fails, whoever opened it."""

from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from pipelines.suppliers import MailServer
from tests import outside
from warehouse.operate.database import Database
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Connection, Pool, after_commit, owner_transaction
from warehouse.operate.settings import Settings


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects.from_settings(Settings.load(data_dir=tmp_path))


def test_no_transaction_of_any_kind_may_wait_for_the_store(
    database: Database, pool: Pool, company: UUID, objects: Objects
) -> None:
    key = f"{company}/files/{uuid4()}"
    for transaction in (pool.company(company), pool.system(), owner_transaction(database.owner_url)):
        with transaction, pytest.raises(AssertionError, match="outside"):
            objects.put(key, b"x")
        objects.put(key, b"x")

    with psycopg.connect(database.owner_url, autocommit=True), pool.turn("x"):
        outside.check()


def test_no_mail_is_sent_inside_a_transaction(pool: Pool) -> None:
    with pool.system(), pytest.raises(AssertionError, match="outside"):
        MailServer("smtp://127.0.0.1:9", "a@b.example").send(None)


def test_what_is_put_off_is_done_after_the_commit_alone(pool: Pool, company: UUID, objects: Objects) -> None:
    key = f"{company}/files/{uuid4()}"
    objects.put(key, b"x")

    def undone(conn: Connection) -> None:
        after_commit(conn, lambda: objects.remove(key))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pool.run(company, undone)
    with pool.company(company):
        pass
    assert objects.get(key) == b"x"
    pool.run(company, lambda conn: after_commit(conn, lambda: objects.remove(key)))
    assert list(objects.stored(company)) == []


def test_one_at_a_time_has_a_turn(pool: Pool) -> None:
    with pool.turn("mine") as first, pool.turn("mine") as second, pool.turn("other") as third:
        assert (first, second, third) == (True, False, True)
    with pool.turn("mine") as again:
        assert again
