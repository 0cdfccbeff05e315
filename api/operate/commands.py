"""`pcds migrate`, `backup`, `restore`, `doctor` and `deployment-key`; `api.operate.serve` has `pcds serve`."""

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import psycopg
import typer

from api.operate.options import TakeOver
from api.operate.program import (
    AsJson,
    DataDir,
    Operator,
    Refusal,
    as_operator,
    check_choices,
    command,
    find_company,
    operator_on,
    require_place,
    show,
    with_tables,
)
from schemas.json_values import JsonObject
from schemas.operate import State
from schemas.refusals import Refused
from services import operate
from services.audit import enter_revocations
from services.operate import Problem
from warehouse.companies.queries import every_company
from warehouse.operate import keys, logs, store
from warehouse.operate.backup import restore as restore_backup
from warehouse.operate.backup import take
from warehouse.operate.backup.take import BackupError
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.embedded import ServerError, other_major, prepare_data_dir, running
from warehouse.operate.keys import CONNECTOR, NAMES
from warehouse.operate.keys import State as KeysState
from warehouse.operate.migrate import migrate as migrate_database
from warehouse.operate.objects import Objects, prepare_identity, take_over
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings, SettingsError
from warehouse.operate.store import Findings
from warehouse.operate.surroundings import sentence_of
from warehouse.rules import Rulesets


def migrate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Bring the database to this release's schema, and make the deployment's keys where it has none yet."""
    settings = Settings.load(data_dir=data_dir)
    with running(settings) as database:
        revision = migrate_database(database)
        with psycopg.connect(database.owner_url) as owner:
            keys.prepare(owner, settings)
            prepare_identity(owner)
        show({"revision": revision}, as_json=as_json)


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
            made = take.back_up(settings, database, folder)
            findings = _examined(settings, database, verify=verify)
        except BackupError as error:
            raise Refusal(str(error)) from None
    show({"folder": str(folder), **made._asdict(), **findings._asdict()}, as_json=as_json)
    _refuse_damage(findings, f"The backup {folder} is made, and files are not in order.")


def _examined(settings: Settings, database: Database, *, verify: bool) -> Findings:
    """Return which files that the database names the store lacks, or has with other bytes.

    It reads as whoever takes the backup: the application's password need not be known there.
    """
    try:
        with Pool(database.owner_url) as pool:
            return store.examine(pool, Objects.from_settings(settings), every_company(pool), verify=verify)
    except ConnectionError as error:
        raise BackupError(f"Database and files could not be compared: {error}") from None


def _refuse_damage(findings: Findings, sentence: str) -> None:
    if findings.missing or findings.altered:
        lines = [f"missing: {key}" for key in findings.missing] + [f"altered: {key}" for key in findings.altered]
        more = [f"and {len(lines) - _MOST_NAMED} more; --json lists all"] if len(lines) > _MOST_NAMED else []
        raise Refusal("\n".join([sentence, *lines[:_MOST_NAMED], *more]))


def restore(
    *,
    folder: Folder,
    key: Key = None,
    without_seal: Annotated[bool, typer.Option("--without-seal", help="Though the key is lost.")] = False,
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
        secret = None if without_seal else lambda: take.find_key(settings, key)
        checked = restore_backup.check(folder, secret)
        prepare_data_dir(settings.data_dir)  # only after the backup has been recognised as one
        with running(settings) as database:
            restored = restore_backup.restore(
                settings,
                database,
                checked,
                at=Clock.from_settings(settings).now(),
                keep_keys=keep_keys,
                take_over_objects=take_over_objects,
            )
            with Pool(database.app_url) as pool:
                enter_revocations(pool, restored.ended, operator_on(settings, database, pool).origin)
            if take_over_objects or settings.objects_url is None:
                take_over(Objects.from_settings(settings), database.app_url)
            findings = _examined(settings, database, verify=True)
    except BackupError as error:
        raise Refusal(str(error)) from None
    _report(folder, restored, findings, as_json=as_json)
    _refuse_damage(findings, "The database is restored, and files are not in order.")


def _report(folder: Path, restored: restore_backup.Restored, findings: Findings, *, as_json: bool) -> None:
    revoked = {
        "api_keys_revoked": len(restored.ended.api_keys),
        "connections_revoked": len(restored.ended.connections),
        "supplier_links_closed": len(restored.ended.supplier_requests),
    }
    show({"folder": str(folder), **restored.backup._asdict(), **revoked, **findings._asdict()}, as_json=as_json)
    if restored.without_history is not None:
        typer.echo(restored.without_history, err=True)
    if any(revoked.values()):
        typer.echo(
            "Keys, connections and suppliers' links ended, as some may have been revoked after the backup: issue keys "
            "with `pcds key issue`, have people connect their assistants again, and ask suppliers anew.",
            err=True,
        )


def doctor(
    *,
    company: Annotated[UUID | None, typer.Option("--company", help="Only this company's.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Report what is wrong here, each with what to do, and stored records that are false by today's rules.

    The records are listed by kind (`services.operate`), each with its company; null where no company was looked
    at, as the database gave no answer or has tables of another release. Exit status 0 either way: the examination was
    done, and what it found is its result.
    """
    settings = Settings.load(data_dir=data_dir)
    logs.configure(settings)  # on standard error, apart from the answer
    number: int | None = None
    records: dict[str, list[JsonObject] | None] = dict.fromkeys(operate.KINDS)
    with ExitStack() as opened:
        problems, operator = looked_at(settings, opened)
        if operator is not None:
            companies = [company] if company else every_company(operator.pool)
            number, records = len(companies), {**_records(operator, companies, settings.data_dir, as_json=as_json)}
    show({"companies": number, "problems": [problem._asdict() for problem in problems], **records}, as_json=as_json)


