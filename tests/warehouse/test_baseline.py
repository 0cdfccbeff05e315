"""A database at the last revision before the baseline is compared and stamped; an older or altered one is refused."""

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.revisions import BEFORE_BASELINE, head, revision_of, strange
from warehouse.operate.settings import SettingsError

ALTERED = {
    "a column": "ALTER TABLE skus ADD COLUMN extra text",
    "a missing index": "DROP INDEX ix_docs_newest",
    "a function's body": "CREATE OR REPLACE FUNCTION pcds_stamp_visible(moved interval) RETURNS bigint "
    "LANGUAGE sql SECURITY DEFINER AS 'SELECT 0::bigint'",
    "a policy": "DROP POLICY owner_sweeps ON kept_answers",
    "isolation": "ALTER TABLE skus NO FORCE ROW LEVEL SECURITY",
    "the company's own policy": "DROP POLICY company ON skus",
}


@pytest.fixture
def before(server: Database) -> Iterator[Database]:
    """A database that says of itself to stand at the last revision before the baseline."""
    name = f"pcds_before_{uuid4().hex[:8]}"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    database = server.with_name(name)
    migrate(database, "0001")
    change(database, f"UPDATE alembic_version SET version_num = '{BEFORE_BASELINE}'")
    yield database
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def change(database: Database, statement: str) -> None:
    with psycopg.connect(database.owner_url) as owner:
        owner.execute(statement)


def stands_at(database: Database) -> str | None:
    with psycopg.connect(database.owner_url) as owner:
        return revision_of(owner)


def test_the_last_revision_before_is_stamped_as_the_baseline_and_brought_to_this_release(before: Database) -> None:
    change(before, "INSERT INTO companies VALUES (gen_random_uuid(), 'Acme', 'growth', now())")
    change(before, "COMMENT ON COLUMN audit_transactions.digest_version IS 'as the first releases put it'")
    change(before, "COMMENT ON TABLE skus IS 'as somebody put it'")
    assert migrate(before) == head() == stands_at(before) == migrate(before)
    with psycopg.connect(before.owner_url) as owner:
        assert owner.execute("SELECT count(*) FROM companies").fetchone() == (1,)


@pytest.mark.parametrize("what", ALTERED)
def test_tables_that_somebody_altered_are_refused_as_they_are(before: Database, what: str) -> None:
    change(before, ALTERED[what])
    with pytest.raises(SettingsError, match="not as that revision made them"):
        migrate(before)
    assert stands_at(before) == BEFORE_BASELINE


@pytest.mark.parametrize("revision", ["0034", "0035", "0054"])
def test_an_older_database_is_refused_in_one_sentence(before: Database, revision: str) -> None:
    change(before, f"UPDATE alembic_version SET version_num = '{revision}'")
    with pytest.raises(SettingsError, match=f"revision {revision}.*Bring them to revision {BEFORE_BASELINE}"):
        migrate(before)
    assert stands_at(before) == revision


@pytest.mark.parametrize("revision", [f"{number:04}" for number in range(1, 12)])
def test_the_first_releases_had_the_numbers_of_ours_and_are_told_from_them(before: Database, revision: str) -> None:
    change(before, f"UPDATE alembic_version SET version_num = '{revision}'; DROP TABLE key_probes")
    with pytest.raises(SettingsError, match="before the first that can be upgraded"):
        migrate(before)
    with psycopg.connect(before.owner_url) as owner:
        fault = strange(owner)
    assert fault is not None
    assert BEFORE_BASELINE in fault.remedy, "which is what `pcds doctor` says, not `pcds migrate`"
