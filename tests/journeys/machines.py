"""Several machines in one: an S3 server, a broker, and Celery's workers, each on a data directory of its own.

What lies here: starting and killing them. They need what `make distributed` sets up.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from tests.journeys.place import ROOT
from tests.waiting import wait_until
from tools.ports import free_port
from warehouse.operate.settings import Settings

BUCKET: Final = "packaging"
INSTANCE: Final = ROOT / "deploy" / "celery" / "dagster.yaml"


@contextmanager
def running(program: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program and what it starts, all killed after the block."""
    with log.open("ab") as said:
        process = subprocess.Popen(
            program, cwd=ROOT, env=os.environ | environment, stdout=said, stderr=said, start_new_session=True
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole group at once, as when a machine loses its power."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def between(folder: Path) -> Iterator[dict[str, str]]:
    """What machines share beside Postgres, running: the variables by which each finds the store and the broker."""
    store, broker = free_port(), free_port()
    address = f"http://127.0.0.1:{store}"
    redis = ["redis-server", "--port", str(broker), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    moto = [sys.executable, "-m", "moto.server", "--port", str(store)]
    with running(redis, folder / "redis.log"), running(moto, folder / "moto.log"), httpx2.Client() as client:

        def made() -> bool:
            with suppress(httpx2.TransportError):
                return client.put(f"{address}/{BUCKET}").is_success
            return False

        wait_until(made)
        yield {
            "AWS_ENDPOINT_URL": address,
            "PCDS_OBJECTS_BY_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "PCDS_CELERY_URL": f"redis://127.0.0.1:{broker}/0",
        }


@dataclass(frozen=True, slots=True)
class Machine:
    """One that executes runs; its connections to Postgres bear its name."""

    name: str
    settings: Settings

    @property
    def log(self) -> Path:
        return self.settings.data_dir / "log"

    @contextmanager
    def working(self) -> Iterator[subprocess.Popen[bytes]]:
        """Celery's worker on this machine, as an operator starts it."""
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        program = [sys.executable, "-m", "api.operate.start", "celery-worker"]
        with running(program, self.log, PGAPPNAME=self.name, **self.settings.environment()) as process:
            yield process
