import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import obstore
import pytest

from tests import stores
from tests.waiting import wait_until
from tools.ports import free_port
from warehouse.operate import objects as objects_operate
from warehouse.operate.objects import Deadlines, NoSuchObject, Objects
from warehouse.operate.settings import Settings


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects.from_settings(Settings.load(data_dir=tmp_path))


@pytest.fixture(params=["folder", "store"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """The folder of a data directory, and a store behind a URL, which has no files on this machine."""
    return Objects.from_settings(
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


def remote(monkeypatch: pytest.MonkeyPatch, address: str, seconds: float = 0.6) -> Objects:
    """A store behind S3's protocol at this address."""
    for name, value in (("ENDPOINT_URL", address), ("REGION", "x"), ("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x")):
        monkeypatch.setenv(f"AWS_{name}", value)
    return Objects.from_settings(
        Settings.load(objects_url="s3://bucket/here", objects_seconds=seconds, objects_by_http=True)
    )


def test_a_server_that_is_silent_has_a_deadline_by_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    key = f"{uuid4()}/files/a"
    with stores.silent_server() as address:
        for call in (
            lambda each: each.put(key, b"x"),
            lambda each: each.put_file(key, Path(__file__)),
            lambda each: each.get(key),
            lambda each: each.open(key),
            lambda each: each.file(key),
            lambda each: each.delete(key),
            lambda each: list(each.stored(uuid4())),
            lambda each: asyncio.run(each.put_stream(key, pieces(1))),
        ):
            begun = time.monotonic()
            with pytest.raises(ConnectionError):
                call(remote(monkeypatch, address))
            assert time.monotonic() - begun < 3


def test_a_disk_that_does_not_flush_or_open_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the data directory may be a network's."""
    key, answers = f"{uuid4()}/files/a", threading.Event()
    Objects.from_settings(Settings.load(data_dir=tmp_path)).put(key, b"x")
    monkeypatch.setattr(os, "fsync", lambda _: answers.wait())
    monkeypatch.setattr(Path, "open", lambda *_: answers.wait())
    try:
        for call in (
            lambda each: each.put(key, b"x"),
            lambda each: each.put_file(key, Path(__file__)),
            lambda each: asyncio.run(each.put_stream(key, pieces(1))),
            lambda each: each.file(key),
        ):
            begun = time.monotonic()
            with pytest.raises(ConnectionError):
                call(Objects.from_settings(Settings.load(data_dir=tmp_path, objects_seconds=0.3)))
            assert time.monotonic() - begun < 3
    finally:
        answers.set()


def test_a_server_that_is_gone_is_away_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionError):
        remote(monkeypatch, f"http://127.0.0.1:{free_port()}", 5).put(f"{uuid4()}/files/a", b"x")


def test_a_store_whose_bucket_is_missing_is_away_and_has_no_object(monkeypatch: pytest.MonkeyPatch) -> None:
    key = f"{uuid4()}/files/a"
    with stores.without_bucket() as address:
        objects = remote(monkeypatch, address, 5)
        for call in (
            lambda: objects.put(key, b"x"),
            lambda: asyncio.run(objects.put_stream(key, pieces(1))),
            lambda: list(objects.stored(uuid4())),
        ):
            with pytest.raises(ConnectionError):
                call()
        with pytest.raises(NoSuchObject):
            objects.get(key)


def test_a_sender_that_is_slow_is_not_the_stores_fault(tmp_path: Path) -> None:
    hasty, key = Objects.from_settings(Settings.load(data_dir=tmp_path, objects_seconds=0.3)), f"{uuid4()}/files/a"

    async def slow() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(0.4)
            yield b"x"

    asyncio.run(hasty.put_stream(key, slow()))
    assert hasty.get(key) == b"xxx"


def test_a_store_that_is_slow_is_waited_for_by_many(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects_operate, "_TURN_SECONDS", 2.0)
    monkeypatch.setattr(objects_operate, "_MOST_AT_ONCE", 2)
    slow, real = replace(objects, _calls=Deadlines(5)), obstore.put_async

    async def put(*given: object, **named: object) -> object:
        await asyncio.sleep(1.0)  # four turns: who is last waits longer than for one
        return await real(*given, **named)

    monkeypatch.setattr(obstore, "put_async", put)
    keys_put = [f"{uuid4()}/files/a" for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: slow.put(key, b"x"), keys_put))
    assert [slow.get(key) for key in keys_put] == [b"x"] * 8


def test_a_store_that_hung_is_left_alone_and_then_tried_by_one(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects_operate, "AGAIN_SECONDS", 2.0)
    hasty, key = replace(objects, _calls=Deadlines(0.2)), f"{uuid4()}/files/a"
    with stores.hanging() as store:
        for _ in range(5):
            with pytest.raises(ConnectionError):
                hasty.put(key, b"x")
        assert store.asked == 1
        store.hangs = False

        def is_put() -> bool:
            with suppress(ConnectionError):  # left alone still, or a busy machine took longer than the deadline
                hasty.put(key, b"x")
                return True
            return False

        wait_until(is_put)
    assert objects.get(key) == b"x"
