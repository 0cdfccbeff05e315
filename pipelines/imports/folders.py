"""Takes files out of watched folders, submits each as an import, and puts it away when the import has ended.

A file that has come to rest is renamed to `taken/<import id>/<name>`, so that its import has its id before it exists:
whatever is killed, the next look finds the file with an import of that id or without one, and goes on there. What came
of it is first noted beside it (`.outcome`), then told in a text, the file moves to `done` or `failed`, a mail is sent.
"""

import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from errno import ELOOP
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast
from uuid import UUID, uuid4

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
from schemas.normalise import Unfit
from schemas.refusals import Refused
from warehouse.imports import queries, words
from warehouse.imports.folders import Folder, FolderError
from warehouse.operate import whole_files
from warehouse.operate.clock import Clock
from warehouse.operate.objects import Objects
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

REST_SECONDS: Final = 5.0
"""How old the last change of a file must be, beside being the same at two looks."""
MOST_TAKEN: Final = 50
"""Most files of a folder that are under way; the next ones wait where they are."""
MOST_SEEN: Final = 500
"""Most waiting files that are remembered from one look to the next."""
MAIL_AGAIN_SECONDS: Final = 600.0
MAIL_GIVEN_UP_SECONDS: Final = 86_400.0
"""How long after the outcome a mail is tried."""
_UNFINISHED: Final = (".part", ".tmp", ".filepart")
"""Ends of names under which programs write what they rename when it is whole."""
_TAKEN, _NOTE = "taken", ".outcome"
_LISTED: Final = 20
_LONGEST_NAME: Final = 200
"""Bytes of a name to which more can be added."""

LOOK_SECONDS: Final = 10.0
"""How long a folder may take to answer."""

log = structlog.get_logger(__name__)
_looks: Final[dict[Path, Future["Look"]]] = {}
"""The last look at each folder."""


class Taken(NamedTuple):
    """A file under way: the folder of its import's id, and the file in it; None where it has been put away."""

    folder: Path
    file: Path | None

    @property
    def import_id(self) -> UUID:
        """Return the id of the import that the file is, or becomes."""
        return UUID(self.folder.name)

    @property
    def note(self) -> Path:
        """Return the file with the outcome."""
        return self.folder / _NOTE


class Outcome(NamedTuple):
    """What came of a file: the folder for it, its name there, what is said of it, and when it ended, in seconds."""

    folder: Literal["done", "failed"]
    name: str
    subject: str
    text: str
    at: float


def own_folder(folder: Folder, name: str) -> Path:
    """Return the folder of this name within a watched one, made where it is missing. Raises `FolderError`, `OSError`.

    Neither may lead elsewhere: whoever may write there could have our files written anywhere.
    """
    inner = folder.path / name
    if not folder.path.is_dir():
        raise FolderError(f"{folder.path} is no folder.")
    inner.mkdir(exist_ok=True) if not inner.is_symlink() else None
    if inner.resolve() != inner:
        raise FolderError(f"{inner} leads elsewhere; no link is followed.")
    return inner


def take(folder: Folder, seen: Mapping[str, str], now: float) -> dict[str, str]:
    """Take the files that are as they were `seen`; return size and time of those that wait, by path.

    A name is taken once its last file is put away. Raises `FolderError`, and `OSError` where rights are missing.
    """
    place, waiting = own_folder(folder, _TAKEN), dict[str, str]()
    for left in place.iterdir():
        with suppress(OSError):  # a kill before or after all work leaves an empty folder; others stay
            left.rmdir()
    busy = {taken.file.name for taken in under_way(folder) if taken.file is not None}
    for name in sorted(os.listdir(folder.path)):  # noqa: PTH208  (names, not paths)
        if name.startswith(".") or name.lower().endswith(_UNFINISHED) or name in busy:
            continue
        file = folder.path / name
        try:
            state = file.lstat()
        except FileNotFoundError:
            continue
        if not (stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)) or len(waiting) == MOST_SEEN:
            continue
        looks = f"{state.st_size}/{state.st_mtime_ns}/{state.st_ino}"
        if seen.get(str(file)) != looks or 0 <= now - state.st_mtime < REST_SECONDS or len(busy) >= MOST_TAKEN:
            waiting[str(file)] = looks
            continue
        taken = place / str(uuid7())
        taken.mkdir()
        file.rename(taken / name)
        busy.add(name)
    return waiting


