"""Requests runs for sensors until they succeed, and decides when a partition is due again.

A sensor looks at the work that is left, never at its earlier requests: whatever was killed meanwhile, the next tick
requests it again. A partition with an unfinished run is left alone; the retries of one whose runs fail come at growing
intervals.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

import dagster as dg

from pipelines.engine.jobs import run_config
from pipelines.engine.tags import DAY, company_partitions
from warehouse.operate.clock import Clock

POLL_SECONDS: Final = 4
"""Less than the five seconds of the daemon's loop, which would otherwise miss every second tick."""
sensor: Final = partial(dg.sensor, minimum_interval_seconds=POLL_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING)
"""A sensor that looks as often as the daemon does, and is on from the first start."""
RETRY_SECONDS: Final = 60.0
"""How long after a failed run the same partition is requested again; twice as long after each further failure."""
_MAX_DOUBLINGS: Final = 6
_LOST_AFTER: Final = timedelta(minutes=10)
"""A run recorded for this long, but never queued, was lost by its daemon: another request launches it."""
_MOVED: Final = timedelta(hours=1)
"""By how much the service's clock is moved against the machine's (`PCDS_TEST_CLOCK_OFFSET`), at the least."""
_LOOKBACK: Final = timedelta(days=2)
_MAX_RUNS: Final = 2_000
_PARTITION: Final = "dagster/partition"
UNPARTITIONED: Final = ""
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


class Failures(NamedTuple):
    """How many runs of a partition failed since one succeeded, and when the last of them did (seconds since 1970)."""

    times: int
    at: float

    def is_over(self) -> bool:
        """Return whether enough time has passed to try again, or the clock has jumped back behind the last failure."""
        passed = Clock().now().timestamp() - self.at
        return not 0 <= passed < RETRY_SECONDS * (1 << min(self.times - 1, _MAX_DOUBLINGS))


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
            run_key=f"{slug}/{wanted[slug].state}{retry_suffix(failures)}",
            job_name=job_name,
            partition_key=slug,
            run_config=wanted[slug].config,
            tags=wanted[slug].tags,
        )
        for slug, failures in due_partitions(instance, job_name, wanted).items()
    ]


def requests_of_job(
    instance: dg.DagsterInstance,
    job_name: str,
    state: str,
    config: Mapping[str, object],
    tags: Mapping[str, str] | None = None,
) -> list[dg.RunRequest]:
    """Return the run of a job without partitions, if it may be requested now; `state` is as that of `WantedRun`."""
    return [
        dg.RunRequest(
            run_key=f"{job_name}/{state}{retry_suffix(failures)}", job_name=job_name, run_config=config, tags=tags
        )
        for failures in due_partitions(instance, job_name, [UNPARTITIONED]).values()
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
    day = {DAY: f"{now:%Y-%m-%d}"} if abs(now - Clock().now()) > _MOVED else {}
    if ended and ended[0].dagster_run.is_success and day.items() <= ended[0].dagster_run.tags.items():
        return []
    last = ended[0].dagster_run.run_id if ended else "nothing"
    return requests_of_job(instance, job_name, f"after {last}", config, day)


def partition_requests(
    instance: dg.DagsterInstance, requests: Collection[dg.RunRequest]
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """Return the requests that add the partitions of these runs' companies; none if all exist."""
    slugs = sorted({request.partition_key for request in requests if request.partition_key is not None})
    known = set(instance.get_dynamic_partitions("companies")) if slugs else set()
    new = [slug for slug in slugs if slug not in known]
    return [company_partitions.build_add_request(new)] if new else []


def due_partitions(instance: dg.DagsterInstance, job_name: str, wanted: Collection[str]) -> dict[str, int]:
    """Return the wanted partitions for which a run may be requested now, each with its number of failures."""
    if not wanted:
        return {}
    busy = _unfinished_partitions(instance, job_name)
    free = [partition for partition in wanted if partition not in busy]
    failed = _failures_by_partition(instance, job_name, free)
    return {
        partition: failed[partition].times if partition in failed else 0
        for partition in free
        if partition not in failed or failed[partition].is_over()
    }


def being_materialised(instance: dg.DagsterInstance, asset: str, partitions: Collection[str]) -> set[str]:
    """Return those partitions of an asset that a run of any job is to materialise, also one of a backfill."""
    if not partitions:
        return set()
    runs = instance.get_runs(dg.RunsFilter(statuses=UNDER_WAY, tags={_PARTITION: list(partitions)}))
    return {run.tags[_PARTITION] for run in runs if dg.AssetKey(asset) in (run.asset_selection or ())}


def retry_suffix(failures: int) -> str:
    """Return the suffix that makes the run key of another attempt unique."""
    return f"/again-{failures}" if failures else ""


def _unfinished_partitions(instance: dg.DagsterInstance, job_name: str) -> set[str]:
    """Return the partitions with an unfinished run of the job; one that was never queued does not count."""
    lost_before = Clock().now() - _LOST_AFTER
    return {
        record.dagster_run.tags.get(_PARTITION, UNPARTITIONED)
        for record in instance.get_run_records(
            dg.RunsFilter(job_name=job_name, statuses=[dg.DagsterRunStatus.NOT_STARTED, *UNDER_WAY])
        )
        if record.dagster_run.status != dg.DagsterRunStatus.NOT_STARTED or record.create_timestamp > lost_before
    }


def _failures_by_partition(
    instance: dg.DagsterInstance, job_name: str, partitions: Collection[str]
) -> dict[str, Failures]:
    """Return failures by partition, without partitions whose last run succeeded or that have had none."""
    failed = _end_times(instance, job_name, partitions, _FAILED)
    succeeded = _end_times(instance, job_name, failed.keys(), [dg.DagsterRunStatus.SUCCESS])
    since = {
        partition: [each for each in ended if each > max(succeeded.get(partition, [0.0]))]
        for partition, ended in failed.items()
    }
    return {partition: Failures(len(times), max(times)) for partition, times in since.items() if times}


def _end_times(
    instance: dg.DagsterInstance, job_name: str, partitions: Collection[str], statuses: list[dg.DagsterRunStatus]
) -> dict[str, list[float]]:
    """Return when runs of these partitions ended with one of these statuses, in seconds since 1970."""
    if not partitions:
        return {}
    run_filter = dg.RunsFilter(
        job_name=job_name,
        statuses=statuses,
        tags=None if UNPARTITIONED in partitions else {_PARTITION: list(partitions)},
        created_after=Clock().now() - _LOOKBACK,
    )
    times: dict[str, list[float]] = {}
    for record in instance.get_run_records(run_filter, limit=_MAX_RUNS):
        ended = record.end_time or record.update_timestamp.timestamp()
        times.setdefault(record.dagster_run.tags.get(_PARTITION, UNPARTITIONED), []).append(ended)
    return times
