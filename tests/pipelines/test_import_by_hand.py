"""Imports that somebody materialises by hand, runs that have nothing to do, and runs that lost their process."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import pytest

from pipelines.checks import factory as checks
from pipelines.engine import tags
from pipelines.engine.runs import partition_of
from pipelines.imports import process, report
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import statuses
from warehouse.imports import claims

FILE = "\n".join(["sku_code,name,material,weight_grams", *(f"S{n},Bottle,plastic,{n}" for n in range(1, 8))])
FIVE = ["uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report"]
WRITTEN = {"import.submitted": 1, "sku.created": 7, "import.completed": 1}


def failure(result: dg.ExecuteInProcessResult) -> str:
    [event] = [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    return str(event.step_failure_data.error)


def made(result: Any) -> list[str]:
    return [event.asset_key.to_user_string() for event in result.all_events if event.is_step_materialization]


def ends_without_a_result(result: dg.ExecuteInProcessResult) -> bool:
    """Whether the run is green and has made nothing."""
    return result.success and made(result) == []


def test_materialised_by_hand_the_next_waiting_file_is_imported(desk: Desk) -> None:
    """Oldest first, one a run, and none before one that another run works on; then there is nothing to do."""
    first, taken, last = (desk.send(FILE.replace("S", sort)) for sort in "STU")
    _imports_next(desk, first)
    claim = claims.take(desk.pool, desk.clock, desk.company, taken, uuid4())
    assert claim is not None
    assert ends_without_a_result(desk.launch(None))
    assert [desk.poll(import_id)["status"] for import_id in (taken, last)] == ["processing", "queued"]
    with desk.pool.company(desk.company) as conn:
        claims.end(conn, claim, "completed", failure=None, at=desk.clock.now())
    _imports_next(desk, last)
    assert ends_without_a_result(desk.launch(None))


def _imports_next(desk: Desk, import_id: UUID) -> None:
    run = desk.launch(None)
    assert made(run) == FIVE
    assert run.dagster_run.tags[tags.IMPORT] == str(import_id)
    assert desk.poll(import_id)["status"] == "completed"


@pytest.mark.parametrize("chosen", [["graded_skus"], ["uploaded_file", "typed_rows"], ["import_report"]])
def test_the_file_is_imported_whole_whichever_assets_are_chosen(desk: Desk, chosen: list[str]) -> None:
    import_id = desk.send(FILE)
    assert made(desk.launch(None, assets=chosen)) == chosen
    assert desk.poll(import_id)["counts"]["created"] == 7
    assert desk.entries() == WRITTEN
    assert ends_without_a_result(desk.launch(None, assets=chosen))


def test_an_import_takes_no_more_events_than_it_has_things_to_say(desk: Desk) -> None:
    """Each event is a row that the run waits for (issue 34: at most 37)."""
    run = desk.launch(desk.send(FILE))
    assert len(desk.instance.all_logs(run.run_id)) <= 37


def test_rows_are_stored_before_dagster_is_told_what_was_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster's storage takes each event by itself, which the sender of a small file would wait for (decision 0101)."""
    write, told = process.write_rows, list[dg.EventLogRecord]()

    def watched(*of: Any, **options: Any) -> process.RunTotals:
        told.extend(desk.instance.fetch_materializations(dg.AssetKey("uploaded_file"), limit=100).records)
        return write(*of, **options)

    monkeypatch.setattr(process, "write_rows", watched)
    run = desk.launch(desk.send(FILE))
    assert made(run) == FIVE
    assert run.run_id not in {record.run_id for record in told}


def test_what_was_read_of_an_import_that_fails_is_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(process, "write_rows", broken)
    run = desk.launch(desk.send(FILE))
    assert not run.success
    assert made(run) == FIVE[:3]


def test_what_an_import_made_is_fresh(desk: Desk) -> None:
    """The assets of one step depend on each other: none is older than what it is made from."""
    for sort in "ST":
        assert desk.run(desk.send(FILE.replace("S", sort)))
        assert statuses(desk.instance, desk.pool, desk.company, *FIVE) == dict.fromkeys(FIVE, "FRESH")


