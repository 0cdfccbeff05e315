"""Measures requests beside the bare floor: one graded write with six components, and pages of 50 and 200."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any
from uuid import UUID

import psycopg

from bench import data
from bench.imports import run_import
from bench.report import Line
from bench.service import Load, Service, load, raw_request
from tools.ports import free_port

WRITES, READS, ROUNDS = 400, 400, 3

_FLOOR_TABLES = """
DROP TABLE IF EXISTS bench_written, bench_components, bench_audit;
CREATE TABLE bench_written (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), company_id uuid NOT NULL,
    sku_code text NOT NULL, name text, packaging_format text, packaging_level text, markets text[], grade text,
    updated_at timestamptz, UNIQUE (company_id, sku_code));
CREATE TABLE bench_components (sku_id uuid, position int, component_type text, material_family text,
    polymer_or_grade text, weight_g double precision, PRIMARY KEY (sku_id, position));
CREATE TABLE bench_audit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, company_id uuid, sku_id uuid,
    before jsonb, after jsonb);
GRANT SELECT, INSERT, UPDATE ON bench_written, bench_components, bench_audit TO pcds_app
"""


def _sku_body(number: int, rng: random.Random) -> bytes:
    """Return a bottle of six components whose weights differ each time, so that no grade is cached."""
    parts: list[dict[str, Any]] = [
        {
            "component_type": "body",
            "material_family": "plastic",
            "polymer_or_grade": "PET",
            "weight_g": 26,
            "colour": "transparent",
            "additives": [],
        },
        {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2},
        {
            "component_type": "label",
            "material_family": "plastic",
            "polymer_or_grade": "PP",
            "weight_g": 0.5,
            "coverage_percent": 40,
        },
        {"component_type": "adhesive", "material_family": "other", "adhesive_type": "washable"},
        {"component_type": "ink", "material_family": "other", "ink_type": "eupia_compliant"},
        {"component_type": "seal", "material_family": "metal", "polymer_or_grade": "aluminium", "weight_g": 0.2},
    ]
    for part in parts:
        if "weight_g" in part:
            part["weight_g"] = round(part["weight_g"] * rng.uniform(0.9, 1.1), 3)
    sku = {
        "sku_code": f"W-{number % 200:04d}",
        "name": f"Bottle {number}",
        "packaging_format": "bottle",
        "packaging_level": "sales",
        "markets": ["FR", "DE"],
        "components": parts,
    }
    return json.dumps(sku).encode()


def measure(service: Service) -> Iterator[Line]:
    """Yield every line about requests; floor and service take turns over the same number of connections."""
    company, key = service.company()
    run_import(service, key, data.csv_file(2000, changed=False))
    rng = random.Random(7)
    with _floor(service, company) as port:
        for connections in (8, 1):
            pairs = []
            for _ in range(ROUNDS):
                bodies = [_sku_body(number, rng) for number in range(WRITES)]  # new ones: grades are cached
                floor = [raw_request("POST", "/", key, body) for body in bodies]
                ours = [raw_request("POST", "/api/v1/skus", key, body) for body in bodies]
                pairs.append(
                    (load(port, floor, connections=connections), load(service.port, ours, connections=connections))
                )
            yield from _compared(f"one SKU write of 6 components, {connections} connections", pairs, 2.5)
        for limit in (50, 200):
            path = f"?limit={limit}"
            pairs = [
                (
                    load(port, [raw_request("GET", f"/{path}", key)] * READS, connections=8),
                    load(service.port, [raw_request("GET", f"/api/v1/skus{path}", key)] * READS, connections=8),
                )
                for _ in range(ROUNDS)
            ]
            yield from _compared(f"GET a page of {limit}", pairs, 1.2)


@contextmanager
def _floor(service: Service, company: UUID) -> Iterator[int]:
    """Serve the bare application under one uvicorn worker, with its own three tables; yield its port."""
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute(_FLOOR_TABLES)
    port, own = free_port(), {"BENCH_DSN": service.database.app_url, "BENCH_COMPANY": str(company)}
    program = [sys.executable, "-m", "uvicorn", "bench.floor_app:app", "--port", str(port)]
    quiet = ["--log-level", "error", "--no-access-log"]
    child = subprocess.Popen([*program, *quiet], env={**os.environ, **own}, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port
    finally:
        child.terminate()
        child.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            load(port, [raw_request("GET", "/?limit=1", "-")], connections=1)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the application did not start")


def _compared(work: str, pairs: Sequence[tuple[Load, Load]], bound: float) -> Iterator[Line]:
    """Yield rate and p50 of floor and service, the medians of their rounds."""
    floor_rate, our_rate = (median(pair[side].per_second for pair in pairs) for side in (0, 1))
    floor_p50, our_p50 = (median(pair[side].p50_ms for pair in pairs) for side in (0, 1))
    yield Line(f"{work}: requests a second", f"{our_rate:.0f}/s", f"{floor_rate:.0f}/s", floor_rate / our_rate, bound)
    yield Line(f"{work}: p50", f"{our_p50:.1f} ms", f"{floor_p50:.1f} ms", our_p50 / floor_p50, bound)
