"""`pcds` as an operator types it: in this process, where a start of its own would cost a second and show nothing.

What belongs here: how a test calls a command. What does not: what the command must answer.
"""

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

from api.cli import main

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
