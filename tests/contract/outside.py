"""The service as a stranger meets it: processes on a port, requests over loopback, and the operator's commands.

What belongs here: starting processes, sending requests, waiting. What does not: what an answer must say, which is
the tests', and any import of the service's own code but `pcds` itself.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import orjson
from typer.testing import CliRunner

from api.cli import build_program
from api.operate.program import Refusal
from api.operate.start import programs
from tests import preloaded
from tests.waiting import PATIENCE_SECONDS
from tools.ports import free_port
from warehouse.operate import forks
from warehouse.operate.dagster_home import answers
from warehouse.operate.settings import Settings

V1 = "/api/v1"
_ONE_REQUEST = httpx2.Limits(max_keepalive_connections=0)


@dataclass(frozen=True)
class Place:
    """Where a deployment lives: the environment that its processes and the operator's commands share."""

    environment: dict[str, str] = field(repr=False)
    folder: Path

    def shifted(self, **variables: object) -> "Place":
        return Place({**self.environment, **{name: str(value) for name, value in variables.items()}}, self.folder)

    def pcds(self, *words: object) -> dict[str, Any]:
        """What an operator's command prints with --json."""
        status, output = self.command(*words, "--json")
        assert status == 0, output
        return dict(orjson.loads(output))

    def command(self, *words: object) -> tuple[int, str]:
        """Exit status and output of a command; a refusal is its sentence."""
        done = CliRunner().invoke(build_program([str(words[0])]), [str(word) for word in words], env=self.environment)
        if isinstance(done.exception, Refusal):
            return 1, str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    @contextmanager
    def serving(self, *, processes: int = 1, imports: bool = False) -> Iterator["Server"]:
        """The API on a free port, with a worker for imports where asked, until the block ends."""
        port = free_port()
        environment = {**self.environment, "PCDS_PORT": str(port), "PCDS_DAGSTER_PORT": str(free_port())}
        api = (
            "uvicorn",
            "api.app:app_of_process",
            "--factory",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--workers",
            str(processes),
            "--no-access-log",
            "--no-proxy-headers",
            "--no-server-header",
            "--log-level",
            "warning",
            "--timeout-graceful-shutdown",
            "5",
        )
        log = self.folder / f"{port}.log"
        python = (sys.executable, "-m")
        programs = [Program((*python, *api), environment, log)]
        if imports:
            programs += _orchestration(environment, log)
        try:
            # No connection is kept, so that any of the processes may take the next request.
            with httpx2.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS, limits=_ONE_REQUEST
            ) as client:
                server = Server(self, client, log, programs[-1])
                ready = "/readyz" if imports else "/healthz"
                until(lambda: server.answers(ready), server.said)
                yield server
        finally:
            for program in programs:
                program.process.terminate()
            for program in programs:
                program.end(15)


