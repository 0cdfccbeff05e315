"""Endpoints for supervisors, load balancers and the operator's Prometheus: liveness, readiness, contact and `/metrics`.

Liveness and readiness need no credential. `/metrics` says what the processes counted, and what Postgres knows (decision
0057); it is answered to this machine, where the service is reached at no other address, and to who sends the operator's
token (`PCDS_METRICS_TOKEN`). What does not belong here: queries (`warehouse.operate.measures`).
"""

import asyncio
import csv
import hmac
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import psycopg
import structlog
from fastapi import APIRouter
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from psycopg import Error
from psycopg_pool import PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from api.http import metrics as metrics_http
from api.http.answers import json_of
from api.http.errors import HttpRefusal
from api.http.service import Service, service_of
from api.openapi.document import operation
from schemas.addresses import is_loopback
from schemas.json_values import JsonObject
from schemas.messages import LANGUAGES
from schemas.operate import Health, State
from services import operate
from services.operate import of_database, of_place
from warehouse import catalogue
from warehouse.companies.queries import every_company
from warehouse.imports import claims
from warehouse.operate import keys, measures, store
from warehouse.operate.measures import Measure
from warehouse.operate.sessions import AsyncConnection, commits

router = APIRouter(tags=["Service"])


@router.get("/healthz", **operation("Requests are served", answers={200: Health}))
async def healthz() -> Response:
    """200 as soon as the process answers."""
    return json_of({"status": "ok"})


@router.get("/readyz", **operation("Imports and the catalogue are ready", answers={200: Health, 503: Health}))
async def readyz(request: Request) -> Response:
    """503 until catalogue and worker were there once, and while requests would fail; else 200, also with a part away.

    `degraded` names in `failing` which part is away. `clock_offset_seconds` stands here where a test clock is set.
    """
    service = service_of(request)
    standing = await request.app.state.readiness.standing(service)
    offset = service.settings.test_clock_offset
    body: JsonObject = {"status": standing.status} | ({"failing": standing.failing} if standing.failing else {})
    if offset:
        body["clock_offset_seconds"] = offset
    answer = json_of(body, 503 if standing.status == "starting" else 200)
    if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = "1"
    return answer


STANDS_SECONDS: Final = 1.0
LOOKS_SECONDS: Final = 5.0
"""How often the parts are looked at; each `STANDS_SECONDS` until the process is ready for the first time."""
AWAITED_SECONDS: Final = 0.2
"""The same in the first `_START_SECONDS` of a process, in which the others of the service come up."""
_START_SECONDS: Final = 10.0
STORE_SECONDS: Final = 15.0
"""How often the object store is looked at: apart from the other parts, as one that hangs takes its time."""
RECORDS_SECONDS: Final = 6 * 3600.0
"""How often the records of all companies are looked at, one company after the other."""
_COMMIT_SECONDS: Final = 5.0
"""Longest time for an empty commit; a slower database can serve nobody."""
_FIRST_LOOK_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


class Standing(NamedTuple):
    """How the process stands: `starting` is answered with 503, and names what fails or is waited for."""

    status: Literal["ok", "starting", "degraded"]
    failing: tuple[State, ...] = ()


class Readiness:
    """The looks of one process, and what they saw last."""

    def __init__(self) -> None:
        self._turn, self._looked = asyncio.Lock(), asyncio.Event()
        self._begun = time.monotonic()
        self._unmet = frozenset[State]()
        self._until = 0.0
        self._away = frozenset[State]()
        self.store: State | None = None
        self.records: Mapping[str, int] = {}
        """How many records of all companies `pcds doctor` lists, by kind; nothing before the first look has ended."""
        self._awaited = frozenset(state for state in State if state.part == "awaited")

    @asynccontextmanager
    async def looking(self, service: Service) -> AsyncIterator["Readiness"]:
        """Look at the parts in the background during the block."""
        looks = (self._look_at_parts, self._look_at_store, self._look_at_records)
        tasks = [asyncio.create_task(_repeat(look, service)) for look in looks]
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def standing(self, service: Service) -> Standing:
        """Return how the process stands, with what is away in the order in which to repair it."""
        async with self._turn:
            if time.monotonic() >= self._until:
                self._unmet = await _unmet(service)
                self._until = time.monotonic() + STANDS_SECONDS
        if self._unmet:
            return Standing("starting", _ordered(self._unmet))
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LOOK_SECONDS):
                await self._looked.wait()
        if self._awaited:
            return Standing("starting", _ordered(self._awaited))
        away = self._away | ({self.store} if self.store else set())
        return Standing("degraded", _ordered(away)) if away else Standing("ok")

    async def _look_at_parts(self, service: Service) -> float:
        self._away = await _parts_away(service)
        self._awaited &= self._away
        if not self._looked.is_set():
            await run_in_threadpool(_note_keys, service)
        self._looked.set()
        if not self._awaited:
            return LOOKS_SECONDS
        return AWAITED_SECONDS if time.monotonic() < self._begun + _START_SECONDS else STANDS_SECONDS

    async def _look_at_store(self, service: Service) -> float:
        self.store = await run_in_threadpool(store.state, service.objects)
        return STORE_SECONDS

    async def _look_at_records(self, service: Service) -> float:
        counts = Counter[str]()
        for company_id in await run_in_threadpool(every_company, service.writes):
            counts.update(await run_in_threadpool(_records_of, service, company_id))
        self.records = {kind: counts[kind] for kind in operate.KINDS}
        return RECORDS_SECONDS


