"""Whoever writes meanwhile, and whichever rules come next: no newer grade is overwritten, no write is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from pipelines import rules
from tests.pipelines.regrading.office import Office
from tests.ruling import BOTTLE, GLASS, LINES
from tests.waiting import PATIENCE_SECONDS
from warehouse import rules as warehouse_rules
from warehouse.rules import Rulesets


@pytest.mark.parametrize("writes", [{**GLASS}, {"name": "another name"}], ids=["another grade", "the same grade"])
def test_a_write_that_comes_between_is_never_overwritten(
    office: Office, monkeypatch: pytest.MonkeyPatch, writes: dict[str, Any]
) -> None:
    """The write commits after the block was read and graded, before its rows are locked."""
    office.write(B_1=BOTTLE, B_2=BOTTLE)
    version = office.activate(LINES, then_regrade=False)
    lock = rules.lock_versions

    def lock_late(conn: psycopg.Connection[Any], codes: list[str]) -> dict[str, int]:
        if (office.held()["B-1"][2], codes) == (1, ["B-1", "B-2"]):
            office.write(B_1=writes)
        return lock(conn, codes)

    monkeypatch.setattr("pipelines.rules.lock_versions", lock_late)
    office.regrade()
    grade = "A" if "components" in writes else "C"
    assert office.held() == {"B-1": (grade, version, 2), "B-2": ("C", version, 2)}
    assert office.chain_holds()


def test_writers_at_work_meanwhile_lose_nothing(office: Office) -> None:
    codes = [f"B_{number:02}" for number in range(40)]
    office.write(**dict.fromkeys(codes, BOTTLE))
    stop, written = threading.Event(), []

    def writer(start: int) -> None:
        for number in count(start, 7):
            if stop.is_set():
                return
            code = codes[number % len(codes)]
            write = partial(office.write, **{code: {"description": f"d{number}"}})
            office.pool.retrying(office.company, write)
            written.append(code)

    with ThreadPoolExecutor(2) as threads:
        writers = [threads.submit(writer, start) for start in (0, 3)]
        for change in (LINES, {}, LINES):
            version = office.activate(change, then_regrade=False)
            services = office.services(7)
            rules.wait_for_older_writers(office.pool, lambda: None)
            rules.regrade_company(services, office.company, lambda: None)
        stop.set()
        for each in writers:
            each.result()
    assert written
    assert {(grade, ruleset) for grade, ruleset, _ in office.held().values()} == {("C", version)}
    assert sum(version - 1 for _, _, version in office.held().values()) == len(written) + 3 * len(codes) - _coincided(
        office
    )
    assert office.chain_holds()


def _coincided(office: Office) -> int:
    """SKUs that a write had brought to the new grade before the regrade came to them."""
    with office.pool.company(office.company) as conn:
        row = conn.execute(
            "SELECT count(*) FROM audit_entries e JOIN audit_transactions t ON t.id = e.transaction_id "
            "WHERE e.action = 'sku.updated' AND t.actor_type = 'system'"
        ).fetchone()
    return 3 * len(office.held()) - row[0]


def test_an_activation_while_a_regrade_is_under_way_begins_anew(office: Office) -> None:
    office.write(**{f"B_{number}": BOTTLE for number in range(4)})
    office.activate(LINES, then_regrade=False)
    services = office.services(2)
    blocks = count()

    def activate_after_the_first() -> None:
        if next(blocks) == 1:
            office.activate({}, then_regrade=False)

    rules.regrade_company(services, office.company, activate_after_the_first)
    assert {held[0] for held in office.held().values()} == {"B"}
    assert [held[2] for held in office.held().values()] == [3, 3, 1, 1]


def test_a_regrade_waits_for_writes_under_the_older_set(office: Office) -> None:
    office.write(B_1=BOTTLE)
    begun, go_on, waited = threading.Event(), threading.Event(), threading.Event()

    def late() -> None:
        with office.pool.company(office.company) as conn:
            conn.execute("SELECT 1")
            begun.set()
            assert go_on.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(2) as threads:
        writer = threads.submit(late)
        assert begun.wait(PATIENCE_SECONDS)
        waiting = threads.submit(rules.wait_for_older_writers, office.pool, waited.set)
        assert waited.wait(PATIENCE_SECONDS)
        assert not waiting.done()
        go_on.set()
        writer.result(PATIENCE_SECONDS)
        waiting.result(PATIENCE_SECONDS)


def test_a_regrade_does_not_wait_for_one_that_hangs(office: Office) -> None:
    """It locks its row of `regrades`, for which an activation waits: it never grades by an older set."""
    office.write(B_1=BOTTLE)
    office.activate(LINES, then_regrade=False)
    with office.pool.company(office.company) as conn:
        assert warehouse_rules.take(conn) is not None
        with ThreadPoolExecutor(1) as threads:
            threads.submit(rules.wait_for_older_writers, office.pool, lambda: None).result(PATIENCE_SECONDS)


def test_a_process_follows_within_a_second_and_its_write_keeps_one_set(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("warehouse.rules.FRESH_SECONDS", 1.0)
    monkeypatch.setattr("warehouse.rules.time", SimpleNamespace(monotonic=lambda: now[0]))
    elsewhere = Rulesets()
    office.write(elsewhere, B_1=BOTTLE)
    version = office.activate(LINES, then_regrade=False)
    office.write(elsewhere, B_2=BOTTLE)
    now[0] = 1.0
    office.write(elsewhere, B_3=BOTTLE)
    assert [held[1] == version for held in office.held().values()] == [False, False, True]
    assert [held[0] for held in office.held().values()] == ["B", "B", "C"]
