"""Check that all others are answered while four clients send hostile input: /healthz within 0.3 s at every instant.

    python -m tools.hostile_load --seconds 5 --only "a header of spaces"

Four clients of one company send each input for some seconds, while another company imports a small file repeatedly.
Last, five addresses of this machine hold 1 000 half-open requests each; the same is then measured over new connections.
The exit status is 1 where an answer of /healthz was late, where the other company was refused, or where the service
did not answer at all. `hostile_files` makes the files; the bound is for a machine that does nothing else. The clients
leave it the processors: they are no part of what is measured, and from outside they would take none.
"""

import argparse
import contextlib
import http.client
import multiprocessing
import os
import resource
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final

import orjson

from tools import hostile_files
from tools.service import Service, running

_CLIENTS: Final = 4
_ADDRESSES: Final = 5
_HALF_OPEN: Final = "half-open requests from five addresses"
_HALF_OPEN_EACH: Final = 1_000
_BOUND_SECONDS: Final = 0.3
_BETWEEN_PROBES_SECONDS: Final = 0.01
_GOOD: Final = b"sku_code,name\nGOOD-1,Bottle\n"
_PATIENCE_SECONDS: Final = 300
_LOWEST_PRIORITY: Final = 19


@dataclass(frozen=True, slots=True)
class Sending:
    """One request: its name, key, address and body; a multipart body has its boundary in `media`."""

    name: str
    port: int
    key: str
    path: str
    media: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Met:
    """The effect of one input: seconds of the slowest probe and of another company's slowest import, and answers."""

    probe_seconds: float
    other_seconds: float
    other_refused: int
    statuses: Counter[int]

    def __str__(self) -> str:
        """Return the figures in words."""
        answers = ", ".join(f"{times} x {status}" for status, times in sorted(self.statuses.items()))
        probe, other = f"{self.probe_seconds * 1000:.0f} ms", f"{self.other_seconds:.2f} s"
        return f"/healthz {probe} at most, another company's import {other} at most ({answers})"

    @property
    def is_well(self) -> bool:
        """Return whether no probe was late, no other request was refused and no answer was a 500."""
        return self.probe_seconds <= _BOUND_SECONDS and not self.other_refused and 500 not in self.statuses


def main() -> int:
    """Return the exit status; print a line for each input."""
    parser = argparse.ArgumentParser(prog="python -m tools.hostile_load", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long each input is sent")
    parser.add_argument("--only", help="the inputs whose name holds this text")
    arguments = parser.parse_args()
    failed = []
    context = multiprocessing.get_context("spawn")  # a client inherits no lock and no socket of this process
    with running() as service, ProcessPoolExecutor(_CLIENTS + 1, context, _step_back) as clients:
        other, harmless = _joined(service), replace(_joined(service), name="small files in order, to compare with")
        for sending in (harmless, *_inputs(service, arguments.only or "")):
            met = _met(clients, sending, other, arguments.seconds)
            print(f"{'ok  ' if met.is_well else 'LATE'} {sending.name}: {met}", flush=True)
            failed += [] if met.is_well else [sending.name]
        if _HALF_OPEN.startswith(arguments.only or ""):
            met = _met_by_half_open(clients, service.port, other, arguments.seconds)
            print(f"{'ok  ' if met.is_well else 'LATE'} {_HALF_OPEN}: {met}", flush=True)
            failed += [] if met.is_well else [_HALF_OPEN]
    return 1 if failed else 0


def _step_back() -> None:
    """Give this process the lowest priority, and a session of its own, where Linux shares time between sessions."""
    os.setsid()
    os.nice(_LOWEST_PRIORITY)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_LOWEST_PRIORITY))


def _inputs(service: Service, only: str) -> Iterator[Sending]:
    made = _answer(
        Sending(
            "",
            service.port,
            service.key,
            "/api/v1/skus",
            "application/json",
            b'{"sku_code": "DOCUMENTED", "name": "Bottle"}',
        )
    )[1]
    files = f"/api/v1/skus/{orjson.loads(made)['data']['id']}/files"
    for kind, path, media, inputs in (
        ("import", "/api/v1/imports?filename=file", "application/octet-stream", hostile_files.tables()),
        ("document", files, "multipart/form-data; boundary=part", hostile_files.documents()),
        ("body", "/api/v1/skus", "application/json", hostile_files.bodies()),
    ):
        for name, build in inputs.items():
            if only in name:
                body = _form(build()) if kind == "document" else build()
                yield Sending(f"{kind}: {name}", service.port, service.key, path, media, body)


