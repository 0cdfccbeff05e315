"""Starts a run immediately where that is fair to other companies, and queues it otherwise: Dagster's run coordinator.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml); the daemon takes runs from the queue by the
limits set there. `pipelines.engine.launcher` launches them.
"""

from collections.abc import Mapping
from typing import Any, Final  # Any: limits as dagster.yaml has them

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.tags import PARTITION, PRIORITY, TERMINATED, name_actor

_QUEUED: Final = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED)
_UNDER_WAY: Final = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)

_MOST_COUNTED: Final = 10
"""Runs that are looked at to count those beside one: more than any limit of dagster.yaml."""


class EagerRunCoordinator(QueuedRunCoordinator):
    """Queues as Dagster's own coordinator does, except a run that would leave the queue at its next look anyway.

    That is a run whose company has no other unfinished run, and with which the limits of dagster.yaml are kept. The
    queue is looked at once a second, which such a run need not wait for. Two submissions at the same instant may exceed
    the limit of concurrent runs by one run, which then waits for a worker.

    In the queue companies take turns: the second run of a company waits for the first runs of all others.
    """

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Launch or queue a run that was just created."""
        context = name_actor(self._instance, context)
        run = context.dagster_run
        if run.status != dg.DagsterRunStatus.NOT_STARTED:
            return super().submit_run(context)
        if not self._is_fair(run):
            self._give_turn(run)
            return super().submit_run(context)
        self._instance.launch_run(run.run_id, context.workspace)
        launched = self._instance.get_run_by_id(run.run_id)
        assert launched is not None
        return launched

    def cancel_run(self, run_id: str) -> bool:
        """Terminate a run at a person's request; return whether that was possible. Other ends do not come here."""
        if self._instance.has_run(run_id):
            self._instance.add_run_tags(run_id, {TERMINATED: "true"})
        return super().cancel_run(run_id)

    def _is_fair(self, run: dg.DagsterRun) -> bool:
        config = self._instance.get_concurrency_config().run_queue_config
        assert config is not None, "this coordinator has a queue"
        limits = config.tag_concurrency_limits or []
        if not all(self._has_room(limit, run) for limit in limits if _counts_run(limit, run.tags)):
            return False
        most = config.max_concurrent_runs
        under_way = self._instance.get_runs(dg.RunsFilter(statuses=[*_UNDER_WAY]), limit=max(most, 1))
        if 0 <= most <= len(under_way):
            return False
        company = run.tags.get(PARTITION)
        return company is None or self._others(run, {PARTITION: company}) == 0

    def _has_room(self, limit: Mapping[str, Any], run: dg.DagsterRun) -> bool:
        """Return whether a limit is kept with the run and all that wait; one of any value of a tag is not counted."""
        value = limit.get("value")
        return isinstance(value, str) and self._others(run, {limit["key"]: value}) < limit["limit"]

    def _others(self, run: dg.DagsterRun, found_by: Mapping[str, str]) -> int:
        """Return the number of other unfinished runs with the tags."""
        unfinished = dg.RunsFilter(tags=found_by, statuses=[*_QUEUED, *_UNDER_WAY])
        return sum(other.run_id != run.run_id for other in self._instance.get_runs(unfinished, limit=_MOST_COUNTED))

    def _give_turn(self, run: dg.DagsterRun) -> None:
        """Lower a run's priority by the number of unfinished runs that its company has of the same job."""
        company = run.tags.get(PARTITION)
        if company is None or PRIORITY in run.tags:
            return
        statuses = [dg.DagsterRunStatus.QUEUED, *_UNDER_WAY]
        before = dg.RunsFilter(job_name=run.job_name, tags={PARTITION: company}, statuses=statuses)
        if number := self._instance.get_runs_count(before):
            self._instance.add_run_tags(run.run_id, {PRIORITY: str(-number)})


def _counts_run(limit: Mapping[str, Any], run_tags: Mapping[str, str]) -> bool:
    """Return whether a limit of dagster.yaml counts the run; `_is_fair` checks the limit per company itself."""
    key, value = limit["key"], limit.get("value")
    return key != PARTITION and key in run_tags and (not isinstance(value, str) or run_tags[key] == value)
