"""Has Dagster make its own tables where they are missing (`python -m pipelines.engine.tables`).

Dagster would look for them whenever it opens its storage, which the code server does at each tick of each sensor:
looking took a third of what the service did at rest. So `dagster.yaml` turns that off, and each program that opens
Dagster's instance makes the tables when it starts.
"""

import os

from dagster_postgres import DagsterPostgresStorage

from warehouse.dagster_home import STORAGE, tables_locked


def make_tables(url: str) -> None:
    """Make the tables in the database at a `Database.dagster_url`; several processes may do so at once."""
    with tables_locked(url):
        DagsterPostgresStorage(url, should_autocreate_tables=True)


if __name__ == "__main__":
    make_tables(os.environ[STORAGE])
