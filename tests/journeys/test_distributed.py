"""Celery executes Dagster's runs on two machines, one of which dies: imports and a backfill end all the same.

Needs what `make distributed` sets up: the libraries of requirements-distributed.lock, and `redis-server`.
"""

import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import httpx2
import psutil
import psycopg
import pytest
from pydantic import SecretStr

from pipelines.engine.instance import shared_instance
from pipelines.engine.resources import Resources, open_resources
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services import audit as audit_services
from services import rules
from services.skus.write import write_records
from tests import ruling
from tests.journeys.machines import BUCKET, INSTANCE, Machine, between, kill
from tests.journeys.place import Place
from tests.ruling import BOTTLE, GLASS, LINES
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.accounts.keys import new_key
from warehouse.operate import dagster_home, keys
from warehouse.operate.dagster_home import answers
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.migrate import migrate
from warehouse.operate.settings import Settings

pytest.importorskip("dagster_celery", reason="needs dagster-celery: make distributed")
pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server: make distributed")

COMPANIES, SKUS = 20, 100
IMPORTS, ROWS = 6, 250
STUCK = 7
"""The company in the middle of whose regrade a machine dies."""
ENDED = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}
SHARED = ("snapshots", "figures")
WHERE = {"repositoryLocationName": dagster_home.LOCATION, "repositoryName": "__repository__"}
BACKFILL = """
mutation($backfill: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $backfill) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message }
  }
}
"""
STATUS = """
query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }
"""


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Place, list[Machine]]]:
    """The first machine has Postgres, API and Dagster; each of two others a data directory with the same keys."""
    with (
        tempfile.TemporaryDirectory(prefix="pcds-machines-", ignore_cleanup_errors=True) as folder,
        between(tmp_path) as shared,
    ):
        Path(folder).chmod(0o711)
        for name, value in shared.items():
            monkeypatch.setenv(name, value)
        settings = Settings.load(
            data_dir=Path(folder) / "first",
            port=free_port(),
            dagster_port=free_port(),
            warm_workers=False,
            objects_url=f"s3://{BUCKET}/test",
            dagster_yaml=INSTANCE,
        )
        with running(settings, durable=False) as server:
            settings = settings.model_copy(update={"database_url": SecretStr(server.owner_url)})
            migrate(database := Database.from_settings(settings))
            with psycopg.connect(database.owner_url) as owner:
                keys.prepare(owner, settings)
            with (place := Place(settings)).client:
                place.found(database)
                others = [Machine(name, beside(settings, Path(folder) / name)) for name in ("w1", "w2")]
                yield place, others
                place.end()


def beside(settings: Settings, data_dir: Path) -> Settings:
    """Another machine's settings: its own data directory with the same keys and two folders of the first one's."""
    data_dir.mkdir()
    for name in keys.NAMES:
        shutil.copy(settings.data_dir / name, data_dir / name)
    for name in SHARED:
        (settings.data_dir / name).mkdir(exist_ok=True)
        (data_dir / name).symlink_to(settings.data_dir / name)
    return settings.model_copy(update={"data_dir": data_dir})


def graphql(place: Place, query: str, **variables: object) -> Any:
    """What Dagster's webserver says to the service's own."""
    answer = httpx2.post(
        f"http://{dagster_home.HOST}:{place.settings.dagster_port}{dagster_home.PREFIX}/graphql",
        json={"query": query, "variables": variables},
        timeout=PATIENCE_SECONDS,
        headers={
            dagster_home.DOOR_HEADER: dagster_home.door_key(place.settings),
            dagster_home.ACTOR_HEADER: dagster_home.SERVICE,
        },
    )
    assert answer.is_success, answer.text
    assert "errors" not in answer.json(), answer.text
    return answer.json()["data"]