def under_way(folder: Folder) -> Iterator[Taken]:
    """Yield the files that are taken and not wholly put away, in their order."""
    for inner in sorted(own_folder(folder, _TAKEN).iterdir()):
        with suppress(ValueError, FileNotFoundError):  # a folder of somebody else's, or one that a run has just removed
            UUID(inner.name)
            taken = Taken(inner, next((file for file in inner.iterdir() if not file.name.startswith(".")), None))
            if taken.file is not None or taken.note.exists():
                yield taken


class Look(NamedTuple):
    """What a look at a folder has seen: the files that wait (`take`), the imports of those that are taken."""

    waiting: Mapping[str, str]
    imports: Sequence[UUID]
    has_due_mails: bool


def look(folder: Folder, seen: Mapping[str, str], now: float) -> Look:
    """Look at a folder and take what has come to rest; raise as `take`, and where the folder does not answer in time.

    A share that hangs keeps its own thread and nobody else: it is not looked at again before it has answered.
    """
    if folder.path in _looks and not _looks[folder.path].done():
        raise FolderError(f"{folder.path} does not answer.")
    outcome: Future[Look] = Future()
    _looks[folder.path] = outcome

    def settle() -> None:
        try:
            waiting, taken = take(folder, seen, now), list(under_way(folder))
            imports = [one.import_id for one in taken if one.file is not None]
            mails = any(_is_mail_due(one, now) for one in taken if one.file is None)
            outcome.set_result(Look(waiting, imports, mails))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=settle, name="folder", daemon=True).start()
    try:
        return outcome.result(LOOK_SECONDS)
    except FutureTimeout:
        raise FolderError(f"{folder.path} does not answer.") from None


def _is_mail_due(taken: Taken, now: float) -> bool:
    with suppress(FileNotFoundError):
        return not 0 <= now - taken.note.stat().st_mtime < MAIL_AGAIN_SECONDS
    return False


