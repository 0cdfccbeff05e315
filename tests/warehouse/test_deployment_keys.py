"""Keys of a deployment: who makes them, and how a lost or replaced one is told from the right one."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from schemas.refusals import Refused
from services import operate
from tests.conftest import migrated
from tests.keys import with_keys
from warehouse.audit import chain
from warehouse.operate import keys
from warehouse.operate.database import Database
from warehouse.operate.keys import AUDIT, CONNECTOR, Seal
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings


@pytest.fixture
def owner(server: Database) -> Iterator[Connection]:
    """Of a database that no key is known of."""
    with migrated(server) as database, psycopg.connect(database.owner_url, autocommit=True) as connection:
        yield connection


def place(folder: Path) -> Settings:
    return Settings.load(data_dir=folder)


def problems(owner: Connection, settings: Settings) -> list[str]:
    return [problem.wrong for problem in operate.of_keys(owner, settings)]


def test_missing_keys_are_made_once_and_never_beside_those_that_were_used(owner: Connection, tmp_path: Path) -> None:
    first, elsewhere = place(tmp_path / "first"), place(tmp_path / "elsewhere")
    for name in (CONNECTOR, AUDIT):
        with pytest.raises(Refused, match="lacks the deployment's"):
            keys.read(first, name)
    assert not first.data_dir.exists(), "whoever only needs a key makes none"
    keys.prepare(owner, first)
    made = {name: keys.read(first, name) for name in (CONNECTOR, AUDIT)}
    assert len({*made.values()}) == 2
    assert all((first.data_dir / name).stat().st_mode & 0o077 == 0 for name in made)
    keys.prepare(owner, first)
    keys.prepare(owner, elsewhere)
    assert {name: keys.read(first, name) for name in made} == made
    assert problems(owner, first) == []
    assert [wrong.partition(" is missing")[0] for wrong in problems(owner, elsewhere)] == [
        str(elsewhere.data_dir / CONNECTOR),
        str(elsewhere.data_dir / AUDIT),
    ]
    remedies = [problem.remedy for problem in operate.of_keys(owner, elsewhere)]
    assert "backup" in remedies[0]
    assert "no backup has it" in remedies[1], "a backup has connector.key alone"


def test_a_key_of_before_is_taken_over_and_another_one_is_named(owner: Connection, tmp_path: Path) -> None:
    settings, other = with_keys(place(tmp_path / "here")), with_keys(place(tmp_path / "other"))
    key = keys.read(settings)
    keys.prepare(owner, settings)
    assert keys.read(settings) == key
    Seal((key,), b"any purpose").check(owner)
    assert len(problems(owner, other)) == 2
    with pytest.raises(Refused, match="was given another one") as refused:
        Seal(keys.every(other), b"any purpose").check(owner)
    assert refused.value.code == "internal_error"
    keys.forget(owner)
    keys.prepare(owner, other)
    assert problems(owner, other) == []


def test_those_with_one_key_sign_alike(tmp_path: Path) -> None:
    first, second = with_keys(place(tmp_path / "first")), place(tmp_path / "second")
    second.data_dir.mkdir()
    (second.data_dir / AUDIT).write_bytes(keys.read(first, AUDIT))
    signed = chain.sign(first, {"heads": []})
    assert chain.is_signed(signed, chain.public_key(second))
