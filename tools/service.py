"""Runs a temporary service: starts it in a directory of its own, with a company and a key, and ends it afterwards."""

import contextlib
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from typer.testing import CliRunner

from api.cli import build_program
from tools.ports import free_port

ROOT: Final = Path(__file__).parents[1]
_PCDS: Final = (sys.executable, "-m", "api.cli")
_SECONDS_TO_START: Final = 240
_SECONDS_TO_END: Final = 120
_PER_MINUTE: Final = "1000000"


@dataclass(frozen=True, slots=True)
class Service:
    """A running service, and a key of its only company with a limit that no program reaches."""

    data_dir: Path
    port: int
    company_id: str
    client_id: str
    key: str

    @property
    def address(self) -> str:
        """Return the base address of its paths."""
        return f"http://127.0.0.1:{self.port}"

    def made(self, *command: str, said: str = "") -> dict[str, Any]:
        """Run a `pcds` command on this service's data and return its output; `said` is its standard input."""
        return _made(self.data_dir, *command, said=said)


@contextlib.contextmanager
def running(*options: str, demo: bool = False) -> Iterator[Service]:
    """Run a service with these options of `pcds serve`; it and its data end with the block.

    Its company is a fresh one, or with `demo` the demo company.
    """
    with tempfile.TemporaryDirectory(prefix="pcds-") as directory:
        Path(directory).chmod(0o711)  # the embedded server may run as another account
        data_dir, log_path, port = Path(directory) / "data", Path(directory) / "log", free_port()
        serving = [
            *_PCDS,
            "serve",
            *([] if demo else ["--no-demo"]),
            "--no-dagster-ui",
            "--port",
            str(port),
            "--dagster-port",
            str(free_port()),
            "--data-dir",
            str(data_dir),
            *options,
        ]
        with log_path.open("wb") as log, subprocess.Popen(serving, cwd=ROOT, stdout=log, stderr=log) as process:
            try:
                _wait(port, process, log_path)
                yield _prepared(data_dir, port, demo=demo)
            finally:
                process.terminate()
                process.wait(_SECONDS_TO_END)


def _prepared(data_dir: Path, port: int, *, demo: bool) -> Service:
    if demo:
        held = json.loads((data_dir / "demo.json").read_bytes())
        service = Service(data_dir, port, held["company_id"], held["client_id"], held["api_key"])
    else:
        company = _made(data_dir, "company", "add", "--name", "Example", "--plan", "enterprise")
        key = _made(data_dir, "key", "issue", "--company", company["id"], "--name", "erp")
        service = Service(data_dir, port, company["id"], key["client_id"], key["api_key"])
    _made(data_dir, "window", "open", "--key", service.client_id, "--per-minute", _PER_MINUTE)
    return service


def _made(data_dir: Path, *command: str, said: str = "") -> dict[str, Any]:
    """Call the command in this process: each of its own would import for more than a second what this one has."""
    asked = [*command, "--json", "--data-dir", str(data_dir)]
    done = CliRunner().invoke(build_program([command[0]]), asked, input=said, catch_exceptions=False)
    if done.exit_code:
        sys.exit(f"pcds {' '.join(command)} failed:\n{done.output}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    sys.exit(f"The service did not start:\n{log.read_text(encoding='utf-8')}")
