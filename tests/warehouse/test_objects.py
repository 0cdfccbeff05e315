import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.waiting import wait_until
from warehouse.objects import NoSuchObject, Objects
from warehouse.settings import Settings


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects.of(Settings.load(data_dir=tmp_path))


@pytest.fixture(params=["folder", "store"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """The folder of a data directory, and a store behind a URL, which has no files on this machine."""
    return Objects.of(
        Settings.load(data_dir=tmp_path, objects_url={"folder": None, "store": "memory:///"}[request.param])
    )


def keys(objects: Objects, *where: object) -> list[str]:
    return [key for key, _ in objects.stored(*where)]


def test_what_was_put_is_got_and_listed_until_deleted(objects: Objects) -> None:
    company, other = uuid4(), uuid4()
    key = f"{company}/imports/{uuid4()}/upload"
    objects.put(key, b"first")
    objects.put(key, b"a\x00b")
    objects.put(f"{other}/imports/x", b"")
    assert objects.get(key) == b"a\x00b"
    assert keys(objects, company) == keys(objects, company, "imports") == [key]
    objects.delete(key)
    objects.delete(key)
    assert keys(objects, company) == []
    with pytest.raises(NoSuchObject):
        objects.get(key)


@pytest.mark.parametrize("name", ["../secret", "a/../../b", "/etc/passwd", "", "a//b", "a/.hidden", "a\x00b", "a/b\n"])
def test_a_key_cannot_leave_its_company(objects: Objects, name: str) -> None:
    with pytest.raises(ValueError, match="not one"):
        objects.put(f"{uuid4()}/{name}", b"x")


def test_only_the_service_looks_into_the_folder(objects: Objects) -> None:
    assert objects.folder is not None
    assert objects.folder.stat().st_mode & 0o077 == 0


async def pieces(number: int, *, broken: bool = False) -> AsyncIterator[bytes]:
    for piece in range(number):
        yield bytes([piece % 256]) * 100_000
    if broken:
        raise ValueError("the sender went away")


@pytest.mark.parametrize("number", [0, 1, 200])
def test_a_stream_is_stored_whole_and_read_anywhere(either: Objects, number: int) -> None:
    key, expected = f"{uuid4()}/files/a", b"".join(bytes([piece]) * 100_000 for piece in range(number))
    asyncio.run(either.put_stream(key, pieces(number)))
    assert either.get(key) == expected
    with either.open(key) as file:
        assert file.seek(0, 2) == len(expected)
        file.seek(max(0, len(expected) - 150_000))
        assert file.read() == expected[-150_000:]
    with pytest.raises(NoSuchObject):
        either.open(f"{uuid4()}/files/a")


@pytest.mark.parametrize("number", [0, 1, 200])
def test_a_stream_that_breaks_leaves_nothing(either: Objects, number: int) -> None:
    company = uuid4()
    with pytest.raises(ValueError, match="went away"):
        asyncio.run(either.put_stream(f"{company}/files/a", pieces(number, broken=True)))
    assert keys(either, company) == []
    assert either.folder is None or not [path for path in either.folder.rglob("*") if path.is_file()]


def test_ages_are_told_by_the_stores_own_time(either: Objects) -> None:
    company = uuid4()
    either.put(f"{company}/files/a", b"x")
    [(_, written)] = either.stored(company)
    assert written <= either.now() <= either.now()
    assert either.drop_unfinished(timedelta(0)) == 0


def test_a_stream_that_takes_too_long_is_dropped(either: Objects) -> None:
    company = uuid4()

    async def endless() -> AsyncIterator[bytes]:
        yield bytes(12 * 2**20)
        await asyncio.sleep(60)

    async def put() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await either.put_stream(f"{company}/files/a", endless())

    asyncio.run(put())
    assert keys(either, company) == []
    if either.folder is not None:  # the store removes what it began on a thread of its own
        wait_until(lambda: not [path for path in either.folder.rglob("*") if path.is_file()])