def is_orchestrated(place: Place) -> bool:
    """Whether the webserver knows the code location."""
    asked = "query { repositoriesOrError { ... on RepositoryConnection { nodes { location { name } } } } }"
    try:
        nodes = graphql(place, asked)["repositoriesOrError"].get("nodes")
    except httpx2.TransportError:
        return False
    return nodes == [{"location": {"name": dagster_home.LOCATION}}]


def file(mark: str) -> bytes:
    rows = (f"{mark}-{number:03};Pack {number};plastic;12,5;FR;{number}" for number in range(ROWS))
    return "\n".join(["sku_code;name;material;weight_grams;markets;annual_volume_fr_2026", *rows]).encode()


def sent(company: Place, mark: str) -> str:
    answer = company.answered("POST", "/api/v1/imports?filename=p.csv", content=file(mark))
    return str(answer.json()["poll_url"])


def runs(instance: dg.DagsterInstance) -> list[tuple[str, str]]:
    return [(run.job_name, run.status.value) for run in instance.get_runs()]


def stocked(resources: Resources, companies: list[Place]) -> None:
    """Give each company items of which two in three change by the rules that come into force then."""
    skus = {
        number: parse_sku({"sku_code": f"S{number:03}", "name": "n", **(BOTTLE if number % 3 else GLASS)})
        for number in range(SKUS)
    }
    for company in companies:
        with resources.postgres.company(company.company) as conn:
            write_records(
                conn,
                Actor(company.company, Origin("api_key", "k", "ERP", "c"), resources.clock.now()),
                skus,
                rulesets=resources.rule_sets,
                dry_run=False,
            )


def activate(resources: Resources, database: Database, folder: Path) -> None:
    now, operator = resources.clock.now(), Origin("operator", "me", "operator", "c")
    with psycopg.connect(database.owner_url) as owner:
        rules.add(owner, ruling.folder(folder, "2027-01-01", LINES), now)
    with psycopg.connect(database.owner_url) as owner:
        rules.activate(owner, "2027-01-01", operator, now)


def backfilled(place: Place, slugs: list[str]) -> str:
    """The id of a backfill over these companies, asked for as the UI asks."""
    asked = {
        "assetSelection": [{"path": ["regraded_skus"]}],
        "partitionNames": slugs,
        "tags": [{"key": "user", "value": "olga@operator.example"}],
    }
    said = graphql(place, BACKFILL, backfill=asked)["launchPartitionBackfill"]
    assert said["__typename"] == "LaunchBackfillSuccess", said
    return str(said["backfillId"])


def processes_of(worker: subprocess.Popen[bytes]) -> set[int]:
    return {child.pid for child in psutil.Process(worker.pid).children(recursive=True)}


def executions(instance: dg.DagsterInstance) -> list[list[int]]:
    """Of each run, the processes that began or resumed it."""
    found = []
    for run in instance.get_runs():
        entries = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT)
        told = [entry.get_dagster_event().message or "" for entry in entries]
        found.append([int(pid) for said in told for pid in re.findall(r"Started process for .*\(pid: (\d+)\)", said)])
    return found


