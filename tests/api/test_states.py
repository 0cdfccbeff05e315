"""Every state of a place that is wrong, broken for real: `pcds doctor` names it and `/metrics` says 1, as alerts need.

The list is `schemas.operate`; what is asked of each member here finds one that was added and is not looked at,
published, alerted on or explained.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import yaml
from pydantic import SecretStr
from starlette.testclient import TestClient
from typer.testing import CliRunner

from api.app import create
from api.cli import build_program
from api.operate import routes
from pipelines.catalogue import load, read
from schemas.actors import Origin
from schemas.json_values import JsonObject
from schemas.operate import State
from services import operate
from tests import stores
from tests.api.conftest import Caller
from tests.code_servers import code_server
from tests.conftest import as_operators, migrated
from tests.waiting import wait_until
from warehouse.accounts import keys
from warehouse.figures import snapshots
from warehouse.imports.claims import LISTENER
from warehouse.operate import dagster_home, store
from warehouse.operate import keys as keys_operate
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.objects import prepare_identity
from warehouse.operate.sessions import Pool, clock_skew_seconds, dagster_transaction
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
TOKEN = "a token of the operator"


@dataclass
class Place:
    """A deployment in order, with an import that waits and a write that no snapshot has, both of this minute."""

    settings: Settings
    http: TestClient
    owner: psycopg.Connection[Any]
    worker: psycopg.Connection[Any]

    def changed(self, **fields: object) -> Settings:
        return self.settings.model_copy(update=fields)

    def named(self, settings: Settings) -> set[str]:
        """What `pcds doctor` names with these settings."""
        return set(self.remedies(settings))

    def remedies(self, settings: Settings) -> dict[str, str]:
        """What `pcds doctor` says is to be done with these settings, by what is wrong."""
        variables = {name: os.environ[name] for name in ("PATH",)} | settings.environment()
        done = CliRunner().invoke(build_program(["doctor"]), ["doctor", "--json"], env=variables)
        assert done.exit_code == 0, done.output
        return {problem["check"]: problem["remedy"] for problem in json.loads(done.stdout)["problems"]}

    def published(self, settings: Settings) -> set[str]:
        """The states that are 1 in `/metrics` of a process with these settings."""
        before = self.http.app.state.service
        database, clock = Database.from_settings(settings), Clock.from_settings(settings)
        self.http.app.state.service = replace(before, settings=settings, database=database, clock=clock)
        try:
            answer = self.http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        finally:
            self.http.app.state.service = before
        assert answer.status_code == 200, answer.text
        found = dict(re.findall(r'^pcds_problem\{state="(\w+)",.*\} ([01])\.0$', answer.text, re.MULTILINE))
        assert found.keys() == {*State}
        return {name for name, value in found.items() if value == "1"}


@pytest.fixture(scope="module")
def place(server: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as opened:
        patched = opened.enter_context(pytest.MonkeyPatch.context())
        patched.setattr("warehouse.operate.objects._HOLDS_SECONDS", 0.0)
        patched.setattr(routes, "STORE_SECONDS", 0.1)
        database = as_operators(opened.enter_context(migrated(server)))
        settings = Settings.load(
            data_dir=tmp_path_factory.mktemp("place"), database_url=database.owner_url, metrics_token=TOKEN
        )
        owner = opened.enter_context(psycopg.connect(database.owner_url, autocommit=True))
        keys_operate.prepare(owner, settings)
        prepare_identity(owner)
        pool = opened.enter_context(Pool(database.app_url))
        company, client, key, now = uuid4(), uuid4(), keys.new_key(), datetime.now(UTC)
        owner.execute(
            "INSERT INTO companies (id, name, plan, created_at) VALUES (%s, 'A', 'enterprise', now())", [company]
        )
        owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", [company])
        with pool.system() as conn:
            load(conn, read(None), Origin("system", None, None, "c"), now)
        with pool.company(company) as conn:
            keys.issue(conn, company, client, key=key, name="erp", scopes=("read", "write"), at=now)
        opened.enter_context(code_server(dagster_home.code_socket(settings)))
        worker = psycopg.connect(database.app_url, application_name=LISTENER)
        opened.callback(worker.close)
        http = opened.enter_context(TestClient(create(settings, database), client=("127.0.0.1", 50_000)))
        caller = Caller(http, company, client, key)
        caller.made(sku_code="A-1")
        sent = caller.request("POST", "/imports?filename=a.csv", content=b"sku_code,name\nB-1,Bottle\n")
        assert sent.status_code == 202, sent.text
        yield Place(settings, http, owner, worker)


Break = Callable[[Place, pytest.MonkeyPatch], Any]


def setting(**fields: object) -> Break:
    @contextmanager
    def broken(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
        yield place.changed(**fields)

    return broken


def database(change: Callable[[str], str]) -> Break:
    @contextmanager
    def broken(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
        assert place.settings.database_url is not None
        url = change(place.settings.database_url.get_secret_value())
        yield place.changed(database_url=SecretStr(url))

    return broken


def patched(name: str, value: object) -> Break:
    @contextmanager
    def broken(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
        monkeypatch.setattr(operate, name, value)
        yield place.settings

    return broken


@contextmanager
def newer_tables(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    [(revision,)] = place.owner.execute("SELECT version_num FROM alembic_version").fetchall()
    place.owner.execute("UPDATE alembic_version SET version_num = '9999'")
    yield place.settings
    place.owner.execute("UPDATE alembic_version SET version_num = %s", [revision])


@contextmanager
def no_catalogue(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    listed = [code for [code] in place.owner.execute("SELECT code FROM jurisdictions WHERE in_catalogue").fetchall()]
    place.owner.execute("UPDATE jurisdictions SET in_catalogue = false")
    yield place.settings
    place.owner.execute("UPDATE jurisdictions SET in_catalogue = true WHERE code = ANY(%s)", [listed])


@contextmanager
def another_key(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    path = place.settings.data_dir / keys_operate.CONNECTOR
    key = path.read_bytes()
    path.write_bytes(os.urandom(32))
    yield place.settings
    path.write_bytes(key)


@contextmanager
def readable_key(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    path = place.settings.data_dir / keys_operate.AUDIT
    path.chmod(0o644)
    yield place.settings
    path.chmod(0o600)


@contextmanager
def no_worker(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    place.worker.execute("SELECT 1")
    place.owner.execute("ALTER ROLE pcds_app SET application_name = ''")
    place.worker.execute("SET application_name = 'gone'")
    place.worker.commit()
    yield place.settings
    place.worker.execute(f"SET application_name = '{LISTENER}'")
    place.worker.commit()


@contextmanager
def no_code_server(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    path = dagster_home.code_socket(place.settings)
    path.rename(path.with_suffix(".aside"))
    path.touch()
    yield place.settings
    path.with_suffix(".aside").replace(path)


@contextmanager
def misspelt(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setenv("PCDS_PROT", "8001")
    yield place.settings


def store_that(fails: Callable[[], AbstractContextManager[None]]) -> Break:
    @contextmanager
    def failing(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
        with fails():
            yield place.settings

    return failing


@contextmanager
def another_deployment(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    swap = "UPDATE key_probes SET name = %s WHERE name = %s"
    place.owner.execute(swap, ["before", "objects"])
    prepare_identity(place.owner)
    yield place.settings
    place.owner.execute("DELETE FROM key_probes WHERE name = 'objects'")
    place.owner.execute(swap, ["objects", "before"])


@contextmanager
def reached_by_http(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://s3.example")
    monkeypatch.setattr(store, "state", lambda _: None)
    yield place.changed(objects_url="s3://bucket", objects_by_http=True)


@contextmanager
def snapshot_cut_off(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    service = place.http.app.state.service
    [(company,)] = place.owner.execute("SELECT id FROM companies").fetchall()
    made = snapshots.publish(service.writes, company, place.settings.data_dir, datetime.now(UTC), service.rulesets)
    file = made.skus[0]
    file.write_bytes(file.read_bytes()[:-1])
    yield place.settings
    place.owner.execute("DELETE FROM snapshots")
    shutil.rmtree(made.folder.parent)


@contextmanager
def failing_sensor(place: Place, _: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A tick failed after one that did not; one that has begun since says nothing yet."""
    database = Database.from_settings(place.settings)
    dagster_home.make_tables(place.settings, database)
    with dagster_transaction(database.dagster_url) as conn:
        conn.execute(
            "INSERT INTO instigators (selector_id, repository_selector_id, status, instigator_type, instigator_body) "
            """VALUES ('s', 'r', 'DECLARED_IN_CODE', 'SENSOR', '{"origin": {"job_name": "due_companies"}}')"""
        )
        for ago, status in ((3, "SKIPPED"), (2, "FAILURE"), (1, "STARTED")):
            conn.execute(
                "INSERT INTO job_ticks (job_origin_id, selector_id, status, type, timestamp, tick_body) "
                "VALUES ('o', 's', %s, 'SENSOR', localtimestamp - %s * interval '1 second', '{}')",
                (status, ago),
            )
    yield place.settings
    with dagster_transaction(database.dagster_url) as conn:
        conn.execute("UPDATE job_ticks SET status = 'SUCCESS' WHERE status = 'STARTED'")


