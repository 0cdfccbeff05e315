"""What tests share: one embedded server a run, a migrated database for each worker, a fresh company for each test.

Tests go through the real thing: the real migrations run once into a template that every worker's database is copied
from. The server gives up fsync, as nothing here outlives the run; it is started by the first test that asks for it.
With `DATABASE_URL` the same tests run against that server, whose role must be allowed to make databases.
"""

import faulthandler
import fcntl
import gc
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from psycopg import sql
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from api.operate import program
from compliance import ruleset
from pipelines.readers.pool import Readers
from tests import keeper, outside, preloaded
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.migrate import migrate
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

# The gate draws the same examples each time, `make test` half of them, `make explore` others and twice as many. None
# minds how long drawing takes, which says how busy the machine is.
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
hypothesis_settings.register_profile("gate", derandomize=True, max_examples=50, **_UNHURRIED)
hypothesis_settings.register_profile("quick", derandomize=True, max_examples=25, **_UNHURRIED)
hypothesis_settings.register_profile("explore", print_blob=True, **_UNHURRIED)
hypothesis_settings.load_profile("gate")

PROCESSES = (
    "browser/",
    "journeys/",
    "guards/test_readme.py",
    "api/test_declaration_command.py",
    "api/test_docs.py",
    "api/test_import_command.py",
    "api/test_missing_places.py",
    "api/test_ratings_command.py",
    "api/test_read_apart.py",
    "api/test_reference_examples.py",
    "api/test_rules_commands.py",
    "api/test_snapshot_command.py",
    "api/test_start.py",
    "connector/test_conformance.py",
    "connector/test_real_clients.py",
    "pipelines/reading/test_bounds.py",
    "pipelines/reading/test_hostile.py",
    "pipelines/sandbox/test_limits.py",
    "warehouse/test_backup.py",
    "warehouse/test_embedded.py",
    "warehouse/test_leftovers.py",
    "warehouse/test_supervisor.py",
)
"""What starts the service's processes, kills them, measures them or drives a browser: in `make test-all` alone.

A single test of that kind in another file has the mark itself, as has one that takes longer than about three seconds.
"""

OWN_SERVICE = ("browser/test_dagster.py",)
"""Files that do not share the service of their folder."""

LONGEST = (
    "contract",
    "browser",
    "journeys/test_compose.py",
    "journeys/test_clients.py",
    "api/test_reference_examples.py",
    "journeys/test_backup.py",
    "warehouse/test_supervisor.py",
    "journeys/test_connector_workers.py",
    "journeys/test_asked.py",
)
"""Tests that share a service and take minutes, in the order in which they begin: the last one would run alone."""

_LAST_OF_A_DAY_SECONDS = 60

_SAID_AT_ONCE = 2000  # characters

_NEW_OBJECTS = 50_000  # before garbage is looked for

_OF_THE_RUNNER = r"/(pluggy|_pytest|xdist|execnet|pytest_timeout)\b|<string>"
"""Lines of a stack that say how a test was called."""

_LOADS_GRAMMARS = "rfc3987_syntax"
"""Loaded with `jsonschema`, for a format that no test checks: its grammars take two seconds of processor time."""

_COMPILING = "compiling"
"""A file in the run's directory: there until one worker has collected, and so compiled, all tests."""

_ROOT = keeper.ROOT  # inherited by the workers, so that they share what the first process made


