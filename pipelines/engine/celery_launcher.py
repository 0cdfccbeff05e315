"""Launches runs by Celery, with what Dagster's own package lacks for runs that lose their worker.

What belongs here: what a killed worker, a resumed run and a termination need on top of `CeleryRunLauncher`. What does
not: passing runs to Celery, which Dagster does, and their execution (`pipelines.engine.celery_app`). Nothing else
imports this module: Celery is installed by requirements-distributed.lock alone.

dagster-celery 0.29.27 has three faults: it resumes with an argument that its task does not have, so that no run is ever
resumed; a killed worker leaves the result STARTED, so that the run counts as running for ever; a run that it terminates
is never reported as canceling, so that it would be resumed.
"""

from typing import Any  # Dagster's own signatures

from dagster._core.launcher import LaunchRunContext, ResumeRunContext
from dagster._grpc.types import ResumeRunArgs
from dagster._serdes import pack_value
from dagster_celery.config import TASK_RESUME_JOB_NAME
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tasks import create_resume_job_task

from pipelines.engine.launcher import WarmRunLauncher


class CeleryLauncher(WarmRunLauncher[Any], CeleryRunLauncher):  # type: ignore[misc]  # Celery ships no types
    """Launches runs by Celery; the table `launches` and a lock show whether a run's worker lives, as for our workers.

    So it ends runs and knows of their workers as our own launcher does. `url` is the application role's; the rest is
    `CeleryRunLauncher`'s.
    """

    def __init__(self, url: str, **config: Any) -> None:
        """Take the values of `from_config_value`; connections are opened when first needed."""
        CeleryRunLauncher.__init__(self, **config)
        self._url = url

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the settings that dagster.yaml may contain."""
        return {**CeleryRunLauncher.config_type(), **super().config_type()}

    def launch_run(self, context: LaunchRunContext) -> None:
        """Pass a run to Celery's workers."""
        super().launch_run(context)
        CeleryRunLauncher.launch_run(self, context)

    def resume_run(self, context: ResumeRunContext) -> None:
        """Pass a run that has lost its worker to Celery's workers."""
        super().resume_run(context)
        run = context.dagster_run
        assert run.job_code_origin is not None, "it was launched once"
        arguments = ResumeRunArgs(
            job_origin=run.job_code_origin,
            run_id=run.run_id,
            instance_ref=self._instance.get_ref(),
            set_exit_code_on_failure=True,
        )
        task = create_resume_job_task(self.celery).si(resume_job_args_packed=pack_value(arguments))
        self._launch_celery_task_run(run=run, task_signature=task, routing_key=TASK_RESUME_JOB_NAME)
