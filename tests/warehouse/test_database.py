"""The same database on the operator's own server: an owner who is no superuser, roles made by it or by hand."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import create_engine

from tests.servers import RELEASES, on, operators
from warehouse.figures import snapshots
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.migrate import migrate
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings, SettingsError


@pytest.fixture(params=RELEASES)
def operators_server(request: pytest.FixtureRequest, open_dir: Path) -> Iterator[Database]:
    """A server that knows nothing of us yet, as its superuser sees it."""
    with operators(request.param, open_dir) as database:
        yield database


def _owned_by(server: Database, attributes: str) -> str:
    """The URL of a new database whose owner is a new role with these attributes."""
    with psycopg.connect(server.owner_url, autocommit=True) as superuser:
        superuser.execute(f"CREATE ROLE acme LOGIN PASSWORD 'p@ss/word' {attributes}")
        superuser.execute("CREATE DATABASE acme OWNER acme")
    return on(server, "acme", "acme", "p%40ss%2Fword")


def test_an_owner_that_is_no_superuser_makes_roles_and_tables(operators_server: Database) -> None:
    url = _owned_by(operators_server, "CREATEROLE")
    database = Database.from_settings(Settings.load(database_url=url))
    with running(Settings.load(database_url=url)) as same:
        assert same == database
    assert migrate(database) == migrate(database)
    company = uuid4()
    with Pool(database.owner_url) as owner, owner.company(company) as connection:
        connection.execute("INSERT INTO companies VALUES (%s, 'Acme', 'growth', now())", (company,))
    with Pool(database.app_url) as app, app.company(company) as connection:
        assert connection.execute("SELECT name FROM companies").fetchall() == [("Acme",)]
    engine = create_engine(database.dagster_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE runs (id int)")
        assert connection.exec_driver_sql("SELECT to_regclass('dagster.runs')::text").scalar() == "runs"
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    engine.dispose()


def test_who_wrote_is_seen_across_companies_and_nothing_else_is(operators_server: Database) -> None:
    """The function that names stale companies runs as an owner that row-level security binds, too."""
    database = Database.from_settings(Settings.load(database_url=_owned_by(operators_server, "CREATEROLE")))
    migrate(database)
    wrote, quiet = uuid4(), uuid4()
    for company, links in ((wrote, 3), (quiet, 0)):
        with Pool(database.owner_url) as owner, owner.company(company) as connection:
            connection.execute("INSERT INTO companies VALUES (%s, 'Acme', 'growth', now())", (company,))
            connection.execute("INSERT INTO company_counters (company_id, links) VALUES (%s, %s)", (company, links))
    with Pool(database.app_url) as app:
        with app.system() as connection:
            assert snapshots.stale(connection, date(2026, 11, 21)) == [(wrote, "acme", 3, None, False, False, 0, None)]
            assert connection.execute("SELECT count(*) FROM company_counters").fetchone() == (0,)
        with app.company(quiet) as connection:
            assert connection.execute("SELECT company_id FROM company_counters").fetchall() == [(quiet,)]
    with Pool(database.owner_url) as owner, owner.company(quiet) as connection:
        assert connection.execute("SELECT company_id FROM company_counters").fetchall() == [(quiet,)]


def test_an_owner_that_may_not_make_roles_is_told_which_to_make(operators_server: Database) -> None:
    url = _owned_by(operators_server, "NOCREATEROLE")
    with pytest.raises(SettingsError, match="The role pcds_app is missing"):
        migrate(Database.from_settings(Settings.load(database_url=url)))


def test_an_owner_that_may_not_make_the_schema_is_told_which_to_make(operators_server: Database) -> None:
    url = _owned_by(operators_server, "NOCREATEROLE")
    with psycopg.connect(operators_server.owner_url) as superuser:
        superuser.execute("CREATE ROLE pcds_app LOGIN")
        superuser.execute("CREATE ROLE pcds_dagster LOGIN")
    plain = Database(
        url, on(operators_server, "acme", "pcds_app", "x"), on(operators_server, "acme", "pcds_dagster", "x")
    )
    with pytest.raises(SettingsError, match="CREATE SCHEMA dagster AUTHORIZATION pcds_dagster"):
        migrate(plain)


def test_roles_made_by_hand_are_used_as_they_are(operators_server: Database) -> None:
    url = _owned_by(operators_server, "NOCREATEROLE")
    with psycopg.connect(on(operators_server, "acme")) as superuser:
        superuser.execute("CREATE ROLE pcds_app LOGIN PASSWORD 'by hand'")
        superuser.execute("CREATE ROLE pcds_dagster LOGIN PASSWORD 'by hand'")
        superuser.execute("CREATE SCHEMA dagster AUTHORIZATION pcds_dagster")
    address = url.rpartition("@")[2]
    database = Database.from_settings(
        Settings.load(
            database_url=url,
            app_database_url=f"postgresql://pcds_app:by%20hand@{address}",
            dagster_database_url=f"postgresql://pcds_dagster:by%20hand@{address}",
        )
    )
    migrate(database)
    with Pool(database.app_url) as app, app.system() as connection:
        assert connection.execute("SELECT count(*) FROM plans").fetchone() == (4,)


def test_passwords_follow_from_the_owners_and_differ() -> None:
    first = Database.from_settings(Settings.load(database_url="postgresql://o:one@h:5433/d"))
    assert first == Database.from_settings(Settings.load(database_url="postgresql://o:one@h:5433/d"))
    passwords = {url.split(":")[2].split("@")[0] for url in (first.owner_url, first.app_url, first.dagster_url)}
    assert len(passwords) == 3
    assert first.app_url.endswith("@h:5433/d")
    assert "one" not in repr(first)


def test_an_owner_without_a_password_needs_the_roles_urls() -> None:
    with pytest.raises(SettingsError, match="PCDS_APP_DATABASE_URL"):
        Database.from_settings(Settings.load(database_url="postgresql://owner@host/d"))


def test_a_directory_without_a_database_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no database"):
        Database.from_settings(Settings.load(data_dir=tmp_path))