class Program:
    """One program of a deployment, in a process group of its own."""

    def __init__(self, command: tuple[str, ...], environment: dict[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self.process = self._started()

    def _started(self) -> forks.Forked | subprocess.Popen[bytes]:
        with self._log.open("ab") as lines:
            return preloaded.start(self._command, self._environment, output=lines, apart=True)

    def end(self, seconds: float) -> None:
        """Wait for it, then kill it and what it has started."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def replace(self) -> None:
        """Kill it wherever it is, and start another in its place."""
        self.end(0)
        self.process = self._started()


def _orchestration(environment: dict[str, str], log: Path) -> list[Program]:
    """Dagster's processes and a worker, which comes last."""
    settings = Settings.load(data_dir=environment["PCDS_DATA_DIR"])
    known = programs(settings)
    chosen = [known[name] for name in ("dagster-code", "dagster-ui", "dagster-daemon", "worker")]
    started = []
    for program in chosen:
        if program.after is not None:
            until(lambda socket=program.after: answers(socket))
        started.append(Program(program.command, environment, log))
    return started


@dataclass(frozen=True)
class Server:
    """One running deployment."""

    place: Place
    client: httpx2.Client
    log: Path
    worker: Program

    def said(self) -> str:
        """The last that its log says beside the requests."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return "\n".join([line for line in lines if '"event": "request"' not in line][-10:])

    def answers(self, path: str) -> bool:
        try:
            return self.client.get(path, timeout=5).status_code == 200
        except httpx2.TransportError:
            return False

    def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return self.client.request(method, path, **more)

    def joined(self, plan: str = "enterprise", *, per_minute: int | None = None) -> "Caller":
        """A new company with a key that reads and writes, and with a window where it needs more than the usual rate."""
        company = self.place.pcds("company", "add", "--name", f"Company {uuid4()}", "--plan", plan)["id"]
        caller = self.keyed(company)
        if per_minute:
            self.place.pcds("window", "open", "--key", caller.client_id, "--per-minute", per_minute)
        return caller

    def keyed(self, company: str, scopes: str = "read,write", name: str = "erp") -> "Caller":
        issued = self.place.pcds(
            "key", "issue", "--company", company, "--scopes", scopes, "--name", name, "--allow-any-plan"
        )
        return Caller(self, company, issued["client_id"], {"X-API-Key": issued["api_key"]})


@dataclass(frozen=True)
class Caller:
    """A company's machine: its credential goes with every request, and so does an address of its own."""

    server: Server
    company: str
    client_id: str
    headers: dict[str, str]
    address: str = field(default_factory=lambda: f"10.{'.'.join(str(random.randrange(1, 255)) for _ in range(3))}")

    @property
    def key(self) -> str:
        return self.headers["X-API-Key"]

    def at(self, server: Server) -> "Caller":
        """The same caller before another server of the same database."""
        return Caller(server, self.company, self.client_id, self.headers, self.address)

    def with_headers(self, **headers: str) -> "Caller":
        return Caller(self.server, self.company, self.client_id, headers, self.address)

    def request(self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
        sent = {"X-Forwarded-For": self.address, **self.headers, **(headers or {})}
        return self.server.send(method, path if path.startswith("/api/") else V1 + path, headers=sent, **more)

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        return self.request("POST", path, json=body, **more)

    def put(self, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        return self.request("PUT", path, json=body, **more)

    def data(self, path: str, **params: Any) -> Any:
        """The `data` of a successful read."""
        return good(self.get(path, params=params))["data"]

    def made(self, **fields: Any) -> dict[str, Any]:
        """A SKU of this company, new unless its code says otherwise, as the write answers it."""
        answer = self.post("/skus", {"sku_code": f"S-{uuid4()}", "name": "Bottle", **fields})
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json()["data"])

    def added(self, kind: str, **options: Any) -> dict[str, Any]:
        """A brand, site, supplier, component or DoC, added by the operator for this company."""
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
        return self.server.place.pcds(kind, "add", "--company", self.company, *words)

    def imported(self, content: bytes, filename: str = "file.csv", **params: Any) -> dict[str, Any]:
        """The report of an import, polled to its end."""
        accepted = self.request("POST", "/imports", content=content, params={"filename": filename, **params})
        assert accepted.status_code == 202, accepted.text
        return self.finished(accepted.json()["poll_url"])

    def finished(self, poll_url: str) -> dict[str, Any]:
        report: dict[str, Any] = {}

        def ended() -> bool:
            report.update(good(self.get(poll_url)))
            return report["status"] in ("completed", "failed")

        until(ended, lambda: f"{report}\n{self.server.said()}", pause=0.1)
        return report

    def token(self, **form: Any) -> httpx2.Response:
        """An answer of the token endpoint to this caller's credentials in a form; what is given replaces or adds."""
        fields = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.key, **form}
        return self.server.send(
            "POST",
            f"{V1}/oauth/token",
            data={name: value for name, value in fields.items() if value is not None},
            headers={"X-Forwarded-For": self.address},
        )

    def bearing(self, **form: Any) -> "Caller":
        """The same company with a bearer token instead of the key."""
        return self.with_headers(Authorization=f"Bearer {good(self.token(**form))['access_token']}")


def good(answer: httpx2.Response) -> dict[str, Any]:
    """The body of a success."""
    assert answer.is_success, (answer.status_code, answer.text)
    return dict(answer.json())


def refused(answer: httpx2.Response, status: int, error: str) -> list[dict[str, Any]]:
    """The details of a refusal with this status and code."""
    assert (answer.status_code, answer.json().get("error")) == (status, error), answer.text
    return list(answer.json().get("details", []))


def codes(answer: httpx2.Response) -> list[str]:
    """The issue codes of a 400 invalid_body."""
    return [issue["code"] for issue in refused(answer, 400, "invalid_body")]


def until(happened: Callable[[], object], otherwise: Callable[[], str] = str, *, pause: float = 0.05) -> None:
    """Wait for what is to happen, ever longer between two looks, as each may be one of the 120 requests a minute."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen in time: {otherwise()}"
        time.sleep(pause)
        pause = min(1.2 * pause, 1.5)
