"""Measures uploads of technical files: the API's memory for a file of the full size, alone and eight together."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil

from bench.report import Line
from bench.service import Service
from schemas.technical_files import MAX_FILE_BYTES

MOST_MIB = 30
"""The bound above idle, for one file of the full size (issue 3, Speed)."""
_BOUNDARY = "bench"
_CHUNK = 256 * 2**10


def measure(service: Service) -> Iterator[Line]:
    """Yield every line about uploads; memory is the API processes' private memory, sampled every few milliseconds."""
    _, key = service.company()
    sku = _made(service, key)
    for at_once in (1, 8):
        idle = _api_mib(service)
        peak, seconds = _peak(service, lambda count=at_once: _uploads(service, key, sku, count))  # type: ignore[misc]
        over = peak - idle
        yield Line(
            f"memory over idle, {at_once} upload{'s' * (at_once > 1)} of 20 MB at once ({seconds:.2f} s)",
            f"{over:.0f} MiB",
            f"{MOST_MIB} MiB" if at_once == 1 else "",
            over / MOST_MIB if at_once == 1 else None,
            1 if at_once == 1 else None,
        )
        time.sleep(1)


def _uploads(service: Service, key: str, sku: str, count: int) -> None:
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(lambda _: _upload(service, key, sku), range(count)))


def _upload(service: Service, key: str, sku: str) -> None:
    """Send one upload in pieces, as a client with a file on disk would."""
    disposition = 'Content-Disposition: form-data; name="file"; filename="a.pdf"\r\nContent-Type: application/pdf'
    head = f"--{_BOUNDARY}\r\n{disposition}\r\n\r\n%PDF-1.7\n".encode()
    field = 'Content-Disposition: form-data; name="type"\r\n\r\ntest_report'
    tail = f"\r\n--{_BOUNDARY}\r\n{field}\r\n--{_BOUNDARY}--\r\n".encode()
    zeros = MAX_FILE_BYTES - len(b"%PDF-1.7\n")
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    connection.putrequest("POST", f"/api/v1/skus/{sku}/files")
    connection.putheader("X-API-Key", key)
    connection.putheader("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")
    connection.putheader("Content-Length", str(len(head) + zeros + len(tail)))
    connection.endheaders(head)
    for start in range(0, zeros, _CHUNK):
        connection.send(bytes(min(_CHUNK, zeros - start)))
    connection.send(tail)
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()


def _made(service: Service, key: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    body = json.dumps({"sku_code": "U-1", "name": "Bottle"})
    connection.request("POST", "/api/v1/skus", body, {"X-API-Key": key, "Content-Type": "application/json"})
    return str(json.load(connection.getresponse())["data"]["id"])


def _peak(service: Service, work: Callable[[], None]) -> tuple[float, float]:
    """Return the highest private memory during the work, in MiB, and its seconds."""
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, _api_mib(service))

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - begun
        done.set()
        watcher.join()
    return peak, seconds


def _api_mib(service: Service) -> float:
    """Return the private memory of the API's processes in MiB."""
    total = 0.0
    for process in service.process.children(recursive=True):
        try:
            if "api.server" in process.cmdline():
                memory = process.memory_info()
                total += (memory.rss - memory.shared) / 2**20
        except psutil.Error:
            continue
    return total
