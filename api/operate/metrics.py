"""`/metrics` for the operator's Prometheus: what the processes counted, and what Postgres knows (decision 0057).

It is answered to this machine, where the service is reached at no other address, and to who sends the operator's token
(`PCDS_METRICS_TOKEN`). What belongs here: names, meanings, the guard. What does not: queries
(`warehouse.operate.measures`).
"""

import hmac
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import psycopg
import structlog
from fastapi import APIRouter
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg_pool import PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.http import metrics as metrics_http
from api.http.errors import HttpRefusal
from api.http.service import Service, service_of
from schemas.addresses import is_loopback
from schemas.operate import State
from services import operate
from services.operate import of_database, of_place
from warehouse.operate import measures
from warehouse.operate.measures import Measure

router = APIRouter(include_in_schema=False)

COUNTERS: Final[Mapping[str, str]] = {
    "import_rows": "Lines of imports by outcome.",
    "writes": "Transactions that wrote, of all companies; less where a company was removed.",
    "audit_entries": "Entries of the audit ledgers.",
}
GAUGES: Final[Mapping[str, str]] = {
    "up_database": "1 where the numbers that are read from Postgres stand in this answer, else 0.",
    "imports": "Imports by step (waiting, writing, stalled, ended) and state.",
    "import_wait_seconds": "How long the oldest import has waited for a run.",
    "skus": "SKUs of all companies.",
    "companies": "Companies by plan.",
    "companies_at_sku_limit": "Companies that hold at least this share of their plan's SKUs.",
    "snapshots_behind": "Companies with writes that no snapshot has.",
    "snapshot_lag_seconds": "Age of the oldest write that no snapshot has.",
    "launches": "Runs that were launched and have not ended: waiting for a worker, or taken.",
    "runs": "Runs of Dagster that have not ended, by state.",
    "runs_ended_last_hour": "Runs of Dagster that ended in the last hour, by state.",
    "checks_failed": "Companies for which the last verdict of a check in Dagster is a failure, by asset and check.",
    "workers": "Workers that wait for runs.",
    "database_connections": "Connections of the application's role by state.",
    "database_connections_limit": "Connections that the server allows.",
    "database_size_bytes": "Size of the database.",
    "disk_free_bytes": "Free space of the disk of the data directory.",
    "disk_size_bytes": "Size of the disk of the data directory.",
    "problem": "1 while a state that `pcds doctor` names holds here, else 0.",
    "records": "Records of all companies that `pcds doctor` lists, by kind, as they were counted last.",
    "pool_connections": "Connections of the answering process's pools by state.",
}
_UNITS: Final = {
    "import_wait": "import_wait_seconds",
    "snapshot_lag": "snapshot_lag_seconds",
    "database_size": "database_size_bytes",
}

log = structlog.get_logger(__name__)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Answer the numbers in OpenMetrics, or in Prometheus' older text where the caller prefers that."""
    _check_caller(request)
    service = service_of(request)
    app = request.app.state
    found = await run_in_threadpool(_read, service, app.dagster_database, app.readiness.store)
    found += [Measure("records", {"kind": kind}, number) for kind, number in app.readiness.records.items()]
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    registry = metrics_http.registry()
    return Response(encode(_Both(registry, found)), media_type=content_type, headers={"Cache-Control": "no-store"})


def _check_caller(request: Request) -> None:
    """Raise `Refused` unless the caller has the token, or is this machine at a service for it alone."""
    settings = service_of(request).settings
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if settings.metrics_token is not None and scheme.lower() == "bearer":
        wanted = settings.metrics_token.get_secret_value()
        if hmac.compare_digest(given.strip().encode(), wanted.encode()):
            return
    # A proxy on this machine connects from loopback for anybody, so that a public address makes the token necessary.
    is_forwarded = any(name in request.headers for name in ("x-forwarded-for", "x-real-ip", "forwarded", "via"))
    peer, public = request.client.host if request.client else "", urlsplit(settings.base_url).hostname or ""
    if settings.metrics_token is not None or is_forwarded or not (is_loopback(peer) and is_loopback(public)):
        sentence = "Send the operator's token (PCDS_METRICS_TOKEN) as a bearer token."
        raise HttpRefusal("invalid_token", sentence, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})


def _read(service: Service, dagster_url: str, store: State | None) -> list[Measure]:
    """Return what is read at the scrape; of an unreachable database only that it is so."""
    problems = problems_of(service, store)
    try:
        with service.writes.system() as connection:
            found = measures.of_tables(connection, service.clock.now())
        found += [*measures.of_runs(dagster_url), Measure("up_database", {}, 1)]
    except (psycopg.Error, PoolTimeout) as error:
        log.warning("metrics.database", fault=type(error).__name__)
        found = [Measure("up_database", {}, 0)]
    with suppress(OSError):  # a directory that is gone is one of the problems
        disk = shutil.disk_usage(service.settings.data_dir)
        found += [Measure("disk_free_bytes", {}, disk.free), Measure("disk_size_bytes", {}, disk.total)]
    return [*found, *_pools(service), *problems]


def problems_of(service: Service, store: State | None) -> list[Measure]:
    """Return for each state of a place whether it holds: the same looks as those of `pcds doctor`.

    `store` is what was last seen of the object store, which is looked at in the background.
    """
    settings = service.settings
    seen = [*of_place(settings), *of_database(service.database, lambda: service.writes, settings, service.clock)]
    seen += operate.of_endpoint(settings)
    wrong = {*(problem.check for problem in seen), *([store] if store else [])}
    return [Measure("problem", {"state": state, "urgency": state.urgency}, state in wrong) for state in State]


def _pools(service: Service) -> Iterator[Measure]:
    for name, stats in (("writes", service.writes.stats()), ("reads", service.reads.stats())):
        free, size = stats.get("pool_available", 0), stats.get("pool_size", 0)
        for state, number in (("idle", free), ("used", size - free), ("asked", stats.get("requests_waiting", 0))):
            yield Measure("pool_connections", {"pool": name, "state": state}, number)


class _Both(Collector):
    """What the processes counted, and then what was read at the scrape."""

    def __init__(self, counted: Collector, read: Sequence[Measure]) -> None:
        self._counted, self._read = counted, read

    def collect(self) -> Iterator[Metric]:
        yield from self._counted.collect()
        yield from families(self._read)


def families(found: Sequence[Measure]) -> Iterator[Metric]:
    """Yield a family for each name, with a sample for each of its measures."""
    by_name: dict[str, list[Measure]] = {}
    for measure in found:
        by_name.setdefault(_UNITS.get(measure.name, measure.name), []).append(measure)
    for name, samples in by_name.items():
        labels = list(samples[0].labels)
        family: CounterMetricFamily | GaugeMetricFamily
        if name in COUNTERS:
            family = CounterMetricFamily(f"pcds_{name}", COUNTERS[name], labels=labels)
        else:
            family = GaugeMetricFamily(f"pcds_{name}", GAUGES[name], labels=labels)
        for sample in samples:
            family.add_metric([sample.labels[label] for label in labels], sample.value)
        yield family
