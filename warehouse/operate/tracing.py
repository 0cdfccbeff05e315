"""Traces what the service does, where a collector is named (`PCDS_TRACES_ENDPOINT`).

Without the setting OpenTelemetry is not imported, and a span does nothing. What belongs here: beginning and ending
spans, and how a trace continues in another process. What does not: which work has a span, and the library itself, which
`warehouse.operate.otlp` alone knows. No attribute names a person or quotes a value: companies, imports and requests
stand in traces by their ids.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from warehouse.operate.settings import Settings

if TYPE_CHECKING:
    from warehouse.operate.otlp import Attributes, Kind, Spans, Traced


_spans: Final[list["Spans"]] = []
"""Where this process's spans go, once that is configured."""


def configure(settings: Settings, process: str) -> None:
    """Send this process's spans to the collector of the settings, if they name one; `process` is how it stands there.

    Called after the last fork: a thread sends the spans.
    """
    if settings.traces_endpoint is not None and not _spans:
        from warehouse.operate.otlp import Spans  # noqa: PLC0415  (it loads OpenTelemetry)

        _spans.append(Spans(settings.traces_endpoint, process))


def is_on() -> bool:
    """Return whether this process sends spans."""
    return bool(_spans)


def span(
    name: str, attributes: "Attributes | None" = None, *, kind: "Kind" = "INTERNAL", parent: str | None = None
) -> "AbstractContextManager[Traced | None]":
    """Trace a block; its value is the span, or None. `parent` is another process's `traceparent`."""
    return _spans[0].span(name, attributes or {}, kind, parent) if _spans else nullcontext()


def record(name: str, begun: float, ended: float, *, failed: bool = False) -> None:
    """Add a span to the current one for work that is over; instants in seconds since 1970."""
    if _spans:
        _spans[0].record(name, begun, ended, failed=failed)


def here() -> str | None:
    """Return the `traceparent` by which another process continues the current trace; None where nothing is traced."""
    return _spans[0].here() if _spans else None
