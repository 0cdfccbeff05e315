"""The whole service told to stop while it works: gone within seconds, nothing left, and no import the worse for it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import dagster as dg
import httpx2
import psutil
import pytest

from api.operate import serve
from pipelines.engine.instance import shared_instance
from tests.journeys.place import ROOT
from tests.processes import lives
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.windows import widen
from tools.ports import free_port
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.settings import Settings

GONE_SECONDS = 30
"""What a service manager is asked to wait at least, with what the database needs."""
ROWS = 12_000  # three chunks
# A busy machine may need longer than it is given; whoever were killed in its work would fail the test.
SERVE = f"""
from api import cli
from api.operate import serve
serve._GRACE_SECONDS = {PATIENCE_SECONDS}
cli.main()
"""


@dataclass(slots=True)
class Service:
    """`pcds serve` on a data directory, started and stopped as often as a test wants."""

    settings: Settings
    process: subprocess.Popen[bytes] | None = None
    client: httpx2.Client = field(default_factory=httpx2.Client)
    """One for all requests: each of its own would read the machine's certificates, for 24 ms."""

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, "serve", "--no-dagster-ui"],
                cwd=ROOT,
                env=os.environ | self.settings.environment(),
                stdout=log,
                stderr=log,
            )
        wait_until(self._is_ready, otherwise=self._last_lines)
        widen(Database.from_settings(self.settings), UUID(self.demo["client_id"]))

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self._last_lines()}"
        return self.ask("GET", "/readyz", key="", seconds=5).status_code == 200

    def _last_lines(self) -> str:
        return self.log.read_text(encoding="utf-8")[-8_000:]

    def stop(self) -> None:
        """SIGTERM, as a service manager sends it."""
        assert self.process is not None
        everything = psutil.Process(self.process.pid).children(recursive=True)
        self.process.terminate()
        assert self.process.wait(2 * PATIENCE_SECONDS) == 0
        assert [child for child in everything if lives(child)] == []
        assert "leaked" not in self.log.read_text(encoding="utf-8")  # as libraries say of what was frozen to the end

    @property
    def log(self) -> Path:
        """What the service and its processes say."""
        return self.settings.data_dir.parent / "serve.log"

    def ask(
        self, method: str, path: str, *, key: str | None = None, content: bytes = b"", seconds: float = PATIENCE_SECONDS
    ) -> httpx2.Response:
        held = key if key is not None else self.key
        url = f"http://127.0.0.1:{self.settings.port}{path}"
        try:
            return self.client.request(method, url, headers={"X-API-Key": held}, content=content, timeout=seconds)
        except httpx2.TransportError:
            return httpx2.Response(503)

    @property
    def demo(self) -> dict[str, str]:
        return dict(json.loads((self.settings.data_dir / "demo.json").read_text(encoding="utf-8")))

    @property
    def key(self) -> str:
        return self.demo["api_key"]

    def send(self, name: str) -> str:
        rows = (f"{name}{number:05},{name} {number},plastic,{number % 90}.5" for number in range(ROWS))
        content = "\n".join(["sku_code,name,material,weight_grams", *rows]).encode()
        answer = self.ask("POST", f"/api/v1/imports?filename={name}.csv", content=content)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["poll_url"])

    def poll(self, url: str) -> dict[str, Any]:
        answer = self.ask("GET", url)
        return dict(answer.json()) if answer.is_success else {"status": "unknown", "progress": {"done": 0}}

    def runs(self, url: str) -> list[dg.DagsterRunStatus]:
        """How the import's runs ended, the first one first; the service is stopped."""
        wanted = dg.RunsFilter(tags={"pcds/import_id": url.rpartition("/")[2]})
        with running(self.settings), shared_instance(self.settings, Database.from_settings(self.settings)) as instance:
            return [run.status for run in instance.get_runs(wanted, ascending=True)]


def test_whoever_does_not_end_is_killed_in_time() -> None:
    """That it is killed then is `tests/warehouse/test_supervisor.py`."""
    assert serve._GRACE_SECONDS < GONE_SECONDS


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A running service in a directory that the database's own account can go through."""
    with tempfile.TemporaryDirectory(prefix="pcds-stop-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        monkeypatch.setenv("DAGSTER_HOME", "")  # set, and put back, for the one that this process opens
        monkeypatch.setenv("PCDS_DAGSTER_STORAGE_URL", "")
        data_dir = Path(directory) / "data"
        service = Service(Settings.load(data_dir=data_dir, port=free_port(), dagster_port=free_port()))
        with running(service.settings, durable=False):  # its fsync would make a slow disk's minutes part of the test
            try:
                with service.client:
                    service.start()
                    yield service
            finally:
                if service.process is not None:
                    service.process.terminate()
                    service.process.wait(PATIENCE_SECONDS)


def test_a_stop_comes_through_right_after_an_import_was_seen_completed(service: Service) -> None:
    """The last chunk completes the import; its run then still has assets to go, and finishes them."""
    url = service.send("Late")
    wait_until(lambda: service.poll(url)["status"] == "completed")
    service.stop()
    assert service.runs(url) == [dg.DagsterRunStatus.SUCCESS]


def test_a_stop_in_the_middle_hands_the_import_to_the_next_start(service: Service) -> None:
    """Whoever starts next resumes the run: it is the same one."""
    url = service.send("Middle")
    wait_until(lambda: service.poll(url)["status"] != "queued")
    service.stop()
    service.start()
    wait_until(lambda: service.poll(url)["status"] == "completed")
    assert service.poll(url)["counts"]["created"] == ROWS
    service.stop()
    assert service.runs(url) == [dg.DagsterRunStatus.SUCCESS]
