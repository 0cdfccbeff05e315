"""Assets of an import that run alone, runs that go on where another failed, and runs that have nothing to do."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import dagster as dg
import psycopg
import pytest

from pipelines.definitions import defs
from pipelines.defs.imports import grading
from pipelines.engine.jobs import run_config
from pipelines.engine.partitions import partition_of
from pipelines.housekeeping.outputs import remove_old_outputs
from pipelines.imports import process, work
from pipelines.reading import Upload, type_rows
from tests.pipelines.conftest import Desk
from warehouse.imports import claims
from warehouse.outputs import FOLDER

FILE = "\n".join(["sku_code,name,material,weight_grams", *(f"S{n},Bottle,plastic,{n}" for n in range(1, 8))])
READ = ["uploaded_file", "parsed_table", "typed_rows"]


def failure(result: dg.ExecuteInProcessResult) -> str:
    [event] = [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    return str(event.step_failure_data.error)


def made(result: Any) -> list[str]:
    return [event.asset_key.to_user_string() for event in result.all_events if event.is_step_materialization]


def ends_without_a_result(result: dg.ExecuteInProcessResult) -> bool:
    """Whether the run is green and has made nothing."""
    return result.success and made(result) == []


def parts(desk: Desk) -> set[str]:
    """Of outputs, by run and asset."""
    return {key.split("/", 2)[2] for key, _ in desk.objects.stored(desk.company, FOLDER)}


def test_each_asset_runs_alone_from_what_the_others_have_left(desk: Desk) -> None:
    import_id = desk.send(FILE)
    for asset in (*READ, "graded_skus", "import_report"):
        assert desk.poll(import_id)["status"] != "completed" or asset == "import_report"
        assert desk.launch(None, assets=[asset]).success, asset
    ended = desk.poll(import_id)
    assert ended["counts"] == {"total": 7, "created": 7, "updated": 0, "unchanged": 0, "rejected": 0}
    assert desk.entries() == {"import.submitted": 1, "sku.created": 7, "import.completed": 1}


def test_what_was_written_is_typed_and_graded_alone_without_another_write(desk: Desk) -> None:
    """The table that was read is gone by then: the typed rows are made from the kept output."""
    import_id = desk.send(FILE)
    assert desk.run(import_id)
    before = desk.poll(import_id), desk.entries()
    for asset in ("uploaded_file", "typed_rows", "import_report"):
        assert made(desk.launch(None, assets=[asset])) == [asset]
    for asset in ("parsed_table", "graded_skus"):
        assert ends_without_a_result(desk.launch(None, assets=[asset])), asset
    assert (desk.poll(import_id), desk.entries()) == before


def test_an_import_that_failed_or_is_not_there_turns_no_company_red(desk: Desk) -> None:
    """A backfill over all companies meets those that have sent nothing, and those whose last file failed."""
    for asset in (*READ, "graded_skus", "import_report"):
        assert ends_without_a_result(desk.launch(None, assets=[asset])), asset
    assert ends_without_a_result(desk.launch(None))
    import_id = desk.send(FILE)
    with desk.pool.company(desk.company) as conn:
        conn.execute("UPDATE imports SET status = 'failed', finished_at = %s", (desk.clock.now(),))
    assert ends_without_a_result(desk.launch(import_id))
    assert ends_without_a_result(desk.launch(None))


def test_a_graded_portfolio_never_reads_as_no_rows(desk: Desk) -> None:
    """The row count that the UI plots is of what was written last, whoever materialises the asset again."""
    assert desk.run(desk.send(FILE))
    assert desk.launch(None, assets=["graded_skus"]).success
    latest = desk.instance.get_latest_materialization_event(dg.AssetKey("graded_skus"))
    assert latest is not None
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.metadata["dagster/row_count"].value == 7


def test_a_second_run_of_an_import_ends_well_and_makes_nothing(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert desk.run(import_id)
    before = desk.poll(import_id), desk.entries(), parts(desk)
    again = desk.launch(import_id)
    assert again.success
    assert made(again) == []
    assert (desk.poll(import_id), desk.entries(), parts(desk)) == before


def test_a_run_beside_the_one_that_has_the_import_makes_nothing(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert claims.take(desk.pool, desk.clock, desk.company, import_id, uuid4())
    beside = desk.launch(import_id)
    assert beside.success
    assert made(beside) == []
    assert desk.poll(import_id)["counts"]["total"] == 0


def test_an_import_of_another_company_is_refused_and_left_alone(desk: Desk, new_company: Any) -> None:
    import_id, other = desk.send(FILE), new_company("enterprise")
    elsewhere = partition_of(desk.instance, desk.pool, other)
    refused = desk.launch(import_id, partition=elsewhere)
    assert "the partition and the import must be one company's" in failure(refused)
    assert desk.poll(import_id)["status"] == "queued"
    assert parts(desk) == set()
    assert ends_without_a_result(desk.launch(None, partition=elsewhere))


def test_what_belongs_to_different_imports_is_not_mixed(desk: Desk) -> None:
    first, second = desk.send(FILE), desk.send(FILE.replace("Bottle", "Jar"))
    assert desk.launch(first, assets=READ).success
    assert desk.launch(second, assets=["uploaded_file"]).success
    assert ends_without_a_result(desk.launch(None, assets=["graded_skus"]))
    assert desk.rows("SELECT count(*) FROM skus WHERE company_id = %s") == [(0,)]


def test_old_outputs_go_but_for_the_newest(desk: Desk) -> None:
    first, last = (desk.launch(desk.send(FILE)).run_id for _ in range(2))
    assert remove_old_outputs(desk.pool, desk.objects, timedelta(days=-1), lambda: None) > 0
    runs = {part.split("/")[0] for part in parts(desk)}
    assert runs == {"newest", last}
    assert first not in runs
    assert desk.launch(None, assets=["typed_rows"]).success


def import_job() -> dg.JobDefinition:
    return defs.resolve_job_def("import_file")


@pytest.fixture
def lasting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance on disk, for runs that Dagster loads itself: they work at the desk."""
    monkeypatch.setattr("pipelines.engine.resources.shared_resources", lambda: desk.resources)
    nothing = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    with dg.instance_for_test(overrides={"compute_logs": nothing}) as instance:
        yield instance


