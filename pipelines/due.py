"""Finds the runs that companies are due, by subject, and requests each until it succeeds: what the sensors ask for.

A sensor looks at the work that is left, never at its earlier requests: whatever was killed meanwhile, the next tick
requests it again. A partition with an unfinished run is left alone; the retries of one whose runs fail come at growing
intervals.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import dagster as dg

from pipelines.engine import tags
from pipelines.engine.jobs import import_config, run_config
from pipelines.engine.runs import company_partitions, is_terminated
from pipelines.engine.tags import PARTITION
from pipelines.figures import are_behind, are_damaged
from pipelines.imports import endings
from warehouse import exports, rules, supplier_mails
from warehouse.changes import webhooks
from warehouse.companies import queries
from warehouse.figures import snapshots
from warehouse.figures.snapshots import Published, Stale
from warehouse.imports import claims
from warehouse.imports.claims import SMALL_ROWS, OpenImport
from warehouse.operate import launches
from warehouse.operate.clock import Clock
from warehouse.operate.sessions import Connection, Pool

RETRY_SECONDS: Final = 60.0
"""How long after a failed run the same partition is requested again; twice as long after each further failure."""
_MAX_DOUBLINGS: Final = 6
_LOST_AFTER: Final = timedelta(minutes=10)
"""A run recorded for this long, but never queued, was lost by its daemon: another request launches it."""
_IMPORT_LOST_AFTER: Final = timedelta(seconds=20)
"""The same for an import, whose run the webserver records and launches in one request; monitoring ends it."""
_LONGEST_PAUSE_SECONDS: Final = 60
"""The most that an import waits between two runs: a disk may be full for hours, and is then free again."""
_MOVED: Final = timedelta(hours=1)
"""By how much the service's clock is moved against the machine's (`PCDS_TEST_CLOCK_OFFSET`), at the least."""
_LOOKBACK: Final = timedelta(days=2)
_MAX_RUNS: Final = 2_000
_UNPARTITIONED: Final = ""
"""Stands for the partition of a job that has none."""
UNDER_WAY: Final = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Statuses of a run that was launched or queued, and has not ended."""
_FAILED: Final = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
ENDED: Final = [dg.DagsterRunStatus.SUCCESS, *_FAILED]
"""Statuses of a run that has ended."""
ASKED_FOR: Final = timedelta(seconds=4)
"""How long after a file was accepted or an export was asked for the request of its run is left to the API."""
WRITE_QUIET_TIME: Final = timedelta(seconds=8)
"""How long a write waits for further writes: a publication beside the next import would slow that import."""
WAIT_WHILE_WRITING: Final = timedelta(seconds=20)
"""The longest that writes wait where others follow each other: each publication would be behind when it ends."""
WAIT_WHILE_IMPORTING: Final = timedelta(seconds=20)
"""The longest that writes wait while files are imported: more writes come, and imports need the machine."""
WAIT_WHILE_MIGRATING: Final = timedelta(seconds=60)
"""The same for a company that sends file after file: its portfolio would be read anew beside each next file."""
LARGE_PORTFOLIO_SKUS: Final = 5_000
"""From how many SKUs on a publication keeps a worker busy for more than a second."""
NEXT_FILE_WITHIN: Final = timedelta(seconds=4)
"""How soon after an import another one counts as following it: its file is being uploaded meanwhile."""
_IMPORTS: Final = "import_file"


class WantedRun(NamedTuple):
    """A run that a company needs. `state` identifies its work: a run for the same state is requested once."""

    state: str
    tags: Mapping[str, str]
    config: Mapping[str, object] = run_config()


def requests_of_companies(
    instance: dg.DagsterInstance, job_name: str, wanted: Mapping[str, WantedRun]
) -> list[dg.RunRequest]:
    """Return the runs that may be requested now, one a slug."""
    return [
        dg.RunRequest(
            run_key=f"{slug}/{wanted[slug].state}{suffix}",
            job_name=job_name,
            partition_key=slug,
            run_config=wanted[slug].config,
            tags=wanted[slug].tags,
        )
        for slug, suffix in _due(instance, job_name, wanted).items()
    ]