class Work(NamedTuple):
    """What a run on a watched folder needs."""

    pool: Pool
    objects: Objects
    readers: Readers
    clock: Clock
    settings: Settings
    folder: Folder

    def go_on(self, taken: Taken) -> str:
        """Do what is next for a file; return what that was: submitted, waiting, done or failed. Raises `OSError`."""
        if not taken.note.exists():
            with self.pool.company(self.folder.company_id) as conn:
                report = queries.status(conn, taken.import_id, limit=_LISTED, offset=0)
            if report is not None and report["finished_at"] is None:
                return "waiting"
            outcome = self._submit(taken) if report is None else self._ended(taken, report)
            if outcome is None:
                return "submitted"
            whole_files.replace(taken.note, json.dumps(outcome).encode())
        outcome = Outcome(*json.loads(taken.note.read_bytes()))
        if taken.file is not None:
            place = own_folder(self.folder, outcome.folder)
            said = outcome.text.encode("utf-8", "replace")
            whole_files.replace(place / f"{outcome.name}.txt", said)
            taken.file.rename(place / outcome.name)
        if self._mailed(taken, outcome):
            taken.note.unlink()
            with suppress(OSError):  # a look has removed it
                taken.folder.rmdir()
        return outcome.folder

    def _submit(self, taken: Taken) -> Outcome | None:
        """Submit a file as an upload is; return why it became no import, or None where it did."""
        try:
            data = _bytes_of(cast(Path, taken.file))
            filename = own_name(_name(taken))
        except (FolderError, Unfit) as refused:
            return self._outcome(taken, "failed", [str(refused)])
        company_id, now = self.folder.company_id, self.clock.now()
        name = f"Folder {self.folder.path.name}"
        actor = Actor(company_id, Origin("system", str(self.folder.id), name, str(uuid4())), now)
        with self.pool.company(company_id) as conn:
            mapping = words.recall(conn, company_id, self.folder.mapping_name)
            own_words = words.for_reading(conn)
            before = queries.last_written(conn, self.folder.id, filename)
        if before is not None and before.sha256 == sha256(data).hexdigest():
            says = f"These bytes were imported already under this name, by import {before.id}; nothing was written."
            return self._outcome(taken, "done", [says])
        if mapping is None:
            says = f"The company keeps no mapping under the name {self.folder.mapping_name}; keep it, or name another."
            return self._outcome(taken, "failed", [says])
        sent = Submission(data, filename, dry_run=False, mapping=mapping, mapping_name=self.folder.mapping_name)
        try:
            self._queue(actor, sent, taken.import_id, own_words)
        except ReadingRefused as refused:
            return self._outcome(taken, "failed", [str(issue.message) for issue in refused.issues])
        except Refused as refused:
            return self._outcome(taken, "failed", [str(issue.message) for issue in refused.issues])
        except PlanLimitReached as reached:
            return self._outcome(taken, "failed", [str(reached)])
        return None

    def _queue(
        self, actor: Actor, sent: Submission, import_id: UUID, own_words: Mapping[str, dict[str, object]]
    ) -> None:
        """Read a file and store its import; one whose columns are not known is stored as a dry run that asks."""
        order = requests.reading_request(
            sent.data,
            sent.filename,
            mapping=dict(sent.mapping or {}),
            mapping_name=sent.mapping_name,
            words=own_words,
            today=actor.today,
        )
        read: PackedUpload | ReadingRefused
        try:
            read = self.readers.read(actor.company_id, "company", order)
        except ReadingRefused as refused:
            if refused.outline is None:
                raise
            read = refused
        table = read.table if isinstance(read, PackedUpload) else None
        kept = submissions.keep_file(self.objects, actor.company_id, sent.data, table, import_id=import_id)
        try:
            with self.pool.company(actor.company_id) as conn:
                if isinstance(read, PackedUpload):
                    submissions.submit(conn, actor, self.objects, kept, sent, upload=read)
                elif read.outline is not None:
                    asks = replace(sent, dry_run=True)
                    submissions.ask_columns(
                        conn, actor, self.objects, kept, asks, outline=read.outline, issues=read.issues
                    )
        except (Refused, PlanLimitReached):
            kept.remove(self.objects)
            raise

    def _ended(self, taken: Taken, report: PolledReport) -> Outcome:
        """Return the outcome of an import that has ended: counts or failure, questions, the first rejected rows."""
        counts, failure = report["counts"], report["failure"]
        says = [f"Import {report['id']}: {self.settings.base_url}/imports/{report['id']}"]
        if failure is not None:
            says.append(str(failure["message"]))
        if report["status"] == "completed":
            says.append(", ".join(f"{name}: {number}" for name, number in counts.items()))
        for title, messages in (
            ("Questions:", [asked["message"] for asked in report["source"].get("asked", ())]),
            ("Rejected:", [f"line {fault['line']}: {fault['message']}" for fault in report["errors"]]),
        ):
            if messages:
                says += ["", title, *(f"- {text}" for text in messages[:_LISTED])]
            if len(messages) > _LISTED:
                says.append(f"- and {len(messages) - _LISTED} more")
        return self._outcome(taken, "done" if report["status"] == "completed" else "failed", says)

    def _outcome(self, taken: Taken, folder: Literal["done", "failed"], says: list[str]) -> Outcome:
        name, import_id = cast(Path, taken.file).name, taken.import_id
        subject = f"{_name(taken)}: {'done' if folder == 'done' else 'not imported'}"
        if len(os.fsencode(name)) > _LONGEST_NAME:
            name = f"{import_id}.file"
        elif os.path.lexists(own_folder(self.folder, folder) / name):
            name = f"{import_id}-{name}"
        return Outcome(folder, name, subject, "\n".join([subject, *says]) + "\n", Clock().now().timestamp())

    def _mailed(self, taken: Taken, outcome: Outcome) -> bool:
        """Return whether no mail is owed any more; a mail that the server does not take is tried again later."""
        server, now = MailServer.from_settings(self.settings), Clock().now().timestamp()
        if server is None or self.folder.mail_to is None:
            return True
        text = outcome.text.encode("utf-8", "replace").decode()
        subject = outcome.subject.encode("utf-8", "replace").decode()
        mail_id = str(taken.import_id)
        mail = message(server.sender, self.folder.mail_to, subject, text, mail_id=mail_id, reply_to=None)
        try:
            server.send(mail)
        except NotSent as failed:
            log.warning("mail.not_sent", mail_id=mail_id, fault=failed.fault)
            os.utime(taken.note, (now, now))
            return failed.is_final or now - outcome.at > MAIL_GIVEN_UP_SECONDS
        return True


def _name(taken: Taken) -> str:
    """Return a file's name as it is shown: bytes that are no UTF-8 are replaced."""
    return os.fsencode(cast(Path, taken.file).name).decode("utf-8", "replace")


def _bytes_of(file: Path) -> bytes:
    """Return a file's bytes. Raises `FolderError` where it is a link, too large, or not readable."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        if error.errno == ELOOP:
            raise FolderError("This is a link to another place; put the file itself into the folder.") from None
        if isinstance(error, PermissionError | IsADirectoryError):
            raise FolderError("The service has no right to read this file.") from None
        raise
    if len(data) > MAX_FILE_BYTES:
        raise FolderError(f"The file has more than {MAX_FILE_BYTES} bytes; send it in parts.")
    return data
