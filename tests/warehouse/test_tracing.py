"""Spans: nothing at all without a collector; with one, what happened and no word of what it happened to."""

import subprocess
import sys
from contextlib import suppress

import pytest

from tests.collector import attributes, collecting
from tests.waiting import wait_until
from warehouse.operate.otlp import Spans
from warehouse.operate.settings import Settings, SettingsError

_OFF = """
import sys
from warehouse.operate import tracing
from warehouse.operate.settings import Settings
tracing.configure(Settings.load(), "api")
with tracing.span("a") as span:
    tracing.record("b", 1.0, 2.0)
    print(span, tracing.here(), [name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_without_a_collector_the_library_is_not_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", _OFF], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "None", "[]"]


def test_a_span_continues_another_process_and_says_of_an_exception_its_type_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with collecting() as collector:
        spans = Spans(collector.endpoint, "api")
        given = {"pcds.company_id": "c", "left.out": None}
        with suppress(ValueError), spans.span("outer", given, "SERVER", f"00-{trace}-{parent}-01"):
            here = spans.here()
            spans.record("before", 1.0, 2.5, failed=True)
            raise ValueError("Bottle 4711")
        wait_until(lambda: len(collector.spans) == 2)
    [outer], [before] = collector.named("outer"), collector.named("before")
    assert here == f"00-{trace}-{outer.span_id.hex()}-01"
    assert (outer.trace_id.hex(), outer.parent_span_id.hex()) == (trace, parent)
    assert (outer.status.message, attributes(outer)) == ("ValueError", {"pcds.company_id": "c"})
    assert (before.parent_span_id, before.start_time_unix_nano, before.end_time_unix_nano) == (
        outer.span_id,
        1_000_000_000,
        2_500_000_000,
    )
    assert b"Bottle" not in collector.received


@pytest.mark.parametrize("given", ["collector:4318", "http://collector 4318", "ftp://collector"])
def test_a_collector_is_an_address(given: str) -> None:
    with pytest.raises(SettingsError, match="PCDS_TRACES_ENDPOINT is not usable: must be an address such as http"):
        Settings.load(traces_endpoint=given)
