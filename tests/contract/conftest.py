"""One real deployment: two API processes and an import worker on a database of their own.

`caller` is a company of one test alone. `shop` is shared by all tests of the process and has a wide window: tests use
codes of their own in it and never count what it holds. Figures are computed where a test calls the command for it.
"""

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.catalogue import load, read
from schemas.actors import Origin
from tests.conftest import as_operators, migrated
from tests.contract.outside import Caller, Place, Server
from tests.keys import with_keys
from tests.preloaded import FIGURES_BY_COMMAND
from warehouse.operate.dagster_home import environment as dagster_environment
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

DAY_SECONDS = 86_400


@pytest.fixture(scope="package")
def database(server: Database) -> Iterator[Database]:
    """Not the other tests' database: the worker here takes whatever import it finds queued."""
    with migrated(server) as database:
        yield as_operators(database)


@pytest.fixture(scope="package")
def pool(database: Database) -> Iterator[Pool]:
    with Pool(database.app_url) as pool:
        yield pool


@pytest.fixture(scope="package")
def place(database: Database) -> Place:
    """This process's deployment, its database migrated and its catalogue loaded, before anything is started on it."""
    return _place(database)


@pytest.fixture
def apart_database(server: Database) -> Iterator[Database]:
    """Of the place below alone."""
    with migrated(server) as database:
        yield as_operators(database)


@pytest.fixture
def apart(apart_database: Database) -> Place:
    """A deployment of one test alone: another that runs imports may not stand on the same database at a time."""
    return _place(apart_database)


def _place(database: Database) -> Place:
    folder = Path(tempfile.mkdtemp(dir=os.environ["PCDS_TESTS_ROOT"], prefix="contract-"))
    settings = with_keys(
        Settings.load(
            data_dir=folder / "data",
            database_url=database.owner_url,
            trusted_proxies="127.0.0.1",
            webhooks_to_loopback=True,
        )
    )
    with Pool(database.app_url) as pool, pool.system() as connection:
        load(connection, read(None), Origin("system", None, None, "c"), datetime.now(UTC))
    variables = settings.environment() | dagster_environment(settings, database) | {FIGURES_BY_COMMAND: "1"}
    return Place(os.environ | variables, folder)


@pytest.fixture(scope="package")
def service(place: Place) -> Iterator[Server]:
    """The deployment; a second worker that starts one more breaks the scheduling of `tests/conftest.py`."""
    (Path(os.environ["PCDS_TESTS_ROOT"]) / "contract.started").touch(exist_ok=False)
    with place.serving(processes=2, imports=True) as server:
        yield server


@pytest.fixture(scope="package")
def tomorrow(place: Place) -> Iterator[Server]:
    """The same deployment as it answers 25 hours from now."""
    with place.shifted(PCDS_TEST_CLOCK_OFFSET=DAY_SECONDS + 3600).serving() as server:
        yield server


@pytest.fixture(scope="package")
def before_the_law(place: Place) -> Iterator[Server]:
    """The same deployment as it answered on 1 August 2026, before the PFAS rules began to apply."""
    back = round((datetime.now(UTC) - datetime(2026, 8, 1, tzinfo=UTC)).total_seconds())
    with place.shifted(PCDS_TEST_CLOCK_OFFSET=-back).serving() as server:
        yield server


@pytest.fixture
def caller(service: Server) -> Caller:
    return service.joined()


@pytest.fixture
def other(service: Server) -> Caller:
    """Another company."""
    return service.joined()


@pytest.fixture(scope="package")
def shop(service: Server) -> Caller:
    return service.joined(per_minute=100_000)
