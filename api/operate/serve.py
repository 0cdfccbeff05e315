"""Supervisor behind `pcds serve`: one command starts all processes, restarts those that die, and ends all.

It reserves the ports before anything starts, or refuses and names who uses them and what to do. What belongs here:
which processes there are, their order, how they end, and at which addresses they listen. What does not: their work, and
the embedded database server (`warehouse.operate.embedded`).
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import (
    Annotated,
    Any,  # Any: an address as `socket` takes it
    Final,
)

import psutil
import structlog
import typer

from api.operate import forker, start
from api.operate.options import DataDir, TakeOver
from pipelines.readers import variables
from schemas.json_values import JsonObject
from warehouse.operate import dagster_home, forks, leftovers, logs
from warehouse.operate.database import Database
from warehouse.operate.embedded import ServerError, prepare_data_dir, revive, running
from warehouse.operate.forks import Forked
from warehouse.operate.settings import Settings, SettingsError
from warehouse.operate.surroundings import is_passing

_TICK_SECONDS: Final = 0.25
_STARTS_TICK_SECONDS: Final = 0.05
"""The tick while a program is to be started: it waits for another that has just begun to answer."""
_POSTGRES_SECONDS: Final = 1.0
"""How often the embedded Postgres is looked for: each look reads its files."""
_GRACE_SECONDS: Final = leftovers.GRACE_SECONDS
_HEALTHY_SECONDS: Final = 30.0
"""A child that lived this long is restarted at once; one that did not waits longer each time."""
_LONGEST_PAUSE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 5.0
"""How often a program is asked at the socket that it serves."""
_UNREACHABLE_SECONDS: Final = 20.0
"""A program that lives and has not answered there for so long is started anew: it hangs, or its socket is gone."""
_FIRST_SECONDS: Final = 120.0
"""How long a program may take, on a busy machine, until it is found there for the first time."""
_ALONE_SECONDS: Final = 5.0
"""How long at most the API and the code server start alone, so that the first answer comes soon."""
_KILLED: Final = 128
"""A forker whose preparation was killed ends with this and the signal's number."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = structlog.get_logger(__name__)


