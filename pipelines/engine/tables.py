"""Has Dagster make its own tables where they are missing (`python -m pipelines.engine.tables`).

Dagster would look for them whenever it opens its storage, which the code server does at each tick of each sensor:
looking took two thirds of what the service did at rest. So `dagster.yaml` turns that off, and the programs that open
Dagster's instance for long make the tables first (`pipelines.engine.instance`).
"""

import os

from dagster_postgres import DagsterPostgresStorage

from warehouse.dagster_home import STORAGE


def make_tables() -> None:
    """Make the tables in the database of the environment; several processes may do so at once."""
    DagsterPostgresStorage(os.environ[STORAGE], should_autocreate_tables=True)


if __name__ == "__main__":
    make_tables()
