"""A collector of traces on this machine: what it is sent, as OTLP over HTTP, is decoded and kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(slots=True)
class Collector:
    """The spans that came, and every byte that came with them."""

    endpoint: str = ""
    spans: list[Span] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def take(self, body: bytes) -> None:
        self.received += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


def attributes(span: Span) -> dict[str, str | int]:
    return {each.key: each.value.int_value or each.value.string_value for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.endpoint = f"http://127.0.0.1:{server.server_port}/v1/traces"
        Thread(target=server.serve_forever, daemon=True).start()
        yield collector
        server.shutdown()
