"""Prepares the database before the service can answer: `python -m api.operate.prepare`, which `pcds serve` runs first.

It is a separate program so that the memory of its work, migrations above all, is free when it has ended. What belongs
here: the order of these steps, and what is reported to the supervisor, as JSON on standard output. What does not: how
each step is done.
"""

import json
import sys

import psycopg
import structlog

from api.cli import in_plain_words
from api.operate import demo
from schemas.json_values import JsonObject
from services import companies
from warehouse import catalogue
from warehouse.operate import keys, logs, store_identity
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.objects import Objects
from warehouse.operate.settings import Settings

log = structlog.get_logger(__name__)


def prepare(
    settings: Settings, *, with_demo: bool, with_dagster_ui: bool, take_over_objects: bool = False
) -> JsonObject:
    """Migrate the tables, make missing keys, and add the demo company if wanted; call it inside `running`.

    It also erases what the reset of a sandbox left, where a process was killed before it had. With
    `take_over_objects` the object store is this deployment's from now on.
    `catalogue` says whether a catalogue is loaded, `greeting` is for the person who started the service. Raise what
    `migrate` raises.
    """
    database = Database.of(settings)
    log.info("database.migrated", revision=migrate(database))
    with psycopg.connect(database.owner_url) as owner:
        keys.prepare(owner, settings)
        store_identity.prepare(owner)
    if take_over_objects:
        store_identity.take_over(Objects.of(settings), database.app_url)
    greeting = f"The service answers at {settings.base_url}."
    if with_demo:
        first_start = not (settings.data_dir / "demo.json").exists()
        made = demo.prepare(settings, database)
        greeting = demo.banner(settings, made, first_start=first_start, with_dagster_ui=with_dagster_ui)
    companies.erase_left(settings, database, Clock.of(settings).now())
    with psycopg.connect(database.app_url) as connection:
        loaded = catalogue.is_loaded(connection)
    return {"catalogue": loaded, "greeting": greeting}


def main() -> None:
    """Prepare with the settings of the environment and the options in the one argument."""
    asked, settings = json.loads(sys.argv[1]), Settings.load()
    logs.configure(settings)
    report = prepare(
        settings,
        with_demo=asked["demo"],
        with_dagster_ui=asked["with_dagster_ui"],
        take_over_objects=asked["take_over_objects"],
    )
    print(json.dumps(report))


if __name__ == "__main__":
    in_plain_words(main)