@pytest.hookimpl(trylast=True)  # after pytest's own plugin, which would write stacks between the lines of all workers
def pytest_configure(config: pytest.Config) -> None:
    """The run's own directory, which the server's account may enter; a worker keeps the stacks of a wait there."""
    sys.modules.setdefault(_LOADS_GRAMMARS, None)  # as where it is not installed, which is so in a deployment
    gc.disable()  # nothing that is loaded and collected is garbage: half of that time went to looking for it
    if _ROOT not in os.environ:
        root = Path(tempfile.mkdtemp(prefix="pcds-tests-"))
        root.chmod(0o711)
        os.environ[_ROOT] = str(root)
        config.add_cleanup(lambda: os.environ.pop(_ROOT))
        config.add_cleanup(lambda: keeper.remove(root))
        keeper.begin(root)
        if not (Path(__file__).parent / "api" / "__pycache__").exists():
            (root / _COMPILING).touch()
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        os.close(config.stash[fault_handler_stderr_fd_key])
        stacks = os.open(_stacks(worker), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        config.stash[fault_handler_stderr_fd_key] = stacks
        faulthandler.enable(file=stacks)


def _stacks(worker: str) -> Path:
    """Where a worker's threads were when its test took too long or it crashed; the main thread is last."""
    return Path(os.environ[_ROOT]) / f"stacks-{worker}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, None, None]:
    """Where no test is compiled yet, have one worker compile all, for ten seconds, while the others wait for it."""
    compiling = Path(os.environ[_ROOT]) / _COMPILING
    if "PYTEST_XDIST_WORKER" not in os.environ or not compiling.exists():
        return (yield)
    with compiling.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if compiling.exists():
            result = yield
            compiling.unlink()
            return result
    return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the second ring."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).as_posix().startswith(PROCESSES):
            item.add_marker(pytest.mark.processes)


def pytest_collection_finish() -> None:
    """What is collected lives to the end: no collection of garbage goes through millions of such objects again.

    Later ones look for cycles as rarely as the service's own processes do.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    gc.enable()


def pytest_runtest_setup() -> None:
    """No test begins in the last minute of a day: many ask for the day, and the service answers by the next one."""
    now = datetime.now(UTC)
    left = (now.replace(hour=23, minute=59, second=59, microsecond=999_999) - now).total_seconds()
    if left < _LAST_OF_A_DAY_SECONDS:
        time.sleep(left + 1)


def pytest_sessionfinish() -> None:
    """Libraries that report leaks would report all frozen objects."""
    gc.unfreeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say at once what failed: a run that is stopped from outside never gets to its summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.stderr.write(f"\n{report.when} of {report.nodeid} failed:\n{str(report.longrepr)[-_SAID_AT_ONCE:]}\n")


@pytest.hookimpl(optionalhook=True)  # without xdist nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Have tests that share a service run in one worker, so that it starts once."""
    return ByService(config, log)


class ByService(LoadScopeScheduling):
    """Gives each worker the next test that is free, and the tests that share a service together.

    xdist's own `loadgroup` does the same by marks, but pytest 9.2 ignores the ids in which it keeps them.

    Two workers begin with the tests that start services. They wait for these a quarter of the time, which further
    workers fill with single tests: a third service at once would slow down the other two.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give a worker the first unit that is meant for it, one of the longest where there is, or else the first."""
        fills, longest = self._fills(node), filter(self.workqueue.__contains__, LONGEST)
        fit = next((scope for scope in (*longest, *self.workqueue) if _is_single(scope) == fills), None)
        if fit is not None:
            self.workqueue.move_to_end(fit, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        """Give a worker more, or end one that fills in where only services are left.

        A worker begins a test when it knows the next one: one that came later and got a single test would wait.
        """
        if self._fills(node) and not node.shutting_down and not any(map(_is_single, self.workqueue)):
            node.shutdown()
            return
        super()._reschedule(node)
        if self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) == 1:
            super()._reschedule(node)

    def _fills(self, node: WorkerController) -> bool:
        """Return whether a worker is not one of the two oldest: where one of these ended, the next takes its place."""
        return node not in self.nodes[:2]

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        """Forget what is finished: xdist's own class counts all that a worker has ever run after each test."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        tests = self.assigned_work[node][scope]
        tests[nodeid] = True
        if all(tests.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give up a worker: what it has not run goes to others, but for the test that ended it, which failed.

        xdist's own class begins that test again, and gives out the finished ones too: a worker that is given only such
        waits for more for ever.
        """
        workload = self.assigned_work[node]
        ended_by = next((test for tests in workload.values() for test, done in tests.items() if not done), None)
        for scope, tests in list(workload.items()):
            if ended_by in tests:
                tests[ended_by] = True
            if all(tests.values()):
                del workload[scope]
        super().remove_node(node)
        if ended_by and (stacks := _stacks(node.gateway.id)).exists():
            ours = [line for line in stacks.read_text().splitlines() if not re.search(_OF_THE_RUNNER, line)]
            sys.stderr.write("\n".join(["", f"{ended_by} ended its worker, where the threads stood:", *ours[-60:], ""]))
        return ended_by

    def _split_scope(self, nodeid: str) -> str:
        """Return what is given to one worker: the tests of a folder or file that share a service, else the test."""
        place = nodeid.partition("::")[0].removeprefix("tests/")
        if place.startswith(("contract/", "browser/")) and place not in OWN_SERVICE:
            return place.partition("/")[0]
        return place if place.startswith(PROCESSES) else nodeid


def _is_single(scope: str) -> bool:
    return "::" in scope


def pytest_sessionstart() -> None:
    """The gate takes no numbers and texts from our modules: which are imported by then differs with each worker."""
    if hypothesis_settings.default.derandomize:
        setattr(providers, "_get_local_constants", Constants)  # noqa: B010  (nor reads the modules)


@pytest.fixture(scope="session", autouse=True)
def _outside_of_transactions() -> Iterator[None]:
    """Have each call to the outside fail while a transaction is open (`tests.outside`)."""
    yield from outside.watch()


@pytest.fixture(scope="session", autouse=True)
def _forked_runs() -> Iterator[None]:
    """Have the runs that a command of this process starts forked from what is loaded (`tests.preloaded`)."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(program, "subprocess", preloaded.ForksRuns)
        yield


@pytest.fixture(scope="session", autouse=True)
def _parsed_rules() -> Iterator[None]:
    """Have the same tables parsed once: a test of other rules reads its own five times, a tenth of a second each."""
    parse = ruleset.parse

    @lru_cache(maxsize=8)
    def parsed(version: str, tables: frozenset[tuple[str, str]]) -> ruleset.RuleSet:
        return parse(version, dict(tables))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ruleset, "parse", lambda version, tables: parsed(version, frozenset(tables.items())))
        yield


@pytest.fixture
def open_dir() -> Path:
    """A directory of this test alone that every account can get to, unlike pytest's own.

    An embedded server below it keeps its cluster there also when the tests run as root.
    """
    directory = Path(tempfile.mkdtemp(dir=os.environ[_ROOT]))
    directory.chmod(0o711)
    return directory


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The settings of the test run's data directory."""
    return Settings.load(data_dir=Path(os.environ[_ROOT]) / "data")


@pytest.fixture(scope="session")
def server(settings: Settings) -> Iterator[Database]:
    """The server of the run, as its maintenance database is seen; for tests that make databases of their own.

    The template comes first, and with it the roles of the whole server: a test that begins on a database as an operator
    names it would make them as that deployment has them, without a password.
    """
    with running(settings, durable=False) as database:
        with _template(database):
            pass
        yield database


@contextmanager
def _template(server: Database) -> Iterator[str]:
    """The name of the database that all others are copied from, which nobody else copies during the block."""
    template = f"pcds_template_{Path(os.environ[_ROOT]).name[-8:]}"
    with (Path(os.environ[_ROOT]) / "template.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with psycopg.connect(server.owner_url, autocommit=True) as owner:
            if owner.execute("SELECT FROM pg_database WHERE datname = %s", (template,)).fetchone() is None:
                draft = f"{template}_draft"
                owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
                migrate(server.with_name(draft))
                rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
                owner.execute(rename.format(sql.Identifier(draft), sql.Identifier(template)))
        yield template


@contextmanager
def migrated(server: Database) -> Iterator[Database]:
    """A database of its own for the time of the block, as the real migrations make it."""
    name = f"pcds_test_{uuid4().hex[:12]}"
    with _template(server) as template, psycopg.connect(server.owner_url, autocommit=True) as owner:
        copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        owner.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))
    yield server.with_name(name)
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def as_operators(database: Database) -> Database:
    """The same database by the logins that it has where `DATABASE_URL` names it, which are its own."""
    own = Database.from_settings(Settings.load(database_url=database.owner_url))
    migrate(own)
    return own


