"""Measures the audit ledger at two sizes: a page costs the same at a million entries as at a thousand."""

from collections.abc import Iterator
from statistics import median
from uuid import UUID

import psycopg

from bench.report import Line
from bench.service import Service, load, raw_request

SMALL, READS, ROUNDS = 1_000, 100, 5
_VERSIONS = 100
"""Versions of each SKU, so that every entry has an earlier version to compare with."""

_SKUS = """
INSERT INTO {table} (id, company_id, sku_code, name, weight_grams, components, volumes, recyclability_grade,
                     grade_provisional, ruleset_version, version, transaction_id, created_at, updated_at)
SELECT md5(%(company)s::text || 'sku' || sku)::uuid, %(company)s::uuid, 'SKU-' || sku, 'Bottle ' || sku, version,
       '[{{"id": "1", "component_type": "body", "material_family": "plastic", "weight_g": 25.0}}]',
       '{{"FR/2026/0": 1000}}', 'A', true, '2026-11-21', version, md5(%(company)s::text || version)::uuid, now(), now()
FROM generate_series(1, %(skus)s) AS sku, generate_series({versions}) AS version
"""
_TRANSACTIONS = """
INSERT INTO audit_transactions (id, company_id, at, actor_type, actor_id, actor_name, correlation_id, number,
                                first_entry, entries, digest_version, hash)
SELECT md5(%(company)s::text || version)::uuid, %(company)s::uuid, now() + version * interval '1 s', 'import', 'i',
       'f.csv', 'c', version, (version - 1) * %(skus)s + 1, %(skus)s, 1, ''
FROM generate_series(1, %(versions)s) AS version
"""
_ENTRIES = """
INSERT INTO audit_entries (company_id, id, transaction_id, action, resource_id, version, digest)
SELECT %(company)s::uuid, (version - 1) * %(skus)s + sku, md5(%(company)s::text || version)::uuid, 'sku.updated',
       md5(%(company)s::text || 'sku' || sku)::uuid::text, version, ''
FROM generate_series(1, %(skus)s) AS sku, generate_series(1, %(versions)s) AS version
"""
_COUNTERS = """
UPDATE company_counters SET links = %(versions)s, audit_entries = %(entries)s WHERE company_id = %(company)s::uuid
"""


def measure(service: Service, entries: int = 1_000_000) -> Iterator[Line]:
    """Measure the first page, a long one and the deepest, beside a small ledger's, and the spread of two runs."""
    small, large = (_ledger(service, count) for count in (SMALL, entries))
    for query in ("", "?limit=200", "?offset={deepest}"):
        times: list[tuple[float, float, float]] = []
        for _ in range(ROUNDS):
            sides = ((large, entries), (small, SMALL), (small, SMALL))
            ours, floor, again = (_p50_ms(service, key, query.format(deepest=count - 50)) for key, count in sides)
            times.append((ours, floor, again))
        ours, floor, again = (median(side) for side in zip(*times, strict=True))
        work = f"GET /audit-log{query.format(deepest=entries - 50)} at {entries} entries, beside {SMALL}: p50"
        yield Line(work, f"{ours:.1f} ms", f"{floor:.1f} ms", ours / floor, 1.0)
        yield Line("the same twice at the small ledger: noise", f"{again:.1f} ms", f"{floor:.1f} ms", again / floor)


def _p50_ms(service: Service, key: str, query: str) -> float:
    request = raw_request("GET", f"/api/v1/audit-log{query}", key)
    return load(service.port, [request] * READS, connections=1).p50_ms


def _ledger(service: Service, entries: int) -> str:
    """Return the key of a new company with this many entries, each about another version of a SKU."""
    company, key = service.company()
    with psycopg.connect(service.database.owner_url) as owner:
        _fill(owner, company, entries)
    return key


def _fill(owner: psycopg.Connection[tuple[object, ...]], company: UUID, entries: int) -> None:
    """Add entries by SQL, without the chain: this benchmark measures reading."""
    values = {"company": str(company), "entries": entries, "skus": entries // _VERSIONS, "versions": _VERSIONS}
    for table in ("audit_entries", "audit_transactions"):
        owner.execute(f"DELETE FROM {table} WHERE company_id = %(company)s::uuid", values)
    owner.execute(_SKUS.format(table="sku_versions", versions=f"1, {_VERSIONS - 1}"), values)
    owner.execute(_SKUS.format(table="skus", versions=f"{_VERSIONS}, {_VERSIONS}"), values)
    for statement in (_TRANSACTIONS, _ENTRIES, _COUNTERS):
        owner.execute(statement, values)
