"""A ledger written by release 1, which knew no chain, after the migration that links it."""

from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from services.audit import verify
from warehouse import migrations, roles
from warehouse.database import Database
from warehouse.embedded import running
from warehouse.migrate import migrate
from warehouse.sessions import Pool
from warehouse.settings import Settings

_COMPANY = """
SELECT set_config('app.company_id', %(company)s::text, false);
INSERT INTO companies VALUES (%(company)s, 'Acme', 'enterprise', now());
INSERT INTO company_counters (company_id, skus) VALUES (%(company)s, 2);
"""
_TRANSACTION = """
INSERT INTO audit_transactions (id, company_id, at, actor_type, actor_name, correlation_id, ip)
VALUES (%(id)s, %(company)s, '2026-08-01T00:00Z'::timestamptz + %(hour)s * interval '1 hour', 'api_key', 'ERP', 'c',
        '192.0.2.1')
"""
_SKU = """
INSERT INTO {table} (id, company_id, sku_code, name, components, markets, weight_grams, recyclability_grade,
                     grade_provisional, ruleset_version, version, transaction_id, created_at, updated_at)
VALUES (%(sku)s, %(company)s, %(code)s, 'Été', '[{{"id": "1"}}]', '{{FR,DE}}', 1e-7, 'A', true, '2026-11-21',
        %(version)s, %(id)s, now(), now())
"""
_ENTRY = """
INSERT INTO audit_entries (company_id, transaction_id, action, resource_id, version, after)
VALUES (%(company)s, %(id)s, %(action)s, %(resource)s, %(version)s, %(after)s)
"""


@pytest.fixture
def release_1(open_dir: Path):
    """A database as release 1 left it, whose owner is no superuser and so bound by row-level security."""
    with running(Settings.load(data_dir=open_dir), durable=False) as server:
        with psycopg.connect(server.owner_url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE acme LOGIN PASSWORD 'acme' CREATEROLE")
            superuser.execute("CREATE DATABASE acme OWNER acme")
        address = server.owner_url.rpartition("@")[2].replace("/postgres?", "/acme?")
        database = Database.of(Settings.load(database_url=f"postgresql://acme:acme@{address}"))
        with psycopg.connect(database.owner_url) as owner:
            roles.prepare(owner, database)
        config = Config()
        config.set_main_option("script_location", str(Path(next(iter(migrations.__path__)))))
        engine = create_engine(make_url(database.owner_url).set(drivername="postgresql+psycopg"))
        with engine.connect() as config.attributes["connection"]:
            command.upgrade(config, "0005")
        engine.dispose()
        yield database


def _write(database: Database, company: UUID) -> None:
    """Two SKUs created and one changed, between them an entry of another kind, entered out of their order in time."""
    first, second = uuid4(), uuid4()
    with psycopg.connect(database.owner_url) as owner:
        for statement in filter(str.strip, _COMPANY.split(";")):
            owner.execute(statement, {"company": company})
        for hour, action, skus in ((3, "sku.updated", (first,)), (1, "sku.created", (first, second))):
            values = {"id": uuid4(), "company": company, "hour": hour, "action": action, "after": None}
            owner.execute(_TRANSACTION, values)
            for sku in skus:
                version = 2 if hour == 3 else 1
                row = {**values, "sku": sku, "code": str(sku), "resource": str(sku), "version": version}
                table = "sku_versions" if (sku, version) == (first, 1) else "skus"
                owner.execute(_SKU.format(table=table), row)
                owner.execute(_ENTRY, row)
        values = {"id": uuid4(), "company": company, "hour": 2, "action": "brand.created", "version": None}
        owner.execute(_TRANSACTION, values)
        owner.execute(_ENTRY, {**values, "resource": "b", "after": '{"name":  "spaces stay"}'})


@pytest.mark.long
def test_what_was_there_is_linked_in_its_order_and_verified_from_then_on(release_1):
    companies = [uuid4(), uuid4()]
    for company in companies:
        _write(release_1, company)
    migrate(release_1)
    with Pool(release_1.app_url) as pool:
        for company in companies:
            with pool.company(company) as conn:
                assert (verify(conn).entries, verify(conn).first_bad) == (4, None)
                actions = conn.execute("SELECT id, action FROM audit_entries ORDER BY id").fetchall()
            assert [action for _, action in actions] == ["sku.created", "sku.created", "brand.created", "sku.updated"]
            assert [number for number, _ in actions] == [1, 2, 3, 4]
    with psycopg.connect(release_1.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(companies[0])])
        owner.execute("UPDATE sku_versions SET name = 'Ete'")
    with Pool(release_1.app_url) as pool:
        first_bad = []
        for company in companies:
            with pool.company(company) as conn:
                first_bad.append(verify(conn).first_bad)
    assert first_bad[0] in ("1", "2")
    assert first_bad[1] is None
