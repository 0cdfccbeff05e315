"""A store that hangs, lies, loses or belongs to another is told from one that does what it is asked."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from schemas.operate import State
from services import operate
from tests import stores
from tests.conftest import migrated
from warehouse.files import key_of
from warehouse.operate import keys, store
from warehouse.operate.database import Database
from warehouse.operate.objects import IDENTITY, Objects, prepare_identity, take_over
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.operate.store import Findings

PDF = b"%PDF-1.7 and more"


@pytest.fixture
def own(server: Database) -> Iterator[Database]:
    """A deployment of this test alone, with its identity."""
    with migrated(server) as database:
        with psycopg.connect(database.owner_url) as owner:
            prepare_identity(owner)
        yield database


@pytest.fixture
def place(tmp_path: Path) -> Settings:
    return Settings.load(data_dir=tmp_path, objects_seconds=0.3)


def checks(objects: Objects) -> list[str]:
    return [problem.check for problem in operate.of_store(objects)]


def another(database: Database) -> None:
    """Make the database another deployment, as a restore does."""
    with psycopg.connect(database.owner_url) as owner:
        keys.forget(owner)
        prepare_identity(owner)


def test_a_store_is_looked_at_by_writing_reading_and_removing(place: Settings, own: Database) -> None:
    looking = Objects.from_settings(place, own, claims=False)
    assert checks(looking) == []
    assert list(looking.stored(UUID(int=0))) == [], "who only looks claims nothing"
    objects = Objects.from_settings(place, own)
    assert store.state(objects) is None
    assert [key for key, _ in objects.stored(UUID(int=0))] == [IDENTITY], "nothing else is left of it"
    with stores.lying():
        assert store.state(objects) == State.UNRELIABLE_STORE
    with stores.hanging():
        assert store.state(objects) == State.OBJECT_STORE
        assert checks(objects) == ["object_store"]


def test_a_store_of_another_deployment_is_read_and_never_written_or_tidied(place: Settings, own: Database) -> None:
    key = f"{uuid4()}/files/a"
    Objects.from_settings(place, own).put(key, b"theirs")
    another(own)
    objects = Objects.from_settings(place, own)

    async def some() -> AsyncIterator[bytes]:
        yield b"x"

    for write in (
        lambda: objects.put(key, b"ours"),
        lambda: objects.put_file(key, Path(__file__)),
        lambda: asyncio.run(objects.put_stream(key, some())),
        lambda: objects.delete(key),
        objects.now,
    ):
        with pytest.raises(ConnectionError, match="another deployment"):
            write()
    objects.remove(key)
    assert objects.drop_unfinished(timedelta(0)) == 0
    assert objects.get(key) == b"theirs"
    assert store.state(objects) == State.FOREIGN_STORE
    [problem] = operate.of_store(objects)
    assert "--take-over-objects" in problem.remedy
    take_over(objects, own.app_url)
    taken = Objects.from_settings(place, own)
    taken.delete(key)
    assert store.state(taken) is None


def test_the_deployment_that_wrote_first_keeps_the_store(place: Settings, own: Database) -> None:
    first = Objects.from_settings(place, own)
    first.put(f"{uuid4()}/files/a", b"x")
    another(own)
    assert Objects.from_settings(place, own).is_foreign()
    assert not first.is_foreign(), "it looks again after half a minute"


@pytest.mark.parametrize(
    ("endpoint", "by_http", "wrong"),
    [
        ("https://s3.example", False, None),
        ("http://127.0.0.1:9000", True, None),
        ("http://s3.example", True, "without encryption"),
        ("http://s3.example", False, "not encrypted"),
    ],
)
def test_an_endpoint_without_encryption_is_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str, by_http: bool, wrong: str | None
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    place = Settings.load(data_dir=tmp_path, objects_url="s3://bucket", objects_by_http=by_http)
    said = [problem.wrong for problem in operate.of_endpoint(place)]
    assert len(said) == (wrong is not None)
    assert wrong is None or wrong in said[0]


@pytest.fixture
def kept(pool: Pool, company: UUID, place: Settings) -> Callable[[], str]:
    """Stores a document that a row names; its key."""
    objects = Objects.from_settings(place)

    def keep() -> str:
        file_id = uuid4()
        with pool.company(company) as conn:
            conn.execute(
                "INSERT INTO review_files (id, company_id, request_id, type, filename, media_type, size_bytes, sha256, "
                "created_at) VALUES (%s, %s, %s, 'test_report', 'a.pdf', 'application/pdf', %s, %s, now())",
                [file_id, company, uuid4(), len(PDF), hashlib.sha256(PDF).hexdigest()],
            )
        objects.put(key_of(company, file_id), PDF)
        return key_of(company, file_id)

    return keep


def test_a_file_that_is_lost_or_altered_is_named(
    pool: Pool, company: UUID, place: Settings, kept: Callable[[], str]
) -> None:
    objects, (whole, lost, altered) = Objects.from_settings(place), (kept() for _ in range(3))
    objects.delete(lost)
    objects.put(altered, PDF[:-1] + b"!")
    assert store.examine(pool, objects, [company], verify=False) == Findings([lost], [])
    assert store.examine(pool, objects, [company], verify=True) == Findings([lost], [altered])
    assert objects.get(whole) == PDF


def test_a_file_that_goes_with_its_row_meanwhile_is_not_missing(
    database: Database, pool: Pool, company: UUID, place: Settings, kept: Callable[[], str]
) -> None:
    key, real = kept(), Objects.stored

    def stored(objects: Objects, *where: object) -> object:
        with psycopg.connect(database.owner_url) as owner:
            owner.execute("DELETE FROM review_files WHERE company_id = %s", [company])
        objects.delete(key)
        return real(objects, *where)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Objects, "stored", stored)
        found = store.examine(pool, Objects.from_settings(place), [company], verify=True)
    assert found == Findings([], [])