def requests_of_job(
    instance: dg.DagsterInstance,
    job_name: str,
    state: str,
    config: Mapping[str, object],
    run_tags: Mapping[str, str] | None = None,
) -> list[dg.RunRequest]:
    """Return the run of a job without partitions, if it may be requested now; `state` is as that of `WantedRun`."""
    return [
        dg.RunRequest(run_key=f"{job_name}/{state}{suffix}", job_name=job_name, run_config=config, tags=run_tags)
        for suffix in _due(instance, job_name, [_UNPARTITIONED]).values()
    ]


def undone_work(
    instance: dg.DagsterInstance, job_name: str, config: Mapping[str, object], now: datetime
) -> list[dg.RunRequest]:
    """Return the run of a daily job that has never ended well, or did not the last time; tries come ever later.

    A day that passed while the daemon was away is no gap: the scheduler runs the last tick that it missed by itself. It
    does not run a job on the very first day, and does not repeat one that failed. Nor does it run one where the
    service's clock, which says `now`, is moved: a tag then says for which day of the service's a run was.
    """
    ended = instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=ENDED), limit=1)
    day = {tags.DAY: f"{now:%Y-%m-%d}"} if abs(now - Clock().now()) > _MOVED else {}
    if ended and ended[0].dagster_run.is_success and day.items() <= ended[0].dagster_run.tags.items():
        return []
    last = ended[0].dagster_run.run_id if ended else "nothing"
    return requests_of_job(instance, job_name, f"after {last}", config, day)


def partition_requests(
    instance: dg.DagsterInstance, requests: Collection[dg.RunRequest]
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """Return the requests that add the partitions of these runs' companies; none if all exist."""
    slugs = {request.partition_key for request in requests if request.partition_key is not None}
    new = sorted(slugs.difference(instance.get_dynamic_partitions("companies"))) if slugs else []
    return [company_partitions.build_add_request(new)] if new else []


def being_materialised(instance: dg.DagsterInstance, asset: str, partitions: Collection[str]) -> set[str]:
    """Return those partitions of an asset that a run of any job is to materialise, also one of a backfill."""
    if not partitions:
        return set()
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY, tags={PARTITION: list(partitions)}))
    return {run.tags[PARTITION] for run in runs if dg.AssetKey(asset) in (run.asset_selection or ())}


def _due(instance: dg.DagsterInstance, job_name: str, wanted: Collection[str]) -> dict[str, str]:
    """Return the wanted partitions for which a run may be requested now, each with the suffix of its run key.

    The suffix makes the key of another attempt unique. A run that was never queued is none that is under way.
    """
    if not wanted:
        return {}
    not_started, lost_before = dg.DagsterRunStatus.NOT_STARTED, Clock().now() - _LOST_AFTER
    unfinished = dg.RunsFilter(job_name=job_name, statuses=[not_started, *UNDER_WAY])
    busy = {
        record.dagster_run.tags.get(PARTITION, _UNPARTITIONED)
        for record in instance.get_run_records(unfinished)
        if record.dagster_run.status != not_started or record.create_timestamp > lost_before
    }
    due = {partition: "" for partition in wanted if partition not in busy}
    failed = _end_times(instance, job_name, due, _FAILED)
    succeeded = _end_times(instance, job_name, failed, [dg.DagsterRunStatus.SUCCESS])
    for partition in failed.keys() & due.keys():
        since = [at for at in failed[partition] if at > max(succeeded.get(partition, [0.0]))]
        if since and is_retry_due(len(since), max(since)):
            due[partition] = f"/again-{len(since)}"
        elif since:
            del due[partition]
    return due


def is_retry_due(failures: int, at: float) -> bool:
    """Return whether enough time has passed since the last failure, or the clock has jumped back behind it.

    `failures` counts the runs that failed since one succeeded; `at` is in seconds since 1970.
    """
    passed = Clock().now().timestamp() - at
    return not 0 <= passed < RETRY_SECONDS * (1 << min(failures - 1, _MAX_DOUBLINGS))


