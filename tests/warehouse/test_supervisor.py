"""`pcds serve` as processes: what dies comes back, and nothing is left behind however it ends."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.processes import lives
from tests.waiting import PATIENCE_SECONDS, wait_until
from tools import at_rest
from tools.ports import free_port
from warehouse.operate import dagster_home, migrate
from warehouse.operate.embedded import running
from warehouse.operate.settings import Settings

_LOOK_SECONDS = 0.5
_SERVE = f"""
from api.operate import serve as supervisor
from api.operate.serve import serve
supervisor._UNREACHABLE_SECONDS = 10
supervisor._LOOK_SECONDS = {_LOOK_SECONDS}
serve(workers=2, dagster_ui=False, demo=False)
"""


@dataclass(slots=True)
class _Service:
    """A service without UI and demo on free ports; started again on the same data where a test has ended it."""

    settings: Settings
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        environment = os.environ | self.settings.environment()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, "-c", _SERVE], env=environment, stdout=log, stderr=log)
        return self.process

    def is_ready(self) -> bool:
        return _status(self.settings, "/readyz") == 200

    @property
    def log(self) -> Path:
        return self.settings.data_dir.parent / "log"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def held() -> Iterator[_Service]:
    """One for all tests: a first start, which makes the database, costs as much as all that a test does."""
    directory = Path(tempfile.mkdtemp(dir=os.environ["PCDS_TESTS_ROOT"]))
    directory.chmod(0o711)  # the server's own account goes through it
    held = _Service(Settings.load(data_dir=directory / "data", port=free_port(), dagster_port=free_port()))
    yield held
    if held.process is not None:
        held.process.terminate()
        held.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def service(held: _Service) -> _Service:
    """The service, as soon as it is ready."""
    if held.process is None or held.process.poll() is not None:
        held.start()
    wait_until(held.is_ready, otherwise=held.said)
    return held


def test_a_killed_supervisor_leaves_nothing_for_long(service: _Service) -> None:
    process, settings = _running(service)
    everything, under_way = _everything(process, settings), _UnderWay(settings)
    process.kill()
    process.wait()
    under_way.is_told()
    if sys.platform == "linux":
        wait_until(lambda: not any(map(lives, everything)))


def test_whoever_is_killed_together_with_the_supervisor_leaves_nobody_and_another_start_succeeds(
    service: _Service,
) -> None:
    """Whichever processes are killed with it: their children must not hold the port and answer 500."""
    process, settings = _running(service)
    everything = _everything(process, settings)
    keeper = next(each for each in everything if "warehouse.operate.keeper" in _command(each))
    for victim in (process, _apis(process)[0], keeper):
        victim.kill()
    process.wait()
    again = service.start()  # which the next test goes on with
    # those who were left may answer for a moment yet: until they are gone, an answer says nothing of `again`
    wait_until(lambda: not _left(everything, again, settings), otherwise=service.said)
    wait_until(service.is_ready, otherwise=service.said)
    assert len(_everything(again, settings)) >= 5


def test_what_dies_comes_back_and_sigterm_leaves_nothing(
    service: _Service,
) -> None:
    """A request under way is told of the end, and nobody waits for it."""
    process, settings = _running(service)
    _refuse_header_without_end(settings)
    _refuse_a_second_one(process, settings)
    _stop_the_code_server(process, settings)
    _is_all_at_rest(process, settings)
    postmaster = _postmaster(settings)
    apis = _apis(process)
    assert len(apis) == 2
    forked = _worker(process)
    forker = [] if sys.platform != "linux" else [forked[0].parent()]
    keepers = {each for each in _everything(process, settings) if "warehouse.operate.keeper" in _command(each)}
    for victim in (*apis, *forker, *keepers, postmaster):
        victim.kill()
    gone = (*apis, *forked) if forker else apis  # what was forked ends with the process that forked it
    wait_until(lambda: not any(map(lives, gone)))
    wait_until(lambda: _status(settings, "/readyz") == 200)
    assert _postmaster(settings).pid != postmaster.pid
    found: list[psutil.Process] = []
    wait_until(lambda: found.extend(_worker(process)) or found)
    assert [each for each in _everything(process, settings) if "warehouse.operate.keeper" in _command(each)]
    everything = _everything(process, settings)
    with suppress(psutil.NoSuchProcess):  # a database at a new address has the supervisor start it again
        found[0].suspend()  # it does not hear that it shall end
    under_way = _UnderWay(settings)
    process.terminate()
    under_way.is_told()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert [child for child in everything if lives(child)] == []


def test_a_preparation_that_is_killed_half_way_is_told_and_the_next_start_prepares() -> None:
    directory = Path(tempfile.mkdtemp(dir=os.environ["PCDS_TESTS_ROOT"]))
    directory.chmod(0o711)
    service = _Service(Settings.load(data_dir=directory / "data", port=free_port(), dagster_port=free_port()))
    with running(service.settings) as database, psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("SELECT pg_advisory_lock(%s)", (migrate.LOCK,))
        first = service.start()
        found: list[psutil.Process] = []
        wait_until(lambda: found.extend(_preparation(first)) or found, otherwise=service.said)
        everything = psutil.Process(first.pid).children(recursive=True)
        assert len(everything) >= 3
        found[0].kill()
        assert first.wait(PATIENCE_SECONDS) == 1
        assert '"prepare.killed"' in service.said()
        wait_until(lambda: not any(map(lives, everything)))
        owner.execute("SELECT pg_advisory_unlock_all()")
        again = service.start()
        wait_until(service.is_ready, otherwise=service.said)
        again.terminate()
        assert again.wait(PATIENCE_SECONDS) == 0


def test_a_taken_port_is_told_at_once_with_who_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = os.environ | {"PCDS_PORT": str(taken.getsockname()[1]), "PCDS_DATA_DIR": "/nonexistent"}
        done = subprocess.run(
            [sys.executable, "-c", _SERVE], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert "choose another with --port" in said
    assert f"{psutil.Process().name()} (process {os.getpid()})" in said


def _running(service: _Service) -> tuple[subprocess.Popen[bytes], Settings]:
    assert service.process is not None
    return service.process, service.settings


def _preparation(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The process that prepares the database where it is there."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "api.operate.prepare" in _command(child)]


def _apis(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return [child for child in psutil.Process(process.pid).children() if "api.operate.server" in _command(child)]


class _UnderWay:
    """Requests whose body does not come, of a program and of a person, that have reached the application."""

    def __init__(self, settings: Settings) -> None:
        self.program, self.person = _unfinished(settings, "application/json"), _unfinished(settings, "text/html")

    def is_told(self) -> None:
        """Neither the graceful stop nor a person can wait: each is told so in the body of every error."""
        head, body = _answered(self.program)
        said = json.loads(body)
        assert (head[0], said["error"]) == ("HTTP/1.1 500 Internal Server Error", "internal_error")
        assert f"x-correlation-id: {said['correlationId']}" in head
        assert {"retry-after: 5", "cache-control: no-store", "x-content-type-options: nosniff"} <= {*head}
        head, body = _answered(self.person)
        assert head[0].startswith("HTTP/1.1 500")
        assert b"<h1>" in body
        assert "content-type: text/html; charset=utf-8" in head


def _refuse_a_second_one(process: subprocess.Popen[bytes], settings: Settings) -> None:
    """On other ports, and its end leaves the first one what is its own."""
    other = settings.model_copy(update={"port": free_port(), "dagster_port": free_port()})
    mine = {*settings.data_dir.glob("dagster/*.sock")}
    done = subprocess.run(
        [sys.executable, "-m", "api.cli", "serve"],
        env=os.environ | other.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"`pcds serve` (process {process.pid}) runs on {settings.data_dir} already" in done.stderr.splitlines()[-1]
    assert mine
    assert {*settings.data_dir.glob("dagster/*.sock")} >= mine  # some of its programs may only be starting
    wait_until(lambda: _status(settings, "/readyz") == 200)  # either process may answer, one of them later ready


def _is_all_at_rest(process: subprocess.Popen[bytes], settings: Settings) -> None:
    """`make at-rest` finds every process of the service, each with what it is for."""
    found = at_rest.look(settings.data_dir)
    assert {*found} == {*at_rest.ROLES.values(), "supervisor"}
    assert sum(taken.processes for taken in found.values()) >= len(_everything(process, settings))
    lines = [*at_rest.table(found, found, 60)]
    assert len(lines) == 2 + len(found) + 1
    assert all(taken.pss >= taken.private > 0 for taken in found.values())


def _stop_the_code_server(process: subprocess.Popen[bytes], settings: Settings) -> None:
    """A code server that lives and answers nothing is told, and started anew; the system still connects to it."""
    path = dagster_home.code_socket(settings)
    wait_until(lambda: dagster_home.serves(path))
    time.sleep(4 * _LOOK_SECONDS)  # the supervisor has found it, too: for one that it never has it waits two minutes
    [stopped] = [each for each in _everything(process, settings) if "pipelines.engine.code_server" in _command(each)]
    stopped.suspend()
    assert dagster_home.answers(path)
    wait_until(lambda: _body(settings) == {"status": "degraded", "failing": ["code_server"]})
    wait_until(lambda: dagster_home.serves(path))
    wait_until(lambda: _body(settings)["status"] == "ok")


def _body(settings: Settings) -> dict[str, object]:
    """Return what one of the API's processes says; one that was not ready yet says so with 503."""
    try:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{settings.port}/readyz", timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as starting:
        answer = starting
    with answer:
        return dict(json.load(answer))


