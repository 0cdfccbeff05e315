"""Migrates a database to this release's schema, from empty or from any earlier release, and makes its roles.

Safe to call at every start and from several processes at once: one migrates, the others wait and find nothing to do.
Tables are granted to `pcds_app`, the schema `dagster` to `pcds_dagster`; their rights on our tables are in the
migrations. On a server of the operator's, each database has its own logins that are members of these two roles, because
a server has one set of roles and may hold several deployments (decision 0036).
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple  # Any: a table, column, index or constraint of the comparison
from urllib.parse import unquote, urlsplit

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from psycopg import errors, sql
from sqlalchemy import Connection as SqlalchemyConnection
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from warehouse.operate.database import APP, DAGSTER, Database, follows
from warehouse.operate.revisions import BEFORE_BASELINE, every, head, refuse_strange
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import SettingsError
from warehouse.tables import metadata

_LIMITS: Final = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS"
_SETTINGS: Final = {
    # Requests last milliseconds, an import's chunk a few seconds: a lock that lasts for minutes has been forgotten.
    APP: {"jit": "off", "statement_timeout": "300s", "idle_in_transaction_session_timeout": "300s"},
    # The machine's failure may lose a run's last events; the import itself is in our tables, committed for good.
    DAGSTER: {"jit": "off", "search_path": "dagster", "synchronous_commit": "off"},
}
_ACTS_AS: Final = {DAGSTER: {"role": DAGSTER}}
"""Settings of logins that take on their group's role. Dagster's do: its tables belong to that one role. The
application's do not: it makes no tables, and a regrade asks when transactions of its own login began, which a session
sees only as that login."""
_IS_MEMBER: Final = "SELECT FROM pg_auth_members WHERE roleid = %s::regrole AND member = %s::regrole"


class Login(NamedTuple):
    """A login of a process; `group` is the role whose rights it has, which may be the login itself."""

    name: str
    group: str
    password: str
    ours: bool
    """Whether its password is derived from the owner's; else an operator made it and keeps its password and limits."""

    @classmethod
    def from_url(cls, url: str, group: str, owner_url: str) -> "Login":
        """Return the login that the URL names. Raises `SettingsError` where it cannot be a role of this group."""
        parts = urlsplit(url)
        name = unquote(parts.username or "")
        if name != group and not name.startswith(f"{group}_"):
            raise SettingsError(
                f"The URL given for the role {group} names {name}; its name must be {group}, or begin with {group}_."
            )
        return cls(name, group, unquote(parts.password or ""), follows(url, owner_url))


def prepare_roles(connection: Connection, database: Database) -> None:
    """Make the roles and Dagster's schema, or bring them up to date. The connection is the owner's.

    An existing role keeps its password, unless it is the login of this database alone. Raises `SettingsError` with the
    statement that a superuser must run, where a role is missing and the owner may not make it.
    """
    urls = ((APP, database.app_url), (DAGSTER, database.dagster_url))
    logins = [Login.from_url(url, group, database.owner_url) for group, url in urls]
    for login in logins:
        if login.name == login.group:
            _make(connection, login.name, login)
        else:
            _make(connection, login.group, None)
            _make(connection, login.name, login)
            _join(connection, login)
    _dagster_schema(connection)
    if all(login.name != login.group for login in logins):
        _close(connection, logins)
    connection.commit()


def _make(connection: Connection, role: str, login: Login | None, *, attempts: int = 5) -> None:
    """Make a missing role; bring an existing one up to date where it is the login of this database alone.

    Roles belong to the whole server: other deployments may make or change the same one at this moment.
    """
    name, exists = sql.Identifier(role), _exists(connection, role)
    if exists and (login is None or not login.ours):
        return
    changes = [] if exists else [_created(role, login)]
    if login is not None:
        if not exists or login.name != login.group:
            changes.append(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, _hashed(connection, login)))
        changes += _settings(connection, login)
    try:
        with connection.transaction():
            for change in changes:
                connection.execute(change)
    except errors.InsufficientPrivilege:
        if exists:
            return
        raise SettingsError(
            f"The role {role} is missing and DATABASE_URL may not make it: give its role CREATEROLE; or create {APP} "
            f"and {DAGSTER} (LOGIN {_LIMITS}) and set PCDS_APP_DATABASE_URL and PCDS_DAGSTER_DATABASE_URL."
        ) from None
    except (errors.DuplicateObject, errors.UniqueViolation, errors.InternalError_):
        # Another deployment of this server was first; of a change at once Postgres says "tuple concurrently updated".
        if attempts == 1:
            raise
        _make(connection, role, login, attempts=attempts - 1)


def _exists(connection: Connection, role: str) -> bool:
    return connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None


def _created(role: str, login: Login | None) -> sql.Composed:
    kind = f"{'NOLOGIN' if login is None else 'LOGIN'} {_LIMITS}"
    return sql.SQL("CREATE ROLE {} " + kind).format(sql.Identifier(role))


def _hashed(connection: Connection, login: Login) -> sql.Literal:
    hashed = connection.pgconn.encrypt_password(login.password.encode(), login.name.encode(), b"scram-sha-256")
    return sql.Literal(hashed.decode())


def _settings(connection: Connection, login: Login) -> list[sql.Composed]:
    """Return the changes of those settings that the login has not yet: deployments that share it seldom meet then."""
    wanted = _SETTINGS[login.group] | (_ACTS_AS.get(login.group, {}) if login.name != login.group else {})
    row = connection.execute(
        "SELECT coalesce(rolconfig, '{}') FROM pg_roles WHERE rolname = %s", (login.name,)
    ).fetchone()
    present = row[0] if row else []
    return [
        sql.SQL("ALTER ROLE {} SET {} = {}").format(sql.Identifier(login.name), sql.Identifier(key), sql.Literal(value))
        for key, value in wanted.items()
        if f"{key}={value}" not in present
    ]


