"""The README done as it is written: the commands of its first import, in one shell, against a service of their own.

What belongs here: that each command works and answers what the text around it says. What does not: `make` with its
installation; in place of `make serve` stands the `pcds serve` that it runs, on a free port and an empty directory.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from tools.ports import free_port

ROOT = Path(__file__).parents[2]
PORT = "127.0.0.1:8000"
POLL_SECONDS = 120
BREAK = "----"
TRY_IT = """
set -eu
{importing}
echo {BREAK}
for attempt in $(seq {attempts}); do
REPORT=$(
{polling}
)
case $REPORT in *'"completed"'*) break ;; *) sleep 1 ;; esac
done
echo "$REPORT"
echo {BREAK}
{reading}
echo {BREAK}
export PCDS_PORT={port}
{sending}
"""


@pytest.fixture
def newcomer(open_dir: Path) -> Iterator[tuple[Path, int, str]]:
    """The directory that a newcomer stands in, the port of the service started there, and what it printed."""
    (open_dir / "examples").symlink_to(ROOT / "examples")
    port = free_port()
    command = [sys.executable, "-m", "api.cli", "serve", "--no-dagster-ui", "--port", str(port)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PCDS_DAGSTER_PORT": str(free_port())}
    with (
        (open_dir / "log").open("wb") as log,
        subprocess.Popen(command, cwd=open_dir, env=environment, stdout=subprocess.PIPE, stderr=log) as process,
    ):
        assert process.stdout is not None
        try:
            printed = ""
            while "Reference:" not in printed:
                line = process.stdout.readline().decode()
                assert line, Path(log.name).read_text(encoding="utf-8")
                printed += line
            yield open_dir, port, printed
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def blocks(of: str = "curl") -> list[str]:
    """The console blocks that speak to the service, as they stand."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [block for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if of in block]


def requests(text: str) -> set[str]:
    """The paths asked for, with one word for an id whichever way it is written."""
    paths = re.findall(r"curl .*://[\w.:]+([^\s\")]*)", text.replace("$POLL_URL", "/api/v1/imports/ID"))
    return {path.replace("$SKU_ID", "ID").partition("?")[0] for path in paths}


def test_the_first_import_goes_as_the_readme_says(newcomer: tuple[Path, int, str]) -> None:
    directory, port, printed = newcomer
    (importing, polling, reading), (sending,) = blocks(), blocks(of="pcds import")
    script = TRY_IT.format(
        importing=importing,
        polling=polling,
        reading=reading,
        attempts=POLL_SECONDS,
        BREAK=BREAK,
        port=port,
        sending=sending.replace(".venv/bin/pcds", f"{sys.executable} -m api.cli"),
    ).replace(PORT, f"127.0.0.1:{port}")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=directory, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr

    accepted, report, read, sent = done.stdout.split(f"{BREAK}\n")
    assert json.loads(accepted)["source"]["columns"]
    counts = json.loads(report)["counts"]
    assert counts["created"] > 0
    assert counts["rejected"] > 0
    listed, sku = (json.loads(line)["data"] for line in read.splitlines())
    assert listed[0]["id"] == sku["id"]
    assert sku["compliance"]["grade_trace"]["ruleset_version"]

    assert str(counts["rejected"]) in sent
    assert (directory / "errors.xlsx").stat().st_size

    assert requests(printed) == requests("".join(blocks())), "what the service prints and the README says differ"
