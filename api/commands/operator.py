"""Opens the database of a data directory for an operator's command, and records the command in the company's ledger."""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from uuid_utils import uuid7

from api.commands.shared import Refusal
from warehouse import revisions
from warehouse.audit import ledger
from warehouse.audit.origin import Origin
from warehouse.clock import Clock
from warehouse.companies import queries as companies
from warehouse.database import Address, Database
from warehouse.embedded import running
from warehouse.sessions import Connection, Pool, owner_transaction
from warehouse.settings import Settings


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: sees every company by the owner's connection, and works in a company's session as callers do."""

    clock: Clock
    database: Database
    pool: Pool
    origin: Origin

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
        ledger.enter(
            connection,
            company_id,
            action,
            record_id,
            origin=self.origin,
            now=self.clock.now(),
            before=before,
            after=after,
        )


@contextmanager
def as_operator(data_dir: Path | None) -> Iterator[Operator]:
    """Yield an operator on a data directory, whether or not the service is running there."""
    settings = Settings.load(data_dir=data_dir)
    with with_tables(settings) as database, Pool(database.app_url, clock=Clock.of(settings)) as pool:
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
    return Operator(Clock.of(settings), database, pool, origin)


def find_company(connection: Connection, company_id: UUID) -> tuple[str, str]:
    """Return name and plan of a company; raise `Refusal` where there is none of that id."""
    found = companies.of(connection, company_id)
    if found is None:
        raise Refusal(f"There is no company {company_id}; `pcds company list` shows those there are.")
    return found


def new_id() -> UUID:
    """Return an id; ids sort in the order of creation."""
    return UUID(str(uuid7()))


def login_name() -> str:
    """Return the account that the command runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "operator"
