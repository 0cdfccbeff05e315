"""Claims: one run at a time, whoever is late cannot write, and what breaks off is continued without a row twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import errors

from pipelines.imports import process, report
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload
from tests.pipelines.conftest import Desk
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.imports import claims, queries
from warehouse.imports.claims import Claim, ClaimLost
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Pool

FILE = "\n".join(
    ["sku_code,name,material,weight_grams", *(f"S{number:02},Bottle,plastic,{number}" for number in range(8))]
)


class BrokenOff(Exception):  # noqa: N818
    """Stands for whatever ends a run between two chunks."""


def take(desk: Desk, import_id: Any) -> Claim:
    claim = taken(desk, import_id, uuid4())
    assert claim is not None
    return claim


def taken(desk: Desk, import_id: UUID, run_id: UUID) -> Claim | None:
    return claims.take(desk.pool, desk.clock, desk.company, import_id, run_id)


def job_of(desk: Desk, claim: Claim) -> process.Job:
    """What a run holds in memory once it has read and typed its file."""
    sent = report.load(desk.pool, claim.company_id, claim.import_id)
    upload = Upload.from_bytes(desk.objects.get(sent.table_key))
    typed = type_rows(upload, default_year=sent.default_year, served_markets=frozenset())
    return process.Job(desk.pool, desk.data_dir, desk.clock, desk.rulesets, claim, sent, upload, typed)


def break_after(chunks: int) -> Any:
    """A `proceed` that lets some chunks pass."""
    left = iter(range(chunks))

    def proceed() -> None:
        if next(left, None) is None:
            raise BrokenOff

    return proceed


@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_what_breaks_off_between_chunks_is_continued_without_a_row_twice(desk: Desk, chunks: int) -> None:
    import_id = desk.send(FILE)
    first = take(desk, import_id)
    with pytest.raises(BrokenOff):
        process.write_rows(job_of(desk, first), chunk_rows=3, proceed=break_after(chunks))
    halfway = desk.poll(import_id)
    assert halfway["status"] == "processing"
    assert halfway["counts"]["total"] == halfway["progress"]["done"] == chunks * 3
    claims.hand_back(desk.pool, first)
    assert desk.run(import_id)
    assert desk.poll(import_id)["counts"] == {"total": 8, "created": 8, "updated": 0, "unchanged": 0, "rejected": 0}
    assert desk.rows("SELECT version, count(*) FROM skus WHERE company_id = %s GROUP BY 1") == [(1, 8)]
    assert desk.entries() == {"import.submitted": 1, "sku.created": 8, "import.completed": 1}


def somebody_waits(desk: Desk) -> bool:
    """Whether a transaction waits for another one; each look has a transaction of its own, which sees it once."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid' AND datname = current_database()"
    )
    with desk.pool.system() as conn:
        return conn.execute(waiting).fetchone() != (0,)


def test_a_chunk_that_waits_for_its_turn_locks_nothing(desk: Desk, company: UUID) -> None:
    """Another writer holds a row of the first chunk; the second is prepared by then, and holds up nobody."""
    desk.run(desk.send(FILE))
    import_id = desk.send(FILE.replace("Bottle", "Jar"))
    job, pool = job_of(desk, take(desk, import_id)), desk.pool
    rename = "UPDATE skus SET name = 'Box' WHERE sku_code = %s"
    with ThreadPoolExecutor(1) as beside, pool.company(company) as conn:
        conn.execute(rename, ["S00"])
        writing = beside.submit(process.write_rows, job, chunk_rows=3, proceed=lambda: None)
        wait_until(lambda: somebody_waits(desk))
        with pool.company(company) as other:
            other.execute("SET LOCAL lock_timeout = '30s'")
            other.execute(rename, ["S04"])
        assert not writing.done()
    assert writing.result().outcomes["updated"] == 8
    assert desk.poll(import_id)["status"] == "completed"
    assert desk.rows("SELECT name, count(*) FROM skus WHERE company_id = %s GROUP BY 1") == [("Jar", 8)]


