"""`pcds serve` as processes: what dies comes back, and nothing is left behind however it ends."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.processes import lives
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.ports import free_port
from warehouse.settings import Settings

_SERVE = """
from api.serve import serve
from warehouse.settings import Settings
serve(Settings.load(), workers=2, with_dagster_ui=False, demo=False)
"""


@pytest.fixture
def service(open_dir: Path) -> Iterator[tuple[subprocess.Popen[bytes], Settings]]:
    """A service without UI and demo on free ports, as soon as it is ready."""
    settings = Settings.load(data_dir=open_dir / "data", port=free_port(), dagster_port=free_port())
    environment = os.environ | settings.environment()
    with (
        (open_dir / "log").open("wb") as log,
        subprocess.Popen([sys.executable, "-c", _SERVE], env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            wait_until(lambda: _status(settings, "/readyz") == 200, otherwise=lambda: _said(log.name))
            yield process, settings
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def test_what_dies_comes_back_and_sigterm_leaves_nothing(
    service: tuple[subprocess.Popen[bytes], Settings],
) -> None:
    process, settings = service
    postmaster = _postmaster(settings)
    api = next(child for child in psutil.Process(process.pid).children() if "uvicorn" in _command(child))
    orphans = api.children(recursive=True)
    assert len(orphans) >= 2
    for victim in (api, postmaster):
        victim.kill()
    wait_until(lambda: not any(map(lives, (api, *orphans))))
    wait_until(lambda: _status(settings, "/readyz") == 200)
    assert _postmaster(settings).pid != postmaster.pid
    found: list[psutil.Process] = []
    wait_until(lambda: found.extend(_worker(process)) or found)
    everything = _everything(process, settings)
    with suppress(psutil.NoSuchProcess):  # a database at a new address has the supervisor start it again
        found[0].suspend()  # it does not hear that it shall end
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert [child for child in everything if lives(child)] == []


def test_a_killed_supervisor_leaves_nothing_for_long(service: tuple[subprocess.Popen[bytes], Settings]) -> None:
    process, settings = service
    everything = _everything(process, settings)
    process.kill()
    process.wait()
    if sys.platform == "linux":
        wait_until(lambda: not any(map(lives, everything)))


def test_a_taken_port_is_told_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = os.environ | {"PCDS_PORT": str(taken.getsockname()[1]), "PCDS_DATA_DIR": "/nonexistent"}
        done = subprocess.run(
            [sys.executable, "-c", _SERVE], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert "choose another with --port" in done.stderr.splitlines()[-1]


def _everything(process: subprocess.Popen[bytes], settings: Settings) -> list[psutil.Process]:
    ours = [*psutil.Process(process.pid).children(recursive=True), _postmaster(settings)]
    assert len(ours) > 5
    return ours


def _worker(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The worker where it is there."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "pipelines.worker" in _command(child)]


def _postmaster(settings: Settings) -> psutil.Process:
    lock = settings.data_dir / "postgres" / "postmaster.pid"
    return psutil.Process(int(lock.read_text(encoding="utf-8").split()[0]))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie, too
        return []


def _said(log: str) -> str:
    return Path(log).read_text(encoding="utf-8")


def _status(settings: Settings, path: str) -> int:
    try:
        with urllib.request.urlopen(settings.base_url + path, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code
    except OSError:
        return 0
