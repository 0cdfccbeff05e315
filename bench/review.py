"""Measures the review page of a long queue beside that of a short one, for a signed-in person."""

from collections.abc import Iterator
from statistics import median

import psycopg

from bench.report import Line
from bench.service import Service, load, session_of

READS, ROUNDS = 50, 5
LONG, SHORT = 1_000, 10
BOUND = 3.0
"""How much more the page of a long queue may cost than that of a short one (both show one page of entries)."""

_FILL = """
INSERT INTO review_entries (id, company_id, kind, state, payload, filed_by_type, filed_by_name, filed_at)
SELECT gen_random_uuid(), %(company)s, 'doc_draft', 'open', '{"reference": "DOC"}', 'connection', 'Assistant',
    now() - n * interval '1 second'
FROM generate_series(1, %(entries)s) AS n"""


def measure(service: Service, long: int = LONG) -> Iterator[Line]:
    """Measure both queues in turns over one connection, by the medians of the rounds."""
    asked = {entries: _request(service, entries) for entries in (SHORT, long)}
    found: dict[int, list[float]] = {entries: [] for entries in asked}
    for _ in range(ROUNDS):
        for entries, request in asked.items():
            found[entries].append(load(service.port, [request] * READS, connections=1).p50_ms)
    few, many = median(found[SHORT]), median(found[long])
    work = f"GET /review, first of {long} open entries: p50 beside {SHORT} open entries"
    yield Line(work, f"{many:.1f} ms", f"{few:.1f} ms", many / few, BOUND)


def _request(service: Service, entries: int) -> bytes:
    """Return the request of a person whose company's queue has this many entries."""
    company, _ = service.company()
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        owner.execute(_FILL, {"company": company, "entries": entries})
    cookie = f"pcds_session={session_of(service, company)}"
    return f"GET /review HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()