def _end_times(
    instance: dg.DagsterInstance, job_name: str, partitions: Collection[str], statuses: list[dg.DagsterRunStatus]
) -> dict[str, list[float]]:
    """Return when runs of these partitions ended with one of these statuses, in seconds since 1970."""
    if not partitions:
        return {}
    ended = dg.RunsFilter(
        job_name=job_name,
        statuses=statuses,
        tags=None if _UNPARTITIONED in partitions else {PARTITION: list(partitions)},
        created_after=Clock().now() - _LOOKBACK,
    )
    times: dict[str, list[float]] = {}
    for record in instance.get_run_records(ended, limit=_MAX_RUNS):
        at = record.end_time or record.update_timestamp.timestamp()
        times.setdefault(record.dagster_run.tags.get(PARTITION, _UNPARTITIONED), []).append(at)
    return times


def written_portfolios(instance: dg.DagsterInstance, conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return the publications of companies that have written since their snapshot, or whose snapshot a new day changes.

    One run per company and last write; the next waits until that run has ended.
    """
    stale = snapshots.stale(conn, now.date())
    importing = bool(stale) and _are_importing(instance)
    return {
        company.slug: _publication(company, _state(company, now.date()), large=company.skus >= LARGE_PORTFOLIO_SKUS)
        for company in stale
        if company.since is None or company.since <= now - _wait(company, now, importing=importing)
    }


def lost_portfolios(conn: Connection, folder: Path, now: datetime) -> dict[str, WantedRun]:
    """Return the publications of companies whose files are not in this data directory, or not whole.

    A run was broken off or terminated, a file was lost, or a backup was restored.
    """
    return {
        company.slug: _publication(company, f"{company.position}/lost-{now:%Y%m%dT%H%M}")
        for company in snapshots.published(conn)
        if snapshots.is_astray(company, folder)
        or are_behind(folder, company.company_id)
        or are_damaged(folder, company)
    }


def _wait(company: Stale, now: datetime, *, importing: bool) -> timedelta:
    """Return how old the oldest write of a company must be; `importing`: files of any company are imported now."""
    if not (importing or company.importing):
        is_writing = company.latest is not None and company.latest > now - WRITE_QUIET_TIME
        return WAIT_WHILE_WRITING if is_writing else WRITE_QUIET_TIME
    return WAIT_WHILE_MIGRATING if company.importing or company.imported else WAIT_WHILE_IMPORTING


def _are_importing(instance: dg.DagsterInstance) -> bool:
    """Return whether an import of any company is under way or has just ended."""
    just_ended = dg.RunsFilter(job_name=_IMPORTS, updated_after=Clock().now() - NEXT_FILE_WITHIN)
    under_way = dg.RunsFilter(job_name=_IMPORTS, statuses=UNDER_WAY)
    return any(instance.get_run_records(wanted, limit=1) for wanted in (just_ended, under_way))


def _publication(company: Stale | Published, state: str, *, large: bool = False) -> WantedRun:
    size = tags.LARGE_PUBLICATION if large else {}
    return WantedRun(state, {tags.COMPANY: str(company.company_id), tags.PRIORITY: "-1", **tags.FOLLOWED, **size})


def _state(company: Stale, today: date) -> str:
    """Identify the write to publish by position and time; after a backup is restored, positions occur again."""
    since = f"{today:%Y%m%d}" if company.since is None else f"{company.since:%Y%m%dT%H%M%S.%f}"
    return f"{company.position}/{since}"


def requested_regrades(conn: Connection) -> dict[str, WantedRun]:
    """Return the runs of regrades that an activation or a release with newer rules has requested, by slug.

    Dagster starts a backfill from a sensor only by a private class, so these are runs of partitions, found by their tag
    as a backfill's runs are by its id. Work of a run that was killed stays, and the next run continues there.
    """
    waiting = rules.asked_of(conn)
    slugs = queries.slug_of(conn, [regrade.company_id for regrade in waiting]) if waiting else {}
    config = run_config(regraded_skus={"only_open": True})
    return {
        slugs[regrade.company_id]: WantedRun(
            f"{regrade.version}/{regrade.at:%Y%m%dT%H%M%S.%f}",
            {tags.REGRADE: regrade.version, tags.COMPANY: str(regrade.company_id), tags.PRIORITY: "-2"},
            config,
        )
        for regrade in waiting
    }


def queued_exports(conn: Connection, now: datetime) -> dict[str, WantedRun]:
    """Return one run for each company whose exports wait or have stalled; it writes all of them."""
    return {
        company.slug: WantedRun(
            company.work, {tags.COMPANY: str(company.company_id), **(tags.LARGE if company.skus > SMALL_ROWS else {})}
        )
        for company in exports.companies(conn, now, asked_for=ASKED_FOR)
    }


def messages(companies: Iterable[supplier_mails.Due | webhooks.Due]) -> dict[str, WantedRun]:
    """Return one run for each company with mails, or changes for its webhooks, that are due or to be tried again."""
    return {
        company.slug: WantedRun(company.work, {tags.COMPANY: str(company.company_id), **tags.FOLLOWED})
        for company in companies
    }


def import_request(instance: dg.DagsterInstance, pool: Pool, clock: Clock, waiting: OpenImport) -> dg.RunRequest | None:
    """Return the run of an open import; None where a run works on it, it waits, or a person has terminated its run.

    The run key counts the runs that it has had. An import whose last run was terminated is ended.
    """
    records = instance.get_run_records(dg.RunsFilter(job_name=_IMPORTS, tags={tags.IMPORT: str(waiting.id)}))
    for record in records:
        if _is_worked_on(record) and not _is_hung(instance, pool, clock, waiting, record.dagster_run):
            return None
    if records and is_terminated(last := records[0].dagster_run):  # the newest comes first
        endings.end_by_operator(pool, clock, waiting.company_id, waiting.id, last.run_id)
        return None
    if _waits(records):
        return None
    is_large = waiting.rows_total > SMALL_ROWS
    return dg.RunRequest(
        run_key=f"{waiting.id}/{len(records)}",
        partition_key=waiting.slug,
        run_config=import_config(waiting.id),
        tags={
            **tags.of_import(waiting.id, waiting.company_id, waiting.filename),
            **tags.writes(waiting.company_id, large=is_large),
            **(tags.LARGE if is_large else {}),
        },
    )


def _is_worked_on(record: dg.RunRecord) -> bool:
    if record.dagster_run.status == dg.DagsterRunStatus.NOT_STARTED:
        return Clock().now() - record.create_timestamp < _IMPORT_LOST_AFTER
    return record.dagster_run.status in UNDER_WAY


def _waits(records: Sequence[dg.RunRecord]) -> bool:
    """Return whether the newest run ended too shortly before for another one: the second one comes at once."""
    if len(records) < 2:
        return False
    pause = min(2 ** (len(records) - 1), _LONGEST_PAUSE_SECONDS)
    return timedelta(0) <= Clock().now() - records[0].update_timestamp < timedelta(seconds=pause)


def _is_hung(instance: dg.DagsterInstance, pool: Pool, clock: Clock, waiting: OpenImport, run: dg.DagsterRun) -> bool:
    """Return whether the run's worker lives and has stopped sending heartbeats; the run is then ended.

    A process that is stopped keeps its lock, by which run monitoring takes it for a working one. What it goes on to
    write when it wakes up is refused, for want of the claim.
    """
    with pool.system() as conn:
        if launches.state(conn, run.run_id) != "running":
            return False
    if not claims.take_away(pool, clock, waiting.company_id, waiting.id, UUID(run.run_id)):
        return False
    with pool.system() as conn:
        launches.give_up(conn, run.run_id)
    instance.report_run_failed(run, "Its worker sends no heartbeats any more; another run continues the import.")
    return True
