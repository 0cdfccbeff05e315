"""The last release's API serves while this one's migrations run, and beside this one's API afterwards.

`tests/warehouse/releases/0055.commit` names the commit of the last release; in a clone without its history the test is
skipped and says so.
"""

import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import orjson
import psycopg
import pytest

from services import audit as audit_services
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.revisions import head, revision_of
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

ROOT = Path(__file__).parents[2]
RELEASE = max((ROOT / "tests" / "warehouse" / "releases").glob("*.commit"))


@pytest.fixture(scope="module")
def last_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last release's code."""
    commit = RELEASE.read_text(encoding="ascii").strip()
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        pytest.skip(f"the history of this clone has no commit {commit} (git fetch --unshallow)")
    folder = tmp_path_factory.mktemp("last-release")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


class Release:
    """The programs of one release, on a database and a data directory."""

    def __init__(self, code: Path, settings: Settings) -> None:
        self.code, self.settings, self.port = code, settings, free_port()
        own = settings.environment() | {"PCDS_PORT": str(self.port), "PYTHONPATH": str(code)}
        self.environment = os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)

    def pcds(self, *arguments: str) -> dict[str, str]:
        program = [sys.executable, "-m", "api.cli", *arguments, "--json"]
        done = subprocess.run(program, cwd=self.code, env=self.environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return dict(orjson.loads(done.stdout.splitlines()[-1]))  # behind what the last release logs there

    @contextmanager
    def serving(self, log: Path) -> Iterator[None]:
        before_the_move = (self.code / "api" / "start.py").exists()
        module = "api.start" if before_the_move else "api.operate.start"
        program = [sys.executable, "-m", module, "api"]
        with log.open("wb") as said:
            process = subprocess.Popen(program, cwd=self.code, env=self.environment, stdout=said, stderr=said)
        try:
            wait_until(self._answers, otherwise=lambda: log.read_text(encoding="utf-8")[-2000:])
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)

    def _answers(self) -> bool:
        with suppress(httpx2.TransportError):
            return self.client.get("/healthz").status_code == 200
        return False


class Writer(threading.Thread):
    """Writes and reads through an API until it is told to stop; remembers the answers that are no success."""

    def __init__(self, client: httpx2.Client) -> None:
        super().__init__(daemon=True)
        self.client, self.stop, self.written, self.wrong = client, threading.Event(), 0, list[str]()

    def run(self) -> None:
        while not self.stop.wait(0.05):
            sku = {"sku_code": f"R-{self.written}", "name": "Jar"}
            made = self.client.post("/api/v1/skus", json=sku)
            if made.status_code != 201:
                self.wrong.append(made.text)
                continue
            path = f"/api/v1/skus/{made.json()['data']['id']}"
            changed = self.client.put(path, json=sku | {"name": "Jar, 370 ml"})
            for answer in (changed, self.client.get(path), self.client.get("/api/v1/skus?limit=5")):
                if answer.status_code != 200:
                    self.wrong.append(answer.text)
            self.written += 1

    def writes(self, more: int) -> None:
        """Wait until so many more are written."""
        wanted = self.written + more
        wait_until(lambda: self.written >= wanted or self.wrong, otherwise=lambda: f"{self.written} {self.wrong}")


def faults(folder: Path) -> list[str]:
    """What the logs of both releases say of the faults."""
    lines = (line for log in folder.glob("*.log") for line in log.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if '"fault"' in line]


@pytest.fixture
def database_url(server: Database) -> Iterator[str]:
    name = f"pcds_rolling_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    yield server.with_name(name).owner_url
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_last_release_serves_while_the_tables_are_migrated_and_beside_this_one(
    last_release: Path, database_url: str, open_dir: Path
) -> None:
    settings = Settings.load(data_dir=open_dir / "data", database_url=database_url)
    settings.data_dir.mkdir()
    last, this = Release(last_release, settings), Release(ROOT, settings)
    assert last.pcds("migrate")["revision"] == RELEASE.stem != head()
    company = last.pcds("company", "add", "--name", "Acme", "--plan", "enterprise")["id"]
    issued = last.pcds("key", "issue", "--company", company, "--name", "ERP")
    last.pcds("window", "open", "--key", issued["client_id"], "--per-minute", "100000")
    database = Database.from_settings(settings)
    with ExitStack() as running:
        for release in (last, this):
            release.client.headers["X-API-Key"] = issued["api_key"]
            running.enter_context(release.client)
        running.enter_context(last.serving(open_dir / "last.log"))
        writer = Writer(last.client)
        writer.start()
        running.callback(writer.stop.set)
        writer.writes(5)
        migrate(database)
        writer.writes(5)
        running.enter_context(this.serving(open_dir / "this.log"))
        writer.writes(5)
        made = this.client.post("/api/v1/skus", json={"sku_code": "NEW-1", "name": "Tray"})
        assert made.status_code == 201, made.text
        path = f"/api/v1/skus/{made.json()['data']['id']}"
        changed = last.client.put(path, json={"sku_code": "NEW-1", "name": "Tray, 2 l"})
        assert changed.json()["outcome"] == "updated", changed.text
        assert this.client.get(path).json()["data"]["name"] == "Tray, 2 l"
        writer.stop.set()
        writer.join()
    assert writer.wrong == []
    with psycopg.connect(database.owner_url) as owner:
        assert revision_of(owner) == head()
        pinned = owner.execute("SELECT version FROM ruleset_activations").fetchall()
        assert pinned == [("2026-11-22",)], "an upgrade brings rules, and an operator activates them"
    with Pool(database.app_url) as pool, pool.company(UUID(company)) as connection:
        assert connection.execute("SELECT count(*) FROM skus").fetchone() == (writer.written + 1,)
        assert audit_services.verify(connection).ok
