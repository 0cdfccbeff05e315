"""The assistants that the tests of the tools call with, and the application on a port."""

import gc
from collections.abc import Iterator

import pytest

from tests.connector.assistants import anyio_backend, assistant, assistants, service
from tests.connector.serving import Served, served
from tests.described import tools_described_once

__all__ = ["anyio_backend", "assistant", "assistants", "running", "service", "tools_described_once"]


@pytest.fixture
def running(database, pool, company, tmp_path) -> Iterator[Served]:
    """The whole application, and a token of a connection with it."""
    with served(database, pool, company, tmp_path) as place:
        yield place
    gc.collect()  # what this leaves behind is told here, and not in whichever test comes next
