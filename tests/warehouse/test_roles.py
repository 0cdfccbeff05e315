"""Deployments that share a server: each has logins of its own, and what is done to one is not felt in the other."""

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql

from tests.servers import RELEASES, on, operators
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate, prepare_roles
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings, SettingsError

PLANS = "SELECT count(*) FROM plans"


@pytest.fixture(scope="module", params=RELEASES)
def shared(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A server for several deployments, as its superuser sees it."""
    with tempfile.TemporaryDirectory(prefix="pcds-roles-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        with operators(request.param, Path(directory)) as server:
            yield server


@pytest.fixture
def deployment(shared: Database) -> Iterator[Callable[[str, str], Database]]:
    """Makes a database of that name and an owner of its own, who is what `attributes` say."""
    made: list[str] = []

    def make(name: str, attributes: str) -> Database:
        with psycopg.connect(shared.owner_url, autocommit=True) as superuser:
            superuser.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{name}' {attributes}")
            superuser.execute(f"CREATE DATABASE {name} OWNER {name}")
        made.append(name)
        return Database.from_settings(Settings.load(database_url=on(shared, name, name, name)))

    yield make
    with psycopg.connect(shared.owner_url, autocommit=True) as superuser:
        for name in made:
            superuser.execute(f"DROP DATABASE {name} WITH (FORCE)")
        roles = superuser.execute(
            "SELECT rolname FROM pg_roles WHERE rolname LIKE 'pcds\\_app%%' OR rolname LIKE 'pcds\\_dagster%%'"
            " OR rolname = ANY(%s)",
            [made],
        ).fetchall()
        for (name,) in roles:
            superuser.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        superuser.execute(sql.SQL("DROP ROLE {}").format(sql.SQL(", ").join(sql.Identifier(name) for (name,) in roles)))


def dagster(database: Database) -> str:
    return database.dagster_url.replace("+psycopg2", "")


def test_two_deployments_on_one_server_do_not_meet(deployment) -> None:
    live, other = deployment("live", "SUPERUSER"), deployment("other", "SUPERUSER")
    migrate(live)
    with Pool(live.app_url) as app, psycopg.connect(dagster(live)) as runs:
        migrate(other)
        migrate(live)
        with app.system() as connection:
            assert connection.execute(PLANS).fetchone() == (4,)
        assert runs.execute("SELECT current_user, to_regnamespace('dagster')").fetchone() == ("pcds_dagster", "dagster")
    for url in (live.app_url, dagster(live), other.app_url, dagster(other)):
        psycopg.connect(url).close()
    for here, there in ((live, other), (other, live)):
        for url in (here.app_url, dagster(here)):
            with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
                psycopg.connect(url.replace(*(each.owner_url.rpartition("@")[2] for each in (here, there))))


def test_the_roles_of_the_tests_own_server_are_there_before_a_deployment_brings_its_own(server: Database) -> None:
    """`server` alone is asked for here: in a run of this test by itself nothing else has made them."""
    for url in (server.app_url, dagster(server)):
        psycopg.connect(url).close()


def test_deployments_that_share_their_roles_prepare_them_at_once(server: Database) -> None:
    """Roles are the server's: Postgres refuses two changes of one at the same instant."""

    def prepared(_: int) -> None:
        with psycopg.connect(server.owner_url) as owner:
            prepare_roles(owner, server)

    prepared(0)  # of one database the schema is made under the migration's lock
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(prepared, range(40)))


def test_a_login_has_the_rights_of_its_role_and_no_others(deployment) -> None:
    database = deployment("single", "CREATEROLE")
    migrate(database)
    with psycopg.connect(database.app_url, autocommit=True) as app:
        assert app.execute("SHOW statement_timeout").fetchone() == ("5min",)
        for statement in ("UPDATE plans SET sku_limit = NULL", "CREATE TABLE x ()", "SET ROLE pcds_dagster"):
            with pytest.raises(errors.InsufficientPrivilege):
                app.execute(statement)
    with psycopg.connect(dagster(database), autocommit=True) as runs, pytest.raises(errors.InsufficientPrivilege):
        runs.execute(PLANS.replace("plans", "public.plans"))


def test_a_second_owner_is_told_what_a_superuser_runs(shared: Database, deployment) -> None:
    first, second = deployment("first", "CREATEROLE"), deployment("second", "CREATEROLE")
    migrate(first)
    with psycopg.connect(shared.owner_url, autocommit=True) as superuser:
        if superuser.info.server_version >= 160000:  # before, who may make roles may let others into any
            with pytest.raises(SettingsError, match="as a superuser") as refused:
                migrate(second)
            superuser.execute(str(refused.value).partition(": run ")[2].partition(" as a superuser")[0])
    migrate(second)
    for database in (first, second):
        with psycopg.connect(database.app_url) as app:
            assert app.execute(PLANS).fetchone() == (4,)


def test_a_role_of_another_kind_is_refused(deployment) -> None:
    database = deployment("strange", "CREATEROLE")
    wrong = Database(database.owner_url, database.owner_url, database.dagster_url)
    with pytest.raises(SettingsError, match="its name must be pcds_app, or begin with pcds_app_"):
        migrate(wrong)
