"""Nothing stands still for ever: Dagster's processes and the workers are killed while runs of every kind are under way.

Each alone and in pairs, at instants of a seed, as the kernel or an operator's mistake would; a supervisor starts them
again. More seeds: PCDS_KILL_SEEDS="1 2 3" (`make soak`).
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.operate.start import Program
from tests import ruling
from tests.journeys.place import Place
from tests.journeys.test_regrade import VERSION, activate
from tests.ruling import BOTTLE, LINES
from tests.waiting import wait_until
from warehouse.operate import dagster_home
from warehouse.operate.dagster_home import answers

SEEDS = [int(seed) for seed in os.environ.get("PCDS_KILL_SEEDS", "20261122").split()]
PROGRAMS = ("dagster-daemon", "dagster-code", "dagster-ui", "worker", "other worker")
FILES = 2
ROWS = 1_200
SKUS = 600
COMPANIES = ("Kill", "Second", "Third")
NO_LONGER_THAN = 10.0
"""Seconds until the webserver knows what a new code server serves."""

_BACKFILL = """
mutation($names: [String!]!) { launchPartitionBackfill(backfillParams: {
  assetSelection: [{path: ["regraded_skus"]}], partitionNames: $names
}) { __typename ... on LaunchBackfillSuccess { backfillId } } }
"""
_BACKFILLS = "{ partitionBackfillsOrError { ... on PartitionBackfills { results { id status } } } }"
_ASSETS = "{ assetNodes { assetKey { path } } }"
_UNFINISHED = "('NOT_STARTED', 'QUEUED', 'STARTING', 'STARTED', 'CANCELING')"


def rows(company: str, number: int) -> bytes:
    """Good rows, of codes that no other file of the company has."""
    lines = (f"{company[0]}{number}-{row:05},Bottle {row},plastic,{row % 90}.5" for row in range(ROWS))
    return "\n".join(["sku_code,name,material,weight_grams", *lines]).encode()


def volley(chance: random.Random) -> tuple[str, ...]:
    """Who is killed next: one, or two at once."""
    return tuple(chance.sample(PROGRAMS, chance.choice((1, 1, 2))))


def under_fire(place: Place, chance: random.Random, shots: int, goes_on: Callable[[], bool]) -> None:
    """Kill so many times, while it goes on."""
    for _ in range(shots):
        time.sleep(chance.uniform(0.2, 3))
        victims = volley(chance)
        print(f"{time.strftime('%T')} killed {' and '.join(victims)}{'' if goes_on() else ', with nothing under way'}")
        place.shoot(*victims)


def settled(place: Place) -> bool:
    """Whether Dagster has ended every run, and every launch has its end."""
    runs = place.one(f"SELECT count(*) FROM dagster.runs WHERE status IN {_UNFINISHED}")
    return runs == (0,) and place.one("SELECT count(*) FROM launches WHERE ended_at IS NULL") == (0,)


def left(place: Place) -> str:
    """What has not settled, and the last lines of the log."""
    query = (
        "SELECT concat_ws(' ', run_id, pipeline_name, status, update_timestamp, launches.asked_at, worker, taken_at, "
        f"ended_at) FROM dagster.runs FULL JOIN launches USING (run_id) WHERE status IN {_UNFINISHED} "
        "OR ended_at IS NULL AND asked_at IS NOT NULL"
    )
    log = (place.settings.data_dir / "log").read_text(encoding="utf-8", errors="replace")
    return "\n".join([*place.column(query), log[-3000:]])


def stale(place: Place) -> int:
    """How many companies wait for their publication."""
    found = place.one("SELECT count(*) FROM pcds_stale_snapshots(current_date)")[0]
    assert isinstance(found, int)
    return found


def backfilled(place: Place, slugs: list[str]) -> str:
    """The id of a backfill over the companies, asked for until it is accepted."""
    answered: list[dict[str, Any]] = []

    def asked() -> bool:
        answer = place.graphql(_BACKFILL, names=slugs)
        answered.append((answer or {}).get("launchPartitionBackfill") or {})
        return "backfillId" in answered[-1]

    wait_until(asked, otherwise=lambda: str(answered[-1]))
    return str(answered[-1]["backfillId"])


def status_of(place: Place, backfill: str) -> str | None:
    answer = place.graphql(_BACKFILLS)
    found = (answer or {}).get("partitionBackfillsOrError", {}).get("results", [])
    return next((each["status"] for each in found if each["id"] == backfill), None)


@pytest.fixture
def working(place: Place) -> Place:
    """All that brings runs and does them, with two workers."""
    place.start_and_wait("api", "worker", "other worker")
    wait_until(lambda: place.graphql("{ version }"))
    return place


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_killed_everything_ends_once(working: Place, seed: int, tmp_path: Path) -> None:
    place, chance = working, random.Random(seed)
    keys = {"Kill": {"X-API-Key": place.key}} | {name: place.joined(name) for name in COMPANIES[1:]}
    imports_survive(place, chance, keys)
    wait_until(lambda: settled(place), otherwise=lambda: left(place))
    regrades_and_publications_survive(place, chance, keys, tmp_path)
    wait_until(lambda: stale(place) == 0, otherwise=lambda: left(place))
    wait_until(lambda: settled(place), otherwise=lambda: left(place))
    failed = place.column(
        "SELECT concat_ws(' ', pipeline_name, status, run_id) FROM dagster.runs WHERE status NOT IN ('SUCCESS')"
    )
    print("\n".join(["runs that did not succeed:", *failed]))
    assert not [run for run in failed if not run.startswith("import_file")], "what failed was not tried again"


def imports_survive(place: Place, chance: random.Random, keys: dict[str, dict[str, str]]) -> None:
    polls = [
        (
            keys[name],
            str(
                place.call(
                    "POST",
                    f"/api/v1/imports?filename={name}-{number}.csv",
                    content=rows(name, number),
                    headers=keys[name],
                )["poll_url"]
            ),
        )
        for number in range(FILES)
        for name in COMPANIES
    ]
    ended = "SELECT count(*) FROM imports WHERE status IN ('completed', 'failed')"
    under_fire(place, chance, 4, lambda: place.one(ended) != (len(polls),))
    wait_until(lambda: place.one(ended) == (len(polls),), otherwise=lambda: left(place))
    for header, poll in polls:
        report = place.call("GET", poll, headers=header)
        assert (report["status"], report["counts"]) == (
            "completed",
            {"total": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "rejected": 0},
        )
    total = len(polls) * ROWS
    assert place.one("SELECT count(*), count(DISTINCT (company_id, sku_code)), max(version) FROM skus") == (
        total,
        total,
        1,
    )
    assert place.one("SELECT count(*) FROM sku_versions") == (0,), "no row was written a second time"
    for action, number in {
        "sku.created": total,
        "import.submitted": len(polls),
        "import.completed": len(polls),
    }.items():
        counted = "SELECT count(*), count(DISTINCT resource_id) FROM audit_entries WHERE action = "
        assert place.one(f"{counted}'{action}'") == (number, number)
    assert place.one("SELECT sum(skus) FROM company_counters") == (total,)


def regrades_and_publications_survive(
    place: Place, chance: random.Random, keys: dict[str, dict[str, str]], folder: Path
) -> None:
    """A rule-set is activated, so that sensors regrade every company; a backfill over companies and writes come too."""
    batch = {"skus": [{"sku_code": f"B{number:05}", "name": "n", **BOTTLE} for number in range(SKUS)]}
    for key in keys.values():
        assert (
            place.answered("POST", "/api/v1/skus/batch", json=batch, headers=key).json()["summary"]["created"] == SKUS
        )
    activate(place, ruling.folder(folder, VERSION, LINES))
    backfill = backfilled(place, place.column("SELECT slug FROM companies ORDER BY slug"))
    open_regrades = "SELECT count(*) FROM regrades WHERE finished_at IS NULL"
    under_fire(place, chance, 4, lambda: place.one(open_regrades) != (0,) or stale(place) > 0 or not settled(place))
    wait_until(lambda: place.one(open_regrades) == (0,), otherwise=lambda: left(place))
    wait_until(lambda: status_of(place, backfill) not in (None, "REQUESTED"), otherwise=lambda: left(place))
    assert status_of(place, backfill) == "COMPLETED_SUCCESS"
    graded = "SELECT recyclability_grade, ruleset_version, count(*) FROM skus WHERE sku_code LIKE 'B%' GROUP BY 1, 2"
    assert place.one(graded) == ("C", VERSION, SKUS * len(keys))
    by_regrade = "FROM audit_entries e JOIN audit_transactions t ON t.id = transaction_id WHERE actor_name = 'regrade'"
    entries, skus = place.one(f"SELECT count(*), count(DISTINCT resource_id) {by_regrade}")
    assert entries == skus, "no SKU was regraded twice"


def test_a_webserver_that_is_away_delays_an_import_by_seconds(working: Place) -> None:
    place = working
    header = {"X-API-Key": place.key}
    imports: dict[str, float] = {}
    for name in ("there", "away"):
        if name == "away":
            place.end("dagster-ui")
        begun = time.monotonic()
        content = f"sku_code,name,material,weight_grams\n{name},Bottle,plastic,1".encode()
        poll = str(
            place.call("POST", f"/api/v1/imports?filename={name}.csv", content=content, headers=header)["poll_url"]
        )
        wait_until(lambda poll=poll: place.call("GET", poll)["status"] == "completed", otherwise=lambda: left(place))
        imports[name] = time.monotonic() - begun
    assert place.graphql("{ version }") is None
    print(f"an import took {imports['there']:.1f} s, and {imports['away']:.1f} s without the webserver")
    wait_until(lambda: settled(place), otherwise=lambda: left(place))


def test_new_code_is_served_when_its_server_is_started(working: Place, tmp_path: Path) -> None:
    """The old server is killed, and leaves its socket behind; the webserver was not told, and looks by itself."""
    place = working
    (tmp_path / "newer.py").write_text(
        "import dagster as dg\nfrom pipelines import definitions\n"
        "@dg.asset\ndef brought_by_the_release(): ...\n"
        "defs = dg.Definitions.merge(definitions.defs, dg.Definitions(assets=[brought_by_the_release]))\n",
        encoding="utf-8",
    )

    def serves_it() -> bool:
        found = (place.graphql(_ASSETS) or {}).get("assetNodes", [])
        return ["brought_by_the_release"] in [each["assetKey"]["path"] for each in found]

    assert not serves_it()
    code = place.kept["dagster-code"]
    command = tuple("newer" if word == dagster_home.DEFINITIONS else word for word in code.command)
    place.end("dagster-code")
    socket = dagster_home.code_socket(place.settings)
    assert socket.exists()
    assert not answers(socket)
    place.launch(Program(code.name, (*command, "--working-directory", str(tmp_path))))
    wait_until(lambda: answers(socket), 60, otherwise=lambda: left(place))
    begun = time.monotonic()
    wait_until(serves_it, 60, otherwise=lambda: left(place))
    took = time.monotonic() - begun
    print(f"new definitions were seen after {took:.1f} s")
    assert took < NO_LONGER_THAN
