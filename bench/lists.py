"""Measures deep pages of lists beside the first: SKUs just imported and again vacuumed, then the other lists."""

from collections.abc import Iterator
from statistics import median
from uuid import UUID

import psycopg

from bench import data
from bench.imports import run_import
from bench.report import Line
from bench.service import Service, load, raw_request

READS, ROUNDS = 100, 5
BOUND = 3.0
"""How much more than its first page a list may cost at four fifths of its rows. The middle is the worst for SKUs, whose
deep pages are found from the nearer end; it is reported."""

_MADE = "SELECT gen_random_uuid(), %(company)s, 'N' || n, now() - n * interval '1 second', now()"
_OTHERS = {
    "/brands": f"INSERT INTO brands (id, company_id, name, created_at, updated_at) {_MADE}",
    "/components": (
        "INSERT INTO library_components (id, company_id, code, created_at, updated_at, name, component_type, "
        f"material_family) {_MADE}, 'Cap', 'cap', 'plastic'"
    ),
    "/docs": f"INSERT INTO docs (id, company_id, reference, created_at, updated_at, status) {_MADE}, 'valid'",
}
"""Fills the other lists with as many records as there are SKUs, so that all lists have one length."""


def measure(service: Service, rows: int = 50_000) -> Iterator[Line]:
    """Measure first, middle and deep pages in turns over one connection, by the medians of the rounds."""
    company, key = service.company()
    run_import(service, key, data.csv_file(rows, changed=False))
    yield from _lines(service, key, "/skus", rows, "just imported")
    with psycopg.connect(service.database.owner_url, autocommit=True) as owner:
        owner.execute("VACUUM (ANALYZE) skus")
    yield from _lines(service, key, "/skus", rows, "vacuumed")
    for path, statement in _OTHERS.items():
        _fill(service, company, statement, rows)
        yield from _lines(service, key, path, rows, "just added")


def _lines(service: Service, key: str, path: str, rows: int, state: str) -> Iterator[Line]:
    offsets = (0, rows // 2, rows * 4 // 5)
    found: dict[int, list[float]] = {offset: [] for offset in offsets}
    for _ in range(ROUNDS):
        for offset in offsets:
            requests = [raw_request("GET", f"/api/v1{path}?offset={offset}", key)] * READS
            found[offset].append(load(service.port, requests, connections=1).p50_ms)
    first, middle, deep = (median(found[offset]) for offset in offsets)
    for offset, p50, bound in ((offsets[1], middle, None), (offsets[2], deep, BOUND)):
        work = f"GET {path} at offset {offset} of {rows}, {state}: p50 beside offset 0"
        yield Line(work, f"{p50:.1f} ms", f"{first:.1f} ms", p50 / first, bound)


def _fill(service: Service, company: UUID, statement: str, rows: int) -> None:
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        owner.execute(f"{statement} FROM generate_series(1, %(rows)s) AS n", {"company": company, "rows": rows})
