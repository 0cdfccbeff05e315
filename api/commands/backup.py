"""`pcds backup` and `pcds restore`: save a data directory to a folder and restore it; `warehouse.backup` lists what."""

from pathlib import Path
from typing import Annotated

import typer

from api.commands.operator import operator_on, require_place, with_tables
from api.commands.shared import AsJson, DataDir, Refusal, show
from services.audit.restored import enter_revocations
from warehouse import backup as backups
from warehouse.backup import BackupError
from warehouse.clock import Clock
from warehouse.embedded import prepare_data_dir, running
from warehouse.sessions import Pool
from warehouse.settings import Settings

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup's folder.", file_okay=False)]
Key = Annotated[
    Path | None, typer.Option("--key", help="The key that sealed it; default backup.key of the data directory.")
]


def backup(folder: Folder, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Copy database and files into a new folder while the service works."""
    settings = Settings.load(data_dir=data_dir)
    require_place(settings, files=True)  # the key is stored there
    with with_tables(settings) as database:
        try:
            made = backups.back_up(settings, database, folder)
        except BackupError as error:
            raise Refusal(str(error)) from None
    show({"folder": str(folder), **made._asdict()}, as_json=as_json)


def restore(
    *,
    folder: Folder,
    key: Key = None,
    without_seal: Annotated[bool, typer.Option("--without-seal", help="Though the key is lost.")] = False,
    trust_dump: Annotated[bool, typer.Option("--trust-dump", help="Run a dump of release 1.8 or older.")] = False,
    keep_keys: Annotated[bool, typer.Option("--keep-keys", help="Though some may have been revoked since.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Bring a backup back into an empty database, and its files into the data directory."""
    settings = Settings.load(data_dir=data_dir)
    try:
        secret = None if without_seal or trust_dump else lambda: backups.find_key(settings, key)
        checked = backups.check(folder, secret, trust_dump=trust_dump)
        prepare_data_dir(settings.data_dir)  # only after the backup has been recognised as one
        with running(settings) as database:
            restored = backups.restore(settings, database, checked, at=Clock.of(settings).now(), keep_keys=keep_keys)
            with Pool(database.app_url) as pool:
                enter_revocations(pool, restored.ended, operator_on(settings, database, pool).origin)
    except BackupError as error:
        raise Refusal(str(error)) from None
    _report(folder, restored, as_json=as_json)


def _report(folder: Path, restored: backups.Restored, *, as_json: bool) -> None:
    revoked = {
        "api_keys_revoked": len(restored.ended.api_keys),
        "connections_revoked": len(restored.ended.connections),
        "supplier_links_closed": len(restored.ended.supplier_requests),
    }
    show({"folder": str(folder), **restored.backup._asdict(), **revoked}, as_json=as_json)
    if restored.without_history is not None:
        typer.echo(restored.without_history, err=True)
    if any(revoked.values()):
        typer.echo(
            "Keys, connections and suppliers' links ended, as some may have been revoked after the backup: issue keys "
            "with `pcds key issue`, have people connect their assistants again, and ask suppliers anew.",
            err=True,
        )
