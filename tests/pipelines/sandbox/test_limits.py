"""A reading that uses up a limit is stopped and told what to do, its process replaced, and the next file is read."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import psutil
import pytest

from pipelines.readers.pool import Readers
from pipelines.readers.process import Reader, ReaderFault
from pipelines.readers.requests import (
    Limits,
    ReadingStopped,
    ReadRequest,
    detection_request,
    reading_request,
    typing_request,
)
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.upload import PackedUpload, read_upload
from schemas.messages import LANGUAGES, ORIGINAL, translate
from schemas.normalise import Unfit
from tests.pipelines.sandbox.files import SMALL, large_document, large_table, large_volumes
from tests.processes import lives
from tests.waiting import wait_until

TODAY = date(2026, 11, 21)
PLENTY = 600.0
ROOT = Path(__file__).parents[3]


def table(data: bytes) -> ReadRequest[PackedUpload]:
    return reading_request(data, "file.csv", mapping=None, mapping_name=None, words={}, today=TODAY)


@pytest.fixture
def limited() -> Iterator[Callable[..., Readers]]:
    """Makes readers with limits of a test's own."""
    made: list[Readers] = []

    def make(**limits: Any) -> Readers:
        plenty = {"cpu_seconds": PLENTY, "wall_seconds": PLENTY, "memory_mib": 4096}
        made.append(Readers(Limits(**plenty | limits)))
        return made[-1]

    yield make
    for readers in made:
        readers.close()


def processes() -> set[psutil.Process]:
    """The readers of this process."""
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if "pipelines.readers.child" in child.cmdline():
                found.add(child)
    return found


def reads(reader: psutil.Process) -> bool:
    """Whether it has a file, and one for its answer."""
    try:
        held = [str(each.readlink()) for each in Path(f"/proc/{reader.pid}/fd").iterdir()]
    except OSError:  # it ended, or closed one of them meanwhile
        return False
    return sum("pcds-reading" in name for name in held) == 2


def kill_while_it_reads(others: set[psutil.Process]) -> psutil.Process:
    found: list[psutil.Process] = []
    wait_until(lambda: found.extend(filter(reads, processes() - others)) or found)
    found[0].send_signal(signal.SIGKILL)
    return found[0]


@pytest.mark.parametrize(
    ("limit", "order", "reason"),
    [
        ({"cpu_seconds": 0.3}, lambda: table(large_table() * 3), "processor"),
        ({"wall_seconds": 0.1}, lambda: table(large_table() * 3), "time"),
        ({"memory_mib": 150}, lambda: table(large_table() * 3), "memory"),
        ({"cpu_seconds": 0.02}, lambda: detection_request(large_document(), None), "processor"),
    ],
)
def test_a_reading_is_stopped_and_the_next_one_is_done_by_another_process(limited, limit, order, reason):
    readers = limited(**limit)
    readers.keep_warm()
    with pytest.raises(ReadingStopped) as stopped:
        readers.read("a", "company", order())
    assert stopped.value.reason == reason
    [issue] = stopped.value.issues
    assert issue.code == "unreadable_file"
    assert "anew" in issue.message
    assert all(translate(issue.message, lang) != issue.message for lang in LANGUAGES if lang != ORIGINAL)
    if order().task == "kind":
        assert readers.read("a", "company", detection_request(b"%PDF-1.7\n", None)).extension == ".pdf"
    elif reason != "time":  # on a busy machine even the small one may take longer than that
        assert readers.read("a", "company", table(SMALL)).rows == 1


