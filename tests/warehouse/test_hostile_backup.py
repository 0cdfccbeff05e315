"""A backup that somebody else has made or altered: refused before anything is touched, and nothing of it is run."""

import gzip
import hashlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import Any
from uuid import uuid4

import orjson
import psycopg
import pytest
from typer.testing import CliRunner

from api import cli
from tests.conftest import migrated
from warehouse.operate.backup.restore import check, restore
from warehouse.operate.backup.take import BackupError, Held, back_up, find_key, seal_of
from warehouse.operate.database import Database
from warehouse.operate.migrate import migrate
from warehouse.operate.settings import Settings

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
COMPANY = uuid4()
Change = Callable[[Path, dict[str, Any]], None]


@pytest.fixture(scope="module")
def good(server: Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A company's data with a file, and a good backup of it: made once, and altered in copies."""
    place = tmp_path_factory.mktemp("good")
    file = place / "data" / "objects" / str(COMPANY) / "file"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"PDF")
    with migrated(server) as source:
        with psycopg.connect(source.owner_url) as owner:
            owner.execute("INSERT INTO companies VALUES (%s, 'A', 'growth', %s)", (COMPANY, AT))
        back_up(Settings.load(data_dir=place / "data"), source, place / "backup")
    return place


@pytest.fixture
def here(good: Path, tmp_path: Path) -> Settings:
    return Settings.load(data_dir=copytree(good / "data", tmp_path / "data"))


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    return copytree(good / "backup", tmp_path / "backup")


def object_of(folder: Path) -> Path:
    return folder / "objects" / str(COMPANY) / "file"


def link(folder: Path) -> None:
    object_of(folder).unlink()
    object_of(folder).symlink_to("/etc/hostname")


def hard_link(folder: Path) -> None:
    os.link(object_of(folder), folder.parent / "outside")


def linked_folder(folder: Path) -> None:
    (folder / "objects" / str(COMPANY)).rename(folder.parent / "elsewhere")
    (folder / "objects" / str(COMPANY)).symlink_to(folder.parent / "elsewhere", target_is_directory=True)


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "objects" / str(COMPANY) / "pipe")


def linked_list(folder: Path) -> None:
    (folder / "backup.json").rename(folder.parent / "list.json")
    (folder / "backup.json").symlink_to(folder.parent / "list.json")


@pytest.mark.parametrize("change", [link, hard_link, linked_folder, pipe, linked_list])
@pytest.mark.parametrize("sealed", [True, False])
def test_links_and_devices_are_refused(
    change: Callable[[Path], None], sealed: bool, folder: Path, here: Settings
) -> None:
    change(folder)
    with pytest.raises(BackupError, match=r"is a link or a device|cannot be read"):
        check(folder, (lambda: find_key(here, None)) if sealed else None)


def listed(folder: Path) -> dict[str, Any]:
    return dict(orjson.loads((folder / "backup.json").read_bytes()))


def write_list(folder: Path, held: dict[str, Any], key: bytes = b"another deployment's key") -> None:
    """The list as a forger writes it, who has any key but ours."""
    sealed = orjson.dumps({name: value for name, value in held.items() if name != "seal"}, option=orjson.OPT_SORT_KEYS)
    (folder / "backup.json").write_bytes(orjson.dumps(held | {"seal": seal_of(key, sealed)}))


def test_a_seal_of_another_key_is_refused_and_nothing_is_made(folder: Path, here: Settings, tmp_path: Path) -> None:
    write_list(folder, listed(folder))
    assert Held.read((folder / "backup.json").read_bytes(), folder)
    new = tmp_path / "new"
    for words, sentence in (
        (["--key", str(here.data_dir / "backup.key")], "not sealed by this key"),
        ([], "There is no key"),
    ):
        told = CliRunner().invoke(
            cli.build_program(["restore"]), ["restore", *words, str(folder), "--data-dir", str(new)]
        )
        assert sentence in str(told.exception)
        assert not new.exists()


def renamed_table(folder: Path, held: dict[str, Any]) -> None:
    name = "companies\" (id) FROM PROGRAM 'touch x' --"
    held["tables"][name] = held["tables"].pop("companies")
    held["files"][f"tables/{name}.copy.gz"] = held["files"].pop("tables/companies.copy.gz")


def renamed_column(folder: Path, held: dict[str, Any]) -> None:
    held["tables"]["companies"][0] = "id) FROM PROGRAM 'touch x'; --"


def foreign_table(folder: Path, held: dict[str, Any]) -> None:
    held["tables"]["alembic_version"] = ["version_num"]
    write_rows(folder, held, "alembic_version", b"0001\n")


def foreign_column(folder: Path, held: dict[str, Any]) -> None:
    held["tables"]["companies"][0] = "ctid"


def newer(folder: Path, held: dict[str, Any]) -> None:
    held["revision"] = "9999"


def escaping(folder: Path, held: dict[str, Any]) -> None:
    held["files"]["objects/../../outside"] = "0" * 64


def cut_rows(folder: Path, held: dict[str, Any]) -> None:
    write_rows(folder, held, "companies", b"not a row\n")


def no_gzip(folder: Path, held: dict[str, Any]) -> None:
    write_rows(folder, held, "companies", None)


def strangers_key(folder: Path, held: dict[str, Any]) -> None:
    """A key of a company that is none: foreign keys look at every row again."""
    columns = ["id", "company_id", "user_id", "client_id", "scopes", "authorised_at", "last_used_at", "revoked_at"]
    held["tables"]["connections"] = columns
    values = [str(COMPANY)] * 3 + ["nobody", "{read}", "2026-01-01", r"\N", r"\N"]
    write_rows(folder, held, "connections", ("\t".join(values) + "\n").encode())


def write_rows(folder: Path, held: dict[str, Any], table: str, rows: bytes | None) -> None:
    path = folder / "tables" / f"{table}.copy.gz"
    path.write_bytes(b"no gzip" if rows is None else gzip.compress(rows))
    held["files"][f"tables/{table}.copy.gz"] = hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [renamed_table, renamed_column, foreign_table, foreign_column, newer, escaping, cut_rows, no_gzip, strangers_key],
)
def test_what_a_forger_writes_without_a_seal_is_refused_whole(
    change: Change, folder: Path, empty: Database, tmp_path: Path
) -> None:
    """As if the key were lost: names are compared, rows are rows, and what came before the fault is taken back."""
    held = listed(folder)
    change(folder, held)
    write_list(folder, held)
    new = Settings.load(data_dir=tmp_path / "new")
    new.data_dir.mkdir()
    with pytest.raises(BackupError):
        restore(new, empty, check(folder, None), at=AT, keep_keys=True)
    assert not (new.data_dir / "objects").exists()
    migrate(empty)
    with psycopg.connect(empty.owner_url) as owner:
        for table, rows in (("companies", 0), ("connections", 0), ("plans", 4)):
            assert owner.execute(f"SELECT count(*) FROM {table}").fetchone() == (rows,)


def test_a_dump_is_not_run(folder: Path) -> None:
    (folder / "database.dump").write_bytes(b"COPY (SELECT 1) TO PROGRAM 'touch x'")
    older = {"database.dump": hashlib.sha256((folder / "database.dump").read_bytes()).hexdigest()}
    (folder / "backup.json").write_bytes(orjson.dumps(older))
    with pytest.raises(BackupError, match="a release before the first that can be upgraded, or a newer one, made it"):
        check(folder, None)
