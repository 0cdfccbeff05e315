"""Takes files out of watched folders, submits each as an import, and puts it away when the import has ended.

A file that has come to rest is renamed to `taken/<import id>/<name>`, so that its import has its id before it exists:
whatever is killed, the next look finds the file with an import of that id or without one, and goes on there. What came
of it is first noted beside it (`.outcome`), then told in a text, the file moves to `done` or `failed`, a mail is sent.
"""

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from errno import EACCES, ELOOP
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, Generic, NamedTuple, TypeVar
from uuid import UUID, uuid4, uuid5

import structlog
from uuid_utils import uuid7

from pipelines.imports import submissions
from pipelines.imports.submissions import Submission
from pipelines.readers import requests
from pipelines.readers.pool import Readers
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.upload import PackedUpload
from pipelines.suppliers import MailServer, NotSent, message
from pipelines.writing.write import PlanLimitReached
from schemas.actors import Actor, Origin
from schemas.files import MAX_FILE_BYTES, own_name
from schemas.imports.types import PolledReport
from schemas.messages import ORIGINAL, Message, message_of, stored_message, translate
from schemas.normalise import Unfit
from schemas.refusals import Refused
from warehouse.imports import queries, words
from warehouse.operate import whole_files
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings, SettingsError

_REST_SECONDS: Final = 5.0
"""How old the last change of a file must be, beside being the same at two looks."""
_MOST: Final = 50
"""Most files of a folder that are under way, and ten times as many that are remembered while they wait."""
_UNFINISHED: Final = (".part", ".tmp", ".filepart")
"""Ends of names under which programs write what they rename when it is whole."""
_LISTED: Final = 20
_LONGEST_NAME: Final = 200
"""Bytes of a name to which more can be added."""

log = structlog.get_logger(__name__)
T = TypeVar("T")


_FILE: Final = "folders.json"


class FolderError(SettingsError):
    """A folder cannot be watched, or the list of folders cannot be read; `str()` is a sentence that says why."""


class Folder(NamedTuple):
    """A watched folder, by its real path, and the name of the company's kept mapping, or None: files say it themselves.

    `mail_to` hears of each file, in the `language` of the texts beside the files.
    """

    company_id: UUID
    path: Path
    mapping_name: str | None
    mail_to: str | None
    language: str = ORIGINAL

    @property
    def id(self) -> UUID:
        """Return what imports name as their sender."""
        return uuid5(self.company_id, str(self.path))


def load(data_dir: Path) -> list[Folder]:
    """Return the folders that the operator has given. Raises `FolderError`."""
    try:
        rows = json.loads((data_dir / _FILE).read_bytes())
        return _apart([Folder(UUID(row[0]), Path(row[1]), *row[2:]) for row in rows], data_dir)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, LookupError):
        raise FolderError(f"{_FILE} in the data directory cannot be read; `pcds folder` writes it.") from None


def save(data_dir: Path, folders: list[Folder]) -> None:
    """Store the folders in place of the earlier ones. Raises `FolderError`."""
    data = json.dumps(_apart(folders, data_dir), default=str, indent=1).encode()
    whole_files.replace(data_dir / _FILE, data, whole_files.PRIVATE)


def _apart(folders: list[Folder], data_dir: Path) -> list[Folder]:
    """Return the folders, none of which is, holds or is in another one or the data directory. Raises `FolderError`."""
    paths = [data_dir.resolve(), *(folder.path for folder in folders)]
    for one, other in combinations(paths, 2):
        if one.is_relative_to(other) or other.is_relative_to(one):
            raise FolderError(f"{other} is, holds or is in {one}: a file in it would belong to two.")
    return folders


class Taken(NamedTuple):
    """A file under way: the folder of its import's id, and the file's name; None where it has been put away."""

    folder: Path
    name: str | None

    @property
    def import_id(self) -> UUID:
        """Return the id of the import that the file is, or becomes."""
        return UUID(self.folder.name)

    @property
    def note(self) -> Path:
        """Return the file with the outcome."""
        return self.folder / ".outcome"


_HANGING: Final[dict[Path, Thread]] = {}


class Aside(Generic[T]):
    """Work on one folder in a thread of its own: a share that hangs keeps the thread, and nobody waits for it.

    A folder whose last work still hangs is left alone.
    """

    def __init__(self, folder: Folder, work: Callable[[], Iterable[T]]) -> None:
        """Begin the work; what it yields are the answers."""
        self._path, self._answers = folder.path, SimpleQueue[T | BaseException | None]()
        if (before := _HANGING.get(folder.path)) is not None and before.is_alive():
            self._answers.put(FolderError(f"{folder.path} still hangs; it is looked at again when it answers."))
            return
        thread = Thread(target=copy_context().run, args=(self._run, work), name=f"folder {folder.id}", daemon=True)
        _HANGING[folder.path] = thread
        thread.start()

    def _run(self, work: Callable[[], Iterable[T]]) -> None:
        try:
            for answer in work():
                self._answers.put(answer)
            self._answers.put(None)
        except BaseException as fault:  # raised again where it is waited for
            self._answers.put(fault)

    def answers(self, seconds: float) -> Iterator[T]:
        """Yield the answers. Raises `FolderError` where none comes for so many seconds, and what the work raises."""
        while True:
            try:
                answer = self._answers.get(timeout=seconds)
            except Empty:
                log.warning("folder.hangs", folder=str(self._path), seconds=seconds)
                raise FolderError(f"{self._path} has not answered for {seconds:.0f} seconds.") from None
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                return
            yield answer


