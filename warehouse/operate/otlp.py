"""Sends spans by OTLP over HTTP, with OpenTelemetry's library; `warehouse.operate.tracing` alone imports it.

The library's other settings are its own environment variables: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`,
`OTEL_RESOURCE_ATTRIBUTES`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Attributes = Mapping[str, str | int | None]
"""Attributes of a span by name; one of None is left out."""
Kind = Literal["INTERNAL", "SERVER", "CONSUMER"]

_PROPAGATION: Final = TraceContextTextMapPropagator()
_HEADER: Final = "traceparent"  # W3C Trace Context


class Traced:
    """A span that has begun."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def describe(self, name: str, attributes: Attributes, *, failed: bool) -> None:
        """Add what was learned while it ran, its name too."""
        self._span.update_name(name)
        self._span.set_attributes(_without_none(attributes))
        if failed:
            self._span.set_status(StatusCode.ERROR)


class Spans:
    """The spans of a process, sent to one collector by a thread."""

    def __init__(self, endpoint: str, process: str) -> None:
        provider = TracerProvider(resource=Resource.create({"service.name": f"pcds-{process}"}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = provider.get_tracer("pcds")

    @contextmanager
    def span(self, name: str, attributes: Attributes, kind: Kind, parent: str | None) -> Iterator[Traced]:
        """Trace the block. Of an exception the span gets the type alone: its message may quote a file."""
        with self._tracer.start_as_current_span(
            name,
            context=None if parent is None else _PROPAGATION.extract({_HEADER: parent}),
            kind=SpanKind[kind],
            attributes=_without_none(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as begun:
            try:
                yield Traced(begun)
            except BaseException as error:
                begun.set_status(StatusCode.ERROR, type(error).__name__)
                raise

    def record(self, name: str, begun: float, ended: float, *, failed: bool) -> None:
        """Add a span of the past to the current one."""
        over = self._tracer.start_span(name, start_time=round(begun * 1e9))
        if failed:
            over.set_status(StatusCode.ERROR)
        over.end(round(ended * 1e9))

    def here(self) -> str | None:
        """Return the current span as a `traceparent`; None outside of one."""
        carrier: dict[str, str] = {}
        _PROPAGATION.inject(carrier)
        return carrier.get(_HEADER)


def _without_none(attributes: Attributes) -> dict[str, str | int]:
    return {name: value for name, value in attributes.items() if value is not None}
