"""Files that come by themselves into a prefix of a bucket: they are watched as a folder's are."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import obstore
import pytest

from pipelines.imports import folders, submissions
from pipelines.imports.folders import Folder, FolderError
from schemas.files import MAX_FILE_BYTES
from tests import buckets
from tests.buckets import Bucket
from tests.pipelines.conftest import Desk
from tests.pipelines.test_folders import HEADER, MAPPING, ROWS, Killed, Watched
from warehouse.imports import words
from warehouse.operate.settings import Settings

PREFIX = "s3://packaging/erp/in"


@dataclass
class WatchedBucket(Watched):
    """A company's prefix of a bucket."""

    bucket: Bucket | None = None

    @property
    def stored(self) -> Bucket:
        assert self.bucket is not None
        return self.bucket

    def send(self, name: str, content: str | bytes = ROWS, age: float = 60) -> None:
        """What an ERP system writes; each file is a little younger than the last."""
        key = f"erp/in/{name}"
        self.stored.files[key] = content.encode() if isinstance(content, str) else content
        self.stored.times[key] = datetime.now(UTC) - timedelta(seconds=age)

    def files(self, folder: str = "") -> list[str]:
        prefix = f"erp/in/{folder}/" if folder else "erp/in/"
        return sorted(key.removeprefix(prefix) for key in self.stored.files if key.startswith(prefix))

    def text(self, folder: str, name: str) -> str:
        return self.stored.files[f"erp/in/{folder}/{name}.txt"].decode()

    def go_on(self) -> None:
        """One run, without a process of its own."""
        desk = self.desk
        settings = desk.resources.settings
        work = folders.Work(desk.pool, desk.objects, desk.readers, desk.clock, settings, self.place)
        for taken in folders.under_way(self.place):
            work.go_on(taken)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with buckets.opened() as opened:
        for name, value in opened.variables.items():
            if name.startswith("AWS_"):
                monkeypatch.setenv(name, value)
        yield opened


@pytest.fixture
def watched(desk: Desk, bucket: Bucket) -> WatchedBucket:
    settings = Settings.load(data_dir=desk.data_dir, objects_by_http=True, objects_seconds=2)
    desk = Desk(desk.resources._replace(settings=settings), desk.database, desk.instance, desk.company)
    with desk.pool.company(desk.company) as conn:
        words.keep_mapping(conn, desk.company, "ERP", MAPPING, desk.clock.now())
    folder = Folder(desk.company, PREFIX, "ERP", None)
    folders.save(desk.data_dir, [folder])
    assert folders.load(desk.data_dir) == [folder]
    return WatchedBucket(desk, folder, bucket=bucket)


def test_a_file_becomes_an_import_by_the_kept_mapping_and_moves_to_done(desk: Desk, watched: WatchedBucket) -> None:
    watched.stored.files |= {"erp/in/": b"", "erp/in/taken/": b"", "erp/in/deeper/": b""}  # consoles make them
    watched.send("Portfolio März 100%.csv")
    assert watched.look() == []
    assert "1 are left to come to rest" in str(watched.skipped)
    watched.settle()
    assert [row[1:] for row in watched.imports()] == [("Portfolio März 100%.csv", "completed", False)]
    rows = desk.rows("SELECT sku_code, name FROM skus WHERE company_id = %s ORDER BY 1")
    assert rows == [("W-1", "Jar"), ("W-2", "Lid")]
    assert watched.files("done") == ["Portfolio März 100%.csv", "Portfolio März 100%.csv.txt"]
    assert str(watched.imports()[0][0]) in watched.text("done", "Portfolio März 100%.csv")
    assert (watched.files("taken"), watched.files("failed")) == ([""], [])
    assert watched.look() == []
    assert "No file" in str(watched.skipped)


