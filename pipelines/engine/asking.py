"""What sensors have in common: runs that they ask for until they succeed, and when one is due again.

A sensor looks at what there is to do, never at what it asked before: whatever was killed meanwhile, the next tick asks
again. A partition that has an unfinished run is left alone; one whose runs fail is asked for ever later.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

import dagster as dg

from pipelines.engine.jobs import run_config
from pipelines.engine.partitions import companies
from warehouse.clock import Clock

LOOK_SECONDS: Final = 4
"""Less than the five seconds of the daemon's loop, which would else miss every second tick."""
sensor: Final = partial(dg.sensor, minimum_interval_seconds=LOOK_SECONDS, default_status=dg.DefaultSensorStatus.RUNNING)
"""A sensor that looks as often as the daemon does, from the first start on."""
RETRY_SECONDS: Final = 60.0
"""How long after a run that failed the same partition is asked for again; twice as long after each further one."""
_MOST_DOUBLINGS: Final = 6
_LOST_AFTER: Final = timedelta(minutes=10)
"""A run that was recorded and not even queued for so long was lost by its daemon: asking again launches it."""
_LOOKED_BACK: Final = timedelta(days=2)
_MOST_RUNS: Final = 2_000
_PARTITION: Final = "dagster/partition"
WHOLE: Final = ""
"""In place of a partition's name, for a job that has none."""
_UNFINISHED: Final = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_FAILED: Final = [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


class Failures(NamedTuple):
    """How many runs of a partition failed since one succeeded, and when the last of them did (seconds since 1970)."""

    times: int
    at: float

    def is_over(self) -> bool:
        """Whether enough time has passed to try again."""
        return Clock().now().timestamp() >= self.at + RETRY_SECONDS * (1 << min(self.times - 1, _MOST_DOUBLINGS))


class Wanted(NamedTuple):
    """A run that a company needs. `state` says what there is to do: a run for the same is asked for once."""

    state: str
    tags: Mapping[str, str]
    config: Mapping[str, object] = run_config()


def of_companies(instance: dg.DagsterInstance, job_name: str, wanted: Mapping[str, Wanted]) -> list[dg.RunRequest]:
    """The runs that may be asked for now, one a slug."""
    return [
        dg.RunRequest(
            run_key=f"{slug}/{wanted[slug].state}{again(failures)}",
            partition_key=slug,
            run_config=wanted[slug].config,
            tags=wanted[slug].tags,
        )
        for slug, failures in due(instance, job_name, wanted).items()
    ]


def partitions_of(
    instance: dg.DagsterInstance, requests: Collection[dg.RunRequest]
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """What a sensor asks for beside these runs, so that their companies' partitions are there; nothing if they are."""
    wanted = sorted({str(request.partition_key) for request in requests})
    known = set(instance.get_dynamic_partitions("companies")) if wanted else set()
    new = [slug for slug in wanted if slug not in known]
    return [companies.build_add_request(new)] if new else []


def due(instance: dg.DagsterInstance, job_name: str, wanted: Collection[str]) -> dict[str, int]:
    """Those of the wanted partitions for which a run may be asked now, each with the failures before it."""
    if not wanted:
        return {}
    busy = _unfinished(instance, job_name)
    free = [partition for partition in wanted if partition not in busy]
    failed = _failures(instance, job_name, free)
    return {
        partition: failed[partition].times if partition in failed else 0
        for partition in free
        if partition not in failed or failed[partition].is_over()
    }


def again(failures: int) -> str:
    """What makes the run key of another attempt another one."""
    return f"/again-{failures}" if failures else ""


def _unfinished(instance: dg.DagsterInstance, job_name: str) -> set[str]:
    lost_before = Clock().now() - _LOST_AFTER
    return {
        record.dagster_run.tags.get(_PARTITION, WHOLE)
        for record in instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=_UNFINISHED))
        if record.dagster_run.status != dg.DagsterRunStatus.NOT_STARTED or record.create_timestamp > lost_before
    }


def _failures(instance: dg.DagsterInstance, job_name: str, partitions: Collection[str]) -> dict[str, Failures]:
    """By partition; those whose last run succeeded, or that have had none, are left out."""
    if not (ended := _ended(instance, job_name, partitions, _FAILED)):
        return {}
    succeeded = _ended(instance, job_name, ended.keys(), [dg.DagsterRunStatus.SUCCESS])
    found = {}
    for partition, at in ended.items():
        later = [each for each in at if each > max(succeeded.get(partition, [0.0]))]
        if later:
            found[partition] = Failures(len(later), max(later))
    return found


def _ended(
    instance: dg.DagsterInstance, job_name: str, partitions: Collection[str], statuses: list[dg.DagsterRunStatus]
) -> dict[str, list[float]]:
    """When runs of these partitions ended with one of these statuses, seconds since 1970."""
    if not partitions:
        return {}
    asked = dg.RunsFilter(
        job_name=job_name,
        statuses=statuses,
        tags=None if WHOLE in partitions else {_PARTITION: list(partitions)},
        created_after=Clock().now() - _LOOKED_BACK,
    )
    found: dict[str, list[float]] = {}
    for record in instance.get_run_records(asked, limit=_MOST_RUNS):
        ended = record.end_time or record.update_timestamp.timestamp()
        found.setdefault(record.dagster_run.tags.get(_PARTITION, WHOLE), []).append(ended)
    return found
