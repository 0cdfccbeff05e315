"""A reader that is forked from a template reads, is limited and ends as one that was started by itself does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pipelines.readers import variables
from pipelines.readers.process import Reader
from pipelines.readers.requests import Limits, ReadingStopped
from tests.pipelines.sandbox.files import SMALL, large_table
from tests.pipelines.sandbox.test_limits import table
from tests.processes import lives
from tests.waiting import wait_until
from warehouse.operate import forks

pytestmark = pytest.mark.skipif(not forks.SUPPORTED, reason="nothing is forked elsewhere")


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, psutil.Process]]:
    """The socket of a template, and its process, started from one that has a secret."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    place = tmp_path / "readers.sock"
    command = [sys.executable, "-m", "pipelines.readers.template", str(place)]
    with subprocess.Popen(command, env=variables.of_reader()) as process:
        wait_until(lambda: forks.answers(place))
        yield place, psutil.Process(process.pid)
        process.kill()


def _reader_of(template: psutil.Process) -> psutil.Process:
    [reader] = template.children()
    return reader


def test_a_forked_reader_reads_and_knows_no_secret(template: tuple[Path, psutil.Process]) -> None:
    place, process = template
    reader = Reader(Limits(), place)
    reader.start()
    forked = _reader_of(process)
    assert reader.run(table(SMALL)).rows == 1
    assert forked.cmdline()[:3] == [sys.executable, "-m", "pipelines.readers.child"]
    assert "DATABASE_URL" not in {**process.environ(), **forked.environ()}
    assert Path(f"/proc/{forked.pid}/cwd").readlink() == Path("/")
    opened = {Path(f"/proc/{forked.pid}/fd/{number}").readlink() for number in (1, 2)}
    assert opened == {Path(os.devnull)}, "a panic may quote the file"
    reader.end()
    wait_until(lambda: not lives(forked))


def test_a_limit_kills_it_and_the_next_is_forked(template: tuple[Path, psutil.Process]) -> None:
    place, process = template
    reader = Reader(Limits(cpu_seconds=0.3), place)
    reader.start()
    with pytest.raises(ReadingStopped) as stopped:
        reader.run(table(large_table() * 3))
    assert stopped.value.reason == "processor"
    assert process.children() == []
    reader.start()
    assert reader.run(table(SMALL)).rows == 1
    reader.end()


def test_it_ends_with_its_template_and_another_starts_without(template: tuple[Path, psutil.Process]) -> None:
    place, process = template
    reader = Reader(Limits(), place)
    reader.start()
    forked = _reader_of(process)
    process.kill()
    wait_until(lambda: not lives(forked) and not reader.alive)
    reader.start()
    assert reader.run(table(SMALL)).rows == 1
    reader.end()


def test_it_ends_when_the_one_that_asked_is_gone(template: tuple[Path, psutil.Process]) -> None:
    place, process = template
    asks = (
        "import sys\nfrom pathlib import Path\nfrom pipelines.readers.process import Reader\n"
        "from pipelines.readers.requests import Limits\nreader = Reader(Limits(), Path(sys.argv[1]))\n"
        "reader.start()\nprint('started', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", asks, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"started\n"
        forked = _reader_of(process)
        asking.kill()
        wait_until(lambda: not lives(forked))