@pytest.fixture(scope="session")
def database(server: Database) -> Iterator[Database]:
    """This worker's database."""
    with migrated(server) as database:
        yield database


@pytest.fixture(scope="session")
def pool(database: Database) -> Iterator[Pool]:
    """Connections as the application's role."""
    with Pool(database.app_url) as pool:
        yield pool


@pytest.fixture(scope="session")
def readers() -> Iterator[Readers]:
    """The reader processes of this worker's tests, forked and with the limits of a deployment."""
    with Readers(template=preloaded.readers()) as readers:
        yield readers


@pytest.fixture
def new_company(database: Database) -> Callable[[str], UUID]:
    """Makes a company on the plan that it is called with."""

    def make(plan: str) -> UUID:
        company_id = uuid4()
        with psycopg.connect(database.owner_url) as owner:
            owner.execute(
                "INSERT INTO companies (id, name, plan, created_at) VALUES (%s, %s, %s, %s)",
                (company_id, f"Test {company_id}", plan, datetime.now(UTC)),
            )
            owner.execute("INSERT INTO company_counters (company_id) VALUES (%s)", (company_id,))
        return company_id

    return make


@pytest.fixture
def company(new_company: Callable[[str], UUID]) -> UUID:
    """A company of this test alone, on the plan without limits: what others store is not seen from it."""
    return new_company("enterprise")


@pytest.fixture
def clock() -> StoppedClock:
    """A clock that stands at an instant after the PFAS rules began to apply, until the test moves it."""
    return StoppedClock(datetime(2026, 11, 21, 9, 30, tzinfo=UTC))
