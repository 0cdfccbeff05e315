"""The service's real processes on a data directory of a test's own, to be killed at any instant and started again.

They are killed with SIGKILL, as a power cut would end them, and started again as the supervisor would: Dagster's own
and the worker also where they end by themselves, because the database went away.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg

from api.operate import start
from api.operate.start import Program
from tests import preloaded
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.accounts import keys
from warehouse.accounts.keys import Window, digest, new_key
from warehouse.operate import dagster_home, forks
from warehouse.operate.dagster_home import answers
from warehouse.operate.database import Database
from warehouse.operate.embedded import revive
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
CHUNKS = {"PCDS_CHUNK_ROWS": "100"}  # so that a file of a test has many


@dataclass(slots=True)
class Place:
    """The service's processes on one data directory, and its one company. `other api` is a second API process."""

    settings: Settings
    company: UUID = field(default_factory=uuid4)
    key: str = field(default_factory=new_key)
    processes: dict[str, forks.Forked | subprocess.Popen[bytes]] = field(default_factory=dict)
    other_port: int = field(default_factory=free_port)
    kept: dict[str, Program] = field(default_factory=dict)
    """What is started again when it ends."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=PATIENCE_SECONDS))

    @property
    def ports(self) -> dict[str, int]:
        return {"api": self.settings.port, "other api": self.other_port}

    def found(self, database: Database) -> None:
        """Make the company and its key in a migrated database, with a window for as many requests as a test sends."""
        preloaded.lend_readers(self.settings)
        self._found(database, self.company, "Kill", self.key)

    def joined(self, name: str) -> dict[str, str]:
        """Another company; the header by which it asks."""
        key = new_key()
        self._found(Database.from_settings(self.settings), uuid4(), name, key)
        return {"X-API-Key": key}

    def _found(self, database: Database, company: UUID, name: str, key: str) -> None:
        now, client = datetime.now(UTC), uuid4()
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("INSERT INTO companies VALUES (%s, %s, 'enterprise', %s)", (company, name, now))
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (company,))
            owner.execute(
                "INSERT INTO api_keys (id, company_id, name, key_hash, scopes, created_at) "
                "VALUES (%s, %s, 'ERP', %s, '{read,write}', %s)",
                (client, company, digest(key), now),
            )
            keys.put(owner, company, Window(client, 1_000_000, now, None))

    def start(self, *names: str) -> None:
        """Start processes; with a worker come Dagster's own, which bring it runs."""
        if any(name.startswith("worker") for name in names):
            self._orchestrate()
        known = {each.name: each for each in start.orchestration(self.settings, number_of_workers=0)}
        for name in names:
            program = ("pipelines.engine.worker",)
            if name in self.ports:
                port = str(self.ports[name])
                program = ("uvicorn", "api.app:app_of_process", "--factory", "--port", port, "--log-level", "critical")
            self.launch(known.get(name, Program(name, (sys.executable, "-m", *program))))

    def _orchestrate(self) -> None:
        for program in reversed(start.orchestration(self.settings, number_of_workers=0)):
            if program.name not in self.processes or self.processes[program.name].poll() is not None:
                if program.after is not None:
                    wait_until(lambda socket=program.after: answers(socket))
                self.launch(program)

    def launch(self, program: Program) -> None:
        """Start a program, and keep it running unless it is an API process."""
        own = (
            self.settings.environment()
            | dagster_home.environment(self.settings, Database.from_settings(self.settings))
            | CHUNKS
        )
        with self.lock, (self.settings.data_dir / "log").open("ab") as log:
            if program.name in self.processes and self.processes[program.name].poll() is None:
                return  # `_keep` was faster
            self.processes[program.name] = preloaded.start(program.command, os.environ | own, output=log)
            if program.name not in self.ports:
                first = not self.kept
                self.kept[program.name] = program
                if first:  # it ends as soon as there is nothing to keep
                    threading.Thread(target=self._keep, daemon=True).start()

    def _keep(self) -> None:
        """Start again what has ended by itself or was shot, for as long as anything is to be kept."""
        while self.kept:
            time.sleep(0.25)
            with self.lock, suppress(OSError):
                for name in [name for name in self.kept if self.processes[name].poll() is not None]:
                    program = self.kept[name]
                    if program.after is None or answers(program.after):
                        self.launch(program)

    def shoot(self, *names: str) -> None:
        """Kill processes at one instant, and leave it to whoever keeps them to start them again."""
        with self.lock:
            for name in names:
                self.processes[name].kill()

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
            before = Database.from_settings(self.settings)
            os.kill(int(postmaster.splitlines()[0]), signal.SIGKILL)
            # Without fsync, as the server ran before: a slow disk under the other tests' load makes minutes of it.
            wait_until(lambda: revive(self.settings, durable=False))
            if Database.from_settings(self.settings) == before:
                return  # its port was free again; else the supervisor, too, starts everybody with the new address
            self.restart(*self.processes)
        else:
            self.restart(name)

    def restart(self, *names: str) -> None:
        self.end(*names)
        self.start(*names)

    def end(self, *names: str) -> None:
        with self.lock:
            for name in names or tuple(self.processes):
                self.kept.pop(name, None)
                self.processes[name].kill()
                self.processes[name].wait()

    def pcds(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on this data directory."""
        own = os.environ | self.settings.environment()
        return preloaded.pcds(*arguments, "--data-dir", self.settings.data_dir, environment=own)

    def graphql(self, query: str, **variables: object) -> dict[str, Any] | None:
        """What Dagster's webserver answers; None where it is away or has a fault to tell."""
        key = {
            dagster_home.DOOR_HEADER: dagster_home.door_key(self.settings),
            dagster_home.ACTOR_HEADER: dagster_home.SERVICE,
        }
        url = f"http://127.0.0.1:{self.settings.dagster_port}{dagster_home.PREFIX}/graphql"
        try:
            answer = self.client.post(url, headers=key, json={"query": query, "variables": variables})
        except httpx2.TransportError:
            return None
        return dict(answer.json()["data"]) if answer.is_success and answer.json().get("data") else None

    def one(self, query: str) -> tuple[object, ...]:
        with psycopg.connect(Database.from_settings(self.settings).owner_url) as owner:
            return owner.execute(query).fetchone() or ()

    def column(self, query: str) -> list[str]:
        with psycopg.connect(Database.from_settings(self.settings).owner_url) as owner:
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
