"""A person ends imports in Dagster's pages: one that is worked on, one that waits in the queue, one that was launched.

Each ends as terminated and stays so, says who ended it, and the worker takes the next run.
"""

from tests.journeys.place import Place
from tests.journeys.test_fairness import held_back
from tests.waiting import wait_until

ROWS = 40_000
_TERMINATE = """
mutation($id: String!, $policy: TerminateRunPolicy!) { terminateRun(runId: $id, terminatePolicy: $policy) {
  __typename ... on TerminateRunFailure { message }
} }
"""


def sent(place: Place, name: str, rows: int) -> str:
    """An import of so many rows, whose codes no other file has; its id."""
    lines = (f"{name}-{row:05},Bottle {row},plastic,{row % 90}.5" for row in range(rows))
    content = "\n".join(["sku_code,name,material,weight_grams", *lines]).encode()
    return str(place.call("POST", f"/api/v1/imports?filename={name}.csv", content=content)["id"])


def report(place: Place, import_id: str) -> dict[str, object]:
    return place.call("GET", f"/api/v1/imports/{import_id}")


def runs(place: Place, import_id: str) -> list[str]:
    """Run and status of each run that the import has had."""
    return place.column(
        "SELECT concat_ws(' ', run_id, status) FROM dagster.runs JOIN dagster.run_tags USING (run_id) "
        f"WHERE key = 'pcds/import_id' AND value = '{import_id}' ORDER BY runs.id"
    )


def has_run(place: Place, import_id: str, status: str) -> bool:
    return any(run.endswith(f" {status}") for run in runs(place, import_id))


def terminate(place: Place, import_id: str, policy: str = "SAFE_TERMINATE") -> None:
    [run] = runs(place, import_id)
    answer = place.graphql(_TERMINATE, id=run.split()[0], policy=policy)
    assert answer == {"terminateRun": {"__typename": "TerminateRunSuccess"}}


def stored(place: Place, name: str) -> int:
    [number] = place.one(f"SELECT count(*)::integer FROM skus WHERE sku_code LIKE '{name}-%'")
    assert isinstance(number, int)
    return number


def test_what_a_person_terminates_ends_and_the_worker_goes_on(place: Place) -> None:
    place.start_and_wait("api", "worker")
    wait_until(lambda: place.graphql("{ version }"))
    process = place.processes["worker"].pid
    with held_back(place, f"working-{ROWS // 2}"):  # the worker has work until the last run is terminated
        working = sent(place, "working", ROWS)
        wait_until(lambda: stored(place, "working") > 1)
        queued = sent(place, "queued", ROWS)  # of large ones one is run at a time
        wait_until(lambda: has_run(place, queued, "QUEUED"))
        launched = sent(place, "launched", 3)
        wait_until(lambda: has_run(place, launched, "STARTING"))
        terminate(place, launched, "MARK_AS_CANCELED_IMMEDIATELY")  # Dagster's pages offer no other end of such a run
        for import_id in (queued, working):
            terminate(place, import_id)
    for import_id in (launched, queued, working):
        wait_until(lambda import_id=import_id: report(place, import_id)["status"] == "failed")
        failure = report(place, import_id)["failure"]
        assert isinstance(failure, dict)
        assert failure["code"] == "ended_by_operator"
        wait_until(lambda import_id=import_id: has_run(place, import_id, "CANCELED"))
    counts = report(place, working)["counts"]
    assert isinstance(counts, dict)
    assert 0 < counts["created"] == stored(place, "working") - 1 < ROWS, "and the one that was there before"
    assert stored(place, "queued") == stored(place, "launched") == 0

    following = sent(place, "following", 3)
    wait_until(lambda: report(place, following)["status"] == "completed")
    wait_until(lambda: has_run(place, following, "SUCCESS"))
    assert place.processes["worker"].pid == process, "the worker outlived what was terminated"
    assert all(len(runs(place, import_id)) == 1 for import_id in (working, queued, launched)), "taken up by nobody"
