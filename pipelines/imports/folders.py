"""Takes files out of watched folders, submits each as an import, and puts it away when the import has ended.

A folder is a directory or a prefix of a bucket (`Place`). A file that has come to rest moves to
`taken/<import id>/<name>`, so that its import has its id before it exists: whatever is killed, the next look finds the
file with an import of that id or without one, and goes on there. What came of it is first noted beside it (`.outcome`),
then told in a text, the file moves to `done` or `failed`, a mail is sent.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from errno import EACCES, ELOOP
from hashlib import sha256
from itertools import combinations
from pathlib import Path, PurePath
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4, uuid5

import obstore
import structlog
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import ObjectStore
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
from warehouse.operate.objects import Objects, remote
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
_OUTCOME: Final = ".outcome"
_BUCKET: Final = "s3://"

log = structlog.get_logger(__name__)
T = TypeVar("T")


_FILE: Final = "folders.json"


class FolderError(SettingsError):
    """A folder cannot be watched, or the list of folders cannot be read; `str()` is a sentence that says why."""


class Folder(NamedTuple):
    """A watched folder, by its real path, and the name of the company's kept mapping, or None: files say it themselves.

    The path of a bucket's prefix is a text, `s3://bucket/prefix`. `mail_to` hears of each file, in the `language` of
    the texts beside the files.
    """

    company_id: UUID
    path: Path | str
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
        return _apart([Folder(UUID(row[0]), path_of(row[1]), *row[2:]) for row in rows], data_dir)
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
    paths = [data_dir.resolve(), *(PurePath(folder.path) for folder in folders)]
    for one, other in combinations(paths, 2):
        if one.is_relative_to(other) or other.is_relative_to(one):
            raise FolderError(f"{other} is, holds or is in {one}: a file in it would belong to two.")
    return folders


def path_of(text: str) -> Path | str:
    """Return the path that a text names, or the prefix of a bucket without a slash at its end. Raises `FolderError`."""
    if not text.startswith(_BUCKET):
        return Path(text)
    names = text.removeprefix(_BUCKET).rstrip("/").split("/")
    if not {"", ".", ".."}.isdisjoint(names):
        raise FolderError(f"{text} is no prefix of a bucket; write s3://bucket/prefix.")
    return _BUCKET + "/".join(names)


class File(NamedTuple):
    """A file that lies in a watched folder; `looks` changes with its content, `modified` is in seconds since 1970."""

    name: str
    looks: str
    modified: float


class Taken(NamedTuple):
    """A file under way: its import's id, and the file's name; None where it has been put away."""

    import_id: UUID
    name: str | None
    has_note: bool

    @property
    def key(self) -> str:
        """Return where the file lies, or has lain."""
        return f"taken/{self.import_id}/{self.name or ''}"

    @property
    def note(self) -> str:
        """Return where the outcome is noted."""
        return f"taken/{self.import_id}/{_OUTCOME}"


class Place(Protocol):
    """Where the files of a watched folder lie, by keys such as `done/x.csv`.

    Raises `FolderError` for what the folder must not have, `OSError` where it is away or rights are missing.
    """

    @property
    def folder(self) -> Folder:
        """Return whose it is and how its files are read."""

    def files(self) -> Iterable[File]:
        """Return the files that lie in the folder itself, by name."""

    def take(self, file: File) -> None:
        """Move a file to `taken/<a new import's id>/<name>`; one that is gone is left out."""

    def taken(self) -> Iterable[tuple[UUID, str]]:
        """Return what lies wholly in `taken`, by id and in their order: each name beside its id."""

    def read(self, key: str) -> bytes:
        """Return the bytes under a key. Raises `FolderError` for a link and for more bytes than an upload may have."""

    def write(self, key: str, data: bytes) -> None:
        """Store bytes whole under a key, in place of what is there."""

    def has(self, key: str) -> bool:
        """Return whether something is stored under a key."""

    def move(self, key: str, to: str) -> None:
        """Move a file; one that a kill has stopped can be done again."""

    def remove(self, key: str) -> None:
        """Remove a file."""


@dataclass(frozen=True, slots=True)
class _Directory:
    """A folder of a file system, where a file moves in one step."""

    folder: Folder

    def files(self) -> Iterator[File]:
        """Yield the files, and links too; a kill before or after all work left empty folders, which go first."""
        for left in self._path("taken").iterdir():
            with suppress(OSError):  # others stay
                left.rmdir()
        for name in sorted(os.listdir(self.folder.path)):  # noqa: PTH208  (names, not paths)
            with suppress(FileNotFoundError):
                state = (Path(self.folder.path) / name).lstat()
                if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode):
                    yield File(name, f"{state.st_size}/{state.st_mtime_ns}/{state.st_ino}", state.st_mtime)

    def take(self, file: File) -> None:
        taken = self._path("taken") / str(uuid7())
        taken.mkdir()
        with suppress(FileNotFoundError):
            (Path(self.folder.path) / file.name).rename(taken / file.name)

    def taken(self) -> Iterator[tuple[UUID, str]]:
        for inner in sorted(self._path("taken").iterdir()) if Path(self.folder.path).is_dir() else ():
            with suppress(ValueError, OSError):  # a folder of somebody else's, or one that a run has just removed
                yield from [(UUID(inner.name), name) for name in os.listdir(inner)]  # noqa: PTH208  (names, not paths)

    def read(self, key: str) -> bytes:
        return _bytes_of(self._path(key))

    def write(self, key: str, data: bytes) -> None:
        whole_files.replace(self._path(key), data)

    def has(self, key: str) -> bool:
        return os.path.lexists(self._path(key))

    def move(self, key: str, to: str) -> None:
        self._path(key).rename(self._path(to))

    def remove(self, key: str) -> None:
        self._path(key).unlink()

    def _path(self, key: str) -> Path:
        """Return a key's path in `taken`, `done` or `failed`, which is made where it is missing.

        Raises `FolderError` where it leads elsewhere: whoever may write there could have our files written anywhere.
        """
        own, _, rest = key.partition("/")
        inner = Path(self.folder.path) / own
        if not inner.is_symlink():
            inner.mkdir(exist_ok=True)
        if inner.resolve() != inner:
            raise FolderError(f"{inner} leads elsewhere; no link is followed.")
        return inner / rest


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A prefix of a bucket, where a file is copied and then removed: what is in both places has not moved yet."""

    folder: Folder
    store: ObjectStore

    def files(self) -> Iterator[File]:
        with self._told():
            listed = obstore.list_with_delimiter(self.store)["objects"]
        for file in listed:
            name, modified = file["path"], file["last_modified"].timestamp()
            if name:  # the mark that consoles make for a folder has none
                yield File(name, f"{file['size']}/{file['e_tag']}/{modified}", modified)

    def take(self, file: File) -> None:
        """Move a file, unless another one took its name meanwhile: that one comes to rest first."""
        with self._told(), suppress(FileNotFoundError):
            obstore.copy(self.store, file.name, f"taken/{self._import_id(file)}/{file.name}")
            now = obstore.head(self.store, file.name)
            if (now["e_tag"], now["last_modified"].timestamp()) == (file.looks.split("/")[1], file.modified):
                obstore.delete(self.store, file.name)

    def taken(self) -> Iterator[tuple[UUID, str]]:
        with self._told():
            keys = sorted(file["path"] for batch in obstore.list(self.store, "taken") for file in batch)
        unmoved = {str(self._import_id(file)) for file in self.files()} if keys else set()
        for key in keys:
            with suppress(ValueError):  # somebody else's
                _, inner, name = key.split("/")
                if inner not in unmoved:
                    yield UUID(inner), name

    def read(self, key: str) -> bytes:
        with self._told():
            answer = obstore.get(self.store, key)
            _check_size(answer.meta["size"])
            return bytes(answer.bytes())

    def write(self, key: str, data: bytes) -> None:
        with self._told():
            obstore.put(self.store, key, data)

    def has(self, key: str) -> bool:
        with self._told(), suppress(FileNotFoundError):
            return bool(obstore.head(self.store, key))
        return False

    def move(self, key: str, to: str) -> None:
        with self._told():
            obstore.copy(self.store, key, to)
            obstore.delete(self.store, key)

    def remove(self, key: str) -> None:
        with self._told():
            obstore.delete(self.store, key)

    def _import_id(self, file: File) -> UUID:
        """Return the import's id of a file, always the same one, so that none is taken twice; they sort by time."""
        time = int(file.modified * 1000).to_bytes(6, "big")
        return UUID(bytes=time + uuid5(self.folder.id, f"{file.name}/{file.looks}").bytes[6:])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what the bucket did not do in a `ConnectionError`; what is not there stays `FileNotFoundError`."""
        try:
            yield
        except NotFoundError as fault:
            raise FileNotFoundError(f"{self.folder.path}: there is no such bucket or file.") from fault
        except BaseError as fault:
            status, code = (re.search(says, str(fault)) for says in (r"status code: (40[13])", r"<Code>(\w+)</Code>"))
            says = (
                "refuses the credentials of the AWS variables, which need the rights to list, read, write and delete"
                if status is not None
                else "does not answer as a bucket; look at its name, AWS_ENDPOINT_URL, AWS_REGION and the credentials"
            )
            reason = type(fault).__name__ if code is None else code[1]
            raise ConnectionError(f"{self.folder.path} {says} ({reason}).") from None


def place_of(folder: Folder, settings: Settings) -> Place:
    """Return where a folder's files lie. Raises `FolderError` where it is the service's own store or no address."""
    if isinstance(folder.path, Path):
        return _Directory(folder)
    own = PurePath(settings.objects_url or settings.data_dir)
    if own.is_relative_to(folder.path) or PurePath(folder.path).is_relative_to(own):
        raise FolderError(f"{folder.path} is, holds or is in the service's own store, PCDS_OBJECTS_URL.")
    try:
        return _Bucket(folder, remote(folder.path, settings))
    except (BaseError, ValueError):
        raise FolderError(f"{folder.path} is no prefix of a bucket; write s3://bucket/prefix.") from None


_HANGING: Final[dict[Path | str, Thread]] = {}


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


def check(folder: Folder, settings: Settings) -> None:
    """Raise `FolderError` or `OSError` where a folder cannot be watched; a bucket holds a file meanwhile."""
    place, probe = place_of(folder, settings), f"taken/{_OUTCOME}"
    if isinstance(folder.path, Path):
        if not folder.path.is_dir() or not os.access(folder.path, os.R_OK | os.W_OK | os.X_OK):
            raise FolderError(f"{folder.path} is no folder that this account may read and write.")
        return
    under_way(place)
    place.write(probe, b"")
    place.read(probe)
    place.remove(probe)


def take(place: Place, seen: Mapping[str, str], now: float) -> dict[str, str]:
    """Take the files that are as they were `seen`; return how those look that wait, by path.

    A name is taken once its last file is put away. Raises `FolderError`, and `OSError` where rights are missing.
    """
    waiting, busy = dict[str, str](), {taken.name for taken in under_way(place)} - {None}
    for file in place.files():
        name, path = file.name, f"{place.folder.path}/{file.name}"
        if name.startswith(".") or name.lower().endswith(_UNFINISHED) or name in busy:
            continue
        if len(waiting) == 10 * _MOST:
            break
        is_at_rest = seen.get(path) == file.looks and not 0 <= now - file.modified < _REST_SECONDS
        if is_at_rest and len(busy) < _MOST:
            place.take(file)
            busy.add(name)
        else:
            waiting[path] = file.looks
    return waiting


def under_way(place: Place) -> list[Taken]:
    """Return the files that are taken and not wholly put away, in their order."""
    names = dict[UUID, list[str]]()
    for import_id, name in place.taken():
        names.setdefault(import_id, []).append(name)
    return [
        Taken(import_id, min({*inner} - {_OUTCOME}, default=None), _OUTCOME in inner)
        for import_id, inner in names.items()
    ]


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
    place: Place

    def go_on(self, taken: Taken) -> str:
        """Do what is next for a file; return what that was: submitted, waiting, done or failed."""
        place = self.place
        if not taken.has_note:
            with self.pool.company(place.folder.company_id) as conn:
                report = queries.status(conn, taken.import_id, limit=_LISTED, offset=0, with_templates=True)
            if report is None:
                folder, says = self._submit(taken)
            elif report["finished_at"] is None:
                return "waiting"
            else:
                folder, says = self._ended(report)
            if folder == "submitted":
                return folder
            place.write(taken.note, json.dumps(self._outcome(taken, folder, says)).encode())
        folder, name, text = json.loads(place.read(taken.note))
        if taken.name is not None:
            place.write(f"{folder}/{name}.txt", text.encode())
            place.move(taken.key, f"{folder}/{name}")
        self._mail(taken, text)
        place.remove(taken.note)  # the next look removes the folder
        return str(folder)

    def _submit(self, taken: Taken) -> tuple[str, list[str]]:
        """Submit a file as an upload is; return that, or why it became no import."""
        folder = self.place.folder
        company_id, name = folder.company_id, folder.mapping_name
        sender = Origin("system", str(folder.id), f"Folder {PurePath(folder.path).name}", str(uuid4()))
        try:
            data, filename = self.place.read(taken.key), own_name(_shown(taken.name or ""))
            with self.pool.company(company_id) as conn:
                mapping = {} if name is None else words.recall(conn, company_id, name)
                own_words = words.for_reading(conn)
                before = queries.last_written(conn, folder.id, filename)
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
        name, lang = taken.name or "", self.place.folder.language
        of_file = {"file": _shown(name)}
        title = Message("{file}: done", **of_file) if folder == "done" else Message("{file}: not imported", **of_file)
        says = [translate(line, lang) for line in (title, *says, "")]
        if len(os.fsencode(name)) > _LONGEST_NAME:
            name = f"{taken.import_id}.file"
        elif self.place.has(f"{folder}/{name}"):
            name = f"{taken.import_id}-{name}"
        return folder, name, "\n".join(says)

    def _mail(self, taken: Taken, text: str) -> None:
        """Mail what came of a file, once: where the server does not take it, the text beside the file says the same."""
        server, to, mail_id = MailServer.from_settings(self.settings), self.place.folder.mail_to, str(taken.import_id)
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
    _check_size(len(data))
    return data


def _check_size(size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise FolderError(Message("The file has more than {bytes} bytes; send it in parts.", bytes=MAX_FILE_BYTES))
