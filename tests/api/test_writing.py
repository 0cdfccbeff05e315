"""The door of a write: whoever may not call is told that before anything of the body, and every write counts once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import orjson
import psycopg
import pytest

from tests.api.conftest import Caller
from tests.waiting import PATIENCE_SECONDS, wait_until, within_a_minute
from warehouse.accounts.keys import new_key
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool

_SIZES = pytest.mark.parametrize("padding", [0, 100_000], ids=["small", "large"])
_SKU = {"sku_code": "A", "name": "Bottle"}


def _sent(caller: Caller, body: bytes, padding: int) -> tuple[int, str | None]:
    answer = caller.request("POST", "/skus", content=body + b" " * padding)
    return answer.status_code, answer.json().get("error")


def _counted(database: Database, caller: Caller) -> int:
    with psycopg.connect(database.owner_url) as owner:
        spender = [f"key:{caller.client_id}"]
        row = owner.execute("SELECT coalesce(sum(requests), 0) FROM request_slots WHERE spender = %s", spender)
        return int((row.fetchone() or (0,))[0])


@_SIZES
def test_who_may_not_call_is_told_that_whatever_the_body_is(join: Callable[..., Caller], padding: int) -> None:
    reader = join(scopes=("read",))
    for body in (orjson.dumps(_SKU), b"{", b"[]"):
        assert _sent(replace(reader, key=new_key()), body, padding) == (401, "invalid_api_key")
        assert _sent(reader, body, padding) == (403, "insufficient_scope")


@_SIZES
def test_a_write_counts_once_whatever_becomes_of_it(
    database: Database, join: Callable[..., Caller], padding: int
) -> None:
    within_a_minute(lambda: _counts_once(database, join(), padding))


def _counts_once(database: Database, caller: Caller, padding: int) -> None:
    sent = [(orjson.dumps(_SKU), 201), (orjson.dumps(_SKU), 200), (b"{", 400), (b"{}", 400), (b"", 400)]
    for number, (body, status) in enumerate(sent, start=1):
        assert _sent(caller, body, padding)[0] == status
        assert _counted(database, caller) == number
    for _ in range(len(sent), 120):
        _sent(caller, b"{", padding)
    assert _sent(caller, orjson.dumps(_SKU), padding) == (429, "rate_limited")


def test_a_write_that_waits_for_a_row_has_been_counted_and_holds_nobody_up(
    database: Database, pool: Pool, caller: Caller
) -> None:
    """The count is its own transaction: a row that somebody holds keeps the write, not the places."""
    caller.made(sku_code="A")
    before = _counted(database, caller)
    with ThreadPoolExecutor(1) as threads, pool.company(caller.company) as holder:
        holder.execute("SELECT FROM skus WHERE sku_code = 'A' FOR UPDATE")
        waiting = threads.submit(_sent, caller, orjson.dumps({**_SKU, "name": "Other"}), 0)
        wait_until(lambda: _counted(database, caller) == before + 1)
        assert caller.get("/skus").status_code == 200
        assert not waiting.done()
        holder.execute("ROLLBACK")
        assert waiting.result(PATIENCE_SECONDS)[0] == 200