async def _repeat(look: Callable[[Service], Awaitable[float]], service: Service) -> None:
    """Look, and again after the seconds that the look returns; one that failed, whatever the reason, soon again.

    Ends when it is cancelled, also where what the look waited for took the cancellation.
    """
    while True:
        try:
            pause = await look(service)
        except (Error, PoolTimeout):  # what requests need says that the database is away
            pause = STANDS_SECONDS
        except Exception:
            log.exception("look.failed")
            pause = LOOKS_SECONDS
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # Python 3.11's `wait_for`, in psycopg, loses one as it ends
            return
        await asyncio.sleep(pause)


def _records_of(service: Service, company_id: UUID) -> dict[str, int]:
    """Return how many records of a company `pcds doctor` lists, by kind."""
    today, data_dir = service.clock.today(), service.settings.data_dir
    with service.writes.company(company_id) as conn:
        findings = operate.find(operate.Looked(conn, service.rulesets, today, company_id, data_dir))
    return {kind: len(rows) for kind, rows in findings.items()}


def _ordered(states: frozenset[State]) -> tuple[State, ...]:
    return tuple(state for state in State if state in states)


async def _unmet(service: Service) -> frozenset[State]:
    """Return what requests need and do not have: room for files, and a database that commits."""
    unmet = set[State]()
    if not await run_in_threadpool(operate.takes_files, service.settings):
        unmet.add(State.STORAGE)
    try:
        async with asyncio.timeout(None) as limit:

            async def ask(connection: AsyncConnection) -> bool:
                limit.reschedule(asyncio.get_running_loop().time() + _COMMIT_SECONDS)
                return await commits(connection)

            if not await service.reads.run(ask):
                unmet.add(State.DATABASE_WRITES)
    except TimeoutError:
        unmet.add(State.DATABASE_WRITES)
    except (Error, PoolTimeout):
        unmet.add(State.DATABASE)
    return frozenset(unmet)


def _note_keys(service: Service) -> None:
    """Log at the start which keys this program lacks, or has another file of."""
    with service.writes.system() as conn:
        keys.note(conn, service.settings)


async def _parts_away(service: Service) -> frozenset[State]:
    """Return which parts of the place are away."""

    async def ask(connection: AsyncConnection) -> set[State]:
        away = set[State]() if await catalogue.read_is_loaded(connection) else {State.CATALOGUE}
        if service.settings.warm_workers and not await claims.is_listened_to(connection):
            away.add(State.WORKER)
        return away

    away_parts = await service.reads.run(ask)
    if await run_in_threadpool(operate.is_code_server_away, service.settings):
        away_parts.add(State.CODE_SERVER)
    return frozenset(away_parts)


PATH: Final = "/.well-known/security.txt"
_HOLDS: Final = timedelta(days=180)
"""RFC 9116, 2.5.5 asks for an end, and recommends less than a year."""

security_contact_router = APIRouter(include_in_schema=False)


@security_contact_router.get(PATH)
async def security_contact(request: Request) -> Response:
    """Answer the contact of `PCDS_SECURITY_CONTACT`; 404 without it."""
    service = service_of(request)
    if service.settings.security_contact is None:
        raise HttpRefusal("not_found")
    expires = (service.clock.now() + _HOLDS).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    lines = (
        f"Contact: {service.settings.security_contact}",
        f"Expires: {expires}",
        f"Preferred-Languages: {', '.join(LANGUAGES)}",
        f"Canonical: {service.settings.base_url}{PATH}",
    )
    return PlainTextResponse("\n".join(lines) + "\n", headers={"Cache-Control": "public, max-age=3600"})


metrics_router = APIRouter(include_in_schema=False)

with (Path(__file__).parent / "metrics.csv").open(encoding="utf-8", newline="") as _file:
    _METRICS: Final = [*csv.DictReader(_file)]
COUNTERS: Final = {row["name"]: row["meaning"] for row in _METRICS if row["kind"] == "counter"}
GAUGES: Final = {row["name"]: row["meaning"] for row in _METRICS if row["kind"] == "gauge"}
"""What each metric says, by its name without `pcds_`."""
_UNITS: Final = {
    "import_wait": "import_wait_seconds",
    "snapshot_lag": "snapshot_lag_seconds",
    "database_size": "database_size_bytes",
}

log = structlog.get_logger(__name__)


@metrics_router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Answer the numbers in OpenMetrics, or in Prometheus' older text where the caller prefers that."""
    _check_caller(request)
    service = service_of(request)
    app = request.app.state
    numbers = await run_in_threadpool(_read, service, app.dagster_database, app.readiness.store)
    numbers += [Measure("records", {"kind": kind}, number) for kind, number in app.readiness.records.items()]
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    registry = metrics_http.registry()
    return Response(encode(_Both(registry, numbers)), media_type=content_type, headers={"Cache-Control": "no-store"})


def _check_caller(request: Request) -> None:
    """Raise `Refused` unless the caller has the token, or is this machine at a service for it alone."""
    settings = service_of(request).settings
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if settings.metrics_token is not None and scheme.lower() == "bearer":
        wanted = settings.metrics_token.get_secret_value()
        if hmac.compare_digest(token.strip().encode(), wanted.encode()):
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
            numbers = measures.of_tables(connection, service.clock.now())
        numbers += [*measures.of_runs(dagster_url), Measure("up_database", {}, 1)]
    except (psycopg.Error, PoolTimeout) as error:
        log.warning("metrics.database", fault=type(error).__name__)
        numbers = [Measure("up_database", {}, 0)]
    with suppress(OSError):  # a directory that is gone is one of the problems
        disk = shutil.disk_usage(service.settings.data_dir)
        numbers += [Measure("disk_free_bytes", {}, disk.free), Measure("disk_size_bytes", {}, disk.total)]
    return [*numbers, *_pools(service), *problems]


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


def families(numbers: Sequence[Measure]) -> Iterator[Metric]:
    """Yield a family for each name, with a sample for each of its measures."""
    by_name: dict[str, list[Measure]] = {}
    for measure in numbers:
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
