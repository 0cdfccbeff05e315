"""The service's real processes on a data directory of a test's own, to be killed at any instant and started again.

They are killed with SIGKILL, as a power cut would end them, and started again as the supervisor would.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg

from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.database import Database
from warehouse.embedded import revive
from warehouse.queries import windows
from warehouse.queries.keys import digest, new_key
from warehouse.queries.windows import Window
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Place:
    """The service's processes on one data directory, and its one company. `other api` is a second API process."""

    settings: Settings
    company: UUID = field(default_factory=uuid4)
    key: str = field(default_factory=new_key)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    other_port: int = field(default_factory=free_port)
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=PATIENCE_SECONDS))

    @property
    def ports(self) -> dict[str, int]:
        return {"api": self.settings.port, "other api": self.other_port}

    def found(self, database: Database) -> None:
        """Make the company and its key in a migrated database, with a window for as many requests as a test sends."""
        now, client = datetime.now(UTC), uuid4()
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("INSERT INTO companies VALUES (%s, 'Kill', 'enterprise', %s)", (self.company, now))
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (self.company,))
            owner.execute(
                "INSERT INTO api_keys (id, company_id, name, key_hash, scopes, created_at) "
                "VALUES (%s, %s, 'ERP', %s, '{read,write}', %s)", (client, self.company, digest(self.key), now),
            )  # fmt: skip
            windows.put(owner, self.company, Window(client, 1_000_000, now, None))

    def start(self, *names: str) -> None:
        for name in names:
            program = ["pipelines.worker", "--chunk-rows", "100"]
            if name in self.ports:
                port = str(self.ports[name])
                program = ["uvicorn", "api.app:served", "--factory", "--port", port, "--log-level", "critical"]
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *program], cwd=ROOT, env=os.environ | self.settings.environment(),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def start_and_wait(self, *names: str) -> None:
        """The same, until each API answers: on a busy machine its imports alone may take half a minute."""
        self.start(*names)
        for name in self.ports.keys() & {*names}:
            wait_until(lambda of=name: self.ask("GET", "/healthz", of=of))

    def is_ready(self) -> bool:
        answer = self.ask("GET", "/readyz")
        return answer is not None and answer.status_code == 200

    def kill(self, name: str) -> None:
        """End one of the processes, or `postgres`, at once, and start it again."""
        if name == "postgres":
            postmaster = (self.settings.data_dir / "postgres" / "postmaster.pid").read_text(encoding="utf-8")
            before = Database.of(self.settings)
            os.kill(int(postmaster.splitlines()[0]), signal.SIGKILL)
            # Without fsync, as the server ran before: a slow disk under the other tests' load makes minutes of it.
            wait_until(lambda: revive(self.settings, durable=False))
            if Database.of(self.settings) == before:
                return  # its port was free again; else the supervisor, too, starts everybody with the new address
            self.restart(*self.processes)
        else:
            self.restart(name)

    def restart(self, *names: str) -> None:
        self.end(*names)
        self.start(*names)

    def end(self, *names: str) -> None:
        for name in names or tuple(self.processes):
            self.processes[name].kill()
            self.processes[name].wait()

    def pcds(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on this data directory."""
        program = [sys.executable, "-m", "api.cli", *arguments, "--data-dir", str(self.settings.data_dir)]
        return subprocess.run(
            program, cwd=ROOT, env=os.environ | self.settings.environment(), capture_output=True, text=True, check=False
        )

    def one(self, query: str) -> tuple[object, ...]:
        with psycopg.connect(Database.of(self.settings).owner_url) as owner:
            return owner.execute(query).fetchone() or ()

    def column(self, query: str) -> list[str]:
        with psycopg.connect(Database.of(self.settings).owner_url) as owner:
            return [value for (value,) in owner.execute(query)]

    def ask(self, method: str, path: str, *, of: str = "api", **request: object) -> httpx2.Response | None:
        """One request to one of the API processes; None where it is away."""
        headers = {"X-API-Key": self.key, **dict(request.pop("headers", {}))}
        url = f"http://127.0.0.1:{self.ports[of]}{path}"
        try:
            return self.client.request(method, url, headers=headers, **request)
        except httpx2.TransportError:
            return None

    def call(self, method: str, path: str, **request: object) -> dict[str, object]:
        """A request, repeated while the API or its database is away."""
        return dict(self.answered(method, path, **request).json())

    def answered(self, method: str, path: str, **request: object) -> httpx2.Response:
        """The answer to a request that is repeated while the API or its database is away."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.ask(method, path, **request)
            if answer is not None and answer.status_code < 500:
                assert answer.is_success, answer.text
                return answer
            assert time.monotonic() < deadline, answer and answer.text
            time.sleep(0.1)
