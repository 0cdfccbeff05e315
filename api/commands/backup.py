"""`pcds backup` and `pcds restore`: save a data directory to a folder and restore it; `warehouse.backup` lists what."""

from pathlib import Path
from typing import Annotated, Final

import typer

from api.commands.operator import operator_on, require_place, with_tables
from api.commands.shared import AsJson, DataDir, Refusal, TakeOver, show
from services.audit.restored import enter_revocations
from warehouse import backup as backups
from warehouse import logs, store_checks, store_identity
from warehouse.backup import BackupError
from warehouse.clock import Clock
from warehouse.companies.queries import every_company
from warehouse.database import Database
from warehouse.embedded import prepare_data_dir, running
from warehouse.objects import Objects
from warehouse.sessions import Pool
from warehouse.settings import Settings
from warehouse.store_checks import Findings

_MOST_NAMED: Final = 50
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup's folder.", file_okay=False)]
Key = Annotated[
    Path | None, typer.Option("--key", help="The key that sealed it; default backup.key of the data directory.")
]


Verify = Annotated[bool, typer.Option("--verify", help="Also compare every file with its recorded SHA-256.")]


def backup(folder: Folder, verify: Verify = False, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Copy database and files into a new folder while the service works.

    Exit status 1 where a file that the database names is missing, or altered: the backup is made, and says which.
    """
    settings = Settings.load(data_dir=data_dir)
    logs.configure(settings)  # on standard error, apart from the answer
    require_place(settings, files=True)  # the key is stored there
    with with_tables(settings) as database:
        try:
            made = backups.back_up(settings, database, folder)
            found = _examined(settings, database, verify=verify)
        except BackupError as error:
            raise Refusal(str(error)) from None
    show({"folder": str(folder), **made._asdict(), **found._asdict()}, as_json=as_json)
    _refuse_damage(found, f"The backup {folder} is made, and files are not in order.")


def _examined(settings: Settings, database: Database, *, verify: bool) -> Findings:
    """Return which files that the database names the store lacks, or has with other bytes.

    It reads as whoever takes the backup: the application's password need not be known there.
    """
    try:
        with Pool(database.owner_url) as pool:
            return store_checks.examine(pool, Objects.of(settings), every_company(pool), verify=verify)
    except ConnectionError as error:
        raise BackupError(f"Database and files could not be compared: {error}") from None


def _refuse_damage(found: Findings, sentence: str) -> None:
    if found.missing or found.altered:
        named = [f"missing: {key}" for key in found.missing] + [f"altered: {key}" for key in found.altered]
        raise Refusal("\n".join([sentence, *named[:_MOST_NAMED], *_more(len(named) - _MOST_NAMED)]))


def _more(number: int) -> list[str]:
    return [f"and {number} more; --json lists all"] if number > 0 else []


def restore(
    *,
    folder: Folder,
    key: Key = None,
    without_seal: Annotated[bool, typer.Option("--without-seal", help="Though the key is lost.")] = False,
    trust_dump: Annotated[bool, typer.Option("--trust-dump", help="Run a dump of release 1.8 or older.")] = False,
    keep_keys: Annotated[bool, typer.Option("--keep-keys", help="Though some may have been revoked since.")] = False,
    take_over_objects: TakeOver = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Bring a backup back into an empty database, and its files into the data directory.

    It is a deployment of its own afterwards. Exit status 1 where a file that the database names is missing or altered:
    all else is restored.
    """
    settings = Settings.load(data_dir=data_dir)
    logs.configure(settings)  # on standard error, apart from the answer
    try:
        secret = None if without_seal or trust_dump else lambda: backups.find_key(settings, key)
        checked = backups.check(folder, secret, trust_dump=trust_dump)
        prepare_data_dir(settings.data_dir)  # only after the backup has been recognised as one
        with running(settings) as database:
            restored = backups.restore(
                settings,
                database,
                checked,
                at=Clock.of(settings).now(),
                keep_keys=keep_keys,
                take_over_objects=take_over_objects,
            )
            with Pool(database.app_url) as pool:
                enter_revocations(pool, restored.ended, operator_on(settings, database, pool).origin)
            if take_over_objects or settings.objects_url is None:
                store_identity.take_over(Objects.of(settings), database.app_url)
            found = _examined(settings, database, verify=True)
    except BackupError as error:
        raise Refusal(str(error)) from None
    _report(folder, restored, found, as_json=as_json)
    _refuse_damage(found, "The database is restored, and files are not in order.")


def _report(folder: Path, restored: backups.Restored, found: Findings, *, as_json: bool) -> None:
    revoked = {
        "api_keys_revoked": len(restored.ended.api_keys),
        "connections_revoked": len(restored.ended.connections),
        "supplier_links_closed": len(restored.ended.supplier_requests),
    }
    show({"folder": str(folder), **restored.backup._asdict(), **revoked, **found._asdict()}, as_json=as_json)
    if restored.without_history is not None:
        typer.echo(restored.without_history, err=True)
    if any(revoked.values()):
        typer.echo(
            "Keys, connections and suppliers' links ended, as some may have been revoked after the backup: issue keys "
            "with `pcds key issue`, have people connect their assistants again, and ask suppliers anew.",
            err=True,
        )
