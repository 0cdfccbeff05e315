"""A database for the tests of one file alone, for a file whose steps look at every company.

In the database that a worker's tests share are the companies of all that ran before: what a daily step does for each of
them is most of such a test's time. A file takes both fixtures as its own.
"""

from collections.abc import Iterator

import pytest

from tests.conftest import migrated
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool


@pytest.fixture(scope="module")
def database(server: Database) -> Iterator[Database]:
    with migrated(server) as database:
        yield database


@pytest.fixture(scope="module")
def pool(database: Database) -> Iterator[Pool]:
    with Pool(database.app_url) as pool:
        yield pool