def own_folder(folder: Folder, name: str) -> Path:
    """Return the folder of this name within a watched one, made where it is missing. Raises `FolderError`, `OSError`.

    Neither may lead elsewhere: whoever may write there could have our files written anywhere.
    """
    inner = folder.path / name
    if not inner.is_symlink():
        inner.mkdir(exist_ok=True)
    if inner.resolve() != inner:
        raise FolderError(f"{inner} leads elsewhere; no link is followed.")
    return inner


def take(folder: Folder, seen: Mapping[str, str], now: float) -> dict[str, str]:
    """Take the files that are as they were `seen`; return size and time of those that wait, by path.

    A name is taken once its last file is put away. Raises `FolderError`, and `OSError` where rights are missing.
    """
    place, waiting = own_folder(folder, "taken"), dict[str, str]()
    for left in place.iterdir():
        with suppress(OSError):  # a kill before or after all work leaves an empty folder; others stay
            left.rmdir()
    busy = {taken.name for taken in under_way(folder)} - {None}
    for name in sorted(os.listdir(folder.path)):  # noqa: PTH208  (names, not paths)
        if name.startswith(".") or name.lower().endswith(_UNFINISHED) or name in busy or len(waiting) == 10 * _MOST:
            continue
        file = folder.path / name
        with suppress(FileNotFoundError):
            state = file.lstat()
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)):
                continue
            looks = f"{state.st_size}/{state.st_mtime_ns}/{state.st_ino}"
            is_at_rest = seen.get(str(file)) == looks and not 0 <= now - state.st_mtime < _REST_SECONDS
            if not is_at_rest or len(busy) >= _MOST:
                waiting[str(file)] = looks
                continue
            taken = place / str(uuid7())
            taken.mkdir()
            file.rename(taken / name)
            busy.add(name)
    return waiting


def under_way(folder: Folder) -> Iterator[Taken]:
    """Yield the files that are taken and not wholly put away, in their order."""
    for inner in sorted(own_folder(folder, "taken").iterdir()):
        with suppress(ValueError, OSError):  # a folder of somebody else's, or one that a run has just removed
            UUID(inner.name)
            names = [name for name in os.listdir(inner) if name != ".outcome"]  # noqa: PTH208  (names, not paths)
            taken = Taken(inner, min(names, default=None))
            if names or taken.note.exists():
                yield taken


def has_work(pool: Pool, folder: Folder, files: Iterable[Taken]) -> bool:
    """Return whether there is a file to submit, to put away or to mail of, of those that are under way."""
    with pool.company(folder.company_id) as conn:
        reports = (queries.status(conn, taken.import_id, limit=1, offset=0) for taken in files)
        return any(report is None or report["finished_at"] is not None for report in reports)


