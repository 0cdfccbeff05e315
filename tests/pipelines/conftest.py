"""What tests of imports share: a workshop over the test database, a way to send a file and a run of the job."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import pytest

from compliance import ruleset
from pipelines.resources import Workshop
from pipelines.steps import imports
from pipelines.steps.origin import Origin
from warehouse.clock import StoppedClock
from warehouse.objects import Objects
from warehouse.sessions import Pool
from warehouse.settings import Settings

Send = Callable[..., UUID]


@pytest.fixture
def workshop(pool: Pool, clock: StoppedClock, tmp_path: Path) -> Workshop:
    """The worker's own, over the test database; small chunks, so that a short file has several."""
    return Workshop(pool, Objects.of(Settings.load(data_dir=tmp_path)), clock, ruleset.load(), chunk_rows=3)


@pytest.fixture
def send(workshop: Workshop, company: UUID) -> Send:
    """Submit a CSV text for the test's company: the import's id."""

    def submit(text: str, *, dry_run: bool = False, company_id: UUID = company) -> UUID:
        origin = Origin("api_key", str(uuid4()), "ERP", "correlation-1", "192.0.2.7", "test")
        accepted = imports.submit(
            workshop.pool, workshop.objects, company_id, data=text.encode(), filename="portfolio.csv", mapping=None,
            dry_run=dry_run, origin=origin, key_id=uuid4(), clock=workshop.clock,
        )  # fmt: skip
        return UUID(accepted["id"])

    return submit


@pytest.fixture
def poll(workshop: Workshop, company: UUID) -> Callable[[UUID], dict[str, Any]]:
    """The status of an import as the API answers it."""

    def status(import_id: UUID) -> dict[str, Any]:
        found = imports.status(workshop.pool, company, import_id, limit=50, offset=0, clock=workshop.clock)
        assert found is not None
        return found

    return status


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that lives as long as the test."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance
