"""The sensor that asks for imports' runs: which, when, and how they are marked."""

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from pipelines.definitions import defs
from pipelines.defs.sensors import queued_imports
from pipelines.engine.partitions import partition_of
from tests.pipelines.conftest import Desk
from warehouse.clock import StoppedClock

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


def test_a_large_import_is_marked_so_that_it_leaves_a_worker_to_small_ones(desk: Desk, requests: Any) -> None:
    rows = "".join(f"N{number},Bottle\n" for number in range(2_001))
    large, small = desk.send(f"sku_code,name\n{rows}"), desk.send(FILE)
    asked = requests()
    sizes = {import_id: asked[str(import_id)].tags.get(".dagster/pcds_size") for import_id in (large, small)}
    assert sizes == {large: "large", small: None}
