"""Runs that Dagster starts itself, on several machines: the sensor asks, the run claims, whoever is late says so."""

from typing import Any

import dagster as dg

from pipelines.definitions import defs
from pipelines.jobs import run_config
from pipelines.sensors import queued_imports
from pipelines.steps.imports import claim as claims
from tests.pipelines.conftest import Desk

FILE = "sku_code,name\nL1,Bottle\nL2,Jar"


def requests(desk: Desk) -> dict[str, dg.RunRequest]:
    """What the sensor asks for, by import."""
    context = dg.build_sensor_context(desk.instance, resources={"workshop": desk.workshop})
    result: Any = queued_imports(context)
    return {request.tags["pcds/import_id"]: request for request in result.run_requests}


def launch(desk: Desk, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("import_file").execute_in_process(
        run_config=request.run_config, tags=request.tags, instance=desk.instance, raise_on_error=False,
        resources={"workshop": desk.workshop},
    )  # fmt: skip


def failure(result: dg.ExecuteInProcessResult) -> str:
    (event,) = [event for event in result.all_events if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    return str(event.step_failure_data.error)


def test_the_sensor_asks_for_a_run_that_claims_its_import(desk: Desk) -> None:
    import_id = desk.send(FILE)
    request = requests(desk)[str(import_id)]
    assert launch(desk, request).success
    assert desk.poll(import_id)["counts"]["created"] == 2
    assert str(import_id) not in requests(desk)
    assert "Nothing to do" in failure(launch(desk, request))


def test_the_run_of_a_dead_process_is_closed_by_its_successor(desk: Desk) -> None:
    """A killed process leaves its run as started for ever; the import's row remembers which run that was."""
    import_id = desk.send(FILE)
    config = run_config("uploaded_file", {"import_id": str(import_id)})
    dead = desk.instance.create_run_for_job(defs.resolve_job_def("import_file"), run_config=config)
    first = claims.take(desk.workshop.pool, desk.workshop.clock, import_id)
    assert first is not None
    claims.assign(desk.workshop.pool, first, dead.run_id)
    claims.hand_back(desk.workshop.pool, first)
    assert desk.run(import_id)
    closed = desk.instance.get_run_by_id(dead.run_id)
    assert closed is not None
    assert closed.status == dg.DagsterRunStatus.FAILURE


def test_a_process_that_stops_hands_its_import_back_as_often_as_it_is_stopped(desk: Desk) -> None:
    import_id = desk.send(FILE)
    desk.workshop.stopping.set()
    for _ in range(claims.MAX_ATTEMPTS + 1):
        claim = claims.take(desk.workshop.pool, desk.workshop.clock, import_id)
        assert claim is not None
        config = {"import_id": str(import_id), "company_id": str(desk.company), "claim": str(claim.token)}
        stopped = launch(desk, dg.RunRequest(run_config=run_config("uploaded_file", config)))
        assert "Handed back" in failure(stopped)
        claims.hand_back(desk.workshop.pool, claim)
    run = desk.instance.get_run_by_id(stopped.run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.CANCELED
    desk.workshop.stopping.clear()
    assert desk.run(import_id)
    assert desk.poll(import_id)["counts"]["created"] == 2


def test_an_asset_of_an_import_launched_alone_says_what_to_launch(desk: Desk) -> None:
    """What an analyst gets who materialises it from its page."""
    alone = defs.resolve_job_def("import_file").execute_in_process(
        op_selection=["parsed_table"],
        instance=desk.instance,
        raise_on_error=False,
        resources={"workshop": desk.workshop},
    )
    assert "launch the job import_file" in failure(alone)