def test_twenty_companies_on_two_machines_of_which_one_dies(
    machines: tuple[Place, list[Machine]], tmp_path: Path
) -> None:
    place, (w1, w2) = machines
    database = Database.from_settings(place.settings)
    companies = [place, *(replace(place, company=uuid4(), key=new_key(), processes={}) for _ in range(COMPANIES - 1))]
    for other in companies[1:]:
        other.found(database)
    place.start("dagster-code")
    wait_until(lambda: answers(dagster_home.code_socket(place.settings)))
    with (
        open_resources(place.settings) as resources,
        shared_instance(place.settings, database) as instance,
        w1.working() as first,
        w2.working() as second,
        psycopg.connect(database.owner_url) as owner,
    ):
        place.start("dagster-ui", "dagster-daemon", "api")
        assert place.pcds("catalogue", "refresh").returncode == 0
        stocked(resources, companies)
        wait_until(lambda: is_orchestrated(place))
        wait_until(place.is_ready)
        slugs = place.column("SELECT slug FROM companies")
        instance.add_dynamic_partitions("companies", slugs)
        held = "SELECT FROM skus WHERE company_id = %s AND sku_code = 'S050' FOR UPDATE"
        assert owner.execute(held, (companies[STUCK].company,)).rowcount == 1
        workers, ids = {"w1": first, "w2": second}, {}

        activate(resources, database, tmp_path)
        begun, backfill = time.monotonic(), backfilled(place, slugs)
        with ThreadPoolExecutor(IMPORTS) as threads:
            urls = list(threads.map(sent, companies[:IMPORTS], (f"I{number}" for number in range(IMPORTS))))
        waiting = "SELECT application_name FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until(lambda: {*place.column(waiting)} & {*workers}, otherwise=lambda: str(runs(instance)))
        finished = "SELECT count(*) FROM regrades WHERE finished_at IS NOT NULL"
        wait_until(lambda: place.one(f"{finished} HAVING count(*) >= 8"), otherwise=lambda: str(runs(instance)))
        lost = min({*place.column(waiting)} & {*workers})
        ids = {name: processes_of(worker) for name, worker in workers.items()}
        kill(workers[lost])
        owner.rollback()
        print(f"{time.monotonic() - begun:.1f} s to the kill of {lost}, {place.one(finished)[0]} companies were done")

        begun = time.monotonic()
        asked = {"id": backfill}
        wait_until(
            lambda: graphql(place, STATUS, **asked)["partitionBackfillOrError"]["status"] == "COMPLETED_SUCCESS",
            3 * PATIENCE_SECONDS,
            lambda: str([graphql(place, STATUS, **asked), runs(instance)]),
        )
        print(f"{time.monotonic() - begun:.1f} s from there to the end of the backfill")
        for company, url in zip(companies, urls, strict=False):
            wait_until(lambda: company.call("GET", url)["status"] not in ("queued", "processing"))  # noqa: B023
            report = company.call("GET", url)
            assert (report["status"], report["counts"]["created"]) == ("completed", ROWS)
        unfinished = dg.RunsFilter(statuses=[status for status in dg.DagsterRunStatus if status not in ENDED])
        wait_until(lambda: not instance.get_runs(unfinished), 3 * PATIENCE_SECONDS, lambda: str(runs(instance)))
        print(f"{time.monotonic() - begun:.1f} s from there to the end of everything")

        assert {status for _, status in runs(instance)} == {"SUCCESS"}, runs(instance)
        begun_by = executions(instance)
        done = {name: sum(pid in pids for run in begun_by for pid in run) for name, pids in ids.items()}
        assert all(done.values()), done
        resumed = [run for run in begun_by if len(run) > 1]
        assert resumed, "a run that was killed went on"
        assert all(run[0] in ids[lost] and not {*run[1:]} & ids[lost] for run in resumed), resumed
        print(
            f"executions by machine: {done}; resumed: {len(resumed)}; runs: {Counter(job for job, _ in runs(instance))}"
        )
        assert_nothing_lost_or_twice(place, resources, companies)


def assert_nothing_lost_or_twice(place: Place, resources: Resources, companies: list[Place]) -> None:
    changed = sum(1 for number in range(SKUS) if number % 3)
    entries = (
        "SELECT count(*), count(DISTINCT resource_id) FROM audit_entries e "
        "JOIN audit_transactions t ON t.id = transaction_id WHERE actor_name = 'regrade'"
    )
    assert place.one(entries) == (COMPANIES * changed, COMPANIES * changed)
    versions = "SELECT count(*), sum(version) FROM skus WHERE sku_code LIKE '{}%'"
    assert place.one(versions.format("S")) == (COMPANIES * SKUS, COMPANIES * (SKUS + changed))
    assert place.one(versions.format("I")) == (IMPORTS * ROWS, IMPORTS * ROWS)
    for company in companies:
        with resources.postgres.company(company.company) as conn:
            assert audit_services.verify(conn).ok
