"""Starts a run immediately where that is fair to other companies, and queues it otherwise: Dagster's run coordinator.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml), the daemon for runs from the queue.
"""

import re
from typing import Final, TypeAlias

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.launcher import WarmRunLauncher
from pipelines.engine.runs import name_actor
from pipelines.engine.tags import PARTITION, PRIORITY, TERMINATED

Statuses: TypeAlias = list[dg.DagsterRunStatus]
_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")
_BEGUN: Final = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_UNFINISHED: Final = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.QUEUED, *_BEGUN]


class EagerRunCoordinator(QueuedRunCoordinator):
    """Queues as Dagster's own coordinator does, except a run that would leave the queue at its next look anyway.

    That is a run whose company has no other unfinished run, and with which the limits of dagster.yaml are kept; it
    needs no daemon. Two submissions at the same instant may exceed the limit of concurrent runs by one run, which then
    waits for a worker. In the queue companies take turns: a company's second run waits for the first runs of all
    others. A company's own runs of a job keep their order.
    """

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Launch or queue a run that was just created."""
        context = name_actor(self._instance, context)
        run = context.dagster_run
        if run.status == dg.DagsterRunStatus.NOT_STARTED:
            if self._is_fair(run):
                return self._instance.launch_run(run.run_id, context.workspace)
            self._set_priority(run)
            queued = super().submit_run(context)
            if isinstance(self._instance.run_launcher, WarmRunLauncher):
                self._instance.run_launcher.wake_queue()
            return queued
        return super().submit_run(context)

    def cancel_run(self, run_id: str) -> bool:
        """Terminate a run at a person's request; return whether that was possible. Other ends do not come here."""
        if self._instance.has_run(run_id):
            self._instance.add_run_tags(run_id, {TERMINATED: "true"})
        return super().cancel_run(run_id)

    def _is_fair(self, run: dg.DagsterRun) -> bool:
        """Return whether each limit is kept with the run and all that wait; one for any value of a tag is not."""
        config = self._instance.get_concurrency_config().run_queue_config
        assert config is not None, "this coordinator has a queue"
        if PARTITION in run.tags and self._count(_UNFINISHED, {PARTITION: run.tags[PARTITION]}) > 1:
            return False  # the run itself is counted, here and below
        for limit in config.tag_concurrency_limits or []:
            key, value = limit["key"], limit.get("value")
            if key not in run.tags or (isinstance(value, str) and run.tags[key] != value):
                continue
            if value is None or self._count(_UNFINISHED, {key: run.tags[key]}) > limit["limit"]:
                return False
        return config.max_concurrent_runs < 0 or self._count(_BEGUN) < config.max_concurrent_runs

    def _set_priority(self, run: dg.DagsterRun) -> None:
        """Give a run the lower priority, the more runs its company has, and none above one that came before it."""
        of_company = {PARTITION: run.tags.get(PARTITION, "")}
        before = self._count(_UNFINISHED[1:], of_company, run.job_name)
        if not before or PRIORITY in run.tags:
            return
        queued = dg.RunsFilter(job_name=run.job_name, tags=of_company, statuses=[dg.DagsterRunStatus.QUEUED])
        newest = [each.tags.get(PRIORITY, "") for each in self._instance.get_runs(queued, limit=1)]
        lowest = min([-before, *(int(priority) for priority in newest if _NUMBER.fullmatch(priority))])
        self._instance.add_run_tags(run.run_id, {PRIORITY: str(lowest)})

    def _count(self, statuses: Statuses, tags: dict[str, str] | None = None, job: str | None = None) -> int:
        return self._instance.get_runs_count(dg.RunsFilter(job_name=job, tags=tags, statuses=statuses))
