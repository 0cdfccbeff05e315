"""/metrics: to whom it is answered, what stands in it, and that alerts and dashboard name nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from api.app import create
from api.operate import routes
from warehouse.figures import snapshots
from warehouse.operate import measures
from warehouse.operate.clock import Clock
from warehouse.operate.settings import Settings, SettingsError

DEPLOY = Path(__file__).parents[2] / "deploy"
TOKEN = "a token of the operator"
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture(scope="module")
def opened(database, tmp_path_factory):
    """Opens an app with settings; its caller's address may be given."""

    def of(peer="127.0.0.1", **settings):
        chosen = Settings.load(data_dir=tmp_path_factory.mktemp("metrics"), **settings)
        return TestClient(create(chosen, database), client=(peer, 50_000))

    return of


def samples(answer):
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_writes_and_tables_are_counted_without_a_company(caller, opened):
    name = f"Kind {uuid4()}"
    caller.made(sku_code="M-1", name=name)
    with opened() as http:
        before = samples(http.get("/metrics", headers=OPENMETRICS))
        caller.made(sku_code="M-2", name=name)
        assert http.get("/healthz").status_code == 200
        assert http.get(f"/no/{uuid4()}").status_code == 404
        answer = http.get("/metrics", headers=OPENMETRICS)
    after = samples(answer)

    def grown(name, **labels):
        key = (name, tuple(sorted(labels.items())))
        return after.get(key, 0) - before.get(key, 0)

    assert grown("pcds_requests_total", method="GET", route="/healthz", status="200") == 1
    assert grown("pcds_requests_total", method="GET", route="none", status="404") == 1
    assert grown("pcds_request_seconds_count", route="/healthz") == 1
    assert grown("pcds_writes_total") >= 1
    assert grown("pcds_skus") >= 1
    assert after["pcds_up_database", ()] == 1
    assert after["pcds_database_connections_limit", ()] > 0
    assert after["pcds_disk_free_bytes", ()] > 0
    assert {name for name, _ in after} >= {"pcds_companies", "pcds_snapshot_lag_seconds", "pcds_import_wait_seconds"}
    for told in (str(caller.company), str(caller.client_id), name):
        assert told not in answer.text


@pytest.mark.parametrize(
    ("given", "peer", "headers", "status"),
    [
        ({}, "127.0.0.1", {}, 200),
        ({}, "::1", {}, 200),
        ({}, "203.0.113.9", {}, 401),
        ({}, "127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 401),
        ({"public_url": "https://packaging.example"}, "127.0.0.1", {}, 401),
        ({"metrics_token": TOKEN}, "127.0.0.1", {}, 401),
        ({"metrics_token": TOKEN}, "203.0.113.9", {"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"metrics_token": TOKEN}, "203.0.113.9", {"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({}, "203.0.113.9", {"Authorization": "Bearer "}, 401),
    ],
)
def test_it_is_for_this_machine_or_for_the_token(opened, given, peer, headers, status):
    with opened(peer, **given) as http:
        answer = http.get("/metrics", headers=headers)
        assert answer.status_code == status
        assert ("pcds_requests" in answer.text) is (status == 200)


def test_a_database_that_is_away_is_told_and_the_rest_stands(opened, monkeypatch):
    with opened() as http:
        monkeypatch.setattr(http.app.state, "dagster_database", "postgresql+psycopg2://nobody:x@127.0.0.1:1/none")
        found = samples(http.get("/metrics", headers=OPENMETRICS))
    assert found["pcds_up_database", ()] == 0
    assert ("pcds_disk_free_bytes", ()) in found
    assert ("pcds_skus", ()) not in found


def test_the_scrape_asks_few_statements(pool):
    asked = []
    with pool.system() as connection:
        execute = connection.execute
        connection.execute = lambda *given: asked.append(given) or execute(*given)
        measures.of_tables(connection, Clock().now())
        del connection.execute
        behind = [each for each in snapshots.stale(connection, Clock().now().date()) if each.since]
        told = {each.name: each.value for each in measures.of_tables(connection, Clock().now())}
    assert len(asked) == 2
    assert told["snapshots_behind"] == len(behind)


@pytest.mark.long
def test_what_several_processes_counted_is_one_sum(tmp_path):
    count = "from api.http import metrics as m; m.note('GET', '/skus', 200, 0.01); m.note('FROB', None, 404, 1)"
    told = "from prometheus_client import generate_latest as text; print(text(m.registry()).decode())"
    for program in (count, count, f"{count}; {told}"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)},
            check=True,
            capture_output=True,
            text=True,
        )
    assert 'pcds_requests_total{method="GET",route="/skus",status="200"} 3.0' in done.stdout
    assert 'pcds_requests_total{method="other",route="none",status="404"} 3.0' in done.stdout
    assert 'pcds_request_seconds_count{route="/skus"} 3.0' in done.stdout


def published() -> set[str]:
    counted = {"pcds_requests_total", "pcds_request_seconds_bucket", "pcds_files_damaged_total"}
    read = {f"pcds_{name}" for name in routes.GAUGES} | {f"pcds_{name}_total" for name in routes.COUNTERS}
    return counted | read


def test_alerts_and_dashboard_name_what_is_published():
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
    board = json.loads((DEPLOY / "grafana" / "pcds.json").read_text())
    asked = [rule["expr"] for rule in rules]
    asked += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for expression in asked for name in re.findall(r"pcds_\w+", expression)}
    assert named <= published()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool: apt-get install prometheus")
def test_promtool_takes_the_rules_the_scrape_and_the_answer(opened, tmp_path):
    copy = tmp_path / "prometheus"
    shutil.copytree(DEPLOY / "prometheus", copy)
    scrape = copy / "prometheus.yaml"
    (copy / "token").write_text(TOKEN)
    scrape.write_text(scrape.read_text().replace("/etc/prometheus/pcds.token", str(copy / "token")))
    with opened() as http:
        answer = http.get("/metrics")
    for command, said in (
        (["check", "rules", "alerts.yaml"], ""),
        (["check", "config", "prometheus.yaml"], ""),
        (["test", "rules", "alerts.test.yaml"], ""),
        (["check", "metrics"], answer.text),
    ):
        done = subprocess.run(["promtool", *command], cwd=copy, input=said, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


@pytest.mark.long
def test_the_contact_for_weaknesses_is_published_where_it_is_set(opened):
    with opened(security_contact="mailto:security@brand.example") as http:
        answer = http.get("/.well-known/security.txt")
        assert answer.status_code == 200
        fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
        assert "pcds 1." in http.get("/reference").text
    assert fields["Contact"] == "mailto:security@brand.example"
    assert fields["Canonical"].endswith("/.well-known/security.txt")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", fields["Expires"])
    with opened() as http:
        assert http.get("/.well-known/security.txt").status_code == 404


def test_a_contact_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="PCDS_SECURITY_CONTACT"):
        Settings.load(security_contact="security@brand.example")
