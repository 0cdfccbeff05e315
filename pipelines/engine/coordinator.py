"""Starts a run immediately where that is fair to other companies, and queues it otherwise: Dagster's run coordinator.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml), the daemon for runs from the queue.
"""

from typing import Final, TypeAlias

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.runs import name_actor
from pipelines.engine.tags import PARTITION, PRIORITY, TERMINATED, WRITTEN

Statuses: TypeAlias = list[dg.DagsterRunStatus]
_BEGUN: Final = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_UNFINISHED: Final = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.QUEUED, *_BEGUN]


class EagerRunCoordinator(QueuedRunCoordinator):
    """Queues as Dagster's own coordinator does, except a run that would leave the queue at its next look anyway.

    That is a run whose company has no other unfinished run, but for one import whose rows are stored, and with which
    the limits of dagster.yaml are kept; it need not wait for the queue's next look. Two submissions at the same instant
    may exceed the limit of concurrent runs by one run, which then waits for a worker. In the queue companies take
    turns: a company's second run waits for the first runs of all others.
    """

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Launch or queue a run that was just created."""
        context = name_actor(self._instance, context)
        run = context.dagster_run
        if run.status == dg.DagsterRunStatus.NOT_STARTED:
            if self._is_fair(run):
                return self._instance.launch_run(run.run_id, context.workspace)
            before = self._count(_UNFINISHED[1:], {PARTITION: run.tags.get(PARTITION, "")}, run.job_name)
            if before and PRIORITY not in run.tags:
                self._instance.add_run_tags(run.run_id, {PRIORITY: str(-before)})
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
        limits = [limit for limit in config.tag_concurrency_limits or [] if limit["key"] != PARTITION]
        if PARTITION in run.tags and not self._is_next(run):
            return False
        for key, value, most in ((limit["key"], limit.get("value"), limit["limit"]) for limit in limits):
            counts = key in run.tags and (not isinstance(value, str) or run.tags[key] == value)
            if counts and (not isinstance(value, str) or self._count(_UNFINISHED, {key: value}) > most):
                return False  # the run itself is counted, too
        return config.max_concurrent_runs < 0 or self._count(_BEGUN) < config.max_concurrent_runs

    def _is_next(self, run: dg.DagsterRun) -> bool:
        """Return whether the company has no other unfinished run, or one that writes nothing more (decision 0109)."""
        of_company = {PARTITION: run.tags[PARTITION]}
        others = self._count(_UNFINISHED, of_company) - 1
        return others == 0 or (others == 1 and self._count(_BEGUN, of_company | WRITTEN) == 1)

    def _count(self, statuses: Statuses, tags: dict[str, str] | None = None, job: str | None = None) -> int:
        return self._instance.get_runs_count(dg.RunsFilter(job_name=job, tags=tags, statuses=statuses))