def looked_at(settings: Settings, opened: ExitStack) -> tuple[list[Problem], Operator | None]:
    """Return what is wrong, and the operator for a look at records, None where there are no tables of this release."""
    problems, pools = [*operate.of_place(settings)], list[Pool]()

    def pool() -> Pool:
        pools.append(opened.enter_context(Pool(database.app_url, clock=Clock.from_settings(settings))))
        return pools[0]

    try:
        if (major := other_major(settings)) is not None:
            wrong = f"The database was made by Postgres {major}, which this release cannot read."
            return [*problems, Problem(State.POSTGRES, wrong, "Read *Upgrades* in docs/operations.md.")], None
        require_place(settings)
        database = opened.enter_context(running(settings))
        problems += operate.of_database(database, pool, settings, Clock.from_settings(settings))
        problems += _of_store(settings, database)
    except (SettingsError, ServerError) as error:
        return [*problems, Problem(State.DATABASE, str(error), "See the database's log; repair it.")], None
    except OSError as error:
        if (sentence := sentence_of(error)) is None:
            raise
        return [*problems, Problem(State.DATABASE, f"The database does not start. {sentence}", "Do that first.")], None
    answered = not any(problem.check == State.DATABASE for problem in problems)
    return problems, operator_on(settings, database, pools[0]) if pools and answered else None


def _of_store(settings: Settings, database: Database) -> list[Problem]:
    """Return what is wrong with the object store, where one was made; nothing is claimed of one that is nobody's."""
    problems = [*operate.of_endpoint(settings)]
    if settings.objects_url is not None or (settings.data_dir / "objects").is_dir():
        with suppress(psycopg.Error):  # the database is away, or not ours
            problems += operate.of_store(Objects.from_settings(settings, database, claims=False))
    return problems


def _records(
    operator: Operator, companies: Iterable[UUID], data_dir: Path, *, as_json: bool
) -> dict[str, list[JsonObject]]:
    """Return the findings of all companies by kind; on a terminal texts are written in ASCII, so that none hides."""
    findings: dict[str, list[JsonObject]] = {kind: [] for kind in operate.KINDS}
    rulesets, today = Rulesets(), operator.clock.today()
    for company_id in companies:
        with operator.pool.company(company_id) as connection:  # not the operator's, which notes that it wrote
            find_company(connection, company_id)
            listed = operate.find(operate.Looked(connection, rulesets, today, company_id, data_dir))
        for kind, rows in listed.items():
            findings[kind] += [{"company_id": str(company_id), **(row if as_json else _in_ascii(row))} for row in rows]
    return findings


def _in_ascii(row: JsonObject) -> JsonObject:
    """Return a record for a terminal: its texts so that none hides, and nothing that is said in words beside it."""
    texts: JsonObject = {}
    for name, value in row.items():
        match value:
            case str():
                texts[name] = ascii(value)
            case list():
                texts[name] = [ascii(member) for member in value]
            case dict():
                continue
            case _:
                texts[name] = value
    return texts


app = typer.Typer(help="The deployment's own keys: files of the data directory.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help=" or ".join(NAMES))]


@command(app, "new")
def new(data_dir: Path | None, name: Name) -> JsonObject:
    """Make a new key beside the old one, which is kept as NAME.old; nothing is sealed with it yet."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if (state := _state(operator, settings, name)) is not None:
            raise Refusal(f"{settings.data_dir / name} is not the key in force ({state}); `pcds doctor` says more.")
    try:
        old = keys.make_new(settings, name)
    except FileExistsError as error:
        raise Refusal(f"{error.args[0]} is still there from an earlier roll; remove it first.") from None
    return {"key": str(settings.data_dir / name), "old": str(old)}


@command(app, "reseal")
def reseal(data_dir: Path | None, name: Name) -> JsonObject:
    """Put a new key in force: what is stored sealed is sealed with it, all or nothing, while the service runs."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if _state(operator, settings, name) not in ("rolling", None):
            raise Refusal(f"Neither {name} nor {name}.old in {settings.data_dir} is this deployment's key.")
        return _put_in_force(operator, settings, name)


@command(app, "give-up")
def give_up(data_dir: Path | None, name: Name) -> JsonObject:
    """Go on with the key that lies here, or a new one, though the deployment's is lost: what that sealed is lost."""
    settings = Settings.load(data_dir=data_dir)
    check_choices(NAMES, [name])
    with as_operator(data_dir) as operator:
        if _state(operator, settings, name) not in ("missing", "wrong"):
            raise Refusal(f"{settings.data_dir / name} is this deployment's key; nothing is lost.")
        with operator.owner() as owner:
            keys.put_in_force(owner, settings, name)
        return _put_in_force(operator, settings, name)


def _state(operator: Operator, settings: Settings, name: str) -> KeysState | None:
    with operator.owner() as owner:
        return keys.state(owner, settings, name)


def _put_in_force(operator: Operator, settings: Settings, name: str) -> JsonObject:
    companies, record = every_company(operator.pool), {"key": str(settings.data_dir / name)}
    with operator.owner() as owner:
        if name != CONNECTOR:
            keys.put_in_force(owner, settings, name)
            return record
        try:
            return {**record, **keys.reseal(owner, settings, companies)._asdict()}
        except Refused as refused:
            raise Refusal(refused.sentence) from None
