"""Migrations and models agree, and the database holds what the isolation of companies rests on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import errors, sql
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from warehouse.operate.database import APP, Database
from warehouse.operate.migrate import migrate
from warehouse.tables import metadata

Owner = psycopg.Connection[tuple[object, ...]]
APPEND_ONLY = (
    "audit_transactions",
    "audit_entries",
    "sku_versions",
    "issued_declarations",
    "issued_translations",
    "kept_declarations",
)
"""Tables whose rows the application's role may read and add, but never change or remove."""


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with psycopg.connect(database.owner_url) as connection:
        yield connection


def test_migrations_make_what_the_models_say(database: Database) -> None:
    engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_name": _not_alembics}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    engine.dispose()


def _not_alembics(name: str | None, kind: str, parents: object) -> bool:
    return not (kind == "table" and name == "alembic_version")


def test_every_table_of_a_company_has_forced_row_level_security(owner: Owner) -> None:
    with_a_company = {
        name
        for (name,) in owner.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'public' AND column_name = 'company_id'"
        )
    }
    assert with_a_company == {name for name, table in metadata.tables.items() if "company_id" in table.columns}
    secured = owner.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
    assert {name for (name,) in secured} == with_a_company | {"companies"}
    for table in with_a_company | {"companies"}:
        policy = owner.execute(
            "SELECT qual = with_check FROM pg_policies WHERE tablename = %s AND policyname = 'company' AND cmd = 'ALL'"
            " AND roles = '{public}'",
            (table,),
        )
        assert policy.fetchall() == [(True,)], table


def test_no_policy_but_the_companys_own_lets_the_application_in(owner: Owner) -> None:
    others = owner.execute("SELECT tablename, policyname, roles::text FROM pg_policies WHERE policyname <> 'company'")
    for table, policy, roles in others:
        assert str(roles) not in ("{public}", f"{{{APP}}}"), (table, policy)


def test_the_application_owns_nothing_and_cannot_bypass(owner: Owner) -> None:
    attributes = "rolsuper, rolbypassrls, rolcreaterole, rolcreatedb"
    assert owner.execute(f"SELECT {attributes} FROM pg_roles WHERE rolname = %s", (APP,)).fetchone() == (False,) * 4
    # Tables that its sessions stage rows in are temporary; they may be there from a test before this one.
    owned = "SELECT count(*) FROM pg_class WHERE relowner = %s::regrole AND relpersistence <> 't'"
    assert owner.execute(owned, (APP,)).fetchone() == (0,)
    member_of = "SELECT count(*) FROM pg_auth_members WHERE member = %s::regrole"
    assert owner.execute(member_of, (APP,)).fetchone() == (0,)


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_the_database_refuses_to_change_what_is_append_only(database: Database, table: str) -> None:
    statements = (f"DELETE FROM {table}", f"UPDATE {table} SET company_id = company_id", f"TRUNCATE {table}")
    with psycopg.connect(database.app_url, autocommit=True) as app:
        for statement in statements:
            with pytest.raises(errors.InsufficientPrivilege):
                app.execute(statement)


def test_the_application_cannot_raise_its_own_plan(database: Database) -> None:
    with psycopg.connect(database.app_url, autocommit=True) as app:
        for statement in ("UPDATE companies SET plan = 'enterprise'", "UPDATE plans SET sku_limit = NULL"):
            with pytest.raises(errors.InsufficientPrivilege):
                app.execute(statement)


def test_several_processes_migrate_at_once_and_again(server: Database) -> None:
    name = f"pcds_race_{id(object())}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            with ThreadPoolExecutor(3) as threads:
                revisions = set(threads.map(migrate, [server.with_name(name)] * 3))
            assert revisions == {migrate(server.with_name(name))}
        finally:
            owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