def test_a_file_that_is_being_written_is_left_alone(watched: WatchedBucket) -> None:
    watched.send(".hidden.csv")
    watched.send("a.csv.part")
    for number in range(3):
        watched.send("grows.csv", ROWS + f"W-{number + 3},Cap,steel,1\n")
        watched.send("fresh.csv", age=1)
        watched.look()
    assert watched.imports() == []
    assert watched.files() == [".hidden.csv", "a.csv.part", "fresh.csv", "grows.csv"]
    watched.stored.files.pop("erp/in/fresh.csv")
    watched.settle()
    assert [filename for _, filename, _, _ in watched.imports()] == ["grows.csv"]


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "empty"), (b"\0" * (MAX_FILE_BYTES + 1), "bytes"), (b"Foo,Bar\n1,2\n", "“Code”")]
)
def test_a_refused_file_moves_to_failed_with_its_sentence(watched: WatchedBucket, content: bytes, says: str) -> None:
    watched.send("x.csv", content)
    watched.settle()
    assert watched.imports() == []
    assert watched.files() == ["failed/x.csv", "failed/x.csv.txt"]
    assert says in watched.text("failed", "x.csv")


def test_files_are_imported_in_the_order_in_which_they_came(watched: WatchedBucket) -> None:
    for name, age in (("b.csv", 90), ("c.csv", 80), ("a.csv", 70)):
        watched.send(name, HEADER + f"{name},Jar,glass,200\n", age)
    watched.look()
    watched.look()
    taken = [taken.name for taken in folders.under_way(watched.place)]
    assert taken == ["b.csv", "c.csv", "a.csv"]


def test_the_same_name_comes_again(watched: WatchedBucket) -> None:
    for content, age, imports in ((ROWS, 90, 1), (ROWS, 80, 1), (ROWS.replace("200", "201"), 70, 2)):
        watched.send("portfolio.csv", content, age)
        watched.settle()
        assert len(watched.imports()) == imports
    assert len([name for name in watched.files("done") if name.endswith("portfolio.csv")]) == 3, "none is lost"


def die(target: object, name: str, *, at: str = "", after: bool = False) -> Any:
    """The process ends in a call of this function whose second argument has these letters."""
    original = getattr(target, name)

    def dies(*arguments: Any, **options: Any) -> Any:
        if at not in str(arguments[1]):
            return original(*arguments, **options)
        if after:
            original(*arguments, **options)
        raise Killed

    return patch.object(target, name, dies)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", ["copy", "delete"])
def test_a_kill_while_a_file_is_taken_takes_it_once(watched: WatchedBucket, call: str, *, after: bool) -> None:
    watched.send("x.csv")
    waiting = folders.take(watched.place, {}, datetime.now(UTC).timestamp())
    with die(obstore, call, after=after), pytest.raises(Killed):
        folders.take(watched.place, waiting, datetime.now(UTC).timestamp())
    watched.go_on()
    assert bool(watched.imports()) is (call == "delete" and after), "what is in both places has not moved"
    watched.settle()
    assert [status for _, _, status, _ in watched.imports()] == ["completed"]
    assert watched.files() == ["done/x.csv", "done/x.csv.txt"]


@pytest.mark.parametrize(
    ("target", "name", "at", "after"),
    [
        (submissions, "submit", "", False),
        (submissions, "submit", "", True),
        (obstore, "put", ".outcome", True),
        (obstore, "put", ".txt", True),
        (obstore, "copy", "taken/", True),
        (obstore, "delete", "x.csv", True),
        (obstore, "delete", ".outcome", False),
    ],
)
def test_a_kill_in_a_run_loses_nothing_and_imports_once(
    watched: WatchedBucket, target: object, name: str, at: str, *, after: bool
) -> None:
    watched.send("x.csv")
    waiting = folders.take(watched.place, {}, datetime.now(UTC).timestamp())
    folders.take(watched.place, waiting, datetime.now(UTC).timestamp())
    killed = 0
    for _ in range(4):
        try:
            with die(target, name, at=at, after=after) if not killed else patch.object(target, "__doc__", None):
                watched.go_on()
        except Killed:
            killed += 1
        for import_id, _, status, _ in watched.imports():
            if status == "queued":
                watched.desk.finish(import_id)
    assert killed == 1
    assert [status for _, _, status, _ in watched.imports()] == ["completed"]
    assert watched.files() == ["done/x.csv", "done/x.csv.txt"]


