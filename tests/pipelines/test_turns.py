"""Whose import is next: companies take turns, and small files do not wait for large ones."""

import dataclasses
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg

from pipelines.steps.imports import claim as claims
from pipelines.worker import Worker
from tests.pipelines.conftest import Desk
from tests.waiting import PATIENCE_SECONDS, wait_until


def rows(count: int, mark: str) -> str:
    return "\n".join(["sku_code,name,material", *(f"{mark}{number},Bottle,plastic" for number in range(count))])


def claimed(desk: Desk, *among: UUID, most_rows: int | None = None) -> UUID | None:
    """The next of these imports that a claim gives; what other tests have queued meanwhile is passed over."""
    while claim := claims.take(desk.workshop.pool, desk.workshop.clock, most_rows=most_rows):
        if claim.import_id in among:
            return claim.import_id
    return None


def test_companies_take_turns(desk: Desk, new_company: Callable[[str], UUID]) -> None:
    other, clock = dataclasses.replace(desk, company=new_company("enterprise")), desk.workshop.clock
    sent = []
    for sender in (desk, desk, desk, other, other):
        sent.append(sender.send(rows(1, f"T{len(sent)}-")))
        clock.advance(timedelta(seconds=1))
    assert [claimed(desk, *sent) for _ in sent] == [sent[0], sent[3], sent[1], sent[4], sent[2]]
    assert claimed(desk, *sent) is None


def test_a_backlog_does_not_take_every_second_turn(desk: Desk, new_company: Callable[[str], UUID]) -> None:
    """Once its first import has ended a company's next one waits for those that have not had a turn."""
    others = [dataclasses.replace(desk, company=new_company("enterprise")) for _ in range(3)]
    clock, sent = desk.workshop.clock, []
    for sender in (desk, desk, desk, *others):
        sent.append(sender.send(rows(1, f"B{len(sent)}-")))
        clock.advance(timedelta(seconds=1))
    turns = []
    for _ in sent:
        turns.append(claimed(desk, *sent))
        with psycopg.connect(desk.database.owner_url) as owner:
            owner.execute("UPDATE imports SET status = 'completed', claim = NULL WHERE id = %s", (turns[-1],))
        clock.advance(timedelta(seconds=1))
    assert [sent.index(turn) for turn in turns if turn] == [0, 3, 4, 5, 1, 2]


def test_a_loop_for_small_files_takes_no_large_one(desk: Desk) -> None:
    large, small = desk.send(rows(4, "L")), desk.send(rows(3, "S"))
    assert claimed(desk, large, small, most_rows=3) == small
    assert claimed(desk, large, small, most_rows=3) is None
    assert claimed(desk, large, small) == large


def test_a_small_file_is_done_while_a_large_one_is_under_way(desk: Desk, tmp_path: Path) -> None:
    """Held up by a lock, the large one cannot end before the small one, whatever the machine's mood."""
    loops = [
        Worker(
            desk.workshop, lambda: psycopg.connect(desk.database.app_url, autocommit=True), lambda: desk.instance,
            tmp_path, most_rows=most,
        )
        for most in (None, 3)
    ]  # fmt: skip
    desk.run(desk.send(rows(1, "L")))
    with psycopg.connect(desk.database.owner_url) as owner:
        owner.execute("SELECT FROM skus WHERE company_id = %s FOR UPDATE", (desk.company,))
        large = desk.send(rows(9, "L").replace("Bottle", "Jar"))
        threads = [threading.Thread(target=loop.serve) for loop in loops]
        for thread in threads:
            thread.start()
        small = desk.send(rows(2, "S"))
        try:
            wait_until(lambda: desk.poll(small)["status"] == "completed")
            assert desk.poll(large)["status"] in ("queued", "processing")
            owner.rollback()
            wait_until(lambda: desk.poll(large)["status"] == "completed")
        finally:
            desk.workshop.stopping.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert desk.poll(large)["counts"]["total"] == 9
