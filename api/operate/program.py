"""Opens the database of a data directory for an operator's command, and records the command in the company's ledger."""

import getpass
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar, cast
from uuid import UUID, uuid4

import orjson
import psycopg
import typer
import urllib3
from uuid_utils import uuid7

from api.imports.summary import options_of
from api.operate.options import DataDir as DataDir  # noqa: PLC0414  (also for the commands)
from api.operate.options import Refusal as Refusal  # noqa: PLC0414
from schemas.actors import Actor, Origin
from schemas.imports.types import Asked
from schemas.json_values import JsonMapping, JsonObject, json_number
from schemas.messages import LANGUAGES, ORIGINAL, Message, translate
from schemas.refusals import ERROR_CODES
from warehouse.audit import ledger
from warehouse.companies import queries as companies
from warehouse.operate import revisions
from warehouse.operate.clock import Clock
from warehouse.operate.database import Address, Database
from warehouse.operate.embedded import running
from warehouse.operate.sessions import Connection, Pool, owner_transaction
from warehouse.operate.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
CompanyId = Annotated[UUID, typer.Option("--company", help="The company's id.")]

F = TypeVar("F", bound=Callable[..., Mapping[str, object]])

_WIDEST: Final = 40


def command(app: typer.Typer, name: str) -> Callable[[F], F]:
    """Declare a command of a group, which has `--data-dir` and `--json` beside the options of its function.

    The function takes the data directory first, and returns the record that is shown.
    """

    def declare(function: F) -> F:
        def run(*, data_dir: DataDir = None, as_json: AsJson = False, **options: object) -> None:
            show(function(data_dir, **options), as_json=as_json)

        own, common = ([*inspect.signature(signer).parameters.values()] for signer in (function, run))
        options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in own[1:]]
        vars(run)["__signature__"] = inspect.Signature([*options, *common[:-1]])  # typer reads it
        run.__doc__ = function.__doc__
        app.command(name)(run)
        return function

    return declare


def run_in_dagster(settings: Settings, name: str, *arguments: str, refused: str) -> JsonObject:
    """Return the record of run `name` of `pipelines.commands`; raise `Refusal`, which begins with `refused`.

    This program starts without Dagster: a child process requests the run and returns one record.
    """
    command = [sys.executable, "-m", "pipelines.commands", name, *arguments]
    require_place(settings, files=True)  # Dagster's home and the run's output are in it
    with with_tables(settings):
        # Our own program, with arguments that no shell reads.
        process = subprocess.run(  # noqa: S603
            command, env=os.environ | settings.environment(), capture_output=True, text=True, check=False
        )
    if process.returncode != 0:
        last = process.stderr.strip().splitlines()[-1:] or ["The run said nothing."]
        raise Refusal(f"{refused} {last[0]}")
    return dict(orjson.loads(process.stdout))


def show(record: Mapping[str, object], *, as_json: bool) -> None:
    """Print a record: as one JSON object, or a line per field for people, and a table for a list of records."""
    text = orjson.dumps(record, default=json_number, option=orjson.OPT_UTC_Z)
    if as_json:
        typer.echo(text)
        return
    for name, value in orjson.loads(text).items():
        if value == []:
            typer.echo(f"{name}: none")
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for line in _table(value):
                typer.echo(line)
        else:
            typer.echo(f"{name}: {_plain(value)}")


