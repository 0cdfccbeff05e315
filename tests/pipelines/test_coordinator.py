"""Who starts at once and who is queued; what the launcher hands over, takes back and knows of a worker's life."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import dagster as dg
import psycopg
import pytest
import yaml
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.run_coordinator import SubmitRunContext
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon

from pipelines.engine import tags
from pipelines.engine.launcher import WarmRunLauncher
from tests.waiting import PATIENCE_SECONDS, wait_until
from warehouse.operate import launches
from warehouse.operate.database import Database

ROOT = Path(__file__).parents[2]
Submit = Callable[..., dg.DagsterRun]
ORIGIN = RemoteJobOrigin(
    RemoteRepositoryOrigin(GrpcServerCodeLocationOrigin(host="h", socket="s", location_name="pcds"), "__repository__"),
    "some_job",
)
LIMITS = yaml.safe_load((ROOT / "dagster.yaml").read_text())["concurrency"]["runs"]["tag_concurrency_limits"]
STARTING, QUEUED = dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.QUEUED


@dg.job
def some_job() -> None:
    """Anything."""


@dg.job
def other_job() -> None:
    """Anything else."""


@pytest.fixture
def instance(database: Database) -> Iterator[dg.DagsterInstance]:
    """An instance with our launcher and coordinator, where two runs may be under way."""
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("DELETE FROM launches")
    overrides = {
        "run_launcher": {
            "module": "pipelines.engine.launcher",
            "class": "WarmRunLauncher",
            "config": {"url": database.app_url},
        },
        "run_coordinator": {
            "module": "pipelines.engine.coordinator",
            "class": "EagerRunCoordinator",
        },
        "concurrency": {"runs": {"max_concurrent_runs": 2, "tag_concurrency_limits": LIMITS}},  # as in dagster.yaml
    }
    with dg.instance_for_test(overrides=overrides) as instance:
        yield instance


@pytest.fixture
def submit(instance: dg.DagsterInstance) -> Submit:
    def submitted(company: str | None = None, job: dg.JobDefinition = some_job, **more: str) -> dg.DagsterRun:
        told = {**more, **({} if company is None else {tags.PARTITION: company})}
        run = instance.create_run_for_job(job, tags=told, remote_job_origin=ORIGIN)
        return instance.run_coordinator.submit_run(SubmitRunContext(run, None))

    return submitted


def handed_over(database: Database) -> set[str]:
    with psycopg.connect(database.app_url) as connection:
        return {row[0] for row in connection.execute("SELECT run_id FROM launches WHERE worker IS NULL")}


def test_a_run_starts_at_once_unless_its_company_has_another(submit: Submit, database: Database) -> None:
    first, second, other = submit("a"), submit("a"), submit("b")
    assert [run.status for run in (first, second, other)] == [STARTING, QUEUED, STARTING]
    assert handed_over(database) == {first.run_id, other.run_id}


def next_of(instance: dg.DagsterInstance) -> list[str]:
    """The runs that the daemon would launch now, in their order."""
    daemon = QueuedRunCoordinatorDaemon(interval_seconds=1)
    return [run.run_id for run in daemon._get_runs_to_dequeue(instance, instance.get_concurrency_config(), None)]


def test_an_import_leaves_the_queue_when_the_rows_of_the_one_before_it_are_stored(
    submit: Submit, instance: dg.DagsterInstance
) -> None:
    """Small ones wait for small ones alone; two of a company are under way when one only tells Dagster its work."""
    small, large = (tags.writes(UUID(int=1), large=is_large) for is_large in (False, True))
    first, second, third, big = submit("a", **small), submit("a", **small), submit("a", **small), submit("a", **large)
    assert [run.status for run in (first, second, third, big)] == [STARTING, QUEUED, QUEUED, QUEUED]
    assert next_of(instance) == [big.run_id]
    instance.add_run_tags(first.run_id, {tags.WRITES: first.run_id})
    assert next_of(instance) == [second.run_id]


def test_runs_of_a_company_keep_their_order_however_many_have_ended_meanwhile(
    submit: Submit, instance: dg.DagsterInstance
) -> None:
    small = tags.writes(UUID(int=1), large=False)
    first, *many = [submit("a", **small) for _ in range(6)]
    for run in (first, *many[:3]):
        instance.report_run_canceled(run)
    many += [submit("a", **small) for _ in range(3)]
    order = []
    while left := next_of(instance):
        order += left
        instance.report_run_canceled(instance.get_run_by_id(left[0]))
    assert order == [run.run_id for run in many[3:]]


def test_a_queued_run_wakes_the_queue(submit: Submit, database: Database) -> None:
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        launches.listen(connection, launches.QUEUE)
        submit("a")
        assert launches.payloads(connection, 0) == []
        submit("a")
        assert launches.payloads(connection, PATIENCE_SECONDS) == [""]


def test_no_more_start_at_once_than_may_be_under_way(submit: Submit) -> None:
    assert [submit(company).status for company in ("a", "b", "c", None)] == [STARTING, STARTING, QUEUED, QUEUED]


@pytest.mark.parametrize("limited", [tags.FOLLOWED, {tags.REGRADE: "2026-11-22"}])
def test_a_run_of_a_limit_for_any_value_is_queued(submit: Submit, limited: dict[str, str]) -> None:
    assert submit("a", **limited).status == QUEUED
    assert submit("b", **{".dagster/pcds_size": "small"}).status == STARTING


def test_one_large_run_starts_at_once_and_the_next_is_queued(submit: Submit) -> None:
    assert [submit(company, **tags.LARGE).status for company in ("a", "b")] == [STARTING, QUEUED]
    assert submit("c").status == STARTING


def test_companies_take_turns_in_the_queue(submit: Submit, instance: dg.DagsterInstance) -> None:
    first, *many = [submit("a", **tags.LARGE) for _ in range(4)]
    one = submit("b", **tags.LARGE)
    of_other_job = submit("a", **tags.LARGE, job=other_job)
    assert not next_of(instance)
    instance.report_run_canceled(first)
    order = []
    while left := next_of(instance):
        order += left
        instance.report_run_canceled(instance.get_run_by_id(left[0]))
    assert order == [one.run_id, of_other_job.run_id, *(run.run_id for run in many)]


def test_a_run_that_nobody_has_is_canceled_at_once(
    submit: Submit, instance: dg.DagsterInstance, database: Database
) -> None:
    run = submit("a")
    assert instance.run_launcher.terminate(run.run_id)
    assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.CANCELED
    assert handed_over(database) == set()
    assert not instance.run_launcher.terminate(run.run_id)
    assert not instance.run_launcher.terminate(str(uuid4()))


def test_monitoring_learns_that_a_worker_is_gone(
    submit: Submit, instance: dg.DagsterInstance, database: Database
) -> None:
    run = submit("a")
    launcher = instance.run_launcher
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        assert launches.take(connection, launches.enrol(connection)).run_id == run.run_id
        assert launcher.check_run_worker_health(run).status.value == "RUNNING"
    wait_until(lambda: launcher.check_run_worker_health(run).status.value == "FAILED")
    instance.resume_run(run.run_id, None, 1)
    assert launcher.check_run_worker_health(run).status.value == "RUNNING"
    with psycopg.connect(database.app_url, autocommit=True) as connection:
        assert launches.take(connection, launches.enrol(connection)) == launches.Launched(run.run_id, True)


def test_a_launch_survives_the_loss_of_its_connection(
    submit: Submit, instance: dg.DagsterInstance, database: Database
) -> None:
    """The launcher keeps its connection from one launch to the next; Postgres may restart between them."""
    launcher = instance.run_launcher
    assert isinstance(launcher, WarmRunLauncher)
    first = submit("acme")
    with launcher._connection() as kept:
        backend = kept.info.backend_pid
    with psycopg.connect(database.app_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    second = submit("other")
    assert handed_over(database) == {first.run_id, second.run_id}
