"""Small files that several threads write at once: one data directory's key must be the same for all who read it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from warehouse.operate import dagster_home, keys, whole_files
from warehouse.operate.database import Database
from warehouse.operate.settings import Settings

_AT_ONCE = 8


def test_all_who_need_a_new_key_at_once_get_the_same(tmp_path: Path) -> None:
    begin = Barrier(_AT_ONCE)

    def with_folder(settings: Settings) -> Path:
        settings.data_dir.mkdir(exist_ok=True)
        return settings.data_dir

    def ask(settings: Settings) -> tuple[bytes, str]:
        begin.wait()
        key = whole_files.made_once(with_folder(settings) / "connector.key", os.urandom(32))
        return key, dagster_home.door_key(settings)

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for number in range(20):
            settings = Settings.load(data_dir=tmp_path / str(number))
            got = {each.result() for each in [threads.submit(ask, settings) for _ in range(_AT_ONCE)]}
            assert got == {(keys.read(settings), dagster_home.door_key(settings))}
            kept = {file.name: file for file in settings.data_dir.rglob("*") if file.is_file()}
            assert set(kept) == {"connector.key", "door.key"}, "no drafts are left"
            assert all(file.stat().st_mode & 0o077 == 0 for file in kept.values())


def test_threads_of_one_process_may_make_dagsters_home_at_once(tmp_path: Path) -> None:
    begin, database = Barrier(_AT_ONCE), Database("postgresql://owner@/d", "postgresql://app@/d", "postgresql://d@/d")

    def make(settings: Settings) -> dict[str, str]:
        begin.wait()
        return dagster_home.environment(settings, database)

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for number in range(20):
            settings = Settings.load(data_dir=tmp_path / str(number))
            made = [threads.submit(make, settings) for _ in range(_AT_ONCE)]
            assert all(each.result() for each in made)


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    whole_files.replace(file, b"first")
    whole_files.replace(file, b"second")
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        whole_files.replace(folder, b"third")
    with pytest.raises(FileNotFoundError):
        whole_files.replace(tmp_path / "missing" / "file", b"third")
    assert file.read_bytes() == b"second"
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}, "no drafts are left"
