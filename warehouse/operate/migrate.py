"""Migrates a database to this release's schema, from empty or from any earlier release.

Safe to call at every start and from several processes at once: one migrates, the others wait and find nothing to do.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection as SqlalchemyConnection
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from warehouse.operate import roles
from warehouse.operate.database import Database
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import SettingsError
from warehouse.tables import metadata

_VERSIONS: Final = Path(__file__).parents[1] / "migrations" / "versions"
_TABLE: Final = "SELECT to_regclass('public.alembic_version')"
_REVISION: Final = "SELECT version_num, to_regclass('public.key_probes') IS NULL FROM public.alembic_version"
"""With whether a table of the baseline is missing: the first migrations had the numbers of those that follow it."""

BEFORE_BASELINE: Final = "0055"
"""The last revision before all earlier migrations became the baseline: its tables are the baseline's."""


@cache
def every() -> tuple[str, ...]:
    """Return the revisions that this release knows, the oldest first."""
    return tuple(sorted(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*.py")))


def head() -> str:
    """Return the newest revision of this release."""
    return every()[-1]


def knows(revision: str) -> bool:
    """Return whether it is a revision of this release or of an earlier one that can be brought to it."""
    return revision in (*every(), BEFORE_BASELINE)


def revision_of(owner: Connection) -> str | None:
    """Return the revision of the database's tables; None where it has none. The connection is the owner's."""
    if owner.execute(_TABLE).fetchone() == (None,):
        return None
    row = owner.execute(_REVISION).fetchone()
    return None if row is None else str(row[0])


def refuse_strange(owner: Connection) -> str | None:
    """Return the revision of the tables. Raise `SettingsError` where a newer or a too old release made them."""
    found = revision_of(owner)
    if found is None:
        return None
    row = owner.execute(_REVISION).fetchone()
    if (row is not None and row[1]) or (found < BEFORE_BASELINE and not knows(found)):
        raise SettingsError(
            f"The tables are those of a release before the first that can be upgraded (revision {found}). Nothing was "
            f"changed; bring them to revision {BEFORE_BASELINE} with the release that made that one, and come again."
        )
    if not knows(found):
        raise SettingsError(
            f"The tables are those of a newer release (revision {found}; this one knows none behind {head()}). Nothing "
            "was changed; install the release that last ran here, or a newer one."
        )
    return found


_FOLDER: Final = Path(__file__).parents[1] / "migrations" / "baseline"
_POLICY: Final = re.compile(r"^CREATE POLICY (\w+) ON (\w+)", re.MULTILINE)
_FUNCTIONS: Final = "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
_POLICIES: Final = (
    "SELECT policyname, tablename FROM pg_policies WHERE schemaname = 'public' AND policyname <> 'company'"
)
_OPEN: Final = """
SELECT c.table_name FROM information_schema.columns AS c
JOIN pg_class AS t ON t.oid = format('public.%I', c.table_name)::regclass
WHERE c.table_schema = 'public' AND c.column_name = 'company_id' AND t.relkind IN ('r', 'p')
AND NOT (t.relforcerowsecurity AND EXISTS (
    SELECT FROM pg_policies WHERE schemaname = 'public' AND tablename = c.table_name AND policyname = 'company'))
"""
_OPTIONS: Final = {"compare_type": True, "compare_server_default": True}


def files() -> Iterator[str]:
    """Yield the statements in their order: functions, then tables, those of companies first, which others refer to."""
    for kind in ("functions", "tables"):
        for path in sorted((_FOLDER / kind).glob("*.sql"), key=lambda found: (found.stem != "companies", found.stem)):
            yield path.read_text(encoding="utf-8")


def baseline_differences(connection: SqlalchemyConnection) -> list[str]:
    """Return what of the database's tables, functions and policies is not as the baseline makes it, in words."""
    context = MigrationContext.configure(connection, opts=_OPTIONS | {"include_name": _is_ours})
    found = [str(change) for change in compare_metadata(context, metadata)]
    sql = "\n" + "\n".join(files())
    for what, wanted, present in (
        ("function", set(_functions(sql)), connection.execute(text(_FUNCTIONS))),
        ("policy", set(_POLICY.findall(sql)), connection.execute(text(_POLICIES))),
    ):
        held = {(str(name), str(rest)) for name, rest in present}
        found += [f"{what} {name}" for name, _ in sorted(wanted ^ held)]
    return found + [f"row-level security of {table}" for (table,) in connection.execute(text(_OPEN))]


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    return not (kind == "table" and name == "alembic_version")


def _functions(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each function's name with the text between its dollar signs, which is empty where it has none."""
    for statement in sql.split("\nCREATE FUNCTION ")[1:]:
        quote = "$_$" if "\nAS $_$" in statement else "$$"
        yield statement.partition("(")[0], statement.split(quote)[1] if quote in statement else ""


_SCRIPTS: Final = Path(__file__).parents[1] / "migrations"
_LOCK: Final = 0x70636473  # "pcds": the advisory lock of the process that migrates


def migrate(database: Database, revision: str | None = None) -> str:
    """Make roles and tables as this release needs them, or as a revision had them. Return the revision reached.

    Raises `SettingsError` where roles are missing that the owner may not make, and for tables of a newer release.
    """
    wanted = revision or head()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        connection.commit()  # the session holds the lock until the connection ends
        found = refuse_strange(connection)
        roles.prepare(connection, database)
        if found != wanted:
            _upgrade(database, wanted, from_before=found == BEFORE_BASELINE)
    return wanted


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


def _upgrade(database: Database, revision: str, *, from_before: bool) -> None:
    config = _config()
    engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        if from_before:
            _stamp(connection, config)
        command.upgrade(config, revision)


def _stamp(connection: SqlalchemyConnection, config: Config) -> None:
    """Give the tables of the last revision before the baseline the baseline's, where they are what it makes."""
    if differences := baseline_differences(connection):
        raise SettingsError(
            f"The tables at revision {BEFORE_BASELINE} are not as that revision made them: "
            f"{'; '.join(differences[:5])}. Nothing was changed; undo what was changed by hand and come again."
        )
    command.stamp(config, every()[0], purge=True)