LATER = 660
"""Seconds: more than the ten minutes that an import may wait and a snapshot lag."""
READ_ONLY = "options=-c%20default_transaction_read_only%3Don"
BREAKS: dict[State, Break] = {
    State.DATA_DIR: setting(data_dir=Path("/nowhere/at/all")),
    State.STORAGE: setting(free_bytes=2**62),
    State.DATABASE: database(lambda url: re.sub(r"/[^/?]+(\?|$)", r"/no_such_database\1", url)),
    State.DATABASE_WRITES: database(lambda url: f"{url}{'&' if '?' in url else '?'}{READ_ONLY}"),
    State.MIGRATION: newer_tables,
    State.POSTGRES: patched("_OLDEST_SERVER", 990_000),
    State.KEYS: another_key,
    State.CATALOGUE: no_catalogue,
    State.WORKER: no_worker,
    State.CODE_SERVER: no_code_server,
    State.OBJECT_STORE: store_that(stores.refusing),
    State.FOREIGN_STORE: another_deployment,
    State.UNRELIABLE_STORE: store_that(stores.lying),
    State.STORE_BY_HTTP: reached_by_http,
    State.IMPORTS: setting(test_clock_offset=LATER),
    State.SNAPSHOTS: setting(test_clock_offset=LATER),
    State.SNAPSHOT_FILES: snapshot_cut_off,
    State.SENSORS: failing_sensor,
    State.SECRETS: readable_key,
    State.SETTINGS: misspelt,
    State.BASE_URL: setting(host="0.0.0.0"),
    State.CLOCK: setting(test_clock_offset=5),
    State.CLOCK_SKEW: patched("clock_skew_seconds", partial(clock_skew_seconds, now=lambda: time.time() - 5)),
}
BESIDE = {State.IMPORTS: {State.CLOCK, State.SNAPSHOTS}, State.SNAPSHOTS: {State.CLOCK, State.IMPORTS}}
"""What else these name: the clock is moved for both."""


