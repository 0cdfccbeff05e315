"""Nothing lost: worker, API and Postgres are killed while an import runs, and it ends as if nothing had happened.

Real processes over a server of the test's own. They are killed with SIGKILL whenever a random number of rows is
committed, and started again as the supervisor would.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from warehouse.database import Database
from warehouse.embedded import revive, running
from warehouse.migrate import migrate
from warehouse.queries.keys import digest, new_key
from warehouse.settings import Settings

ROWS = 5_000
ROOT = Path(__file__).parents[2]
VICTIMS = ("worker", "worker", "postgres", "postgres", "api")


@dataclass(slots=True)
class Place:
    """The service's processes on one data directory, and its one company."""

    settings: Settings
    company: UUID = field(default_factory=uuid4)
    key: str = field(default_factory=new_key)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def programs(self) -> dict[str, list[str]]:
        port = str(self.settings.port)
        return {
            "api": ["uvicorn", "api.app:create", "--factory", "--port", port, "--log-level", "critical"],
            "worker": ["pipelines.worker", "--chunk-rows", "100"],
        }

    def start(self, name: str) -> None:
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", *self.programs[name]], cwd=ROOT, env=os.environ | self.settings.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kill(self, name: str) -> None:
        """End it as a power cut would, and start it again."""
        if name == "postgres":
            postmaster = (self.settings.data_dir / "postgres" / "postmaster.pid").read_text(encoding="utf-8")
            before = Database.of(self.settings)
            os.kill(int(postmaster.splitlines()[0]), signal.SIGKILL)
            while not revive(self.settings):
                time.sleep(0.05)
            if Database.of(self.settings) == before:
                return  # its port was free again; else the supervisor, too, starts everybody with the new address
            self.restart("api", "worker")
        else:
            self.restart(name)

    def restart(self, *names: str) -> None:
        self.end(*names)
        for name in names:
            self.start(name)

    def end(self, *names: str) -> None:
        for name in names:
            self.processes[name].kill()
            self.processes[name].wait()

    def one(self, query: str) -> tuple[object, ...]:
        with psycopg.connect(Database.of(self.settings).owner_url) as owner:
            return owner.execute(query).fetchone() or ()

    def call(self, method: str, path: str, **request: object) -> dict[str, object]:
        """A request, repeated while the API or its database is away."""
        url, deadline = f"http://127.0.0.1:{self.settings.port}{path}", time.monotonic() + 30
        while True:
            try:
                answer = httpx2.request(method, url, headers={"X-API-Key": self.key}, timeout=20, **request)
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code < 500:
                assert answer.is_success, answer.text
                return dict(answer.json())
            assert time.monotonic() < deadline, answer and answer.text
            time.sleep(0.1)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A directory that the server's own account can go through, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="pcds-kill-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        yield Path(directory) / "data"


@pytest.fixture
def place(data_dir: Path) -> Iterator[Place]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = Place(Settings.load(data_dir=data_dir, port=port))
    with running(place.settings, durable=False) as database:
        migrate(database)
        now = datetime.now(UTC)
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("INSERT INTO companies VALUES (%s, 'Kill', 'enterprise', %s)", (place.company, now))
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (place.company,))
            owner.execute(
                "INSERT INTO api_keys (id, company_id, name, key_hash, scopes, created_at) "
                "VALUES (%s, %s, 'ERP', %s, '{read,write}', %s)", (uuid4(), place.company, digest(place.key), now),
            )  # fmt: skip
        place.start("api")
        place.start("worker")
        yield place
        place.end("api", "worker")


def portfolio(name: str) -> bytes:
    rows = (f"S{number:05},{name} {number},plastic,{number % 90}.5" for number in range(ROWS))
    return "\n".join(["sku_code,name,material,weight_grams", *rows]).encode()


def import_under_fire(place: Place, content: bytes, chance: random.Random) -> dict[str, object]:
    """Send a file, kill someone each time that a random number of rows is reached, and wait for the end."""
    accepted = place.call("POST", "/api/v1/imports?filename=portfolio.csv", content=content)
    victims = chance.sample(VICTIMS, len(VICTIMS))
    for threshold, victim in zip(sorted(chance.sample(range(ROWS), len(VICTIMS))), victims, strict=True):
        wait_until(lambda threshold=threshold: place.one("SELECT max(id::text), sum(rows_done) FROM imports "
                   f"WHERE id = '{accepted['id']}' AND rows_done >= {threshold}")[1] is not None)  # fmt: skip
        time.sleep(chance.uniform(0, 0.03))  # anywhere within a chunk
        place.kill(victim)
    wait_until(lambda: place.call("GET", str(accepted["poll_url"]))["status"] in ("completed", "failed"))
    return place.call("GET", str(accepted["poll_url"]))


def wait_until(happened: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.mark.timeout(240)
def test_an_import_survives_every_kill(place: Place) -> None:
    chance = random.Random(20261121)
    first = import_under_fire(place, portfolio("Bottle"), chance)
    assert first["status"] == "completed"
    assert first["counts"] == {"total": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "rejected": 0}
    second = import_under_fire(place, portfolio("Jar"), chance)
    assert second["counts"] == {"total": ROWS, "created": 0, "updated": ROWS, "unchanged": 0, "rejected": 0}
    assert place.one("SELECT count(*), count(DISTINCT sku_code), min(version), max(version) FROM skus") == (
        ROWS, ROWS, 2, 2,
    )  # fmt: skip
    assert place.one("SELECT count(*), count(DISTINCT id) FROM sku_versions") == (ROWS, ROWS)
    for action, number in {
        "sku.created": ROWS, "sku.updated": ROWS, "import.submitted": 2, "import.completed": 2,
    }.items():  # fmt: skip
        counted = "SELECT count(*), count(DISTINCT resource_id) FROM audit_entries WHERE action = "
        assert place.one(f"{counted}'{action}'") == (number, number)
    assert place.one("SELECT skus FROM company_counters") == (ROWS,)
