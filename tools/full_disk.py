"""Check that a disk that is full for 1 to 20 seconds ends no accepted import, and that each request it meets is a 503.

    sudo python -m tools.full_disk --seeds 1 2 3

The whole service, its embedded Postgres and the object store lie on a small disk in memory (tmpfs), which only root may
make. While writes, batches, imports and exports are sent, the disk is filled to its last byte at an instant of the
seed. Afterwards every import that was accepted is completed and its end is in the ledger, every write that was answered
as stored is there once, and the audit chain is whole. The exit status is 1 where any of this is not so.
"""

import argparse
import contextlib
import http.client
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import orjson

from tools.service import Service, running

_DISK: Final = "1200m"
_PIECE_BYTES: Final = 2**20
_BEFORE_SECONDS: Final = 2.0
_AFTER_SECONDS: Final = 3.0
_SETTLE_SECONDS: Final = 240.0
_ROWS: Final = 400
_REQUEST_SECONDS: Final = 60.0
_LOG_LETTERS: Final = 20_000
"""The end of the service's log that is shown where it does not answer any more."""
_HEADER: Final = "sku_code,name,material,weight_grams"


@dataclass(slots=True)
class Seen:
    """What one seed's requests were answered, by kind and status; imports accepted; codes of writes that are stored."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    imports: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def main() -> int:
    """Return the exit status; print a line for each seed."""
    parser = argparse.ArgumentParser(prog="python -m tools.full_disk", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1, 13)))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("Only root may make a small disk in memory; run this as root.", file=sys.stderr)
        return 1
    failed = 0
    with _small_disk() as disk, running("--workers", "1") as service:
        for seed in arguments.seeds:
            chance = random.Random(seed)
            seconds = chance.uniform(1, 20)
            try:
                seen = _struck(service, disk, seed, chance.uniform(0, 2), seconds)
                _settle(service, seen)
            except OSError:
                print((service.data_dir.parent / "log").read_text(encoding="utf-8")[-_LOG_LETTERS:], file=sys.stderr)
                raise
            answers = ", ".join(f"{kind} {status} x {times}" for (kind, status), times in sorted(seen.answers.items()))
            print(
                f"{'FAILED' if seen.faults else 'ok    '} seed {seed}: full for {seconds:.1f} s; {answers}", flush=True
            )
            for fault in seen.faults[:10]:
                print(f"       {fault}", flush=True)
            failed += bool(seen.faults)
        verified = service.made("audit", "verify", "--company", service.company_id)
        print(f"audit: {verified}")
    return 1 if failed else 0


@contextlib.contextmanager
def _small_disk() -> Iterator[Path]:
    """Mount a disk in memory, on which temporary directories are made from now on; unmount it."""
    place = Path(tempfile.mkdtemp(prefix="pcds-disk-"))
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=0711", "tmpfs", place], check=True)
    tempfile.tempdir = str(place)
    try:
        yield place
    finally:
        tempfile.tempdir = None
        subprocess.run(["/bin/umount", "-l", place], check=True)
        place.rmdir()


def _struck(service: Service, disk: Path, seed: int, pause: float, seconds: float) -> Seen:
    """Send work of every kind while the disk is filled for so many seconds."""
    seen, over = Seen(), threading.Event()
    kinds: list[Callable[[Service, Seen, str], None]] = [_write, _batch, _import, _export, _read]
    threads = [threading.Thread(target=_repeat, args=(kind, service, seen, seed, over)) for kind in kinds]
    for thread in threads:
        thread.start()
    time.sleep(_BEFORE_SECONDS + pause)
    _fill(disk, seconds)
    time.sleep(_AFTER_SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    return seen


def _fill(disk: Path, seconds: float) -> None:
    """Take every byte that is free, again and again, for so long; then give all back."""
    end, ballast = time.monotonic() + seconds, disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        while time.monotonic() < end:
            for size in (_PIECE_BYTES, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass
            time.sleep(0.05)
    ballast.unlink()


def _repeat(
    kind: Callable[[Service, Seen, str], None], service: Service, seen: Seen, seed: int, over: threading.Event
) -> None:
    number = 0
    while not over.is_set():
        number += 1
        try:
            kind(service, seen, f"{kind.__name__.strip('_')}-{seed}-{number}")
        except (OSError, http.client.HTTPException) as error:
            seen.answers[kind.__name__.strip("_"), 0] += 1
            seen.faults.append(f"{kind.__name__}: no answer: {error!r}")
        time.sleep(0.1)


def _asked(service: Service, seen: Seen, kind: str, asked: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """Send a request; an answer that is neither a success nor a 503 with Retry-After is a fault."""
    method, _, path = asked.partition(" ")
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=_REQUEST_SECONDS)
    with contextlib.closing(connection):
        connection.request(method, f"/api/v1{path}", body or None, {"X-API-Key": service.key, **headers})
        answer = connection.getresponse()
        said = answer.read()
    seen.answers[kind, answer.status] += 1
    # Exports have a limit of their own.
    told_to_wait = answer.status == 503 or (answer.status, kind) == (429, "export")
    passing = told_to_wait and answer.headers["Retry-After"] is not None
    if answer.status >= 300 and not passing:
        seen.faults.append(f"{kind}: {answer.status} {said[:300]!r}")
    return answer.status, orjson.loads(said) if answer.status < 300 else None


def _write(service: Service, seen: Seen, name: str) -> None:
    body = orjson.dumps({"sku_code": name, "name": "Bottle", "material": "plastic"})
    key = {"Idempotency-Key": str(uuid4()), "Content-Type": "application/json"}
    while _asked(service, seen, "write", "POST /skus", body, **key)[0] >= 300 and not seen.faults:
        time.sleep(1)
    seen.written.append(name)


def _batch(service: Service, seen: Seen, name: str) -> None:
    rows = [{"sku_code": f"{name}-{row}", "name": "Jar"} for row in range(50)]
    status, _ = _asked(service, seen, "batch", "POST /skus/batch", orjson.dumps({"skus": rows}))
    if status < 300:
        seen.written += [f"{name}-{row}" for row in range(50)]


def _import(service: Service, seen: Seen, name: str) -> None:
    rows = "\n".join(f"{name}-{row},Tray,plastic,{row % 9}.5" for row in range(_ROWS))
    file = f"{_HEADER}\n{rows}".encode()
    status, accepted = _asked(service, seen, "import", "POST /imports?filename=a.csv", file)
    if status == 202:
        seen.imports.append(accepted["id"])
    time.sleep(1)


def _export(service: Service, seen: Seen, name: str) -> None:  # noqa: ARG001  (each kind has the same arguments)
    body = orjson.dumps({"format": "csv"})
    _asked(service, seen, "export", "POST /exports", body, **{"Content-Type": "application/json"})
    time.sleep(3)


def _read(service: Service, seen: Seen, name: str) -> None:  # noqa: ARG001  (each kind has the same arguments)
    _asked(service, seen, "read", "GET /skus?limit=20")


def _settle(service: Service, seen: Seen) -> None:
    """Wait until each accepted import has ended, and note what is not as it was promised."""
    deadline, open_ids = time.monotonic() + _SETTLE_SECONDS, list(seen.imports)
    while open_ids and time.monotonic() < deadline:
        time.sleep(1)
        for import_id in list(open_ids):
            ended = _got(service, f"/imports/{import_id}")
            if ended["status"] in {"completed", "failed"}:
                open_ids.remove(import_id)
                counts = ended["counts"]
                if ended["status"] == "failed" or counts["created"] != _ROWS:
                    seen.faults.append(f"import {import_id}: {ended['status']} {counts} {ended.get('failure')}")
    told = _got(service, "/audit-log?action=import.completed&limit=200")["data"]
    missing = set(seen.imports) - {entry["resource_id"] for entry in told}
    seen.faults += [f"import {import_id}: its end is not in the ledger" for import_id in missing]
    seen.faults += [f"import {import_id} has not ended" for import_id in open_ids]
    for code in seen.written[:: max(1, len(seen.written) // 50)]:
        if _got(service, f"/skus?sku_code={code}")["pagination"]["total"] != 1:
            seen.faults.append(f"{code} was answered as stored and is not there once")


def _got(service: Service, path: str) -> Any:
    """Return the answer of a read, repeated until it succeeds."""
    while True:
        status, said = _asked(service, Seen(), "settle", f"GET {path}")
        if status < 300:
            return said
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
