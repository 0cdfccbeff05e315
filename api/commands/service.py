"""`pcds serve` and `pcds migrate`: start the whole service, and migrate its database; `api.serve` supervises it."""

from typing import Annotated

import psycopg
import typer

from api import serve as supervisor
from api.commands.shared import AsJson, DataDir, TakeOver, show
from warehouse import deployment_keys, store_identity
from warehouse.embedded import running
from warehouse.settings import Settings


def serve(
    *,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port of the API; default 8000.")] = None,
    dagster_port: Annotated[
        int | None,
        typer.Option("--dagster-port", min=1, max=65535, help="Loopback port behind /dagster; default 3000."),
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Public address, where it differs.")] = None,
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Keep a demo company with a key.")] = True,
    dagster_ui: Annotated[bool | None, typer.Option("--dagster-ui/--no-dagster-ui", help="Serve /dagster.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="API processes.")] = 1,
    take_over_objects: TakeOver = False,
    data_dir: DataDir = None,
) -> None:
    """Run everything until a signal: database, API, import worker, analysts' UI."""
    settings = Settings.load(
        data_dir=data_dir, host=host, port=port, dagster_port=dagster_port, dagster_ui=dagster_ui, public_url=base_url
    )
    supervisor.serve(
        settings,
        workers=workers,
        with_dagster_ui=settings.dagster_ui,
        demo=demo,
        take_over_objects=take_over_objects,
    )


def migrate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Bring the database to this release's schema, and make the deployment's keys where it has none yet."""
    from warehouse.migrate import migrate as migrate_database  # noqa: PLC0415  (the supervisor does without)

    settings = Settings.load(data_dir=data_dir)
    with running(settings) as database:
        revision = migrate_database(database)
        with psycopg.connect(database.owner_url) as owner:
            deployment_keys.prepare(owner, settings)
            store_identity.prepare(owner)
        show({"revision": revision}, as_json=as_json)
