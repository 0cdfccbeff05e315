"""A night's sync by the feed beside writers: a copy that a follower keeps is the company's data, row by row.

`make soak` runs it with 20 000 SKUs (`PCDS_NIGHT_SKUS`). Imports and other processes: `tests.journeys.test_changes`.
"""

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from typing import Any

from tests.api.conftest import Caller
from tests.waiting import PATIENCE_SECONDS
from warehouse.accounts import keys
from warehouse.accounts.keys import Window
from warehouse.operate.database import Database
from warehouse.operate.sessions import owner_transaction

SKUS = int(os.environ.get("PCDS_NIGHT_SKUS", "500"))
AT_ONCE = min(1_000, SKUS // 5)
CODES = [f"N-{number:05d}" for number in range(SKUS)]
PART = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET"}
Copy = dict[str, dict[str, Any]]


def test_a_copy_kept_by_the_feed_is_the_companys_data_row_by_row(caller: Caller, database: Database) -> None:
    _widen(caller, database)
    for at in range(0, SKUS, AT_ONCE):
        _batch(caller, [{"sku_code": code, "name": "Evening"} for code in CODES[at : at + AT_ONCE]])
    cursor, copy = _get(caller, after="now")["next_cursor"], _lists(caller)
    archived = copy[CODES[0]]["id"]
    done = Event()
    with ThreadPoolExecutor(4) as threads:
        following = threads.submit(_follow, caller, cursor, copy, done.is_set)
        works = [partial(_change, caller, CODES[at::2], random.Random(at)) for at in (0, 1)]
        works.append(lambda: caller.post(f"/skus/{archived}/archive", {}))
        for work in [threads.submit(work) for work in works]:
            work.result(PATIENCE_SECONDS * 10)
        done.set()
        told = following.result(PATIENCE_SECONDS * 10)
    assert told >= SKUS, "every SKU changed"
    held = _lists(caller)
    assert len(held) >= SKUS - 1
    kept = {code: record for code, record in copy.items() if "archived_at" not in record}
    assert {code: {name: record[name] for name in held[code]} for code, record in kept.items()} == held


def _widen(caller: Caller, database: Database) -> None:
    now = datetime.now(UTC)
    with owner_transaction(database.owner_url, caller.company) as conn:
        keys.put(conn, caller.company, Window(caller.client_id, 1_000_000, now, now + timedelta(hours=6)))


def _change(caller: Caller, codes: list[str], rng: random.Random) -> None:
    """Write every SKU anew: most in batches, some by themselves, and some that are new."""
    for at in range(0, len(codes), AT_ONCE):
        some = codes[at : at + AT_ONCE]
        _batch(caller, [_row(code, rng) for code in some])
        for code in (some[0], f"NEW-{some[-1]}"):
            answer = caller.post("/skus", _row(code, rng))
            assert answer.is_success, answer.text


def _row(code: str, rng: random.Random) -> dict[str, Any]:
    return {
        "sku_code": code,
        "name": f"Night {rng.random()}",
        "components": [{**PART, "weight_g": rng.randrange(1, 90)}],
    }


def _batch(caller: Caller, rows: list[dict[str, Any]]) -> None:
    answer = caller.post("/skus/batch", {"skus": rows})
    assert answer.json()["summary"]["rejected"] == 0, answer.text[:500]


def _follow(caller: Caller, cursor: str, copy: Copy, is_over: Callable[[], bool]) -> int:
    """Keep the copy by the feed until the writers are done and nothing more is told; return how much was told."""
    told, seen, last = 0, set[str](), False
    while True:
        page = _get(caller, after=cursor, include="records", limit="200")
        for change in page["data"]:
            assert change["id"] not in seen
            seen.add(change["id"])
            copy[change["sku_code"]] = change["record"]
        told, cursor = told + len(page["data"]), page["next_cursor"]
        if last and not page["has_more"]:
            return told
        last = is_over()


def _get(caller: Caller, **params: str) -> dict[str, Any]:
    answer = caller.get("/changes", params=params)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def _lists(caller: Caller) -> Copy:
    """The whole list as it stands, by code."""
    found: Copy = {}
    total = 1
    while len(found) < total:
        page = caller.get("/skus", params={"limit": 200, "offset": len(found)}).json()
        found |= {item["sku_code"]: item for item in page["data"]}
        total = page["pagination"]["total"]
    return found
