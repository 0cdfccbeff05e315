"""Measures a write with an Idempotency-Key beside the same one without, and a replay."""

import random
from collections.abc import Iterator
from statistics import median
from uuid import uuid4

from bench.report import Line
from bench.requests import sku_body
from bench.service import Service, load, raw_request

WRITES, ROUNDS = 200, 5
BOUND = 1.4


def measure(service: Service) -> Iterator[Line]:
    """Measure writes without a key, with a key, and replayed, in turns over one connection, by medians of rounds."""
    _, key = service.company()
    rng = random.Random(11)
    found: dict[str, list[float]] = {"plain": [], "keyed": [], "replayed": []}
    for _ in range(ROUNDS):
        plain = [raw_request("POST", "/api/v1/skus", key, sku_body(number, rng)) for number in range(WRITES)]
        keyed = [
            raw_request("POST", "/api/v1/skus", key, sku_body(number, rng), idempotency_key=str(uuid4()))
            for number in range(WRITES)
        ]
        for kind, requests in (("plain", plain), ("keyed", keyed), ("replayed", keyed)):
            found[kind].append(load(service.port, requests, connections=1).p50_ms)
    plain_ms, keyed_ms, replayed_ms = (median(taken) for taken in found.values())
    work = "one SKU write of 6 components"
    yield Line(
        f"{work} with an Idempotency-Key beside without: p50",
        f"{keyed_ms:.1f} ms",
        f"{plain_ms:.1f} ms",
        keyed_ms / plain_ms,
        BOUND,
    )
    yield Line("the same replayed: p50", f"{replayed_ms:.1f} ms", f"{plain_ms:.1f} ms", replayed_ms / plain_ms)
