"""Every command where its surroundings are missing, or not its own: one plain sentence, and nothing is made.

The commands are those of the program itself, found by walking it, so that a new one is held to this too.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import psycopg
import pytest
import typer

from api import cli
from api.operate import serve
from api.operate.commands import looked_at
from schemas.operate import State
from tests import preloaded
from tests.api.test_commands import NOBODY
from tests.conftest import as_operators, migrated
from tools.ports import free_port
from warehouse.operate.database import Database
from warehouse.operate.revisions import head
from warehouse.operate.settings import Settings

VALUES = {UUID: NOBODY, int: "1", float: "1", datetime: "2026-01-01", date: "2026-01-01"}
"""A value of each type; a text where none is named. Nobody has the id: nothing is found, and nothing changed."""
AT_A_SERVICE = {"import"}
"""Speaks HTTP to a running service, and knows no data directory."""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from leaves(each, (*path, name))
    else:
        yield path, command


EVERY = dict(leaves(typer.main.get_command(cli.build_program(cli.COMMANDS))))
HERE = [path for path, command in EVERY.items() if path[0] not in AT_A_SERVICE]


def words(path: tuple[str, ...], data_dir: Path) -> list[str]:
    """A command line with a value for all that the command must have."""
    line = [*path]
    for parameter in EVERY[path].params:
        if parameter.required:
            value = VALUES.get(parameter.bare_type, "anything")
            line += [value] if parameter.param_type_name == "argument" else [parameter.opts[0], value]
    if path == ("serve",):
        line += ["--no-dagster-ui", "--no-demo", "--port", str(free_port()), "--dagster-port", str(free_port())]
    return (
        [*line, "--data-dir", str(data_dir)] if any("--data-dir" in each.opts for each in EVERY[path].params) else line
    )


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path):
    """Runs a command in this process: its exit status and its last words. A traceback would be an exception.

    The process that prepares a database for `serve` is forked: by itself it loads for three seconds.
    """
    monkeypatch.setattr(serve._Supervisor, "run", lambda *_, **__: None)
    monkeypatch.setattr(serve._Supervisor, "starting_api", lambda _: nullcontext())
    monkeypatch.setattr(serve, "_popen", preloaded.popen)
    monkeypatch.setattr(serve.logs, "configure", lambda _: None)
    monkeypatch.chdir(tmp_path)

    def run(path: tuple[str, ...], data_dir: Path, database_url: str) -> tuple[int, str]:
        monkeypatch.setenv("DATABASE_URL", database_url)
        monkeypatch.setattr(sys, "argv", ["pcds", *words(path, data_dir)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        err = capfd.readouterr().err
        assert "Traceback" not in err
        return int(ended.value.code or 0), err.strip().splitlines()[-1] if err.strip() else ""

    return run


@pytest.fixture(scope="module")
def empty(server: Database) -> Iterator[Database]:
    """A database of this release without a company."""
    with migrated(server) as made:
        yield as_operators(made)


@pytest.fixture
def unusable(empty: Database) -> Iterator[dict[str, str]]:
    """Addresses of databases that no command can use, by what is wrong with each."""
    guest = f"pcds_guest_{uuid4().hex[:8]}"
    with psycopg.connect(empty.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {guest} LOGIN PASSWORD 'guest'")
        yield {
            "database": empty.with_name(f"no_{uuid4().hex}").owner_url,
            "role": empty.app_url.replace("pcds_app", "pcds_nobody"),
            "address": "postgresql://a:b@[::1/x",
            "application": empty.app_url,
            "rights": urlunsplit(urlsplit(empty.app_url)._replace(netloc=f"{guest}:guest@")),
        }
        owner.execute(f"DROP ROLE {guest}")


MAKERS = {("serve",), ("migrate",), ("restore",)}
"""Bring a place into being; every other command works on one that is there."""


def test_outside_a_place_a_command_says_so_and_makes_nothing(said, tmp_path: Path) -> None:
    for path in HERE:
        status, sentence = said(path, tmp_path / "new" / "data", "") if path not in MAKERS else (1, ".")
        assert status in ((0,) if path == ("doctor",) else (1, 2)), (path, sentence)
        assert status != 1 or sentence.rstrip().endswith((".", "?")), (path, sentence)
        assert not (tmp_path / "new").exists(), path


def test_a_database_that_is_not_ours_stays_as_it_is(server: Database, said, tmp_path: Path) -> None:
    """By every command but those that bring a place into being; `doctor` says what it is."""
    name, count = (
        f"pcds_foreign_{uuid4().hex[:8]}",
        "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_roles)",
    )
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    try:
        with psycopg.connect(server.with_name(name).owner_url, autocommit=True) as owner:
            before = owner.execute(count).fetchone()
            for path in HERE:
                if path not in MAKERS:
                    said(path, tmp_path / "new", server.with_name(name).owner_url)
                    assert owner.execute(count).fetchone() == before, path
                    assert not (tmp_path / "new").exists(), path
        found = looked_at(Settings.load(data_dir=tmp_path, database_url=server.with_name(name).owner_url), ExitStack())
        assert [(problem.check, problem.wrong) for problem in found[0]] == [
            (State.MIGRATION, "The database has no tables of this service.")
        ]
    finally:
        with psycopg.connect(server.owner_url, autocommit=True) as owner:
            owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_of_a_newer_release_is_one_sentence_by_every_command(server: Database, said, tmp_path: Path) -> None:
    with migrated(server) as made:
        newer = as_operators(made)
        with psycopg.connect(newer.owner_url, autocommit=True) as owner:
            owner.execute("UPDATE alembic_version SET version_num = '9999'")
        (tmp_path / "data").mkdir()
        reached = set()
        for path in HERE:
            status, sentence = said(path, tmp_path / "data", newer.owner_url)
            if status == 1 and "newer release" in sentence:
                reached.add(path)
            else:  # refused before it looked at the database, or it needs none
                assert status == (0 if path == ("doctor",) else 2) or "anything" in sentence, (path, sentence)
    assert {("serve",), ("migrate",), ("company", "list"), ("backup",)} <= reached, reached
    assert len(reached) > len(HERE) / 3, reached


def test_doctor_leaves_a_database_of_an_earlier_postgres_to_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("15\n")
    (tmp_path / "postgres.json").write_text('{"host": "127.0.0.1", "port": 1, "secret": "s"}')
    (tmp_path / "postgres.json").chmod(0o600)
    before = sorted(path for path in tmp_path.rglob("*"))
    found, operator = looked_at(Settings.load(data_dir=tmp_path), ExitStack())
    assert ([problem.check for problem in found], operator) == ([State.POSTGRES], None)
    assert sorted(path for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", HERE, ids=" ".join)
def test_a_data_directory_that_cannot_be_made_is_one_sentence(path, said, empty: Database, tmp_path: Path) -> None:
    """Below a file nobody can make one, root neither."""
    (tmp_path / "file").touch()
    status, sentence = said(path, tmp_path / "file" / "data", empty.owner_url)
    assert status in (0, 1, 2), sentence
    assert status != 1 or sentence.rstrip().endswith((".", "?")), sentence


@pytest.mark.parametrize("path", HERE, ids=" ".join)
def test_a_database_that_is_not_there_is_one_sentence(path, said, tmp_path: Path) -> None:
    status, sentence = said(path, tmp_path / "data", f"postgresql://a:b@127.0.0.1:{free_port()}/x")
    if path == ("doctor",):  # the missing database is what it has found, among other things
        assert status == 0
    else:
        assert status in (1, 2), sentence


@pytest.mark.parametrize("path", [("company", "list"), ("serve",), ("migrate",), ("snapshot",)], ids=" ".join)
@pytest.mark.parametrize("wrong", ["database", "role", "address", "application", "rights"])
def test_a_database_that_cannot_be_used_is_one_sentence(path, wrong: str, said, unusable, tmp_path: Path) -> None:
    """Asked of those commands that open it each in a way of its own."""
    status, sentence = said(path, tmp_path / "data", unusable[wrong])
    assert status == 1, sentence
    assert not any(word in sentence for word in ("SELECT", "UPDATE", "LINE 1", "psycopg")), sentence


def test_a_restore_makes_the_data_directory_that_it_is_told(server: Database, empty: Database, tmp_path: Path) -> None:
    name, folder, new = f"pcds_new_{uuid4().hex[:8]}", tmp_path / "backup", tmp_path / "new" / "data"
    with psycopg.connect(server.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name}")
    (tmp_path / "old").mkdir()
    try:
        for words_of, database, data_dir in (
            ("backup", empty, tmp_path / "old"),
            ("restore", server.with_name(name), new),
        ):
            key = ["--key", str(tmp_path / "old" / "backup.key")] if words_of == "restore" else []
            own = os.environ | {"DATABASE_URL": database.owner_url}
            done = preloaded.pcds(words_of, folder, *key, "--data-dir", data_dir, environment=own)
            assert done.returncode == 0, done.stderr
        assert new.is_dir()
    finally:
        with psycopg.connect(server.owner_url, autocommit=True) as owner:
            owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_a_command_logs_is_no_part_of_its_answer(empty: Database, tmp_path: Path) -> None:
    """The first migration makes keys and logs it; a program that reads the answer must be able to."""
    own = os.environ | {"DATABASE_URL": empty.owner_url}
    done = preloaded.pcds("migrate", "--json", "--data-dir", tmp_path / "data", environment=own)
    assert json.loads(done.stdout) == {"revision": head()}
    assert "key.made" in done.stderr
