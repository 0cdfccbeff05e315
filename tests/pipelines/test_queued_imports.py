"""The sensor that asks for imports' runs: which, when, and how they are marked."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import dagster as dg
import psycopg
import pytest

from pipelines import due
from pipelines.definitions import defs
from pipelines.defs.sensors import queued_imports
from pipelines.engine.runs import partition_of
from tests.pipelines.conftest import Desk
from warehouse.imports import claims
from warehouse.operate import launches
from warehouse.operate.clock import Clock, StoppedClock

FILE = "sku_code,name\nL1,Bottle\nL2,Jar"


@pytest.fixture
def requests(desk: Desk, clock: StoppedClock) -> Any:
    """What the sensor asks for ten seconds from now, by import."""

    def asked() -> dict[str, dg.RunRequest]:
        clock.advance(timedelta(seconds=10))
        context = dg.build_sensor_context(desk.instance, resources=desk.resources.as_definitions())
        result: Any = queued_imports(context)
        return {request.tags["pcds/import_id"]: request for request in result.run_requests}

    return asked


def test_the_sensor_asks_for_a_run_that_writes_its_import(desk: Desk, requests: Any) -> None:
    import_id = desk.send(FILE)
    request = requests()[str(import_id)]
    assert request.partition_key == partition_of(desk.instance, desk.pool, desk.company)
    assert request.run_config["ops"]["imported_file"]["config"] == {"import_id": str(import_id)}
    assert desk.launch(import_id).success
    assert desk.poll(import_id)["counts"]["created"] == 2
    assert str(import_id) not in requests()
    late = desk.launch(import_id)
    assert late.success
    assert not late.asset_materializations_for_node("graded_skus")


def test_what_was_just_sent_is_the_apis_to_ask_for(desk: Desk) -> None:
    import_id = desk.send(FILE)
    context = dg.build_sensor_context(desk.instance, resources=desk.resources.as_definitions())
    result: Any = queued_imports(context)
    assert str(import_id) not in {request.tags["pcds/import_id"] for request in result.run_requests}


def test_an_import_with_an_unfinished_run_is_not_asked_for_until_that_has_ended(desk: Desk, requests: Any) -> None:
    import_id = desk.send(FILE)
    tags = requests()[str(import_id)].tags
    job = defs.resolve_job_def("import_file")
    run = desk.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    assert str(import_id) not in requests()
    desk.instance.report_run_failed(run)
    assert requests()[str(import_id)].run_key == f"{import_id}/1"


def test_an_import_whose_worker_hangs_has_another_run_and_the_first_one_writes_nothing_more(
    desk: Desk, requests: Any, clock: StoppedClock
) -> None:
    """A process that was stopped keeps its connections, so that run monitoring takes it for a living one."""
    import_id = desk.send(FILE)
    job, tags = defs.resolve_job_def("import_file"), requests()[str(import_id)].tags
    hung = desk.instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    with psycopg.connect(desk.database.app_url, autocommit=True) as worker:
        launches.seize(worker, launches.enrol(worker), hung.run_id)
        claim = claims.take(desk.pool, clock, desk.company, import_id, UUID(hung.run_id))
        assert claim is not None
        assert str(import_id) not in requests(), "its last heartbeat is young"
        clock.advance(claims.STALLED_AFTER)
        assert requests()[str(import_id)].run_key == f"{import_id}/1"
        assert launches.state(worker, hung.run_id) == "ended"
        ended = desk.instance.get_run_by_id(hung.run_id)
        assert ended is not None
        assert ended.status == dg.DagsterRunStatus.FAILURE
        assert desk.run(import_id)
        assert not claims.beat(desk.pool, claim, clock), "by which it learns, when it wakes up, that it writes no more"
    assert desk.poll(import_id)["counts"]["created"] == 2


@pytest.mark.parametrize(("ended_ago", "waits"), [(1, True), (100, False), (-3_600, False)])
def test_a_clock_that_jumps_back_makes_no_import_wait_until_it_has_caught_up(ended_ago: int, waits: bool) -> None:
    record: Any = SimpleNamespace(update_timestamp=Clock().now() - timedelta(seconds=ended_ago))
    assert due._waits([record] * 3) is waits


def test_a_large_import_is_marked_so_that_it_leaves_a_worker_to_small_ones(desk: Desk, requests: Any) -> None:
    rows = "".join(f"N{number},Bottle\n" for number in range(2_001))
    large, small = desk.send(f"sku_code,name\n{rows}"), desk.send(FILE)
    asked = requests()
    sizes = {import_id: asked[str(import_id)].tags.get(".dagster/pcds_size") for import_id in (large, small)}
    assert sizes == {large: "large", small: None}