def _join(connection: Connection, login: Login) -> None:
    if connection.execute(_IS_MEMBER, (login.group, login.name)).fetchone() is not None:
        return
    grant = sql.SQL("GRANT {} TO {}").format(sql.Identifier(login.group), sql.Identifier(login.name))
    try:
        with connection.transaction():
            connection.execute(grant)
    except errors.InsufficientPrivilege:
        raise SettingsError(
            f"The role {login.group} is another owner's, and DATABASE_URL may not let {login.name} act as it: run "
            f'GRANT {APP}, {DAGSTER} TO "{connection.info.user}" WITH ADMIN OPTION as a superuser.'
        ) from None


def _dagster_schema(connection: Connection) -> None:
    if connection.execute("SELECT to_regnamespace('dagster')").fetchone() != (None,):
        return
    dagster = sql.Identifier(DAGSTER)
    try:
        if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,):
            # Only a member of a role may make objects that the role owns.
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(dagster))
        connection.execute(sql.SQL("CREATE SCHEMA dagster AUTHORIZATION {}").format(dagster))
    except errors.InsufficientPrivilege:
        raise SettingsError(
            f"The schema dagster is missing and DATABASE_URL may not make it: run CREATE SCHEMA dagster "
            f"AUTHORIZATION {DAGSTER} as a superuser."
        ) from None


def _close(connection: Connection, logins: list[Login]) -> None:
    """Let these logins into the database, and no others but its owner and superusers."""
    name = sql.Identifier(connection.info.dbname)
    granted = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
    changes = [granted.format(name, sql.Identifier(login.name)) for login in logins]
    changes.append(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(name))
    try:
        with connection.transaction():
            for change in changes:
                connection.execute(change)
    except errors.InsufficientPrivilege:
        return  # this owner does not own the database, so its owner decides who may connect


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
_SINCE_BASELINE: Final = {
    *((None, "company_profiles"), (None, "head_figures"), (None, "former_codes"), (None, "role_answers")),
    *((None, "registers"), (None, "marks"), (None, "supplier_articles")),
    *(("skus", "flag_facts"), ("sku_versions", "flag_facts")),
    *(("users", "due_mail_language"), ("supplier_mails", "user_id"), ("supplier_mails", "due_on")),
    *((table, "merged_into") for table in ("brands", "sites", "suppliers")),
    *(("supplier_mails", "enquiry_id"), (None, "uq_supplier_mails_due")),
    *((None, "supplier_rows"), ("supplier_requests", "row_numbers"), ("technical_files", "component_ids")),
    *(("supplier_enquiries", name) for name in ("opened_at", "valid_months", "asks_again", "reminder_days")),
    *(("review_files", name) for name in ("enquiry_id", "row_numbers")),
    *((None, "ix_review_files_enquiry_id"), ("imports", "preview")),
    *(("company_counters", "unrelated_links"), ("snapshots", "writes"), ("audit_transactions", "of_figures")),
}
"""What later revisions add or change: a table, a column of one, or an index."""


def files() -> Iterator[str]:
    """Yield the statements in their order: functions, then tables, those of companies first, which others refer to."""
    for kind in ("functions", "tables"):
        for path in sorted((_FOLDER / kind).glob("*.sql"), key=lambda path: (path.stem != "companies", path.stem)):
            yield path.read_text(encoding="utf-8")


def baseline_differences(connection: SqlalchemyConnection) -> list[str]:
    """Return what of the database's tables, functions and policies is not as the baseline makes it, in words.

    Comments are not compared: earlier migrations wrote some in other words.
    """
    context = MigrationContext.configure(connection, opts=_OPTIONS | {"include_object": _is_of_baseline})
    found = compare_metadata(context, metadata)
    changes = chain.from_iterable(each if isinstance(each, list) else [each] for each in found)
    differences = [str(change) for change in changes if not change[0].endswith("_comment")]
    sql = "\n" + "\n".join(files())
    for what, wanted, present in (
        ("function", set(_functions(sql)), connection.execute(text(_FUNCTIONS))),
        ("policy", set(_POLICY.findall(sql)), connection.execute(text(_POLICIES))),
    ):
        held = {(str(name), str(rest)) for name, rest in present}
        differences += [f"{what} {name}" for name, _ in sorted(wanted ^ held)]
    return differences + [f"row-level security of {table}" for (table,) in connection.execute(text(_OPEN))]


def _is_of_baseline(item: Any, name: str | None, kind: str, _reflected: object, _other: object) -> bool:
    table = item.table.name if kind == "column" else None
    return name != "alembic_version" and (table, name) not in _SINCE_BASELINE


def _functions(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each function's name with the text between its dollar signs, which is empty where it has none."""
    for statement in sql.split("\nCREATE FUNCTION ")[1:]:
        quote = "$_$" if "\nAS $_$" in statement else "$$"
        yield statement.partition("(")[0], statement.split(quote)[1] if quote in statement else ""


_SCRIPTS: Final = Path(__file__).parents[1] / "migrations"
LOCK: Final = 0x70636473  # "pcds": the advisory lock of the process that migrates


def migrate(database: Database, revision: str | None = None) -> str:
    """Make roles and tables as this release needs them, or as a revision had them. Return the revision reached.

    Raises `SettingsError` where roles are missing that the owner may not make, and for tables of a newer release.
    """
    wanted = revision or head()
    with psycopg.connect(database.owner_url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        connection.commit()  # the session holds the lock until the connection ends
        revision_before = refuse_strange(connection)
        prepare_roles(connection, database)
        if revision_before != wanted:
            _upgrade(database, wanted, from_before=revision_before == BEFORE_BASELINE)
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