def _refuse_header_without_end(settings: Settings) -> None:
    with socket.create_connection(("127.0.0.1", settings.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 1_000_000)
        head, body = _answered(client)
        assert (head[0].split()[1], json.loads(body)["error"]) == ("431", "payload_too_large")


def _unfinished(settings: Settings, accept: str) -> socket.socket:
    """A request that has reached the application, whose body does not come."""
    client = socket.create_connection(("127.0.0.1", settings.port), timeout=PATIENCE_SECONDS)
    head = f"POST /sign-in HTTP/1.1\r\nHost: h\r\nAccept: {accept}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    client.sendall(head.encode())
    assert client.recv(100).startswith(b"HTTP/1.1 100 Continue")  # the handler waits for it
    return client


def _answered(client: socket.socket) -> tuple[list[str], bytes]:
    """Lines of the header, and the body."""
    with client:
        text = b""
        while part := client.recv(65_536):
            text += part
    head, _, body = text.partition(b"\r\n\r\n")
    return head.decode().splitlines(), body


def _everything(process: subprocess.Popen[bytes], settings: Settings) -> list[psutil.Process]:
    ours = [*psutil.Process(process.pid).children(recursive=True), _postmaster(settings)]
    assert len(ours) >= 5
    return ours


def _left(everything: list[psutil.Process], again: subprocess.Popen[bytes], settings: Settings) -> list[psutil.Process]:
    """Those of an ended service that live; its Postgres may be the next one's now."""
    ours = {each.pid for each in psutil.Process(again.pid).children(recursive=True)}
    with suppress(OSError, psutil.NoSuchProcess):  # it is being started anew
        ours.add(_postmaster(settings).pid)
    return [each for each in everything if lives(each) and each.pid not in ours]


def _worker(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The worker where it is there."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "pipelines.engine.worker" in _command(child)]


def _postmaster(settings: Settings) -> psutil.Process:
    lock = settings.data_dir / "postgres" / "postmaster.pid"
    return psutil.Process(int(lock.read_text(encoding="utf-8").split()[0]))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie, too
        return []


def _status(settings: Settings, path: str) -> int:
    try:
        with urllib.request.urlopen(settings.base_url + path, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code
    except OSError:
        return 0
