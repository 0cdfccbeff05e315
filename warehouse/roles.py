"""The roles of the application and of Dagster's storage: made, given their passwords and their limits.

What belongs here: what a role is. What does not: what it may do with our tables, which the migrations grant.
"""

from typing import Any, Final
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import errors, sql

from warehouse.database import APP, DAGSTER, Database
from warehouse.settings import SettingsError

_MADE: Final = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS"
_SETTINGS: Final = {
    # Requests last milliseconds, an import's chunk a few seconds: what holds locks for minutes has been forgotten.
    APP: {"jit": "off", "statement_timeout": "300s", "idle_in_transaction_session_timeout": "300s"},
    # A run's last events may be lost with the machine; the import itself is in our tables, committed for good.
    DAGSTER: {"jit": "off", "search_path": "dagster", "synchronous_commit": "off"},
}


def prepare(connection: psycopg.Connection[Any], database: Database) -> None:
    """Make both roles and Dagster's schema, or bring them up to date. The connection is the owner's.

    Raises `SettingsError` where a role is missing and the owner may not make it.
    """
    for role, url in ((APP, database.app_url), (DAGSTER, database.dagster_url)):
        parts = urlsplit(url)
        if parts.username != role:
            raise SettingsError(
                f"The URL given for the role {role} names {parts.username}; that role must have this name."
            )
        _role(connection, role, unquote(parts.password or ""))
    _dagster_schema(connection)
    connection.commit()


def _dagster_schema(connection: psycopg.Connection[Any]) -> None:
    if connection.execute("SELECT to_regnamespace('dagster')").fetchone() != (None,):
        return
    dagster = sql.Identifier(DAGSTER)
    try:
        if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,):
            # Only a member of a role may make something that is the role's.
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(dagster))
        connection.execute(sql.SQL("CREATE SCHEMA dagster AUTHORIZATION {}").format(dagster))
    except errors.InsufficientPrivilege:
        raise SettingsError(
            f"The schema dagster is missing and DATABASE_URL may not make it: run CREATE SCHEMA dagster "
            f"AUTHORIZATION {DAGSTER} as a superuser."
        ) from None


def _role(connection: psycopg.Connection[Any], role: str, password: str) -> None:
    name = sql.Identifier(role)
    exists = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None
    hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    settings = [
        sql.SQL("ALTER ROLE {} SET {} = {}").format(name, sql.Identifier(key), sql.Literal(value))
        for key, value in _SETTINGS[role].items()
    ]
    changes = [sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(hashed)), *settings]
    try:
        with connection.transaction():
            if not exists:
                connection.execute(sql.SQL("CREATE ROLE {} " + _MADE).format(name))
            for change in changes:
                connection.execute(change)
    except errors.InsufficientPrivilege:
        if exists:  # made by an operator, who keeps its password and limits
            return
        raise SettingsError(
            f"The role {role} is missing and DATABASE_URL may not make it: create it ({_MADE}) and set "
            f"PCDS_APP_DATABASE_URL and PCDS_DAGSTER_DATABASE_URL."
        ) from None
