"""Starts a run immediately where that is fair to other companies, and queues it otherwise: Dagster's run coordinator.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml); the daemon takes runs from the queue by the
limits set there. `pipelines.engine.launcher` launches them.
"""

from collections.abc import Mapping
from typing import Any, Final  # Any: limits as dagster.yaml has them

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.tags import PARTITION, TERMINATED

_QUEUED: Final = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED)
_UNDER_WAY: Final = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)


class EagerRunCoordinator(QueuedRunCoordinator):
    """Queues as Dagster's own coordinator does, except a run that would leave the queue at its next look anyway.

    That is a run whose company has no other unfinished run, which no other limit of dagster.yaml counts, and with which
    the limit of concurrent runs is kept. The queue is looked at once a second, which such a run need not wait for. Two
    submissions at the same instant may exceed a limit by one run, which then waits for a worker.
    """

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Launch or queue a run that was just created."""
        run = context.dagster_run
        if run.status != dg.DagsterRunStatus.NOT_STARTED or not self._is_fair(run):
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
        config = self.get_run_queue_config()
        if any(_counts_run(limit, run.tags) for limit in config.tag_concurrency_limits or []):
            return False
        most = config.max_concurrent_runs
        under_way = self._instance.get_runs(dg.RunsFilter(statuses=[*_UNDER_WAY]), limit=max(most, 1))
        if 0 <= most <= len(under_way):
            return False
        company = run.tags.get(PARTITION)
        if company is None:
            return True
        others = dg.RunsFilter(tags={PARTITION: company}, statuses=[*_QUEUED, *_UNDER_WAY])
        return all(other.run_id == run.run_id for other in self._instance.get_runs(others, limit=2))


def _counts_run(limit: Mapping[str, Any], run_tags: Mapping[str, str]) -> bool:
    """Return whether a limit of dagster.yaml counts the run; `_is_fair` checks the limit per company itself."""
    key, value = limit["key"], limit.get("value")
    return key != PARTITION and key in run_tags and (not isinstance(value, str) or run_tags[key] == value)
