"""A gRPC server that answers as Dagster's code server does, for tests of who asks it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2_grpc


@contextmanager
def code_server(path: Path) -> Iterator[None]:
    """Answer at a socket; its file stays, as that of a server that was killed."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
        server.add_insecure_port(f"unix:{path}")
        server.start()
        try:
            yield
        finally:
            server.stop(None).wait()
            path.touch()
