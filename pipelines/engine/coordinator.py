"""Dagster's run coordinator of this service: a run starts at once where that is fair, and is queued where it is not.

Dagster's webserver and daemon call it (`run_coordinator` in dagster.yaml); the daemon takes runs from the queue by the
limits that stand there. What runs them is `pipelines.engine.launcher`.
"""

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from pipelines.engine.tags import PARTITION, TERMINATED

_QUEUED: Final = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED)
_UNDER_WAY: Final = (dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)


class EagerRunCoordinator(QueuedRunCoordinator):
    """Queues as Dagster's own does, except a run that would leave the queue at its next look anyway.

    That is one whose company has no other unfinished run, which no other limit of dagster.yaml is about, and beside
    which fewer runs are under way than may be. The queue is looked at once a second: so much sooner a file's rows are
    read. Two who submit at the same instant may pass a limit by one run, which then waits for a worker.
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
        """Terminate a run, as a person asks for it; whether that could be. What ends by itself does not come here."""
        if self._instance.has_run(run_id):
            self._instance.add_run_tags(run_id, {TERMINATED: "true"})
        return super().cancel_run(run_id)

    def _is_fair(self, run: dg.DagsterRun) -> bool:
        config = self.get_run_queue_config()
        if any(_is_about(limit, run.tags) for limit in config.tag_concurrency_limits or []):
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


def _is_about(limit: Mapping[str, Any], run_tags: Mapping[str, str]) -> bool:
    """Whether a limit of dagster.yaml counts the run; that of runs per company is asked about apart."""
    key, value = limit["key"], limit.get("value")
    return key != PARTITION and key in run_tags and (not isinstance(value, str) or run_tags[key] == value)
