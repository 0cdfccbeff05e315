"""Launches runs by Celery, with what Dagster's own package lacks for runs that lose their worker.

What belongs here: what a killed worker, a resumed run and a termination need on top of `CeleryRunLauncher`. What does
not: passing runs to Celery, which Dagster does, and their execution (`pipelines.engine.celery_app`). Nothing else
imports this module: Celery is installed by requirements-distributed.lock alone.

dagster-celery 0.29.27 has three faults: it resumes with an argument that its task does not have, so that no run is ever
resumed; a killed worker leaves the result STARTED, so that the run counts as running for ever; a run that it terminates
is never reported as canceling, so that it would be resumed.
"""

from collections.abc import Mapping
from typing import Any, Final, Self  # Any: Dagster's own signatures

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, ResumeRunContext
from dagster._grpc.types import ResumeRunArgs
from dagster._serdes import ConfigurableClassData, pack_value
from dagster_celery.config import TASK_RESUME_JOB_NAME
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tasks import create_resume_job_task

from pipelines.engine.launcher import WarmRunLauncher


class CeleryLauncher(CeleryRunLauncher):  # type: ignore[misc]  # Celery ships no types
    """Launches runs by Celery; the table `launches` and a lock show whether a run's worker lives, as for our workers.

    `url` is the application role's; the rest is `CeleryRunLauncher`'s.
    """

    def __init__(self, url: str, **config: Any) -> None:
        """Take the values of `from_config_value`; connections are opened when first needed."""
        super().__init__(**config)
        self._table: Final[WarmRunLauncher[Any]] = WarmRunLauncher(url)

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the settings that dagster.yaml may contain."""
        return {**super().config_type(), "url": dg.StringSource}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Return the launcher of a checked configuration."""
        return cls(inst_data=inst_data, **config_value)

    def register_instance(self, instance: dg.DagsterInstance) -> None:
        """Remember the instance whose runs are launched."""
        super().register_instance(instance)
        self._table.register_instance(instance)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Pass a run to Celery's workers."""
        self._table.launch_run(context)
        super().launch_run(context)

    def resume_run(self, context: ResumeRunContext) -> None:
        """Pass a run that has lost its worker to Celery's workers."""
        run = context.dagster_run
        assert run.job_code_origin is not None, "it was launched once"
        self._table.resume_run(context)
        arguments = ResumeRunArgs(
            job_origin=run.job_code_origin,
            run_id=run.run_id,
            instance_ref=self._instance.get_ref(),
            set_exit_code_on_failure=True,
        )
        task = create_resume_job_task(self.celery).si(resume_job_args_packed=pack_value(arguments))
        self._launch_celery_task_run(run=run, task_signature=task, routing_key=TASK_RESUME_JOB_NAME)

    def terminate(self, run_id: str) -> bool:
        """End a run as canceled: directly where no worker has it, else by its worker. Return whether it was open."""
        return self._table.terminate(run_id)

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Report whether a worker still has the run, by the lock that each task takes."""
        return self._table.check_run_worker_health(run)
