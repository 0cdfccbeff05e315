"""The files of a service at work are copied for a backup: drafts come and go, a whole draft has two names."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from warehouse.operate.backup.take import BackupError, copy_objects, files


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "objects" / str(uuid4()) / "files"
    folder.mkdir(parents=True)
    for name in ("first", "second", "third#1"):
        (folder / name).write_bytes(b"PDF")
    return folder


def test_a_file_that_goes_while_its_folder_is_read_is_skipped(store: Path) -> None:
    reading = files(store.parent.parent, changing=True)
    read = next(reading)
    for other in set(store.iterdir()) - {read}:
        other.unlink()
    assert list(reading) == []


def test_a_folder_that_goes_is_skipped(store: Path) -> None:
    assert list(files(store / "gone", changing=True)) == []


def test_a_file_that_goes_before_it_is_copied_is_skipped(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = list(files(tmp_path / "objects"))
    monkeypatch.setattr("warehouse.operate.backup.take.files", lambda *_, **__: iter(walk))
    (store / "first").unlink()
    copy_objects(tmp_path / "objects", tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()] == ["second"]


def test_a_draft_that_has_its_key_by_a_second_link_is_copied(store: Path, tmp_path: Path) -> None:
    os.link(store / "third#1", store / "third")
    copy_objects(tmp_path / "objects", tmp_path / "copy")
    assert {path.name for path in files(tmp_path / "copy")} == {"first", "second", "third"}


def test_a_link_in_the_store_is_refused(store: Path, tmp_path: Path) -> None:
    (store / "link").symlink_to(store / "first")
    with pytest.raises(BackupError, match="is a link or a device"):
        copy_objects(tmp_path / "objects", tmp_path / "copy")
