"""The embedded Postgres across a major version: nothing is lost, and killed at any moment the next start goes on."""

import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import psycopg
import pytest

from services import audit
from tests.commands import called
from tests.conftest import migrated
from tests.servers import made
from warehouse.backup import check, restore
from warehouse.companies.queries import every_company
from warehouse.database import OWNER, Address, Database
from warehouse.embedded import Server, ServerError, clusters, contents, kept, running
from warehouse.sessions import Pool
from warehouse.settings import Settings

OLD = "15"
ROWS = Path(__file__).parent / "releases" / "0035.tar.gz"
SECRET = "secret-of-the-old-cluster"
_KILLED = """
import os, signal, sys
from unittest.mock import patch
from warehouse.embedded import contents, running, upgrade
from warehouse.settings import Settings
where, times = sys.argv[2].split(":")
module, name = where.split(".")
module = {"contents": contents, "upgrade": upgrade}[module]
real, left = getattr(module, name), int(times)
def killed(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
with patch.object(module, name, killed), running(Settings.load(data_dir=sys.argv[1]), durable=False):
    pass
"""


@pytest.fixture(scope="module")
def older() -> Iterator[Path]:
    """A data directory with the rows of a company, whose cluster an older Postgres made; it was stopped in a hurry."""
    with tempfile.TemporaryDirectory(prefix="pcds-major-", ignore_cleanup_errors=True) as directory:
        root, data = Path(directory), Path(directory) / "data"
        root.chmod(0o711)
        data.mkdir(mode=0o711)
        with made(OLD, root / "home", OWNER, SECRET) as port:
            Address.file(data).touch(mode=0o600)
            Address.file(data).write_bytes(orjson.dumps({"host": "127.0.0.1", "port": port, "secret": SECRET}))
            with tarfile.open(ROWS) as packed:
                packed.extractall(root / "backup", filter="data")
            settings = Settings.load(data_dir=data)
            database = Database.of(settings)
            with psycopg.connect(database.owner_url) as owner:  # embedded builds are made without ICU
                owner.execute("DELETE FROM pg_collation WHERE collprovider = 'i'")
            at = datetime(2026, 11, 24, tzinfo=UTC)
            restore(settings, database, check(root / "backup", None), at=at, keep_keys=True)
            with psycopg.connect(database.owner_url, autocommit=True) as owner:
                owner.execute("CREATE DATABASE notes")
            with psycopg.connect(database.named("notes").owner_url) as owner:
                owner.execute("CREATE TABLE kept AS SELECT 1 AS held")
        (root / "home" / "data").rename(data / "postgres")
        yield data


@pytest.fixture
def here(older: Path, open_dir: Path) -> Iterator[Settings]:
    """A copy of it for one test."""
    data = open_dir / "data"
    subprocess.run(["cp", "-a", older, data], check=True)
    yield Settings.load(data_dir=data)
    Server(data).stop()


def _is_whole(settings: Settings) -> None:
    """The service's own server serves every row, as the roles of its processes see them."""
    with running(settings, durable=False) as database:
        with psycopg.connect(database.owner_url) as owner:
            assert owner.info.server_version // 10_000 == clusters.own_major() > int(OLD)
            assert owner.execute("SHOW fsync").fetchone() == ("off",)
        with psycopg.connect(database.named("notes").owner_url) as owner:
            assert owner.execute("SELECT held FROM kept").fetchall() == [(1,)]
        with Pool(database.app_url) as pool:
            with pool.system() as nobody:
                assert nobody.execute("SELECT count(*) FROM skus").fetchone() == (0,)
            [company] = every_company(pool)
            with pool.company(company) as connection:
                held = connection.execute("SELECT sku_code, version FROM skus").fetchall()
                assert held == [("OLD-1", 2)]
                assert audit.verify(connection).ok
        with psycopg.connect(database.dagster_url.replace("+psycopg2", "")) as runs:
            assert runs.execute("SELECT current_user, current_setting('search_path')").fetchone() == (
                "pcds_dagster",
                "dagster",
            )


def _names(settings: Settings) -> list[str]:
    """What there is of clusters in the data directory."""
    return sorted(path.name for path in settings.data_dir.glob("postgres*") if path.is_dir())


def test_all_is_brought_over_and_the_old_cluster_is_kept_until_it_is_let_go(here: Settings) -> None:
    _is_whole(here)
    assert _names(here) == ["postgres", f"postgres.{OLD}"]
    found = called("doctor", "--data-dir", here.data_dir, "--json")
    assert "old_cluster" in {each["check"] for each in orjson.loads(found.stdout)["problems"]}
    gone = called("drop-old-cluster", "--data-dir", here.data_dir, "--json")
    assert gone.returncode == 0, gone.stderr
    removed = [str(here.data_dir / f"postgres.{OLD}")]
    assert orjson.loads(gone.stdout) == {"companies_verified": 1, "removed": removed}
    assert (_names(here), kept(here.data_dir)) == (["postgres"], [])


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("upgrade._copy_rows:2", ["postgres"]),
        ("contents.differing:1", ["postgres"]),
        ("upgrade._rename:1", ["postgres", "postgres.new"]),
        ("upgrade._rename:2", [f"postgres.{OLD}", "postgres.new"]),
    ],
)
def test_killed_at_any_moment_the_next_start_goes_on(here: Settings, where: str, left: list[str]) -> None:
    program = [sys.executable, "-c", _KILLED, here.data_dir, where]
    done = subprocess.run(program, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [name for name in _names(here) if "-" not in name] == left
    _is_whole(here)
    assert _names(here) == ["postgres", f"postgres.{OLD}"]


def test_without_the_old_programs_it_says_what_to_do_and_changes_nothing(here: Settings, tmp_path: Path) -> None:
    settings = Settings.load(data_dir=here.data_dir, old_postgres_bin=tmp_path)
    with pytest.raises(ServerError, match=rf"apt install postgresql-{OLD}.*PCDS_OLD_POSTGRES_BIN"), running(settings):
        pass
    assert _names(here) == ["postgres"]
    _is_whole(here)


def test_what_is_in_the_way_is_named(here: Settings) -> None:
    before = here.data_dir / f"postgres.{OLD}"
    before.mkdir()
    with pytest.raises(ServerError, match="from an upgrade before it"), running(here):
        pass
    before.rmdir()
    _is_whole(here)


def test_a_newer_cluster_is_left_alone(open_dir: Path) -> None:
    cluster = open_dir / "data" / "postgres"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("99\n", encoding="ascii")
    with (
        pytest.raises(ServerError, match="made by Postgres 99; this release brings"),
        running(Settings.load(data_dir=open_dir / "data")),
    ):
        pass


def test_a_copy_that_differs_is_found(server: Database, database: Database) -> None:
    with migrated(server) as other:
        assert contents.differing(database.owner_url, database.owner_url) == []
        with psycopg.connect(other.owner_url) as owner:
            owner.execute("UPDATE plans SET sku_limit = 77 WHERE plan = 'starter'")
            owner.execute("DROP POLICY company ON brands")
            owner.execute("ALTER TABLE sites DISABLE ROW LEVEL SECURITY")
        found = contents.differing(database.owner_url, other.owner_url)
    assert {"policies", "row-level security", "table plans"} <= {*found}
