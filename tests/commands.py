"""`pcds` as an operator types it: in this process, where a start of its own would cost a second and show nothing.

What belongs here: how a test calls a command. What does not: what the command must answer.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

from api.cli import main
from warehouse.operate.database import Database
from warehouse.operate.embedded import running
from warehouse.operate.settings import Settings

_ROOT = Path(__file__).parents[1]


def called(*arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
    """The entry point's exit status and output for these arguments, with a text at its standard input."""
    words, status = [*map(str, arguments)], 0
    with CliRunner().isolation(input=said) as (output, errors, *_), patch.object(sys, "argv", ["pcds", *words]):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        return subprocess.CompletedProcess(words, status, output.getvalue().decode(), errors.getvalue().decode())


def started(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own."""
    program = [sys.executable, "-m", "api.cli", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False, cwd=_ROOT)


class Pcds:
    """The commands on one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def run(self, *arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
        return called(*arguments, "--data-dir", self.data_dir, said=said)

    def json(self, *arguments: object, said: str = "") -> Any:
        """What a command that succeeds answers."""
        done = self.run(*arguments, "--json", said=said)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, status: int, *arguments: object, said: str = "") -> str:
        """What a command says that ends with this status."""
        done = self.run(*arguments, said=said)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def database(self) -> Database:
        with running(Settings.load(data_dir=self.data_dir)) as database:
            return database
