"""Makes the database roles of the application and of Dagster's storage, with their passwords and limits.

Tables are granted to `pcds_app`, the schema `dagster` to `pcds_dagster`. On a server of the operator's, each database
has its own logins that are members of these two roles, because a server has one set of roles and may hold several
deployments (decision 0036). What belongs here: the roles. What does not: their rights on our tables, which the
migrations grant.
"""

from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from psycopg import errors, sql

from warehouse.operate.database import APP, DAGSTER, Database, follows
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import SettingsError

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
_IS_OLDER: Final = """
SELECT to_regclass('public.alembic_version') IS NOT NULL
       AND EXISTS (SELECT FROM pg_roles WHERE rolname = %s AND rolcanlogin)
"""


class Login(NamedTuple):
    """A login of a process; `group` is the role whose rights it has, which may be the login itself."""

    name: str
    group: str
    password: str
    ours: bool
    """Whether its password is derived from the owner's; else an operator made it and keeps its password and limits."""

    @classmethod
    def of(cls, url: str, group: str, owner_url: str) -> "Login":
        """Return the login that the URL names. Raises `SettingsError` where it cannot be a role of this group."""
        parts = urlsplit(url)
        name = unquote(parts.username or "")
        if name != group and not name.startswith(f"{group}_"):
            raise SettingsError(
                f"The URL given for the role {group} names {name}; its name must be {group}, or begin with {group}_."
            )
        return cls(name, group, unquote(parts.password or ""), follows(url, owner_url))


def prepare(connection: Connection, database: Database) -> None:
    """Make the roles and Dagster's schema, or bring them up to date. The connection is the owner's.

    An existing role keeps its password, unless it is the login of this database alone. Raises `SettingsError` with the
    statement that a superuser must run, where a role is missing and the owner may not make it.
    """
    urls = ((APP, database.app_url), (DAGSTER, database.dagster_url))
    logins = [Login.of(url, group, database.owner_url) for group, url in urls]
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
    """Let these logins into the database, and no others but its owner and superusers.

    The database stays open where an older release uses it as `pcds_app`, until that role can no longer sign in.
    """
    name = sql.Identifier(connection.info.dbname)
    changes = [
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, sql.Identifier(login.name)) for login in logins
    ]
    if connection.execute(_IS_OLDER, (APP,)).fetchone() == (False,):
        changes.append(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(name))
    try:
        with connection.transaction():
            for change in changes:
                connection.execute(change)
    except errors.InsufficientPrivilege:
        return  # this owner does not own the database, so its owner decides who may connect
