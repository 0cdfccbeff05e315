"""`pcds backup` and `pcds restore`: what must survive, in one folder; what that is, `warehouse.backup` says."""

from pathlib import Path
from typing import Annotated

import typer

from api.commands.shared import AsJson, DataDir, Refusal, show
from warehouse import backup as backups
from warehouse.backup import BackupError
from warehouse.embedded import prepared, running
from warehouse.settings import Settings

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup's folder.", file_okay=False)]


def backup(folder: Folder, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Copy database and files into a new folder while the service works."""
    settings = Settings.load(data_dir=data_dir)
    with running(settings) as database:
        try:
            made = backups.back_up(settings, database, folder)
        except BackupError as error:
            raise Refusal(str(error)) from None
    show({"folder": str(folder), **made._asdict()}, as_json=as_json)


def restore(folder: Folder, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Bring a backup back into an empty database, and its files into the data directory."""
    settings = Settings.load(data_dir=data_dir)
    try:
        whole = backups.check(folder)  # before a data directory is made
        prepared(settings.data_dir)
        with running(settings) as database:
            held = backups.restore(settings, database, whole)
    except BackupError as error:
        raise Refusal(str(error)) from None
    show({"folder": str(folder), **held._asdict()}, as_json=as_json)
