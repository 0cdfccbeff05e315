"""Dagster's instance as the worker opens it: what it may not do to the process that it runs in."""

import io
import logging

import pytest

from pipelines.engine.instance import shared_instance
from warehouse import dagster_home
from warehouse.database import Database
from warehouse.settings import Settings


def test_a_run_leaves_the_logging_of_its_process_as_it_is(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster configures logging anew for each run, for handlers that dagster.yaml could name and ours does not."""
    for variable in dagster_home.environment(settings, database):
        monkeypatch.setenv(variable, "")  # set, and put back, for what opening the instance sets
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    logger = logging.getLogger("pcds.test")
    logger.addHandler(handler)
    try:
        with shared_instance(settings, database) as instance:
            assert len(instance.get_handlers()) == 1, "the one that stores a run's events"
        logger.warning("still heard")
    finally:
        logger.removeHandler(handler)
    assert "still heard" in written.getvalue()
    assert logging.getLogger().handlers, "pytest's own, and the service's in a worker"
