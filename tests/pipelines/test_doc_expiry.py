"""The ledger says once that a DoC's last day has passed, on the UTC day after it, however often it is looked."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from pipelines import operate
from pipelines.engine.steps import Stopping
from services import audit as audit_services
from tests.pipelines.conftest import Desk
from warehouse import conformity


def added(desk: Desk, company: UUID, status: str, expires_on: str | None) -> UUID:
    doc_id = uuid4()
    day = None if expires_on is None else date.fromisoformat(expires_on)
    values = {"sku_id": uuid4(), "reference": "r", "supplier_name": None, "status": status, "issued_on": None}
    with desk.pool.company(company) as conn:
        conformity.add(conn, company, doc_id, values={**values, "expires_on": day}, at=desk.clock.now())
    return doc_id


def enter(desk: Desk, proceed: Callable[[], None] = lambda: None) -> int:
    return operate.enter_expiries(desk.pool, desk.clock, proceed)


def entered(desk: Desk, company: UUID) -> list[tuple[Any, ...]]:
    with psycopg.connect(desk.database.owner_url) as owner:
        return owner.execute(
            "SELECT resource_id, before, after, actor_type, reason FROM audit_entries e JOIN audit_transactions t "
            "ON t.id = e.transaction_id WHERE e.company_id = %s AND action = 'doc.expired' ORDER BY e.id",
            (company,),
        ).fetchall()


def test_only_a_valid_doc_whose_last_day_has_passed_is_entered_and_once(
    desk: Desk, new_company: Callable[[str], UUID]
) -> None:
    """The clock stands on 2026-11-21."""
    other = new_company("starter")
    desk.clock.advance(timedelta(days=1))
    enter(desk)  # what other tests have left for today and tomorrow
    desk.clock.advance(timedelta(days=-1))
    passed, theirs = added(desk, desk.company, "valid", "2026-11-20"), added(desk, other, "valid", "2026-10-01")
    for status, day in (("valid", "2026-11-21"), ("valid", None), ("draft", "2026-11-01"), ("expired", "2026-11-01")):
        added(desk, desk.company, status, day)
    assert enter(desk) == 2
    assert enter(desk) == 0
    said = ({"status": "valid"}, {"status": "expired"}, "system")
    assert entered(desk, desk.company) == [(str(passed), *said, "Its last day, 2026-11-20, has passed.")]
    assert entered(desk, other) == [(str(theirs), *said, "Its last day, 2026-10-01, has passed.")]
    desk.clock.advance(timedelta(days=1))
    assert enter(desk) == 1
    with desk.pool.company(desk.company) as conn:
        assert audit_services.verify(conn).ok


def test_a_doc_that_is_given_another_last_day_expires_again(desk: Desk) -> None:
    doc_id = added(desk, desk.company, "valid", "2026-11-01")
    enter(desk)
    with desk.pool.company(desk.company) as conn:
        conn.execute("UPDATE docs SET expires_on = '2026-11-10' WHERE id = %s", (doc_id,))
    enter(desk)
    assert len(entered(desk, desk.company)) == 2


@pytest.mark.long
def test_two_at_once_and_one_that_is_stopped_enter_each_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.operate.BATCH_DOCS", 3)
    enter(desk)
    ids = {str(added(desk, desk.company, "valid", "2026-11-01")) for _ in range(10)}
    batches = iter([None] * 2)

    def stop_in_the_middle() -> None:
        if len(entered(desk, desk.company)) > 2 and next(batches, Stopping) is Stopping:
            raise Stopping

    with pytest.raises(Stopping):
        enter(desk, stop_in_the_middle)
    assert len(entered(desk, desk.company)) == 9
    added(desk, desk.company, "valid", "2026-11-01")
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(lambda _: enter(desk), range(4))) == 2
    found = [row[0] for row in entered(desk, desk.company)]
    assert len(found) == len(set(found)) == 11
    assert ids < set(found)