class Work(NamedTuple):
    """What a run on a watched folder needs."""

    pool: Pool
    objects: Objects
    readers: Readers
    clock: Clock
    settings: Settings
    folder: Folder

    def go_on(self, taken: Taken) -> str:
        """Do what is next for a file; return what that was: submitted, waiting, done or failed."""
        if not taken.note.exists():
            with self.pool.company(self.folder.company_id) as conn:
                report = queries.status(conn, taken.import_id, limit=_LISTED, offset=0, with_templates=True)
            if report is None:
                folder, says = self._submit(taken)
            elif report["finished_at"] is None:
                return "waiting"
            else:
                folder, says = self._ended(report)
            if folder == "submitted":
                return folder
            whole_files.replace(taken.note, json.dumps(self._outcome(taken, folder, says)).encode())
        folder, name, text = json.loads(taken.note.read_bytes())
        if taken.name is not None:
            place = own_folder(self.folder, folder)
            whole_files.replace(place / f"{name}.txt", text.encode())
            (taken.folder / taken.name).rename(place / name)
        self._mail(taken, text)
        taken.note.unlink()  # the next look removes the folder
        return str(folder)

    def _submit(self, taken: Taken) -> tuple[str, list[str]]:
        """Submit a file as an upload is; return that, or why it became no import."""
        company_id, name = self.folder.company_id, self.folder.mapping_name
        sender = Origin("system", str(self.folder.id), f"Folder {self.folder.path.name}", str(uuid4()))
        try:
            data, filename = _bytes_of(taken.folder / (taken.name or "")), own_name(_shown(taken.name or ""))
            with self.pool.company(company_id) as conn:
                mapping = {} if name is None else words.recall(conn, company_id, name)
                own_words = words.for_reading(conn)
                before = queries.last_written(conn, self.folder.id, filename)
            if before is not None and before[1] == sha256(data).hexdigest():
                says = Message(
                    "These bytes were imported already under this name, by import {id}; nothing was written.",
                    id=before[0],
                )
                return "done", [says]
            if mapping is None:
                says = Message(
                    "The company keeps no mapping under the name {name}; keep it, or name another.", name=name
                )
                raise FolderError(says)
            sent = Submission(data, filename, dry_run=False, mapping=mapping, mapping_name=name)
            self._queue(Actor(company_id, sender, self.clock.now()), sent, taken.import_id, own_words)
        except (ReadingRefused, Refused) as refused:
            return "failed", [issue.message for issue in refused.issues]
        except (FolderError, Unfit, PlanLimitReached) as refused:
            return "failed", [str(refused)]
        return "submitted", []

    def _queue(self, actor: Actor, sent: Submission, import_id: UUID, own_words: dict[str, dict[str, object]]) -> None:
        """Read a file and store its import; one whose columns are not known is stored as a dry run that asks."""
        order = requests.reading_request(
            sent.data,
            sent.filename,
            mapping=dict(sent.mapping or {}),
            mapping_name=sent.mapping_name,
            words=own_words,
            today=actor.today,
        )
        read: PackedUpload | None = None
        try:
            read = self.readers.read(actor.company_id, "company", order)
            outline, issues = read.source, []
        except ReadingRefused as refused:
            if refused.outline is None:
                raise
            outline, issues = refused.outline, refused.issues
        table = None if read is None else read.table
        kept = submissions.keep_file(self.objects, actor.company_id, sent.data, table, import_id=import_id)
        try:
            with self.pool.company(actor.company_id) as conn:
                if read is not None:
                    submissions.submit(conn, actor, self.objects, kept, sent, upload=read)
                else:
                    asks = replace(sent, dry_run=True)
                    submissions.ask_columns(conn, actor, self.objects, kept, asks, outline=outline, issues=issues)
        except (Refused, PlanLimitReached):
            kept.remove(self.objects)
            raise

    def _ended(self, report: PolledReport) -> tuple[str, list[str]]:
        """Return the outcome of an import that has ended: counts or failure, questions, the first rejected rows."""
        is_done, beside = report["status"] == "completed", report.get("templates", {})

        def told(text: str) -> Message:
            return message_of(stored_message(text, beside))

        says: list[str] = [f"Import {report['id']}: {self.settings.base_url}/imports/{report['id']}"]
        if (failure := report["failure"]) is not None:
            says.append(told(failure["message"]))
        if is_done:
            says.append(
                Message(
                    "created: {created}, updated: {updated}, unchanged: {unchanged}, rejected: {rejected}",
                    **report["counts"],
                )
            )
        asked = [Message("- {message}", message=told(q["message"])) for q in report["source"].get("asked", ())]
        rejected = [
            Message("- line {line}: {message}", line=fault["line"], message=told(fault["message"]))
            for fault in report["errors"]
        ]
        for title, lines in ((Message("Questions:"), asked), (Message("Rejected:"), rejected)):
            says += ["", title, *lines[:_LISTED]] if lines else []
            says += [Message("- and {count} more", count=len(lines) - _LISTED)] if len(lines) > _LISTED else []
        return "done" if is_done else "failed", says

    def _outcome(self, taken: Taken, folder: str, says: list[str]) -> tuple[str, str, str]:
        """Return the folder for a file, its name there, and what is said of it in the folder's language."""
        name, lang = taken.name or "", self.folder.language
        of_file = {"file": _shown(name)}
        title = Message("{file}: done", **of_file) if folder == "done" else Message("{file}: not imported", **of_file)
        says = [translate(line, lang) for line in (title, *says, "")]
        if len(os.fsencode(name)) > _LONGEST_NAME:
            name = f"{taken.import_id}.file"
        elif os.path.lexists(own_folder(self.folder, folder) / name):
            name = f"{taken.import_id}-{name}"
        return folder, name, "\n".join(says)

    def _mail(self, taken: Taken, text: str) -> None:
        """Mail what came of a file, once: where the server does not take it, the text beside the file says the same."""
        server, to, mail_id = MailServer.from_settings(self.settings), self.folder.mail_to, str(taken.import_id)
        if server is not None and to is not None:
            try:
                server.send(message(server.sender, to, text.partition("\n")[0], text, mail_id=mail_id, reply_to=None))
            except NotSent as failed:
                log.warning("mail.not_sent", mail_id=mail_id, fault=failed.fault)


def _shown(name: str) -> str:
    """Return a file's name as text: bytes that are no UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _bytes_of(file: Path) -> bytes:
    """Return a file's bytes. Raises `FolderError` where it is a link, too large, or not readable."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        if error.errno not in {ELOOP, EACCES}:
            raise
        says = Message("This is a link to another place, or the service has no right to read it.")
        raise FolderError(says) from None
    if len(data) > MAX_FILE_BYTES:
        raise FolderError(Message("The file has more than {bytes} bytes; send it in parts.", bytes=MAX_FILE_BYTES))
    return data
