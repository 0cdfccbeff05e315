from pathlib import Path
from uuid import uuid4

import pytest

from warehouse.objects import NoSuchObject, Objects
from warehouse.settings import Settings


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects.of(Settings.load(data_dir=tmp_path))


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