def test_a_file_that_is_replaced_while_it_is_taken_is_not_lost(watched: WatchedBucket) -> None:
    watched.send("x.csv")
    watched.look()
    original = obstore.copy

    def copy(*arguments: Any) -> None:
        original(*arguments)
        if str(arguments[1]) == "x.csv":
            watched.send("x.csv", ROWS.replace("200", "201"), age=10)

    with patch.object(obstore, "copy", copy):
        watched.look()
    watched.settle()
    watched.settle()
    assert [status for _, _, status, _ in watched.imports()] == ["completed", "completed"]
    assert [name for name in watched.files() if not name.startswith("done/")] == []


def test_another_prefix_is_not_crossed(desk: Desk, watched: WatchedBucket) -> None:
    others = ["erp/in-other/x.csv", "erp/x.csv", "erp/in/deeper/x.csv", "pcds/x.csv"]
    watched.stored.files.update(dict.fromkeys(others, ROWS.encode()))
    watched.settle()
    assert watched.imports() == []
    assert sorted(watched.stored.files) == sorted(others)
    other = watched.folder._replace(company_id=uuid4())
    for path in (PREFIX, f"{PREFIX}/done", "s3://packaging/erp", "s3://packaging"):
        with pytest.raises(FolderError, match="would belong to two"):
            folders.save(desk.data_dir, [watched.folder, other._replace(path=path)])
    apart = [watched.folder, other._replace(path="s3://packaging/erp/in-other")]
    folders.save(desk.data_dir, apart)
    assert folders.load(desk.data_dir) == apart
    (desk.data_dir / "folders.json").write_text(json.dumps([[str(desk.company), "s3://packaging/a/../b", None, None]]))
    with pytest.raises(FolderError, match="no prefix of a bucket"):
        folders.load(desk.data_dir)
    own = Settings.load(data_dir=desk.data_dir, objects_url="s3://packaging/erp")
    with pytest.raises(FolderError, match="own store"):
        folders.place_of(watched.folder, own)


def test_credentials_that_are_refused_are_told_and_nothing_is_lost(watched: WatchedBucket) -> None:
    folders.check(watched.folder, watched.desk.resources.settings)
    assert watched.files() == []
    watched.send("x.csv")
    watched.stored.refused = {"GET", "HEAD", "PUT", "POST", "DELETE"}
    for _ in range(2):
        watched.look()
        assert f"{PREFIX} refuses the credentials" in str(watched.skipped)
    with pytest.raises(ConnectionError, match="refuses the credentials"):
        folders.check(watched.folder, watched.desk.resources.settings)
    watched.stored.refused = {"POST", "DELETE"}  # `obstore` removes by either
    watched.look()
    watched.look()
    assert "refuses the credentials" in str(watched.skipped), "a file that cannot move is not taken"
    assert watched.imports() == []
    watched.stored.refused = set()
    watched.settle()
    assert watched.files() == ["done/x.csv", "done/x.csv.txt"]


def test_a_run_whose_credentials_end_fails_and_the_next_one_goes_on(watched: WatchedBucket) -> None:
    watched.send("x.csv")
    watched.look()
    with patch.object(folders.Work, "go_on", side_effect=ConnectionError("refuses")):
        [run] = watched.look()
    assert not run.success
    assert f"{PREFIX}/taken/" in str([event.event_specific_data for event in run.all_events])
    watched.go_on()
    [(import_id, *_)] = watched.imports()
    watched.desk.finish(import_id)
    watched.go_on()
    assert watched.files() == ["done/x.csv", "done/x.csv.txt"]


def test_a_bucket_that_is_away_is_told(watched: WatchedBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    watched.look()
    assert f"{PREFIX} does not answer" in str(watched.skipped)
