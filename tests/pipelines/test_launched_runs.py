"""Runs that Dagster starts itself, on several machines: the sensor asks, the run claims, whoever is late says so."""

from uuid import UUID, uuid4

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.engine import steps
from pipelines.engine.jobs import import_config
from pipelines.engine.runs import company_partitions, partition_of
from pipelines.imports import report
from tests.pipelines.conftest import Desk
from warehouse.imports import claims

FILE = "sku_code,name\nL1,Bottle\nL2,Jar"


def failure(result: dg.ExecuteInProcessResult) -> str:
    (event,) = [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    return str(event.step_failure_data.error)


OF_COMPANIES = sorted(
    job.name for job in defs.resolve_all_job_defs() if job.partitions_def is company_partitions and job.name[0] != "_"
)


@pytest.mark.parametrize("job", OF_COMPANIES)
def test_a_run_launched_by_hand_without_a_company_says_so(desk: Desk, job: str) -> None:
    """As on Dagster's page of a job, where nobody has chosen a partition, or with a tag that somebody has written."""
    for tag, sentence in (
        ({}, "This run is of no company"),
        ({"dagster/partition": "nobody"}, "There is no company nobody"),
    ):
        run = defs.resolve_job_def(job).execute_in_process(
            instance=desk.instance, resources=desk.resources.as_definitions(), tags=tag, raise_on_error=False
        )
        assert sentence in failure(run)


def test_the_run_of_a_dead_process_is_closed_by_its_successor(desk: Desk) -> None:
    """A killed process leaves its run as started for ever; the import's row remembers which run that was."""
    import_id, pool = desk.send(FILE), desk.pool
    config = import_config(import_id)
    partition = {"dagster/partition": partition_of(desk.instance, pool, desk.company)}
    dead = desk.instance.create_run_for_job(defs.resolve_job_def("import_file"), run_config=config, tags=partition)
    first = claims.take(pool, desk.clock, desk.company, import_id, UUID(dead.run_id))
    assert first is not None
    claims.hand_back(pool, first)
    assert desk.run(import_id)
    closed = desk.instance.get_run_by_id(dead.run_id)
    assert closed is not None
    assert closed.status == dg.DagsterRunStatus.FAILURE


def test_a_process_that_stops_hands_its_import_back_as_often_as_it_is_stopped(desk: Desk) -> None:
    import_id = desk.send(FILE)
    desk.stopping.set()
    for _ in range(claims.MAX_ATTEMPTS + 1):
        stopped = desk.launch(import_id)
        assert "Handed back" in failure(stopped)
    run = desk.instance.get_run_by_id(stopped.run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.CANCELED
    desk.stopping.clear()
    assert desk.run(import_id)
    assert desk.poll(import_id)["counts"]["created"] == 2


def test_a_warm_worker_that_stops_ends_without_a_word_and_leaves_the_run_its_claim(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run monitoring sees its worker gone and resumes the run in another, which goes on at once."""

    left: list[tuple[int, str, int]] = []

    def end(status: int) -> None:
        found = report.load(desk.pool, desk.company, import_id)
        left.append((status, str(found.claim), found.attempts))
        raise OSError

    import_id, run_id = desk.send(FILE), str(uuid4())
    desk.stopping.set()
    monkeypatch.setattr(steps, "is_warm_worker", True)
    monkeypatch.setattr("pipelines.engine.steps.os._exit", end)
    run = desk.launch(import_id, run_id=run_id).dagster_run
    assert left == [(0, run_id, 0)]
    assert run.status != dg.DagsterRunStatus.CANCELED
