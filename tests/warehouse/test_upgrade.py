"""An upgrade from the last release's rows: each migration since then meets rows that its release really wrote.

`releases/0035.tar.gz` is a backup that release wrote of a small company: keys, a person, two versions of a SKU, another
that is archived, and its ledger. When a release is cut, its own comes beside it, under its newest migration.
"""

import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from pipelines.regrading import asked_of
from services import audit
from warehouse.backup import check, restore
from warehouse.companies.queries import every_company
from warehouse.database import Database
from warehouse.migrate import migrate
from warehouse.revisions import head, revision_of
from warehouse.sessions import Pool
from warehouse.settings import Settings
from warehouse.tables import metadata

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.tar.gz"))


@pytest.fixture
def empty(server: Database) -> Iterator[Database]:
    name = f"pcds_upgrade_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    yield server.named(name)
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name.partition(".")[0])
def test_rows_of_an_earlier_release_are_this_ones_after_its_migrations(
    release: Path, empty: Database, tmp_path: Path
) -> None:
    with tarfile.open(release) as packed:
        packed.extractall(tmp_path / "backup", filter="data")
    whole = check(tmp_path / "backup", None)
    assert whole.held is not None
    assert whole.held.revision == release.name.partition(".")[0] != head()
    settings = Settings.load(data_dir=tmp_path / "data")
    settings.data_dir.mkdir()
    restore(settings, empty, whole, at=datetime(2026, 11, 24, tzinfo=UTC), keep_keys=True)
    with psycopg.connect(empty.owner_url) as owner:
        assert revision_of(owner) == head()
        tables = {name for (name,) in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
        assert {*metadata.tables} <= tables
    with Pool(empty.app_url) as pool:
        [company] = every_company(pool)
        with pool.system() as connection:
            [asked] = asked_of(connection)
        assert (asked.company_id, asked.version) == (company, "2026-11-22"), "what words give changed since"
        with pool.company(company) as connection:
            names = connection.execute("SELECT sku_code, name, version FROM skus ORDER BY sku_code").fetchall()
            assert names == [("OLD-1", "Jar, 370 ml", 2)]
            assert connection.execute("SELECT email, role FROM users").fetchall() == [
                ("ann@brand.example", "administrator")
            ]
            verdict = audit.verify(connection)
    assert (verdict.ok, verdict.entries >= 6) == (True, True)
    assert migrate(empty) == head(), "a second migration finds nothing to do"