def test_one_chunk_is_prepared_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that begin together share one processor, and the first is stored when both are ready."""
    under_way, most = list[int](), list[int]()
    prepare, both_begin = process.prepare, threading.Barrier(2)

    def watched(*arguments: Any, **named: Any) -> Any:
        under_way.append(1)
        most.append(len(under_way))
        with suppress(threading.BrokenBarrierError):
            both_begin.wait(1)
        prepared = prepare(*arguments, **named)
        under_way.pop()
        return prepared

    monkeypatch.setattr(process, "prepare", watched)
    job = job_of(desk, take(desk, desk.send(FILE)))
    assert process.write_rows(job, chunk_rows=4, proceed=lambda: None).outcomes["created"] == 8
    assert max(most) == 1


def test_a_run_that_was_overtaken_writes_nothing_more(desk: Desk, clock: StoppedClock) -> None:
    """It stalls after its first chunk; when it wakes up, another run has done the second."""
    import_id = desk.send(FILE)
    stalled = job_of(desk, take(desk, import_id))
    with pytest.raises(BrokenOff):
        process.write_rows(stalled, chunk_rows=3, proceed=break_after(1))
    clock.advance(claims.STALLED_AFTER + timedelta(seconds=1))
    overtaking = job_of(desk, take(desk, import_id))
    with pytest.raises(BrokenOff):
        process.write_rows(overtaking, chunk_rows=3, proceed=break_after(1))
    with pytest.raises(ClaimLost):
        process.write_rows(stalled, chunk_rows=3, proceed=lambda: None)
    assert desk.poll(import_id)["progress"]["done"] == 6
    assert desk.entries() == {"import.submitted": 1, "sku.created": 6}
    ended = desk.launch(import_id, run_id=str(stalled.claim.token))
    assert ended.success
    assert not ended.get_asset_materialization_events()
    process.write_rows(job_of(desk, overtaking.claim), chunk_rows=3, proceed=lambda: None)
    assert desk.entries() == {"import.submitted": 1, "sku.created": 8, "import.completed": 1}


def test_two_claimers_never_have_the_same_import(desk: Desk) -> None:
    import_id, found = desk.send(FILE), list[Claim | None]()
    together = threading.Barrier(4, timeout=PATIENCE_SECONDS)

    def grab() -> None:
        together.wait()
        found.append(taken(desk, import_id, uuid4()))

    threads = [threading.Thread(target=grab) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(claim is not None for claim in found) == 1


def test_a_run_that_goes_on_elsewhere_has_its_claim_at_once_and_counts_as_another_attempt(desk: Desk) -> None:
    import_id, run_id = desk.send(FILE), uuid4()
    for attempt in (1, 2):
        claim = taken(desk, import_id, run_id)
        assert claim is not None
        assert report.load(desk.pool, desk.company, import_id).attempts == attempt
        assert taken(desk, import_id, uuid4()) is None
    claims.lay_down(desk.pool, claim, keep=True)
    assert report.load(desk.pool, desk.company, import_id).attempts == 1
    assert taken(desk, import_id, uuid4()) is None
    claims.lay_down(desk.pool, claim, keep=False)
    assert taken(desk, import_id, uuid4()) is not None


def test_a_run_that_kills_its_process_each_time_ends_its_import(desk: Desk) -> None:
    """The same run, resumed by worker after worker: what it had taken it has again, until it is one time too many."""
    import_id, run_id = desk.send(FILE), uuid4()
    for _ in range(claims.MAX_ATTEMPTS):
        assert taken(desk, import_id, run_id) is not None
    assert not desk.launch(import_id, run_id=str(run_id)).success
    assert desk.poll(import_id)["failure"]["code"] == "unreadable_file"


def test_nobody_claims_an_import_of_another_company(desk: Desk, new_company: Any) -> None:
    import_id, other = desk.send(FILE), new_company("enterprise")
    assert claims.take(desk.pool, desk.clock, other, import_id, uuid4()) is None


def test_a_heartbeat_keeps_an_import_and_its_absence_gives_it_away(desk: Desk, clock: StoppedClock) -> None:
    import_id = desk.send(FILE)
    held = take(desk, import_id)
    clock.advance(timedelta(seconds=20))
    assert claims.beat(desk.pool, held, clock)
    clock.advance(timedelta(seconds=20))
    assert taken(desk, import_id, uuid4()) is None
    clock.advance(timedelta(seconds=11))
    assert take(desk, import_id).token != held.token
    assert not claims.beat(desk.pool, held, clock)


def test_five_runs_without_progress_end_the_import_with_its_reason(desk: Desk) -> None:
    import_id = desk.send(FILE)
    for _ in range(claims.MAX_ATTEMPTS):
        claims.hand_back(desk.pool, take(desk, import_id))
    assert not desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["status"] == "failed"
    assert ended["failure"]["code"] == "unreadable_file"
    assert ended["counts"]["total"] == 0
    assert desk.entries() == {"import.submitted": 1, "import.failed": 1}


def test_the_queue_shows_other_companies_identifiers_only_through_its_functions(
    desk: Desk, pool: Pool, clock: StoppedClock
) -> None:
    import_id = desk.send(FILE)
    clock.advance(timedelta(seconds=1))
    with pool.system() as conn:
        assert conn.execute("SELECT count(*) FROM imports").fetchone() == (0,)
        assert import_id in {waiting.id for waiting in claims.open_imports(conn, desk.clock.now())}
    with pool.system() as conn, pytest.raises(errors.InsufficientPrivilege):
        conn.execute("UPDATE audit_entries SET action = 'x'")


def test_the_status_of_another_companys_import_is_not_there(desk: Desk, new_company: Any) -> None:
    import_id, other = desk.send(FILE), new_company("enterprise")
    with desk.pool.company(other) as conn:
        assert queries.status(conn, import_id, limit=50, offset=0) is None


def test_a_file_waits_for_one_of_its_size_that_came_before_it_and_has_begun(desk: Desk) -> None:
    """One that lost its process, and is to be continued, is not overtaken; dry runs and files of other sizes go on."""
    older, younger, dry_run = desk.send(FILE), desk.send(FILE), desk.send(FILE, dry_run=True)
    large = desk.send("\n".join(["sku_code,name", *(f"L{number},Jar" for number in range(claims.SMALL_ROWS + 1))]))
    claims.hand_back(desk.pool, take(desk, older))
    assert taken(desk, younger, uuid4()) is None
    assert take(desk, dry_run)
    assert take(desk, large)
    claim = take(desk, older)
    with desk.pool.company(desk.company) as conn:
        claims.end(conn, claim, "completed", failure=None, at=desk.clock.now())
    assert take(desk, younger)
