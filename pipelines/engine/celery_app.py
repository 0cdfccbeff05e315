"""Configures our Celery workers: `celery -A pipelines.engine.celery_app worker`, started by `api.operate.start`.

The tasks are those of Dagster's package for Celery. A child is forked from a process that has loaded the definitions,
so that a run starts without importing them. What belongs here: the app, and what a child does around a run. What does
not: launching (`pipelines.engine.celery_launcher`), and the runs' work. Nothing else imports this module: Celery is
installed by requirements-distributed.lock alone.
"""

import gc
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any, Final  # Any: what Dagster packs into a task

import psycopg
import structlog
from celery import Task
from celery.signals import setup_logging, worker_process_init
from dagster._grpc.types import ExecuteRunArgs, ResumeRunArgs
from dagster._serdes import unpack_value
from dagster._utils.interrupts import capture_interrupts
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from pipelines.definitions import defs
from pipelines.engine.worker import Cancellations
from warehouse.operate import dagster_home, launches, logs
from warehouse.operate.database import Database
from warehouse.operate.sessions import Connection
from warehouse.operate.settings import Settings

BROKER: Final = "PCDS_CELERY_URL"
"""The variable that contains the broker's address, as in deploy/celery/dagster.yaml."""
REDELIVERED_AFTER_SECONDS: Final = 60
"""When the broker redelivers a task whose worker died. A task that is still executed is then ignored."""
_PAUSE_SECONDS: Final = 0.5
_SETTINGS: Final = {
    "broker_connection_retry_on_startup": True,
    "broker_transport_options": {"visibility_timeout": REDELIVERED_AFTER_SECONDS},
    "task_acks_late": True,  # so that no worker reserves a waiting run while another worker is idle
    "worker_hijack_root_logger": False,
    "worker_prefetch_multiplier": 1,
    "worker_proc_alive_timeout": 120,
}

log = structlog.get_logger(__name__)
_settings: Final = Settings.load()
_database: Final = Database.from_settings(_settings)
os.environ.update(dagster_home.environment(_settings, _database))
_cancellations: Final = Cancellations(_database.app_url)


class Execution(Task):  # type: ignore[misc]  # Celery ships no types
    """Executes or resumes a run under a lock, which shows that the run is alive and keeps other workers from it."""

    def __call__(self, **packed: Mapping[str, Any]) -> int:
        """Run Dagster's task and return its status; do nothing where a living worker already has the run."""
        [arguments] = packed.values()
        run_arguments = unpack_value(arguments)
        assert isinstance(run_arguments, ExecuteRunArgs | ResumeRunArgs)
        run_id = run_arguments.run_id
        with _connect() as connection:
            worker_id = launches.enrol(connection)
            if not launches.seize(connection, worker_id, run_id):
                log.info("run.is_executed_elsewhere", run_id=run_id)
                return 0
            sigterm_handler = signal.getsignal(signal.SIGTERM)
            try:
                with _cancellations.interrupting(run_id), capture_interrupts():
                    return int(self.run(**packed))
            finally:
                signal.signal(signal.SIGTERM, sigterm_handler)  # Dagster leaves another handler there
                launches.end(connection, worker_id, run_id)
                gc.collect()


def _connect() -> Connection:
    """Connect with the application's role; while Postgres restarts, retry until it answers."""
    while True:
        try:
            return psycopg.connect(_database.app_url, autocommit=True)
        except psycopg.OperationalError as error:
            log.warning("worker.database_lost", error=type(error).__name__)
            time.sleep(_PAUSE_SECONDS)


@setup_logging.connect  # type: ignore[untyped-decorator]
def _configure_logs(**_: object) -> None:
    logs.configure(_settings)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _start_child(**_: object) -> None:
    with _connect() as connection:
        launches.sweep(connection)
    threading.Thread(target=_cancellations.listen, daemon=True).start()


app = make_app(
    {"broker": os.environ[BROKER], "backend": os.environ[BROKER], "config_source": _SETTINGS},
)
execute_job = create_execute_job_task(app, base=Execution)
resume_job = create_resume_job_task(app, base=Execution)
defs.resolve_all_job_defs()  # before the first run needs them
gc.freeze()
