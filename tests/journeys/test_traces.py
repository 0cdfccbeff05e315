"""One trace from the upload to the published portfolio, through three processes, as a collector receives it."""

import pytest

from tests.collector import attributes, collecting
from tests.journeys.place import Place
from tests.waiting import wait_until

_FILE = b"sku_code,name,material,weight_grams\nZ-4711,Hidden bottle,PET,25\nZ-4712,Hidden jar,glass,90\n"
_WITHIN = {
    "POST /api/v1/imports": {"import.read", "import.accept", "run import_file", "run publish_portfolio"},
    "run import_file": {"step imported_file", "import.grade", "import.store"},
    "run publish_portfolio": {"step portfolio_snapshot", "step portfolio_overview"},
}


def test_a_trace_leads_from_the_request_through_the_import_to_the_publication(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
    with collecting() as collector:
        place.settings = place.settings.model_copy(update={"traces_endpoint": collector.endpoint})
        place.start_and_wait("api", "worker")
        wait_until(lambda: _launches_runs(place))  # else a sensor asks for the run, outside of any trace
        answer = place.answered("POST", "/api/v1/imports?filename=hidden.csv", content=_FILE)
        wait_until(lambda: collector.named("run publish_portfolio"))
    [request] = collector.named("POST /api/v1/imports")
    of_trace = [span for span in collector.spans if span.trace_id == request.trace_id]
    by_parent: dict[bytes, set[str]] = {}
    for span in of_trace:
        by_parent.setdefault(span.parent_span_id, set()).add(span.name)
    assert by_parent[b""] == {"POST /api/v1/imports"}
    for name, parts in _WITHIN.items():
        [span] = [span for span in of_trace if span.name == name]
        assert parts <= by_parent[span.span_id]
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/imports",
        "http.response.status_code": 202,
        "pcds.correlation_id": answer.headers["X-Correlation-Id"],
        "pcds.company_id": str(place.company),
    }
    [run] = [span for span in of_trace if span.name == "run import_file"]
    assert attributes(run)["pcds.import_id"] == answer.json()["id"]
    assert not [word for word in (b"idden", b"Z-471", place.key.encode()) if word in collector.received]


def _launches_runs(place: Place) -> bool:
    """Whether Dagster's webserver has the definitions."""
    found = place.graphql("{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }")
    return bool(found and found["repositoriesOrError"].get("nodes"))