def test_an_import_that_failed_or_is_not_there_turns_no_company_red(desk: Desk) -> None:
    """A backfill over all companies meets those that have sent nothing, and those whose last file failed."""
    assert ends_without_a_result(desk.launch(None))
    import_id = desk.send(FILE)
    with desk.pool.company(desk.company) as conn:
        conn.execute("UPDATE imports SET status = 'failed', finished_at = %s", (desk.clock.now(),))
    assert ends_without_a_result(desk.launch(import_id))
    assert ends_without_a_result(desk.launch(None))


def test_a_second_run_of_an_import_ends_well_and_makes_nothing(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert desk.run(import_id)
    before = desk.poll(import_id), desk.entries()
    assert ends_without_a_result(desk.launch(import_id))
    assert (desk.poll(import_id), desk.entries()) == before
    latest = desk.instance.get_latest_materialization_event(dg.AssetKey("graded_skus"))
    assert latest is not None
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.metadata["dagster/row_count"].value == 7


def test_a_run_beside_the_one_that_has_the_import_makes_nothing(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert claims.take(desk.pool, desk.clock, desk.company, import_id, uuid4())
    assert ends_without_a_result(desk.launch(import_id))
    assert desk.poll(import_id)["counts"]["total"] == 0


@pytest.mark.parametrize("named", [None, "no id"])
def test_an_import_of_another_company_is_refused_and_left_alone(desk: Desk, new_company: Any, named: Any) -> None:
    import_id, other = desk.send(FILE), new_company("enterprise")
    elsewhere = partition_of(desk.instance, desk.pool, other)
    refused = desk.launch(named or import_id, partition=elsewhere)
    assert "the partition and the import must be one company's" in failure(refused)
    assert desk.poll(import_id)["status"] == "queued"
    assert ends_without_a_result(desk.launch(None, partition=elsewhere))


@pytest.mark.parametrize(("asset", "shown"), [("parsed_table", FIVE[:2]), ("typed_rows", FIVE[:3])])
def test_rows_that_break_their_contract_go_no_further(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, asset: str, shown: Sequence[str]
) -> None:
    """The check is red beside the asset that failed it, nothing is written, and the import says whose fault it is."""
    judge, seen = checks.judge, iter(FIVE[1:])
    monkeypatch.setattr(checks, "judge", lambda frames: judge(frames)._replace(passed=next(seen) != asset))
    import_id = desk.send(FILE)
    run = desk.launch(import_id)
    assert not run.success
    assert made(run) == list(shown)
    [broken] = [check for check in run.get_asset_check_evaluations() if not check.passed]
    assert broken.asset_key == dg.AssetKey(asset)
    assert "blocking asset check failed" in failure(run)
    assert desk.poll(import_id)["failure"]["code"] == "internal_error"
    assert desk.entries() == {"import.submitted": 1, "import.failed": 1}


def test_a_run_that_lost_its_process_after_the_last_row_shows_what_was_made(desk: Desk) -> None:
    """Run monitoring resumes it by its own id: nothing is written again, and each asset gets its event."""
    import_id, run_id = desk.send(FILE), uuid4()
    claim = claims.take(desk.pool, desk.clock, desk.company, import_id, run_id)
    assert claim is not None
    sent = report.load(desk.pool, desk.company, import_id)
    upload = Upload.from_bytes(desk.objects.get(sent.table_key))
    typed = type_rows(upload, default_year=sent.default_year, served_markets=frozenset())
    job = process.Job(desk.pool, desk.data_dir, desk.clock, desk.rulesets, claim, sent, upload, typed)
    process.write_rows(job, proceed=lambda: None)
    resumed = desk.launch(import_id, run_id=str(run_id))
    assert made(resumed) == FIVE
    assert desk.poll(import_id)["counts"]["created"] == 7
    assert desk.entries() == WRITTEN
    assert ends_without_a_result(desk.launch(import_id, run_id=str(uuid4())))


def test_a_run_by_hand_that_lost_its_process_goes_on_with_the_file_that_it_had_taken(desk: Desk) -> None:
    import_id, run_id = desk.send(FILE), uuid4()
    older = {tags.IMPORT: str(import_id)}
    assert claims.take(desk.pool, desk.clock, desk.company, import_id, run_id)
    waiting = desk.send(FILE.replace("S", "T"))
    resumed = desk.launch(None, run_id=str(run_id), run_tags=older)
    assert made(resumed) == FIVE
    assert [desk.poll(each)["status"] for each in (import_id, waiting)] == ["completed", "queued"]