def _joined(service: Service) -> Sending:
    """Return a second company's small import, which must be accepted whatever the first one sends."""
    company = service.made("company", "add", "--name", "Other", "--plan", "enterprise")["id"]
    key = service.made("key", "issue", "--company", company, "--name", "erp")
    service.made("window", "open", "--key", key["client_id"], "--per-minute", "1000000")
    path = "/api/v1/imports?filename=good.csv"
    return Sending("good", service.port, key["api_key"], path, "application/octet-stream", _GOOD)


def _met(clients: ProcessPoolExecutor, sending: Sending, other: Sending, seconds: float) -> Met:
    hostile = [clients.submit(_sent, sending, seconds) for _ in range(_CLIENTS)]
    good = clients.submit(_sent, other, seconds)
    probe = _slowest_probe(sending.port, [*hostile, good])
    statuses = sum((Counter(each.result()[0]) for each in hostile), Counter[int]())
    taken, other_seconds = good.result()
    return Met(probe, other_seconds, taken.total() - taken[202], statuses)


def _met_by_half_open(clients: ProcessPoolExecutor, port: int, other: Sending, seconds: float) -> Met:
    """Measure the same while five addresses hold more requests that never end than there are places."""
    hostile = clients.submit(_held_half_open, port, seconds)
    good = clients.submit(_sent, other, seconds)
    probe = _slowest_probe(port, [hostile, good], anew=True)
    taken, other_seconds = good.result()
    return Met(probe, other_seconds, taken.total() - taken[202], hostile.result()[0])


def _held_half_open(port: int, seconds: float) -> tuple[Counter[int], float]:
    """Hold so many half-open requests from each address, each anew where it was ended; return how many were opened.

    It goes on after `seconds` until it has opened them all: a client that got no processor attacked nobody. One process
    does so for all addresses and waits for no connection, because what it costs is taken from the service's processors.
    """
    wanted = _ADDRESSES * _HALF_OPEN_EACH
    most = min(wanted + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held: deque[socket.socket] = deque()
    opened, end = 0, time.monotonic() + seconds
    while time.monotonic() < end or opened < wanted:
        if len(held) >= most - 100:  # the oldest first: the server has ended most of them
            for _ in range(_ADDRESSES):
                held.popleft().close()
            time.sleep(_BETWEEN_PROBES_SECONDS)
        for number in range(1, _ADDRESSES + 1):
            held.append(socket.socket())
            held[-1].bind((f"127.0.1.{number}", 0))
            held[-1].setblocking(False)
            held[-1].connect_ex(("127.0.0.1", port))
            with contextlib.suppress(OSError):
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: h\r\nX-Half: ")
                opened += 1
    for each in held:
        each.close()
    return Counter({0: opened}), seconds


def _slowest_probe(port: int, under_way: list[Future[tuple[Counter[int], float]]], *, anew: bool = False) -> float:
    """Return the seconds of the slowest answer of /healthz until all requests under way have ended.

    `anew` over a new connection each time; an answer other than 200 is as late as can be.
    """
    slowest, connection = 0.0, http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    while not all(each.done() for each in under_way):
        begun = time.perf_counter()
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answer.read()
            taken = time.perf_counter() - begun if answer.status == HTTPStatus.OK else _PATIENCE_SECONDS
        except (OSError, http.client.HTTPException):
            taken = _PATIENCE_SECONDS
        if anew or taken == _PATIENCE_SECONDS:
            connection.close()
        slowest = max(slowest, taken)
        time.sleep(_BETWEEN_PROBES_SECONDS)
    connection.close()
    return slowest


def _sent(sending: Sending, seconds: float) -> tuple[Counter[int], float]:
    """Send the input repeatedly for `seconds`; return answers by status, and the seconds of the slowest."""
    statuses, slowest, end = Counter[int](), 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        statuses[_answer(sending)[0]] += 1
        slowest = max(slowest, time.perf_counter() - begun)
    return statuses, slowest


def _answer(sending: Sending) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", sending.port, timeout=_PATIENCE_SECONDS)
    try:
        headers = {"X-API-Key": sending.key, "Content-Type": sending.media}
        connection.request("POST", sending.path, sending.body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _form(data: bytes) -> bytes:
    return (
        b'--part\r\nContent-Disposition: form-data; name="type"\r\n\r\ntest_report\r\n'
        b'--part\r\nContent-Disposition: form-data; name="file"; filename="report"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n--part--\r\n"
    )


if __name__ == "__main__":
    sys.exit(main())