@pytest.mark.long
def test_a_failed_run_is_repeated_from_its_failed_step(
    desk: Desk, lasting: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise psycopg.OperationalError("away")

    import_id = desk.send(FILE)
    tags = {"dagster/partition": partition_of(lasting, desk.pool, desk.company)}
    config = run_config(uploaded_file={"import_id": str(import_id)})
    with monkeypatch.context() as patched:
        patched.setattr(grading, "write_import_rows", broken)
        with dg.execute_job(dg.reconstructable(import_job), lasting, run_config=config, tags=tags) as failed:
            assert not failed.success
    other = desk.send(FILE.replace("S", "T"))
    assert desk.launch(other).success  # what is the newest is another import's now
    options = dg.ReexecutionOptions.from_failure(failed.run_id, lasting)
    with dg.execute_job(
        dg.reconstructable(import_job), lasting, run_config=config, tags=tags, reexecution_options=options
    ) as again:
        assert again.success
        assert made(again) == ["graded_skus", "import_report"]
    assert desk.poll(import_id)["counts"]["created"] == 7
    assert desk.entries() == {"import.submitted": 2, "sku.created": 14, "import.completed": 2}


def test_a_run_that_is_repeated_from_its_first_step_by_its_own_id_goes_on(desk: Desk) -> None:
    """As run monitoring resumes it: the rows are written, and the report is what the process did not come to."""
    import_id, run_id = desk.send(FILE), uuid4()
    claim = claims.take(desk.pool, desk.clock, desk.company, import_id, run_id)
    assert claim is not None
    sent = work.load(desk.pool, desk.company, import_id)
    upload = Upload.from_bytes(desk.objects.get(sent.table_key))
    typed = type_rows(upload, default_year=sent.default_year, served_markets=frozenset())
    job = process.Job(desk.pool, desk.clock, desk.rulesets, claim, sent, upload, typed)
    process.write_rows(job, proceed=lambda: None)
    resumed = desk.launch(import_id, run_id=str(run_id))
    assert made(resumed) == [*READ, "graded_skus", "import_report"]
    assert desk.poll(import_id)["counts"]["created"] == 7
    assert desk.entries() == {"import.submitted": 1, "sku.created": 7, "import.completed": 1}
