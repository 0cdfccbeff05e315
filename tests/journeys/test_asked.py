"""Commands that are runs: where the service runs its workers execute them, else the command does; it says the same."""

import re
from pathlib import Path

import pytest

from api.operate.program import login_name
from tests.journeys.place import Place
from tests.waiting import wait_until
from warehouse.operate import dagster_home

COMMANDS = (
    ("catalogue", "refresh"),
    ("rollup",),
    ("catalogue", "refresh", "--file"),  # a file with faults
    ("snapshot", "--company", "00000000-0000-4000-8000-000000000000"),
)
RUNS = """
query($f: RunsFilter) { runsOrError(filter: $f) { ... on Runs { results {
  runId jobName status tags { key value } repositoryOrigin { repositoryLocationName }
} } } }
"""
PROCESSES = """
query($id: ID!) {
  logsForRun(runId: $id) { ... on EventConnection { events { ... on LogsCapturedEvent { pid } } } }
}
"""
INSTANTS = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|snapshots/\S+?(?=[\",\s])")
LAUNCHED = "SELECT run_id FROM launches WHERE company IS NOT NULL"
"""By the launcher; the row of a run that a command executes has no company."""


def said(place: Place, faulty: Path) -> list[tuple[int, str, str]]:
    """What each command says, without what names an instant."""
    answers = []
    for command in COMMANDS:
        done = place.pcds(*command, *([str(faulty)] if command[-1] == "--file" else []), "--json")
        answers.append((done.returncode, INSTANTS.sub("", done.stdout), done.stderr))
    return answers


def processes_of(place: Place, run_id: str) -> list[int]:
    """The processes that executed a run, as its page says."""
    found = place.graphql(PROCESSES, id=run_id)
    assert found is not None
    return [event["pid"] for event in found["logsForRun"]["events"] if event]


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    file = tmp_path / "faulty.csv"
    file.write_text("code,name\nXX,Nowhere\n", encoding="utf-8")
    return file


def test_a_command_takes_the_road_of_all_runs_where_there_is_one_and_says_the_same(place: Place, faulty: Path) -> None:
    for command in COMMANDS[:2]:  # the first time they find things to do
        place.pcds(*command)
    alone = said(place, faulty)
    assert [code for code, *_ in alone] == [0, 0, 1, 1]
    assert place.column(LAUNCHED) == []

    place.start("worker")
    wait_until(lambda: place.graphql("{ version }"))
    wait_until(lambda: place.one("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pcds-worker'"))
    before = {*place.column("SELECT run_id FROM dagster.runs")}
    asked = said(place, faulty)
    assert asked == alone

    found = place.graphql(RUNS, f={})
    assert found is not None
    every = [run for run in found["runsOrError"]["results"] if run["runId"] not in before]
    askers = [{"key": "user", "value": name} for name in ("pcds", login_name())]
    mine = [run for run in every if any(asker in run["tags"] for asker in askers)]
    assert {run["jobName"] for run in mine} >= {"refresh_catalogue", "roll_up"}
    worker = place.processes["worker"].pid
    for run in mine:
        assert run["repositoryOrigin"] == {"repositoryLocationName": dagster_home.LOCATION}
        assert processes_of(place, run["runId"]) == [worker]
    of_companies = {run["runId"] for run in mine if run["jobName"] != "refresh_catalogue"}
    assert of_companies <= {*place.column(LAUNCHED)}

    place.end()
    assert place.pcds("snapshot").returncode == 0
    assert {*place.column(LAUNCHED)} <= {run["runId"] for run in every}
    assert {*place.column("SELECT run_id FROM dagster.runs")} > before | {run["runId"] for run in every}
