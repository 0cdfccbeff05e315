"""Dagster's home in the data directory, for every process that opens its instance; this module does not import Dagster.

What belongs here: where the instance's settings and storage are, and having Dagster make its tables. What does not:
what the settings are (`dagster.yaml` at the top of the repository) and what runs.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from warehouse.database import Database
from warehouse.settings import Settings

_INSTANCE: Final = Path(__file__).parent.parent / "dagster.yaml"


def environment(settings: Settings, database: Database) -> dict[str, str]:
    """The variables by which Dagster finds its instance; makes the home, or brings it up to date."""
    home = settings.data_dir / "dagster"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted, held = _INSTANCE.read_bytes(), home / _INSTANCE.name
    if not held.exists() or held.read_bytes() != wanted:
        draft = held.with_suffix(".new")
        draft.write_bytes(wanted)
        draft.replace(held)
    return {"DAGSTER_HOME": str(home), "PCDS_DAGSTER_STORAGE_URL": database.dagster_url}


def make_tables(settings: Settings, database: Database) -> bool:
    """Have Dagster make its own tables where it has none, in a process of its own; whether it could."""
    command = [sys.executable, "-m", "dagster", "instance", "info"]
    variables = os.environ | environment(settings, database)
    return subprocess.run(command, env=variables, check=False, capture_output=True).returncode == 0  # noqa: S603