def serve(
    *,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port of the API; default 8000.")] = None,
    dagster_port: Annotated[
        int | None,
        typer.Option("--dagster-port", min=1, max=65535, help="Loopback port behind /dagster; default 3000."),
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Public address, where it differs.")] = None,
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Keep a demo company with a key.")] = True,
    dagster_ui: Annotated[bool | None, typer.Option("--dagster-ui/--no-dagster-ui", help="Serve /dagster.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="API processes.")] = 1,
    take_over_objects: TakeOver = False,
    data_dir: DataDir = None,
) -> None:
    """Run everything until a signal: database, API, import worker, analysts' UI."""
    # None of the processes is left when this returns. Where `api.operate.prepare` fails it has printed why.
    settings = Settings.load(
        data_dir=data_dir, host=host, port=port, dagster_port=dagster_port, dagster_ui=dagster_ui, public_url=base_url
    )
    logs.configure(settings)
    logs.name_misspelt()
    if left := leftovers.orphans(settings.data_dir):  # API processes of a killed supervisor still occupy the port
        log.warning("leftovers.ended", pids=[process.pid for process in left])
        leftovers.end(left)
    refuse_taken(settings)
    prepare_data_dir(settings.data_dir)
    with leftovers.serving_alone(settings.data_dir):
        options = {"demo": demo, "with_dagster_ui": settings.dagster_ui, "take_over_objects": take_over_objects}
        _serve(settings, workers, options)


def _serve(settings: Settings, workers: int, options: Mapping[str, bool]) -> None:
    """Serve; `asked` are the options of `api.operate.prepare`."""
    stopping = threading.Event()
    previous = {number: signal.signal(number, lambda *_: stopping.set()) for number in _SIGNALS}
    if settings.test_clock_offset:
        log.warning("clock.offset", seconds=settings.test_clock_offset)
    try:
        with running(settings):
            keep_address(settings)
            counts = settings.data_dir / "metrics"  # in which API processes count; counts of earlier starts go
            shutil.rmtree(counts, ignore_errors=True)
            counts.mkdir(mode=0o700)
            with bind_socket(settings) as listener, _Gate() as gate:
                children = _children(settings, listener, workers, gate)
                supervisor = _Supervisor(settings, children, listener)
                with supervisor.starting_api():  # it loads its code meanwhile
                    report = supervisor.prepare(options)
                gate.open()
                supervisor.run(stopping, report["greeting"], ready=report["catalogue"])
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Gate:
    """A pipe at whose end the API's processes wait until the database is prepared; then it is closed for good."""

    def __init__(self) -> None:
        """Make the pipe; only the end that is waited at is inherited."""
        self.waited_at, self._open_end = os.pipe()

    def __enter__(self) -> "_Gate":
        return self

    def __exit__(self, *_: object) -> None:
        self.open()
        os.close(self.waited_at)

    def open(self) -> None:
        """Let all pass: those that wait, and those that come later."""
        if self._open_end >= 0:
            os.close(self._open_end)
            self._open_end = -1


@dataclass(slots=True)
class _Child:
    """One program that is kept running; a `once` program is done when it has succeeded.

    One with `after` is started when a program answers at that socket, and one with `forker` is forked by the program
    there; one that no longer `answers` is started anew. One that is `early` is started before the database is
    prepared, and one that is `first` before the catalogue is loaded. One that is `last` ends after all others. One with
    `variables` has those and the supervisor's mark in place of all that others have.
    """

    name: str
    command: tuple[str, ...]
    once: bool = False
    early: bool = False
    variables: Mapping[str, str] | None = None
    first: bool = False
    descriptors: tuple[int, ...] = ()
    after: Path | None = None
    forker: Path | None = None
    answers: Callable[[], bool] | None = None
    last: bool = False
    process: subprocess.Popen[bytes] | Forked | None = None
    done: bool = False
    _started: float = 0.0
    _due: float = 0.0
    _pause: float = field(default=_TICK_SECONDS)
    _looked: float = 0.0
    _found: float | None = None

    def keep(self, environment: Mapping[str, str]) -> None:
        """Start the program when it is due, and notice when it has ended."""
        now = time.monotonic()
        if self.process is None:
            needed = (path for path in (self.forker, self.after) if path is not None)
            if not self.done and now >= self._due and all(map(dagster_home.answers, needed)):
                self._start(environment)
        elif self.process.poll() is not None:
            status = self.process.returncode
            self._sweep()
            self.done = self.once and status == 0
            if not self.done:
                healthy = now - self._started > _HEALTHY_SECONDS
                self._pause = _TICK_SECONDS if healthy else min(self._pause * 2, _LONGEST_PAUSE_SECONDS)
                self._due = now + self._pause
                log.warning("child.ended", child=self.name, status=status, again_in_seconds=self._pause)
        elif self.answers is not None and now - self._looked > _LOOK_SECONDS:
            self._looked = now
            if self.answers():
                self._found = now
            elif now > (self._started + _FIRST_SECONDS if self._found is None else self._found + _UNREACHABLE_SECONDS):
                log.warning("child.unreachable", child=self.name)
                self.end(now)

    def _start(self, environment: Mapping[str, str]) -> None:
        self._started, self._found = time.monotonic(), None
        self.process = self._begun(environment)
        if self.process is not None:
            log.info("child.started", child=self.name, pid=self.process.pid)

    def _begun(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes] | Forked | None:
        if self.forker is not None:
            return forker.start(self.command, environment, self.forker)
        variables = environment if self.variables is None else self.variables
        return _popen(self.command, variables, descriptors=self.descriptors)

    def adopt(self, process: subprocess.Popen[bytes]) -> None:
        """Keep a program running that was started already."""
        self._started, self._found, self.process = time.monotonic(), None, process
        log.info("child.started", child=self.name, pid=process.pid)

    def ask_to_end(self) -> None:
        """Send SIGTERM to the program itself, which ends the processes that it started."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def end(self, deadline: float) -> None:
        """Wait for it until a `time.monotonic` deadline, then kill it and all processes left in its group."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("child.killed", child=self.name)
        self._sweep()

    def _sweep(self) -> None:
        """Kill the processes left in its group: without their parent they work for nobody."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


class _Supervisor:
    """Children in the order in which they end: those that accept work end before those that do it."""

    def __init__(self, settings: Settings, children: list[_Child], listener: socket.socket) -> None:
        self._settings, self._children, self._listener, self._ready = settings, children, listener, False
        self._alone_until = self._postgres_looked = 0.0
        self._keeper: subprocess.Popen[bytes] | None = None
        self._mark = leftovers.Mark.own()
        self._environment = self._fresh_environment()

    @contextmanager
    def starting_api(self) -> Iterator[None]:
        """Start the API's processes, which wait for the block to end; they end with a block that fails."""
        for child in self._children:
            if child.early:
                child.keep(self._environment)
        try:
            yield
        except BaseException:
            self._end()
            raise

    def prepare(self, options: Mapping[str, bool]) -> JsonObject:
        """Prepare the database and return the answer of `api.operate.prepare`. Raises `SystemExit` where it fails.

        The forker does it as it starts, in a fork that finds the libraries loaded; without one it is a program of its
        own.
        """
        forker = next((child for child in self._children if child.name == start.FORKER.name), None)
        asked = json.dumps(dict(options))
        program = (*forker.command[:-1], asked, forker.command[-1]) if forker else (*start.PREPARE.command, asked)
        process = _popen(program, self._environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout:
            answer = process.stdout.readline()
        if forker is not None and answer:
            forker.adopt(process)
        elif (status := process.wait()) != 0:
            if status < 0 or status > _KILLED:
                log.error("prepare.killed", signal=status - _KILLED if status > 0 else -status)
            sys.exit(1)
        return dict(json.loads(answer))

    def run(self, stopping: threading.Event, greeting: str, *, ready: bool) -> None:
        """Keep everything running until asked to stop; print the greeting once when it is ready.

        `ready` says whether a catalogue is loaded.
        """
        self._ready, self._alone_until, greeted = ready, time.monotonic() + _ALONE_SECONDS, False
        try:
            while not stopping.wait(self._seconds_to_tick()):
                self._tick()
                if self._ready and not greeted and _is_ready(self._settings):
                    print(f"{greeting}\n", flush=True)
                    greeted = True
        finally:
            self._listener.close()  # no new connection is accepted while open requests are served
            self._end()
            if self._keeper is not None:
                self._keeper.terminate()
                self._keeper.communicate()
            leftovers.end(leftovers.of_supervisor(self._mark), grace_seconds=0)

    def _seconds_to_tick(self) -> float:
        starts = any(child.process is None and not child.done for child in self._children)
        return _STARTS_TICK_SECONDS if starts else _TICK_SECONDS

    def _tick(self) -> None:
        """Keep each program running; what the machine lacks for it now, such as disk space, it may have at the next."""
        try:
            self._keep_all()
        except Exception as error:
            if not is_passing(error):
                raise
            log.error("supervisor.waits", error=type(error).__name__, reason=str(error))

    def _keep_all(self) -> None:
        if self._keeper is None or self._keeper.poll() is not None:
            self._keeper = _keeper(self._environment)
        self._keep_postgres()
        for child in self._children:
            if self._may_run(child):
                child.keep(self._environment)
            self._ready = self._ready or (child.once and child.done)

    def _may_run(self, child: _Child) -> bool:
        """Return whether the program may be started now; one that runs stays."""
        if not self._ready:  # before the first catalogue is loaded, imports would refuse every market
            return child.first
        if time.monotonic() >= self._alone_until or (child.first and not child.once):
            return True
        if _answers(self._settings, "/healthz"):  # people wait for this answer, so other programs start after it
            self._alone_until = 0.0
        return self._alone_until == 0.0

    def _keep_postgres(self) -> None:
        if (now := time.monotonic()) < self._postgres_looked + _POSTGRES_SECONDS:
            return
        self._postgres_looked = now
        try:
            revived = revive(self._settings)
        except ServerError as error:  # for example a full disk; the children wait for the database by themselves
            log.error("postgres.down", error=str(error))
            return
        if revived:
            log.warning("postgres.restarted")
            environment = self._fresh_environment()
            if environment != self._environment:  # another program took its port in the meantime
                self._end()
                self._environment = environment

    def _end(self) -> None:
        deadline = time.monotonic() + _GRACE_SECONDS
        for last in (False, True):
            ending = [child for child in self._children if child.last == last]
            for child in ending:
                child.ask_to_end()
            for child in ending:
                child.end(deadline)

    def _fresh_environment(self) -> dict[str, str]:
        database = Database.from_settings(self._settings)
        own = self._settings.environment() | dagster_home.environment(self._settings, database)
        counted = {start.COUNTED: str(self._settings.data_dir / "metrics")}
        return start.MEMORY | os.environ | counted | own | self._mark.variables


def _children(settings: Settings, listener: socket.socket, api_workers: int, gate: _Gate) -> list[_Child]:
    """Return the programs of one machine (`api.operate.start`), and the ones that must succeed once before."""
    # All API processes accept on one socket, which is bound once and stays open when one of them ends.
    descriptors = (listener.fileno(), gate.waited_at)
    api = (sys.executable, "-m", "api.operate.server", "--fd", str(descriptors[0]), "--after", str(descriptors[1]))
    names = ["api"] if api_workers == 1 else [f"api {number}" for number in range(1, api_workers + 1)]
    catalogue = (sys.executable, "-m", "pipelines.commands", "catalogue-refresh", "--if-needed")
    socket_of_forker = dagster_home.forker_socket(settings) if forks.SUPPORTED else None
    children = [*(_Child(name, api, early=True, first=True, descriptors=descriptors) for name in names)]
    children.append(_Child("catalogue", catalogue, once=True, first=True, forker=socket_of_forker))
    for program in start.orchestration(settings):
        child = _Child(program.name, program.command, after=program.after, forker=socket_of_forker)
        if program.name == start.CODE_SERVER:
            child.first, child.answers = True, partial(dagster_home.serves, dagster_home.code_socket(settings))
        children.append(child)
    if socket_of_forker is not None:
        answers = partial(forks.answers, socket_of_forker)
        children.append(_Child(start.FORKER.name, start.FORKER.command, first=True, last=True, answers=answers))
        children.append(_readers(dagster_home.readers_socket(settings)))
    return children


def _readers(place: Path) -> _Child:
    """Return the process that forks readers; it ends after those who read by them."""
    name, command, _ = start.READERS
    own = variables.of_reader() | leftovers.Mark.own().variables
    answers = partial(forks.answers, place)
    return _Child(name, (*command, str(place)), early=True, variables=own, first=True, answers=answers, last=True)


def _popen(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdout: int = subprocess.DEVNULL,
    descriptors: Collection[int] = (),
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own programs, no shell)
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        pass_fds=descriptors,
        start_new_session=True,  # an interrupt from the terminal reaches only the supervisor
        preexec_fn=leftovers.end_with_parent(),  # noqa: PLW1509  (nothing else runs in this process while it forks)
    )


def _answers(settings: Settings, path: str) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104  (compared, not bound)
    connection = http.client.HTTPConnection(host, settings.port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _is_ready(settings: Settings) -> bool:
    """Return whether everything answers: the API, and Dagster's webserver, so that an import begins at once."""
    if not _answers(settings, "/readyz"):
        return False
    with contextlib.suppress(OSError), socket.create_connection((dagster_home.HOST, settings.dagster_port), timeout=1):
        return True
    return False


def _keeper(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the process that stops the embedded server if this process is killed (`warehouse.operate.keeper`)."""
    command = (sys.executable, "-m", "warehouse.operate.keeper")
    return subprocess.Popen(command, env=dict(environment), stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603


_API: Final = "--port or PCDS_PORT"
_DAGSTER: Final = "--dagster-port or PCDS_DAGSTER_PORT"


def refuse_taken(settings: Settings) -> None:
    """Raise `SettingsError` where another process uses one of the ports.

    This is checked before the database starts, which takes seconds.
    """
    _bind(settings.host, settings.port, _API).close()
    _bind(dagster_home.HOST, settings.dagster_port, _DAGSTER).close()  # always on loopback (decision 0032)


def bind_socket(settings: Settings) -> socket.socket:
    """Return the socket on which all API processes accept; no caller gets through before the first of them listens."""
    return _bind(settings.host, settings.port, _API)


def _bind(host: str, port: int, how: str) -> socket.socket:
    address: Any = (host, port)
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind)
    except OSError as error:
        raise SettingsError(f"{host}:{port} cannot be listened on ({error.strerror}).") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        holder = leftovers.listening(port)
        sentence = (
            f"{host}:{port} cannot be listened on ({error.strerror}){_listener(holder)}; choose another with {how}."
        )
        raise SettingsError(sentence) from None
    return made


def _listener(holder: psutil.Process | None) -> str:
    """Return which process has the port, and what to do about it."""
    if holder is None:
        return ""
    mark = leftovers.Mark.from_process(holder)
    try:
        name, place = holder.name(), holder.environ().get("PCDS_DATA_DIR") if mark else None
    except (psutil.Error, OSError):
        return ""
    if mark is None:
        return f": {name} (process {holder.pid}) listens there; end it"
    if mark.lives:
        return f": the service of {place} listens there (`pcds serve`, process {mark.pid}); end it"
    return f": process {holder.pid} of the service of {place} was left there; end it with `kill {holder.pid}`"


def keep_address(settings: Settings) -> None:
    """Store the base address with which the service is started."""
    _file(settings).write_text(settings.base_url, encoding="utf-8")


def known_address(settings: Settings) -> str:
    """Return the address in these settings, else the one with which the service was last started."""
    if settings.public_url is not None:
        return settings.base_url
    try:
        return _file(settings).read_text(encoding="utf-8")
    except FileNotFoundError:
        return settings.base_url


def _file(settings: Settings) -> Path:
    return settings.data_dir / "base_url"
