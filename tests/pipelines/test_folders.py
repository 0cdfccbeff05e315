"""Files that come by themselves: what is put into a watched folder becomes an import, once, whatever is killed."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import dagster as dg
import pytest
from structlog.testing import capture_logs

from pipelines.defs import imports as imports_defs
from pipelines.defs import sensors
from pipelines.defs.sensors import watched_folders
from pipelines.imports import folders, submissions
from pipelines.imports.folders import Folder, FolderError, Place
from schemas.files import MAX_FILE_BYTES
from tests import mailbox
from tests.mailbox import Mailbox
from tests.pipelines.conftest import Desk
from tests.pipelines.sensing import start, tick
from warehouse.imports import words
from warehouse.operate.settings import Settings

HEADER = "Code,Titel,material,weight_g\n"
ROWS = HEADER + "W-1,Jar,glass,200\nW-2,Lid,steel,10\n"
MAPPING = {"columns": {"sku_code": "Code", "name": "Titel"}}


@dataclass
class Watched:
    """A company's folder and the daemon that looks at it."""

    desk: Desk
    folder: Folder
    cursor: str | None = None
    skipped: str | None = None

    @property
    def path(self) -> Path:
        assert isinstance(self.folder.path, Path)
        return self.folder.path

    @property
    def place(self) -> Place:
        return folders.place_of(self.folder, self.desk.resources.settings)

    def put(self, name: str, content: str | bytes = ROWS, age: float = 60) -> Path:
        file = self.path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(file, (time.time() - age,) * 2)
        return file

    def look(self) -> list[dg.ExecuteInProcessResult]:
        """A tick and the runs that it asks for."""
        looked = tick(watched_folders, self.desk.instance, self.desk.resources, cursor=self.cursor)
        self.cursor, reason = looked.cursor, looked.skip_reason
        self.skipped = str(reason) if reason else None
        for asked in looked.dynamic_partitions_requests or ():
            self.desk.instance.add_dynamic_partitions(asked.partitions_def_name, list(asked.partition_keys))
        runs = [
            start(watched_folders, self.desk.instance, self.desk.resources, request)
            for request in looked.run_requests or ()
        ]
        return [run for run in runs if run is not None]

    def imports(self) -> list[tuple[UUID, str, str, bool]]:
        """The company's imports: id, filename, status, dry run."""
        rows: list[Any] = self.desk.rows(
            "SELECT id, filename, status, dry_run FROM imports WHERE company_id = %s ORDER BY created_at, id"
        )
        return rows

    def settle(self) -> None:
        """Look, import and look until nothing is left to do."""
        for _ in range(4):
            assert all(run.success for run in self.look())
            for import_id, _, status, _ in self.imports():
                if status == "queued":
                    self.desk.finish(import_id)

    def files(self, folder: str) -> list[str]:
        inner = self.path / folder
        return sorted(file.name for file in inner.iterdir()) if inner.exists() else []

    def text(self, folder: str, name: str) -> str:
        return (self.path / folder / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not within the data directory."""
    return tmp_path_factory.mktemp("inbox")


@pytest.fixture
def watched(desk: Desk, inbox: Path) -> Watched:
    return watch(desk, inbox)


def watch(desk: Desk, path: Path, mail_to: str | None = None) -> Watched:
    with desk.pool.company(desk.company) as conn:
        words.keep_mapping(conn, desk.company, "ERP", MAPPING, desk.clock.now())
    folder = Folder(desk.company, path.resolve(), "ERP", mail_to)
    folders.save(desk.data_dir, [folder])
    return Watched(desk, folder)


@pytest.fixture
def post() -> Iterator[Mailbox]:
    with mailbox.opened() as opened:
        yield opened


def test_a_file_becomes_an_import_by_the_kept_mapping_and_moves_to_done(desk: Desk, watched: Watched) -> None:
    watched.put("portfolio.csv")
    assert watched.look() == []
    assert watched.skipped is not None
    assert "1 are left to come to rest" in watched.skipped
    assert watched.files("done") == []
    watched.settle()
    [(import_id, filename, status, dry_run)] = watched.imports()
    assert (filename, status, dry_run) == ("portfolio.csv", "completed", False)
    assert desk.rows("SELECT sku_code, name FROM skus WHERE company_id = %s ORDER BY 1") == [
        ("W-1", "Jar"),
        ("W-2", "Lid"),
    ]
    assert watched.files("done") == ["portfolio.csv", "portfolio.csv.txt"]
    said = watched.text("done", "portfolio.csv")
    assert str(import_id) in said
    assert "created: 2" in said
    assert (watched.files("taken"), watched.files("failed")) == ([], [])
    assert watched.look() == []
    assert "No file" in str(watched.skipped)


def test_a_file_that_is_being_written_is_left_alone(watched: Watched) -> None:
    for name in (".hidden.csv", "a.csv.part", "a.TMP", "a.csv.filepart"):
        watched.put(name)
    (watched.path / "folder").mkdir()
    growing = watched.put("grows.csv")
    fresh = watched.put("fresh.csv", age=1)
    for number in range(3):
        watched.look()
        watched.put("grows.csv", ROWS + f"W-{number + 3},Cap,steel,1\n")
        os.utime(fresh, (time.time(),) * 2)
    assert growing.exists()
    assert fresh.exists()
    assert watched.imports() == []
    watched.settle()
    assert [filename for _, filename, _, _ in watched.imports()] == ["grows.csv"], "the other is still fresh"
    assert (watched.path / "a.csv.part").exists()


def test_rejected_rows_and_questions_are_told(watched: Watched) -> None:
    watched.put("bad.csv", HEADER + "W-1,Jar,glass,heavy\n")
    watched.settle()
    said = watched.text("done", "bad.csv")
    assert "rejected: 1" in said
    assert "line 2: " in said


def test_columns_that_nobody_knows_are_asked_on_the_page_of_the_import(desk: Desk, watched: Watched) -> None:
    watched.put("third.csv", "Foo,Bar\n1,2\n")
    watched.settle()
    assert "“Code”" in watched.text("failed", "third.csv"), "the mapping is of other columns"
    (watched.path / "failed" / "third.csv").unlink()
    (watched.path / "failed" / "third.csv.txt").unlink()
    with desk.pool.company(desk.company) as conn:
        words.keep_mapping(conn, desk.company, "ERP", {"decimal": "."}, desk.clock.now())
    watched.put("other.csv", "Foo,Bar\n1,2\n")
    watched.settle()
    [(import_id, _, status, dry_run)] = watched.imports()
    assert (status, dry_run) == ("failed", True)
    assert watched.files("failed") == ["other.csv", "other.csv.txt"]
    assert f"/imports/{import_id}" in watched.text("failed", "other.csv")


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "empty"), (b"\0" * (MAX_FILE_BYTES + 1), "bytes"), (b"%PDF-1.7 \0\1", "")]
)
def test_what_is_no_table_fails_with_the_reason_and_is_no_import(watched: Watched, content: bytes, says: str) -> None:
    watched.put("x.csv", content)
    watched.settle()
    assert watched.imports() == []
    assert watched.files("failed") == ["x.csv", "x.csv.txt"]
    assert says in watched.text("failed", "x.csv")


def test_a_folder_without_a_mapping_reads_headers_that_say_what_they_are(desk: Desk, watched: Watched) -> None:
    folders.save(desk.data_dir, [watched.folder._replace(mapping_name=None)])
    watched.put("plain.csv", "sku_code;name;material;weight_g\nW-1;Jar;glass;200\n")
    watched.put("other.csv", "Foo,Bar\n1,2\n")
    watched.settle()
    assert watched.files("done") == ["plain.csv", "plain.csv.txt"]
    assert desk.rows("SELECT sku_code FROM skus WHERE company_id = %s") == [("W-1",)]
    assert "/imports/" in watched.text("failed", "other.csv"), "its columns are asked about"


def test_without_the_mapping_that_it_names_it_fails(desk: Desk, watched: Watched) -> None:
    folders.save(desk.data_dir, [watched.folder._replace(mapping_name="Gone")])
    watched.put("x.csv")
    watched.settle()
    assert "no mapping under the name Gone" in watched.text("failed", "x.csv")
    assert watched.imports() == []


def test_the_same_bytes_are_not_imported_twice_unless_another_file_came_between(watched: Watched) -> None:
    for content, imports in ((ROWS, 1), (ROWS, 1), (ROWS.replace("200", "201"), 2), (ROWS, 3)):
        watched.put("portfolio.csv", content)
        watched.settle()
        assert len(watched.imports()) == imports
    assert len([name for name in watched.files("done") if name.endswith("portfolio.csv")]) == 4, "none is lost"
    watched.put("copy.csv")
    watched.settle()
    assert len(watched.imports()) == 4, "another name is another file"


def test_a_name_waits_until_its_last_file_is_put_away(watched: Watched) -> None:
    watched.put("portfolio.csv")
    watched.look()
    watched.look()
    newer = watched.put("portfolio.csv", ROWS.replace("200", "201"))
    watched.look()
    watched.look()
    assert newer.exists()
    assert len(watched.imports()) == 1
    watched.settle()
    watched.settle()
    assert [status for _, _, status, _ in watched.imports()] == ["completed", "completed"]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("place", ["after_keeping", "after_import", "after_note", "after_text", "after_move"])
def test_a_kill_anywhere_loses_nothing_and_imports_once(watched: Watched, place: str) -> None:
    """The run ends in the middle; the next one goes on from what is stored, in the database and the folder."""
    work = folders.Work(
        watched.desk.pool,
        watched.desk.objects,
        watched.desk.readers,
        watched.desk.clock,
        watched.desk.resources.settings,
        watched.place,
    )
    watched.put("x.csv")
    waiting = folders.take(watched.place, {}, time.time())
    folders.take(watched.place, waiting, time.time())

    def go_on() -> None:
        for taken in folders.under_way(watched.place):
            work.go_on(taken)

    def kill_at(target: object, name: str, *, after: bool, only: str = "") -> None:
        original = getattr(target, name)

        def dies(*arguments: Any, **options: Any) -> None:
            if not only or only in str(arguments[0]):
                if after:
                    original(*arguments, **options)
                raise Killed
            original(*arguments, **options)

        with patch.object(target, name, dies), pytest.raises(Killed):
            go_on()

    if place == "after_keeping":
        kill_at(submissions, "submit", after=False)
    go_on()
    [(import_id, _, status, _)] = watched.imports()
    assert status == "queued"
    if place == "after_import":
        go_on()
        assert len(watched.imports()) == 1
    watched.desk.finish(import_id)
    if place == "after_note":
        kill_at(folders.whole_files, "replace", after=True, only=".outcome")
    if place == "after_text":
        kill_at(folders.whole_files, "replace", after=True, only=".txt")
    if place == "after_move":
        kill_at(folders.Work, "_mail", after=False)
    go_on()
    folders.take(watched.place, {}, time.time())
    assert len(watched.imports()) == 1
    assert watched.files("done") == ["x.csv", "x.csv.txt"]
    assert watched.files("taken") == []


def test_a_kill_before_the_rename_leaves_the_file_where_it_is(watched: Watched) -> None:
    file = watched.put("x.csv")
    waiting = folders.take(watched.place, {}, time.time())
    with patch.object(Path, "rename", side_effect=Killed), pytest.raises(Killed):
        folders.take(watched.place, waiting, time.time())
    assert file.exists()
    watched.settle()
    assert watched.files("done") == ["x.csv", "x.csv.txt"]


def test_a_link_is_refused_and_what_it_leads_to_is_not_read(watched: Watched, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(ROWS, encoding="utf-8")
    (watched.path / "link.csv").symlink_to(secret)
    os.utime(watched.path / "link.csv", (0, 0), follow_symlinks=False)
    watched.settle()
    assert watched.imports() == []
    assert "link to another place" in watched.text("failed", "link.csv")
    assert secret.read_text(encoding="utf-8") == ROWS


@pytest.mark.parametrize("name", ["taken", "done"])
def test_a_folder_of_ours_that_leads_elsewhere_is_refused(watched: Watched, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (watched.path / name).symlink_to(elsewhere)
    watched.put("x.csv")
    for _ in range(6):
        watched.look()
        for import_id, _, status, _ in watched.imports():
            if status == "queued":
                watched.desk.finish(import_id)
    assert list(elsewhere.iterdir()) == []
    if name == "taken":
        assert "leads elsewhere" in str(watched.skipped)
        assert (watched.path / "x.csv").exists()
    else:
        [taken] = folders.under_way(watched.place)
        assert taken.name is not None, "it waits until the folder is put right"


def test_a_folder_without_rights_does_not_hold_up_another(desk: Desk, watched: Watched) -> None:
    gone = Folder(desk.company, watched.path.with_name("gone"), "ERP", None)
    folders.save(desk.data_dir, [gone, watched.folder])
    watched.put("x.csv")
    watched.settle()
    assert watched.files("done") == ["x.csv", "x.csv.txt"]
    assert "No such file" in str(watched.skipped)
    assert str(gone.path) in str(watched.skipped)
    with patch.object(folders, "take", side_effect=PermissionError(13, "Permission denied", str(watched.path))):
        watched.look()
    assert "Permission denied" in str(watched.skipped)
    assert str(watched.path) in str(watched.skipped)


def test_two_companies_never_have_one_folder(desk: Desk, watched: Watched) -> None:
    other = watched.folder._replace(company_id=uuid4())
    file = desk.data_dir / "folders.json"
    for path in (watched.path, watched.path / "done", watched.path.parent):
        with pytest.raises(FolderError, match="would belong to two"):
            folders.save(desk.data_dir, [watched.folder, other._replace(path=path)])
        by_hand = [[*map(str, watched.folder[:3]), None], [str(other.company_id), str(path), "ERP", None]]
        file.write_text(json.dumps(by_hand), encoding="utf-8")
        with pytest.raises(FolderError, match="would belong to two"):
            watched.look()
    with pytest.raises(FolderError, match="would belong to two"):
        folders.save(desk.data_dir, [watched.folder._replace(path=desk.data_dir / "imports")])
    file.write_text('[{"path": 1}]', encoding="utf-8")
    with pytest.raises(FolderError, match="cannot be read"):
        folders.load(desk.data_dir)


def test_names_that_no_text_holds_are_put_away_too(watched: Watched) -> None:
    raw = os.fsdecode(b"caf\xe9.csv")
    watched.put(raw)
    watched.put("n" * 240 + ".csv", ROWS.replace("W-", "N-"))
    watched.put("line\nbreak.csv")
    watched.settle()
    assert sorted(status for _, _, status, _ in watched.imports()) == ["completed", "completed"]
    assert len(watched.files("done")) == 4
    assert len(watched.files("failed")) == 2
    assert watched.files("taken") == []
    json.loads(watched.cursor or "")


def test_a_mail_says_what_came_of_a_file_and_holds_none_up(desk: Desk, post: Mailbox, inbox: Path) -> None:
    settings = Settings.load(data_dir=desk.data_dir, smtp_url=post.url, mail_from="Data <data@brand.example>")
    mailing = Desk(desk.resources._replace(settings=settings), desk.database, desk.instance, desk.company)
    watched = watch(mailing, inbox, "erp@brand.example")
    watched.put("x.csv")
    watched.settle()
    [mail] = post.mails
    [(import_id, *_)] = watched.imports()
    assert mail["To"] == "erp@brand.example"
    assert "x.csv" in mail["Subject"]
    assert str(import_id) in str(mail.get_content())
    post.says = "451 Try again later"
    watched.put("y.csv", HEADER)
    watched.settle()
    assert watched.files("failed") == ["y.csv", "y.csv.txt"]
    assert watched.files("taken") == []
    assert len(post.mails) == 1


def test_a_share_that_hangs_holds_up_no_other_folder(
    desk: Desk, watched: Watched, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Folder(uuid4(), tmp_path_factory.mktemp("share").resolve(), "ERP", None)
    folders.save(desk.data_dir, [hanging, watched.folder])
    monkeypatch.setattr(sensors, "LOOK_SECONDS", 0.5)
    released, original, looks = Event(), folders.take, list[Path | str]()

    def take(place: Place, seen: Any, now: float) -> dict[str, str]:
        looks.append(place.folder.path)
        if place.folder == hanging:
            assert released.wait(60)
        return original(place, seen, now)

    with patch.object(folders, "take", take), capture_logs() as logs:
        watched.put("x.csv")
        watched.settle()
        assert watched.files("done") == ["x.csv", "x.csv.txt"]
        assert looks.count(hanging.path) == 1, "it is left alone while it hangs"
        assert f"{hanging.path} still hangs" in str(watched.skipped)
        [entry] = [entry for entry in logs if entry["event"] == "folder.hangs"]
        assert (entry["folder"], entry["log_level"]) == (str(hanging.path), "warning")
        released.set()
        folders._HANGING[hanging.path].join(60)
        watched.look()
    assert "hangs" not in str(watched.skipped)


def test_a_run_ends_when_its_folder_hangs_and_the_next_one_goes_on(
    desk: Desk, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports_defs, "FILE_SECONDS", 0.5)
    released, original = Event(), folders.Work.go_on

    def go_on(work: folders.Work, taken: folders.Taken) -> str:
        assert released.wait(60)
        return original(work, taken)

    watched.put("x.csv")
    watched.look()
    with patch.object(folders.Work, "go_on", go_on):
        [run] = watched.look()
        assert not run.success
        assert "has not answered for" in str([event.event_specific_data for event in run.all_events])
        released.set()
        folders._HANGING[watched.path].join(60)
    [(import_id, _, status, _)] = watched.imports()
    assert status == "queued", "what it had begun was done when the folder answered"
    watched.desk.finish(import_id)
    resources = desk.resources
    work = folders.Work(desk.pool, desk.objects, desk.readers, desk.clock, resources.settings, watched.place)
    assert [work.go_on(taken) for taken in folders.under_way(watched.place)] == ["done"]
    assert watched.files("done") == ["x.csv", "x.csv.txt"]


@pytest.mark.parametrize(
    ("language", "says"),
    [
        ("en", ("created: 1", "Rejected:", "- line 3: ", "done")),
        ("fr", ("créés : 1", "Rejetés :", "- ligne 3 : ", "importé")),
        ("de", ("angelegt: 1", "Abgelehnt:", "- Zeile 3: ", "importiert")),
    ],
)
def test_the_text_and_the_mail_are_in_the_language_of_the_folder(
    desk: Desk, post: Mailbox, inbox: Path, language: str, says: tuple[str, ...]
) -> None:
    settings = Settings.load(data_dir=desk.data_dir, smtp_url=post.url, mail_from="Data <data@brand.example>")
    mailing = Desk(desk.resources._replace(settings=settings), desk.database, desk.instance, desk.company)
    watched = watch(mailing, inbox, "erp@brand.example")
    folders.save(desk.data_dir, [watched.folder._replace(language=language)])
    assert folders.load(desk.data_dir)[0].language == language
    watched.put("x.csv", HEADER + "W-1,Jar,glass,200\nW-2,Lid,steel,heavy\n")
    watched.settle()
    told = watched.text("done", "x.csv")
    for words_said in says:
        assert words_said in told
    [mail] = post.mails
    assert says[-1] in mail["Subject"]
    assert says[0] in str(mail.get_content())
    assert "is no number" not in told or language == "en", "the reasons are in the language, too"
