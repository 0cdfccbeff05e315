"""Dagster's home in the data directory, for every process that opens its instance; this module does not import Dagster.

What belongs here: where the instance's settings and storage are. What does not: what the settings are (`dagster.yaml`
at the top of the repository) and what runs.
"""

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
