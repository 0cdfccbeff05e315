"""Dagster's instance as the worker opens it: what it may not do to the process that it runs in."""

import logging.config

import pytest

from pipelines.instance import shared_instance
from warehouse.database import Database
from warehouse.settings import Settings


def test_a_run_leaves_the_logging_of_its_process_alone(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Configured anew beside a run in another thread, it would close that run's handlers, or wait for them for ever."""
    for variable in ("DAGSTER_HOME", "PCDS_DAGSTER_STORAGE_URL"):
        monkeypatch.setenv(variable, "")  # set, and put back, for what opening the instance sets
    configured: list[object] = []
    monkeypatch.setattr(logging.config, "dictConfig", configured.append)
    with shared_instance(settings, database) as instance:
        assert len(instance.get_handlers()) == 1, "the one that stores a run's events"
    assert configured == []