def _table(records: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield a line of the fields' names, as `--json` has them, then a line per record; columns begin below each other.

    A column is padded to at most `_WIDEST`: a sentence in one record would push the others' next fields off the screen.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [names, *([_plain(record.get(name)) for name in names] for record in records)]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "-" if value is None else str(value)


def split_values(values: Sequence[str]) -> list[str]:
    """Return the values of an option that accepts repetition and commas, in their order, each once."""
    parts = (part.strip() for value in values for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def check_choices(vocabulary: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the values when each is in the vocabulary; anything else is wrong usage."""
    for value in values:
        if value not in vocabulary:
            raise typer.BadParameter(f"{value} is not one of: {', '.join(vocabulary)}.")
    return list(values)


def locale_language() -> str:
    """Return the language of messages by the environment (POSIX: LC_ALL, LC_MESSAGES, LANG); English as the default."""
    locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    language = locale.partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else LANGUAGES[0]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: sees every company by the owner's connection, and works in a company's session as callers do."""

    clock: Clock
    database: Database
    pool: Pool
    origin: Origin

    def actor(self, company_id: UUID) -> Actor:
        """Return the operator as the actor of an operation in a company, at this instant."""
        return Actor(company_id, self.origin, self.clock.now())

    @contextmanager
    def owner(self, company_id: UUID | None = None) -> Iterator[Connection]:
        """Open a transaction of the owner for what the application's role may not do: see all companies, change one."""
        with owner_transaction(self.database.owner_url, company_id) as connection:
            yield connection

    @contextmanager
    def company(self, company_id: UUID) -> Iterator[Connection]:
        """Open a transaction of an existing company; raise `Refusal` where there is none of that id."""
        with self.pool.company(company_id) as connection:
            find_company(connection, company_id)
            yield connection
        self.pool.stamp(company_id)

    def enter(
        self,
        connection: Connection,
        company_id: UUID,
        action: str,
        record_id: UUID,
        *,
        after: Mapping[str, object],
        before: Mapping[str, object] | None = None,
    ) -> None:
        """Record the action in the company's ledger, in the same transaction."""
        ledger.enter(connection, self.actor(company_id), action, record_id, before=before, after=after)


@contextmanager
def as_operator(data_dir: Path | None) -> Iterator[Operator]:
    """Yield an operator on a data directory, whether or not the service is running there."""
    settings = Settings.load(data_dir=data_dir)
    with with_tables(settings) as database, Pool(database.app_url, clock=Clock.from_settings(settings)) as pool:
        yield operator_on(settings, database, pool)


@contextmanager
def with_tables(settings: Settings) -> Iterator[Database]:
    """Yield the database for the time of the block. Raise `Refusal` and `SettingsError` where there is none of ours.

    Nothing is made: whoever is in the wrong directory would work on an empty database beside the right one.
    """
    require_place(settings)
    with running(settings) as database:
        with psycopg.connect(database.owner_url) as owner:
            revision = revisions.refuse_strange(owner)
        if revision is None:
            raise Refusal("The database has no tables of this service: run `pcds migrate`, or name another one.")
        yield database


def require_place(settings: Settings, *, files: bool = False) -> None:
    """Raise `SettingsError` or `Refusal` where the service was never started or migrated with these settings.

    `files` is whether the command needs the data directory where the database is elsewhere, too.
    """
    if settings.database_url is None:
        Address.read(settings.data_dir)
    elif files and not settings.data_dir.is_dir():
        raise Refusal(f"{settings.data_dir} does not exist; name the service's directory with --data-dir.")


def operator_on(settings: Settings, database: Database, pool: Pool) -> Operator:
    """Return an operator on a database that is already open."""
    origin = Origin("operator", login_name(), "operator", correlation_id=str(uuid4()))
    return Operator(Clock.from_settings(settings), database, pool, origin)


def find_company(connection: Connection, company_id: UUID) -> tuple[str, str]:
    """Return name and plan of a company; raise `Refusal` where there is none of that id."""
    company = companies.find_company(connection, company_id)
    if company is None:
        raise Refusal(f"There is no company {company_id}; `pcds company list` shows those there are.")
    return company


def new_id() -> UUID:
    """Return an id; ids sort in the order of creation."""
    return UUID(str(uuid7()))


def login_name() -> str:
    """Return the account that the command runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "operator"


_RETRY: Final = urllib3.Retry(
    8,
    connect=4,
    redirect=False,
    status_forcelist=(429, 502, 503, 504),
    allowed_methods=None,
    backoff_factor=0.5,
    backoff_max=8,
    retry_after_max=120,
    raise_on_status=False,
)
"""Repeats on broken connections and temporary refusals, after `Retry-After` (seconds) where it is sent. Every method is
repeated, POST too: a request that writes has an Idempotency-Key. Redirects are not followed: they would pass the key
on.
"""
_TIMEOUT: Final = urllib3.Timeout(connect=5, read=120)
_FAULTS_SHOWN: Final = 5


class Client:
    """The service at a base address, for the holder of one API key, in one language.

    Answers are JSON of another program: their members are `Any` until the caller says which answer it asked for.
    """

    def __init__(self, base_url: str, key: str, lang: str = ORIGINAL) -> None:
        """`base_url` is http or https, with or without a slash at its end. No request is sent yet."""
        self._lang = lang
        self._base_url = base_url.rstrip("/")
        self._http = urllib3.PoolManager(retries=_RETRY, timeout=_TIMEOUT)
        self._headers = {"X-API-Key": key, "Accept-Language": lang}

    def get(self, path: str, **query: object) -> JsonObject:
        """Return the answer to a read. Raise `Refusal` where it is refused or nobody answers."""
        return self._request("GET", path, fields=query)

    def send(self, path: str, parts: Mapping[str, object]) -> JsonObject:
        """Return the answer to a multipart write, done once however often it is repeated. Raise `Refusal`."""
        return self._request("POST", path, fields=parts, headers={"Idempotency-Key": str(uuid4())})

    def post(self, path: str, body: JsonMapping) -> JsonObject:
        """Return the answer to a write of JSON, done once as `send` does. Raise `Refusal`."""
        return self._request("POST", path, json=dict(body), headers={"Idempotency-Key": str(uuid4())})

    def _request(
        self,
        method: str,
        path: str,
        *,
        fields: JsonMapping | None = None,
        json: JsonMapping | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        try:
            answer = self._http.request(
                method,
                self._base_url + path,
                fields=None if fields is None else dict(fields),
                json=json,
                headers={**self._headers, **(headers or {})},
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            reason = type(getattr(error, "reason", None) or error).__name__  # its text would show addresses of objects
            no_answer = f"No service answers at {self._base_url} ({reason})"
            raise Refusal(f"{no_answer}; start it with `pcds serve`, or say with --url where it is.") from None
        try:
            body = orjson.loads(answer.data)
        except orjson.JSONDecodeError:
            body = None
        if not isinstance(body, dict):
            raise Refusal(f"What answers at {self._base_url} is not this service (status {answer.status}).")
        if answer.status >= 300:
            raise Refusal(_sentence(answer.status, body, self._lang))
        return body


def _detail(detail: JsonMapping) -> str:
    """Return a fault's sentence; with what settles it where it is a question about a file."""
    sentence = str(detail.get("message"))
    if not detail.get("answer"):
        return sentence
    return " ".join([sentence, *options_of(cast(Asked, detail))])


def _sentence(status: int, body: JsonMapping, lang: str) -> str:
    """Return a refusal's sentence and its remedy; for a fault of the service, with the id that support needs."""
    code = str(body.get("error", f"status {status}"))
    details = list(dict.fromkeys(map(_detail, body.get("details") or ())))
    if details:
        more = (
            [translate(Message("There are {count} more faults.", count=len(details) - _FAULTS_SHOWN), lang)]
            if len(details) > _FAULTS_SHOWN
            else []
        )
        return " ".join([*details[:_FAULTS_SHOWN], *more])
    message = str(body.get("message") or code)
    remedy = f" {translate(ERROR_CODES[code].remedy, lang)}" if code in ERROR_CODES else ""
    correlation = f" correlationId {body.get('correlationId')}." if status >= 500 else ""
    return f"{message}{remedy}{correlation}"
