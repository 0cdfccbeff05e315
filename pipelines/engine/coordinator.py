"""Starts a run immediately where that is fair to other companies, and queues it otherwise: Dagster's run coordinator.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml); the daemon takes runs from the queue by the
limits set there. `pipelines.engine.launcher` launches them.
"""

from collections.abc import Mapping
from typing import Any, Final  # Any: limits as dagster.yaml has them

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.tags import PARTITION, PRIORITY, TERMINATED, name_actor

_BEGUN: Final = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)
_QUEUED: Final = (dg.DagsterRunStatus.QUEUED, *_BEGUN)


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
        if run.status == dg.DagsterRunStatus.NOT_STARTED:
            if self._is_fair(run):
                return self._instance.launch_run(run.run_id, context.workspace)
            self._give_turn(run)
        return super().submit_run(context)

    def cancel_run(self, run_id: str) -> bool:
        """Terminate a run at a person's request; return whether that was possible. Other ends do not come here."""
        if self._instance.has_run(run_id):
            self._instance.add_run_tags(run_id, {TERMINATED: "true"})
        return super().cancel_run(run_id)

    def _is_fair(self, run: dg.DagsterRun) -> bool:
        config = self._instance.get_concurrency_config().run_queue_config
        assert config is not None, "this coordinator has a queue"
        limits = [limit for limit in config.tag_concurrency_limits or [] if limit["key"] != PARTITION]
        limits.append({"key": PARTITION, "value": run.tags.get(PARTITION), "limit": 1})
        under_way = self._instance.get_runs_count(dg.RunsFilter(statuses=[*_BEGUN]))
        has_place = config.max_concurrent_runs < 0 or under_way < config.max_concurrent_runs
        return has_place and all(self._has_room(limit, run) for limit in limits)

    def _has_room(self, limit: Mapping[str, Any], run: dg.DagsterRun) -> bool:
        """Return whether a limit is kept with the run and all that wait; one of any value of a tag is not counted."""
        key, value = limit["key"], limit.get("value")
        if key not in run.tags or (isinstance(value, str) and run.tags[key] != value):
            return True  # it does not count the run
        unfinished = dg.RunsFilter(tags={key: run.tags[key]}, statuses=[dg.DagsterRunStatus.NOT_STARTED, *_QUEUED])
        return isinstance(value, str) and self._instance.get_runs_count(unfinished) <= limit["limit"]  # itself included

    def _give_turn(self, run: dg.DagsterRun) -> None:
        """Lower a run's priority by the number of unfinished runs that its company has of the same job."""
        company = run.tags.get(PARTITION)
        if company is None or PRIORITY in run.tags:
            return
        before = dg.RunsFilter(job_name=run.job_name, tags={PARTITION: company}, statuses=[*_QUEUED])
        if number := self._instance.get_runs_count(before):
            self._instance.add_run_tags(run.run_id, {PRIORITY: str(-number)})
