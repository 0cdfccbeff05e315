"""Starts the service to measure, the real `pcds serve` in a data directory of its own, and a client for it."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID, uuid4

import psutil
import psycopg

from tools.at_rest import role_of
from tools.ports import free_port
from warehouse.accounts import people
from warehouse.figures import snapshots
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

_ENDED: Final = ["SUCCESS", "FAILURE", "CANCELED"]
"""Dagster's states of runs that have ended."""
_MOST_LOOKS: Final = 600


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its address, its database, its process, the parent of its Postgres processes."""

    url: str
    port: int
    database: Database
    process: psutil.Process
    server: psutil.Process
    data_dir: Path

    def command(self, *arguments: str) -> dict[str, Any]:
        """Return a `pcds` command's JSON."""
        program = [str(Path(sys.executable).parent / "pcds"), *arguments, "--data-dir", str(self.data_dir), "--json"]
        return dict(json.loads(subprocess.run(program, check=True, capture_output=True).stdout))

    def company(self) -> tuple[UUID, str]:
        """Make a company on the enterprise plan, with a key whose window admits every load."""
        made = self.command("company", "add", "--name", f"bench {time.time_ns()}", "--plan", "enterprise")
        key = self.command("key", "issue", "--company", made["id"])
        self.command("window", "open", "--key", key["client_id"], "--per-minute", "1000000")
        return UUID(made["id"]), str(key["api_key"])

    def wait_until_published(self) -> None:
        """Wait until every company is published and no run is under way: what was written before is not measured."""
        self._wait_until(lambda owner: not snapshots.stale(owner, Clock().now().date()) and _is_idle(owner))

    def wait_until_idle(self) -> None:
        """Wait until no run is under way: an import is completed before its run has told Dagster everything."""
        self._wait_until(_is_idle)

    def _wait_until(self, is_so: Callable[[psycopg.Connection[Any]], bool]) -> None:
        with psycopg.connect(self.database.owner_url, autocommit=True) as owner:
            for _ in range(_MOST_LOOKS):
                if is_so(owner):
                    return
                time.sleep(0.5)
        raise RuntimeError("runs have not ended within five minutes")

    def private_mib(self) -> dict[str, float]:
        """Return the private memory of every process of the service, in MiB, by its role; Postgres counted as one."""
        found: dict[str, float] = {}
        for process in self._processes():
            try:
                # Not what is resident less what is shared with files: forked processes share other pages, too.
                private = process.memory_full_info().uss / 2**20
                role = role_of(process)
                found[role] = found.get(role, 0) + private
            except psutil.Error:
                continue
        return found

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of every process of the service up to now, of ended ones too."""
        spent = 0.0
        for process in self._processes():
            with suppress(psutil.Error):
                spent += sum(process.cpu_times()[:4])  # its own, and those of its children that have ended
        return spent

    def _processes(self) -> Iterator[psutil.Process]:
        for parent in (self.process, self.server):
            yield from (parent, *parent.children(recursive=True))


def _is_idle(owner: psycopg.Connection[Any]) -> bool:
    running = owner.execute("SELECT count(*) FROM dagster.runs WHERE NOT (status = ANY(%s))", [_ENDED])
    return running.fetchone() == (0,)


def session_of(service: Service, company: UUID) -> str:
    """Return the session cookie of a new person of a company."""
    now, user = Clock().now(), uuid4()
    with Pool(service.database.app_url) as pool, pool.company(company) as conn:
        people.add(conn, company, user, email=f"{time.time_ns()}@bench.example", password_hash="-", at=now)
        return people.begin(conn, company, user, now)


@contextmanager
def started() -> Iterator[Service]:
    """Start the service, yield it when ready, and remove it at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="pcds-bench-") as folder:
        Path(folder).chmod(0o711)
        data_dir, port = Path(folder) / "data", free_port()
        program = [
            str(Path(sys.executable).parent / "pcds"),
            "serve",
            "--port",
            str(port),
            "--dagster-port",
            str(free_port()),
            "--no-dagster-ui",
            "--no-demo",
        ]
        with running(Settings.load(data_dir=data_dir)) as database, (Path(folder) / "log").open("wb") as log:
            child = subprocess.Popen([*program, "--data-dir", str(data_dir)], stdout=log, stderr=log)
            try:
                url = f"http://127.0.0.1:{port}"
                _wait(url, child)
                yield Service(url, port, database, psutil.Process(child.pid), server_of(database), data_dir)
            finally:
                child.terminate()
                child.wait(30)


def _wait(url: str, child: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            if child.poll() is not None:
                raise RuntimeError(f"the service ended with {child.returncode}") from None
        time.sleep(0.1)
    raise RuntimeError("the service was not ready within a minute")


@dataclass(frozen=True, slots=True)
class Load:
    """The result of a load: requests a second and the median of one request in milliseconds."""

    per_second: float
    p50_ms: float


def load(port: int, requests: list[bytes], *, connections: int) -> Load:
    """Send the raw requests over keep-alive connections, each waiting for its answer; every answer must be 2xx."""
    return asyncio.run(_load(port, requests, connections))


async def _load(port: int, requests: list[bytes], connections: int) -> Load:
    queue, taken = iter(requests), list[float]()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in queue:
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head[9:10] == b"2", head
            length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            await reader.readexactly(int(length[15:]))
            taken.append(time.perf_counter() - begun)
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return Load(len(taken) / (time.perf_counter() - begun), median(taken) * 1000)


def raw_request(method: str, path: str, key: str, body: bytes = b"") -> bytes:
    """Return the bytes of one HTTP/1.1 request."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def server_of(database: Database) -> psutil.Process:
    """Return the parent of all processes of a Postgres."""
    with psycopg.connect(database.owner_url) as owner:
        found = psutil.Process(owner.info.backend_pid).parent()
    assert found is not None
    return found
