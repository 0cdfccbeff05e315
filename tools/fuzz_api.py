"""Call every operation of a running service in every way that its document allows, and in some that it does not.

A service of its own is started in an empty directory, with a company and a key made for the occasion, and ended
afterwards. How it is called is `schemathesis.toml`; arguments beyond ours go to `st run` as they are:

    python -m tools.fuzz_api --seed 2 --max-examples 200
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_SECONDS_TO_START: Final = 120
_SECONDS_TO_END: Final = 60
_PER_MINUTE: Final = "1000000"


@dataclass(frozen=True, slots=True)
class Running:
    """A service that answers, with a key of its one company."""

    port: int
    client_id: str
    key: str


def main() -> int:
    """The exit status of `st run`."""
    with tempfile.TemporaryDirectory(prefix="pcds-fuzz-") as directory:
        Path(directory).chmod(0o711)  # the embedded server may run as another account
        with running(Path(directory) / "data") as service:
            address = f"http://127.0.0.1:{service.port}/api/v1/openapi.json"
            program = str(Path(sys.executable).with_name("st"))
            environment = os.environ | {"PCDS_FUZZ_KEY": service.key, "PCDS_FUZZ_CLIENT": service.client_id}
            command = [program, "run", address, *sys.argv[1:]]
            return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


@contextlib.contextmanager
def running(data_dir: Path) -> Iterator[Running]:
    """A service in `data_dir`, ended with the block; its log goes to `data_dir`'s neighbour `service.log`."""
    port = _free_port()
    log_path = data_dir.with_name("service.log")
    serving = [*_PCDS, "serve", "--no-demo", "--no-dagster-ui", "--port", str(port), "--data-dir", str(data_dir)]
    with log_path.open("wb") as log, subprocess.Popen(serving, cwd=ROOT, stderr=log, stdout=log) as process:
        try:
            _wait(port, process, log_path)
            company = _made(data_dir, "company", "add", "--name", "Fuzz", "--plan", "enterprise")
            key = _made(data_dir, "key", "issue", "--company", company["id"])
            _made(data_dir, "window", "open", "--key", key["client_id"], "--per-minute", _PER_MINUTE)
            yield Running(port, key["client_id"], key["api_key"])
        finally:
            process.terminate()
            process.wait(_SECONDS_TO_END)


_PCDS: Final = (sys.executable, "-m", "api.cli")


def _made(data_dir: Path, *command: str) -> dict[str, str]:
    """What a command printed as JSON."""
    asked = [*_PCDS, *command, "--json", "--data-dir", str(data_dir)]
    done = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True)
    made: dict[str, str] = json.loads(done.stdout)
    return made


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    sys.exit(f"The service did not start:\n{log.read_text(encoding='utf-8')}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
