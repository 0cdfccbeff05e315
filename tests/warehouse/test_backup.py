"""A backup comes back on another server, release or owner; who had signed in signs in again."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest

from schemas.actors import Origin
from services.audit import enter_revocations
from tests.conftest import migrated
from tests.servers import RELEASES, on, operators
from warehouse.operate.backup.restore import Restored, check, restore
from warehouse.operate.backup.take import BackupError, back_up, find_key
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ENDED = (
    "api_keys WHERE revoked_at IS NULL",
    "connections WHERE revoked_at IS NULL",
    "user_sessions",
    "staff_sessions",
    "bearer_tokens",
    "password_links",
    "connection_tokens",
    "authorization_codes",
    "recovery_codes",
    "supplier_enquiries WHERE withdrawn_at IS NULL",
    "supplier_requests WHERE token_hash IN ('l', 'm')",
    "webhooks WHERE state = 'active'",
)
"""Every credential that a restored database could take."""
ENQUIRY = "supplier_enquiries (id, company_id, supplier_name, token_hash, expires_at, created_at)"
WEBHOOK = "webhooks (id, company_id, url, state, secret, position, failures, created_at, updated_at)"
CODES = (
    "authorization_codes (code_hash, company_id, connection_id, redirect_uri, code_challenge, resource, scopes, "
    "expires_at)"
)


class Other(NamedTuple):
    """A database of an owner who is no superuser, and its server as the superuser sees it."""

    database: Database
    server: Database


@pytest.fixture
def source(server: Database) -> Iterator[Database]:
    with migrated(server) as database:
        yield database


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    (tmp_path / "data").mkdir()
    return Settings.load(data_dir=tmp_path / "data")


def put_credentials(database: Database) -> UUID:
    """A company with one credential of every kind, all of them live."""
    company, key, user, connection, later = uuid4(), uuid4(), uuid4(), uuid4(), datetime(2199, 1, 1, tzinfo=UTC)
    staff = uuid4()
    with psycopg.connect(database.owner_url) as owner:
        insert = [
            ("companies (id, name, plan, created_at)", (company, 'A \\ "b"\n\té', "growth", AT)),
            ("company_counters (company_id)", (company,)),
            ("api_keys (id, company_id, name, key_hash, scopes, created_at)",
             (key, company, "ERP", b"\x00\\key", ["read"], AT)),
            ("bearer_tokens (token_hash, company_id, client_id, scopes, expires_at)",
             (b"t", company, key, ["read"], later)),
            ("users (id, company_id, email, password_hash, created_at, role)",
             (user, company, "a@b.example", "h", AT, "editor")),
            ("user_sessions (token_hash, company_id, user_id, seen_at, expires_at)", (b"s", company, user, AT, later)),
            ("staff (id, email, role, password_hash, created_at)", (staff, "s@b.example", "analyst", "h", AT)),
            ("staff_sessions (token_hash, staff_id, seen_at, expires_at)", (b"f", staff, AT, later)),
            ("password_links (token_hash, company_id, user_id, expires_at)", (b"p", company, user, later)),
            ("recovery_codes (code_hash, company_id, user_id)", (b"r", company, user)),
            (ENQUIRY, (uuid4(), company, "P", b"e", later, AT)),
            (WEBHOOK, (uuid4(), company, "https://erp.example", "active", b"s", 0, 0, AT, AT)),
            ("oauth_clients (id, name, redirect_uris, auth_method, held_since)", ("c", "C", ["u"], "none", AT)),
            ("connections (id, company_id, user_id, client_id, scopes, authorised_at)",
             (connection, company, user, "c", ["read"], AT)),
            (CODES, (b"a", company, connection, "u", "x", "r", ["read"], later)),
            ("connection_tokens (token_hash, company_id, connection_id, family, kind, resource, scopes, expires_at)",
             (b"c", company, connection, uuid4(), "refresh", "r", ["read"], later)),
            *[("supplier_requests (id, company_id, sku_id, component_ids, token_hash, state, created_at, updated_at)",
               (uuid4(), company, uuid4(), [uuid4()], digest, state, AT, AT))
              for digest, state in ((b"l", "open"), (b"m", "awaiting_review"))],
        ]  # fmt: skip
        for into, values in insert:
            owner.execute(f"INSERT INTO {into} VALUES ({', '.join(['%s'] * len(values))})", values)
        for table in ENDED:
            assert owner.execute(f"SELECT count(*) FROM {table}").fetchone() == (
                2 if "supplier_requests" in table else 1,
            ), table
    return company


def bring(settings: Settings, database: Database, folder: Path, *, keep_keys: bool = False) -> Restored:
    whole = check(folder, lambda: find_key(settings, None))
    return restore(settings, database, whole, at=AT, keep_keys=keep_keys)


def alive(database: Database) -> list[int]:
    with psycopg.connect(database.owner_url) as owner:
        return [owner.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ENDED]


@pytest.fixture(params=RELEASES)
def elsewhere(request: pytest.FixtureRequest, open_dir: Path) -> Iterator["Other"]:
    """A new database of a server of each release; its owner is no superuser."""
    with operators(request.param, open_dir) as server:
        with psycopg.connect(server.owner_url, autocommit=True) as superuser:
            superuser.execute("CREATE ROLE there LOGIN CREATEROLE PASSWORD 'there'")
            superuser.execute("CREATE DATABASE there OWNER there")
        yield Other(Database.from_settings(Settings.load(database_url=on(server, "there", "there", "there"))), server)


def test_a_backup_goes_to_another_release_and_back_without_a_superuser(
    source: Database, elsewhere: Other, empty: Database, here: Settings, tmp_path: Path
) -> None:
    company, other = put_credentials(source), elsewhere.database
    back_up(here, source, tmp_path / "one")
    done = bring(here, other, tmp_path / "one")
    assert alive(other) == [0] * len(ENDED)
    assert [len(each) for each in done.ended[1:]] == [1, 1, 2, 1, 1]
    with Pool(other.app_url) as app:
        enter_revocations(app, done.ended, Origin("operator", "me", "operator", "c-1"))
        with app.company(company) as connection:
            assert connection.execute("SELECT name FROM companies").fetchall() == [('A \\ "b"\n\té',)]
            actions = connection.execute("SELECT action FROM audit_entries ORDER BY action").fetchall()
    of_suppliers = [("supplier_enquiry.withdrawn",), *[("supplier_request.closed",)] * 2]
    assert actions == [("api_key.revoked",), ("connection.revoked",), *of_suppliers, ("webhook.disabled",)]
    with psycopg.connect(other.owner_url) as owner:
        forced = "SELECT count(*) FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity"
        assert owner.execute(forced).fetchone() == (0,)
        keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
        with psycopg.connect(source.owner_url) as first:
            assert owner.execute(keys).fetchone() == first.execute(keys).fetchone()
    with pytest.raises(BackupError, match="BYPASSRLS"):
        back_up(here, other, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    with psycopg.connect(elsewhere.server.owner_url) as superuser:
        superuser.execute("ALTER ROLE there BYPASSRLS")
    back_up(here, other, tmp_path / "two")
    bring(here, empty, tmp_path / "two")
    with psycopg.connect(empty.owner_url) as owner:
        assert owner.execute("SELECT count(*) FROM audit_entries").fetchone() == (6,)


def test_keys_stay_where_that_is_asked_for_and_sessions_end_all_the_same(
    source: Database, empty: Database, here: Settings, tmp_path: Path
) -> None:
    put_credentials(source)
    back_up(here, source, tmp_path / "one")
    done = bring(here, empty, tmp_path / "one", keep_keys=True)
    assert alive(empty) == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1]
    assert done.ended[1:] == ((), (), (), (), ())


def test_every_table_that_holds_a_secret_ends_with_a_restore(source: Database) -> None:
    """A new table of sessions or tokens is told by its column of digests; what becomes of it is decided here."""
    hashes = "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name LIKE %s"
    with psycopg.connect(source.owner_url) as owner:
        found = {
            name for like in ("%token_hash", "%key_hash", "%code_hash") for (name,) in owner.execute(hashes, [like])
        }
    assert found == {table.partition(" ")[0] for table in ENDED} - {"connections", "webhooks"} | {"confirmations"}


def test_a_restore_that_was_killed_before_its_rows_is_run_again(
    source: Database, empty: Database, here: Settings, tmp_path: Path
) -> None:
    put_credentials(source)
    back_up(here, source, tmp_path / "one")
    migrate(empty)
    bring(here, empty, tmp_path / "one")
    with pytest.raises(BackupError, match="not empty"):
        bring(here, empty, tmp_path / "one")