HOARDER = """
import os
from pipelines.readers.child import confine
confine(os.getppid(), memory_mib=10)
held = bytearray(400 * 2**20)
try:
    more = bytearray(400 * 2**20)
except MemoryError:
    print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process may reserve")
def test_a_ceiling_of_memory_holds_between_two_looks_of_the_parent():
    done = subprocess.run([sys.executable, "-c", HOARDER], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_an_answer_larger_than_the_memory_is_not_taken(limited, monkeypatch):
    monkeypatch.setattr(Reader, "private_mib", lambda _: 0.0)
    with pytest.raises(ReadingStopped) as stopped:
        limited(memory_mib=1).read("a", "company", table(large_table()))
    assert stopped.value.reason == "memory"


def test_a_table_whose_typing_is_stopped(limited):
    packed = PackedUpload.from_upload(read_upload(large_volumes(), "file.csv", today=TODAY)).table
    order = typing_request(packed, default_year=2026, served_markets=frozenset())
    with pytest.raises(ReadingStopped):
        limited(cpu_seconds=0.3).read("a", "company", order)
    assert limited().read("a", "company", order).rejected == 4_000  # no market is served here


def test_refusals_and_verdicts_are_the_readers_own(readers: Readers):
    with pytest.raises(ReadingRefused) as refused:
        readers.read("a", "company", table(b"Cle;Libelle\n1;2\n"))
    assert {issue.code for issue in refused.value.issues} == {"missing_column"}
    with pytest.raises(Unfit) as unfit:
        readers.read("a", "company", detection_request(b"MZ", None))
    assert unfit.value.code == "unsupported_media_type"


def test_a_fault_of_ours_names_its_place_and_nothing_of_the_file(readers: Readers):
    order = ReadRequest(
        "table",
        {"filename": "f", "mapping": None, "mapping_name": None, "words": {}, "taken_codes": [], "today": "secret"},
        SMALL,
        bytes,
    )
    with pytest.raises(ReaderFault) as fault:
        readers.read("a", "company", order)
    assert "ValueError" in str(fault.value)
    assert "tasks.py" in str(fault.value)
    assert "secret" not in str(fault.value)
    assert readers.read("a", "company", table(SMALL)).rows == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files a process has open")
def test_a_process_that_somebody_kills_is_replaced_and_the_file_read_again(limited):
    before, readers = processes(), limited()
    sent = readers.submit("a", "company", table(large_table() * 3))
    killed = kill_while_it_reads(before)
    with pytest.raises(ReadingRefused) as refused:  # its verdict, which comes at the end: nothing stopped it
        sent.result()
    assert [issue.code for issue in refused.value.issues] == ["too_many_rows"]
    assert processes() - before - {killed}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files a process has open")
def test_a_file_that_ends_every_reader_is_refused(limited):
    before, readers = processes(), limited()
    sent = readers.submit("a", "company", table(large_table() * 3))
    first = kill_while_it_reads(before)
    kill_while_it_reads(before | {first})
    with pytest.raises(ReadingStopped) as stopped:
        sent.result()
    assert stopped.value.reason == "crash"
    assert readers.read("a", "company", table(SMALL)).rows == 1


def test_one_companys_files_do_not_hold_up_anothers(limited):
    """Six files of one company are read up to the limit; another's comes before the third of them."""
    readers, ended = limited(cpu_seconds=0.3), list[str]()

    def send(company: str, data: bytes) -> Future[PackedUpload]:
        sent = readers.submit(company, "company", table(data))
        sent.add_done_callback(lambda _: ended.append(company))
        return sent

    hostile = [send("a", large_table() * 3) for _ in range(6)]
    good = send("b", SMALL)
    assert good.result().rows == 1
    assert wait(hostile).not_done == set()
    assert ended.index("b") <= 2
    assert all(isinstance(each.exception(), ReadingStopped) for each in hostile)


def test_a_reader_takes_nothing_of_its_parent_along(limited, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://owner:secret@db/x")
    monkeypatch.setenv("PCDS_APP_DATABASE_URL", "postgresql://app:secret@db/x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    before, readers = processes(), limited()
    readers.keep_warm()
    assert readers.read("a", "company", table(SMALL)).rows == 1
    [reader] = processes() - before
    assert "secret" not in "".join(reader.environ().values())
    assert not reader.net_connections(kind="inet")
    assert not reader.open_files()


PARENT = """
import sys, time
from datetime import date
from pipelines.readers.requests import Limits
from pipelines.readers.requests import reading_request
from pipelines.readers.pool import Readers
readers = Readers(Limits(cpu_seconds=600, wall_seconds=600, memory_mib=4096))
readers.keep_warm()
data = open(sys.argv[1], "rb").read()
if data:
    order = reading_request(data, "f.csv", mapping=None, mapping_name=None, words={}, today=date(2026, 11, 21))
    readers.submit("a", "company", order)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a busy reader ends with its file or its seconds")
@pytest.mark.parametrize("busy", [False, True])
def test_no_reader_outlives_a_parent_that_was_killed(tmp_path, busy):
    file = tmp_path / "file"
    file.write_bytes(large_table() * 4 if busy else b"")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(file)], cwd=ROOT, env=dict(os.environ))
    try:
        started: list[psutil.Process] = []
        wait_until(lambda: started.extend(psutil.Process(parent.pid).children()) or started)
        [reader] = started
        if busy:
            wait_until(lambda: reads(reader))
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not lives(reader))


def test_a_reader_holds_no_database_driver_and_no_settings() -> None:
    """What has read hostile bytes has neither at hand; and each reader that waits is ten MiB smaller."""
    unwanted = {"psycopg", "psutil", "structlog", "warehouse.operate.settings"}
    loaded = f"import sys, pipelines.readers.child; print({unwanted} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