@pytest.mark.parametrize("state", State)
def test_doctor_names_what_is_broken_and_its_metric_says_so(
    place: Place, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.worker.execute("SELECT 1")  # it looks for runs, as workers do
    place.worker.commit()
    assert place.named(place.settings) == set()
    wait_until(lambda: place.published(place.settings) == set())
    with BREAKS[state](place, monkeypatch) as settings:
        expected = {state} | BESIDE.get(state, set())
        assert place.named(settings) == expected
        wait_until(lambda: place.published(settings) == expected)  # the store is looked at in the background


def test_a_snapshot_that_a_restore_did_not_bring_is_made_before_a_disk_is_checked(place: Place) -> None:
    """No backup has the snapshots, whose files are made from the database."""
    service, settings = place.http.app.state.service, place.settings
    [(company,)] = place.owner.execute("SELECT id FROM companies").fetchall()
    made = snapshots.publish(service.writes, company, settings.data_dir, datetime.now(UTC), service.rulesets)
    shutil.rmtree(made.folder.parent)
    try:
        assert place.remedies(settings)[State.SNAPSHOT_FILES].startswith("After a restore none is made yet.")
    finally:
        place.owner.execute("DELETE FROM snapshots")


def test_tables_of_the_first_releases_are_not_sent_to_migrate(place: Place) -> None:
    """Their numbers are those of ours; the table by which they are told from ours came later."""
    [(revision,)] = place.owner.execute("SELECT version_num FROM alembic_version").fetchall()
    place.owner.execute("UPDATE alembic_version SET version_num = '0018'")
    place.owner.execute("ALTER TABLE key_probes RENAME TO key_probes_later")
    try:
        assert "revision 0055" in place.remedies(place.settings)[State.MIGRATION]
    finally:
        place.owner.execute("ALTER TABLE key_probes_later RENAME TO key_probes")
        place.owner.execute("UPDATE alembic_version SET version_num = %s", [revision])


@pytest.mark.parametrize("kind", operate.KINDS)
def test_a_record_of_each_kind_is_counted_by_the_metric(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """test_doctor.py and test_false_declarations.py make a record of each kind, which the same `find` finds."""

    def found(rows: list[JsonObject]) -> Callable[[object], Iterator[JsonObject]]:
        return lambda _: iter(rows)

    kinds = {each: found([{}] if each == kind else []) for each in operate.KINDS}
    monkeypatch.setattr(operate, "KINDS", kinds)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(
        create(place.settings, Database.from_settings(place.settings)), client=("127.0.0.1", 50_000)
    ) as http:

        def counted() -> dict[str, str]:
            told = http.get("/metrics", headers=headers).text
            return dict(re.findall(r'^pcds_records\{kind="(\w+)"\} (\S+)$', told, re.MULTILINE))

        wait_until(lambda: counted() != {})
        assert counted() == {each: "1.0" if each == kind else "0.0" for each in kinds}


def test_every_kind_of_record_has_an_alert_that_was_seen_to_fire_and_a_sentence_in_the_document() -> None:
    cases = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.test.yaml").read_text(encoding="utf-8"))["tests"]
    fired = {
        alert["exp_labels"]["kind"]
        for case in cases
        if [series["series"] for series in case["input_series"]]
        == [f'pcds_records{{kind="{case.get("name")}", instance="a"}}']
        for tried in case["alert_rule_test"]
        for alert in tried["exp_alerts"]
    }
    assert fired == {*operate.KINDS}
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert [kind for kind in operate.KINDS if f"`{kind}`" not in told] == []


def test_a_look_that_fails_is_said_and_tried_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason: a look that ended for good would call everything well for ever."""
    tries = []

    def refuse(_: object) -> None:
        tries.append(1)
        raise ValueError

    monkeypatch.setattr(store, "state", refuse)
    monkeypatch.setattr(routes, "LOOKS_SECONDS", 0.1)
    with TestClient(create(place.settings, Database.from_settings(place.settings)), client=("127.0.0.1", 50_000)):
        wait_until(lambda: len(tries) > 2)


def test_every_state_has_an_alert_that_was_seen_to_fire_and_a_row_in_the_document() -> None:
    """`promtool test rules` runs the cases (tests/api/test_metrics.py)."""
    cases = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.test.yaml").read_text(encoding="utf-8"))["tests"]
    fired = {
        (alert["exp_labels"]["state"], alert["exp_labels"]["severity"])
        for case in cases
        if case.get("name") in {*State}
        and [series["series"] for series in case["input_series"]]
        == [f'pcds_problem{{state="{case["name"]}", urgency="{State(case["name"]).urgency}", instance="a"}}']
        for tried in case["alert_rule_test"]
        for alert in tried["exp_alerts"]
    }
    assert fired == {(state.value, state.urgency) for state in State}
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("## What is wrong here")[2]
    rows = [line for line in told.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    assert re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in rows)) == [*State]
