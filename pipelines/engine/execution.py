"""Executes a command's runs: through the running service, or in this process where none runs.

A service runs where Dagster's web server answers to the key of this data directory. Its Dagster launches the run as any
other, a worker executes it, and the command waits for its end. Which runs a command needs does not belong here.

It uses HTTP as `api.operate.launching` does: Dagster's own Python client uses the environment's proxies, which would
see the
key.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote
from uuid import uuid4

import dagster as dg
import httpx2

from pipelines.definitions import defs
from pipelines.engine.resources import Resources
from pipelines.engine.tags import CODE_LOCATION, PARTITION, USER
from schemas.json_values import JsonObject
from warehouse.operate import dagster_home, launches
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings

_REPOSITORY: Final = {"repositoryLocationName": dagster_home.LOCATION, "repositoryName": "__repository__"}
_LAUNCH_MUTATION: Final = """
mutation($run: ExecutionParams!) {
  launchRun(executionParams: $run) { __typename ... on LaunchRunSuccess { run { runId } } }
}
"""
_TIMEOUTS: Final = httpx2.Timeout(connect=2, read=60, write=5, pool=5)
_POLL_SECONDS: Final = 0.1
"""How often the command looks at the run that it waits for."""
_HEALTH_CHECK_SECONDS: Final = 5.0
"""How often the command checks that the service still runs."""
_GIVE_UP_SECONDS: Final = 60.0
"""How long the command waits for a service that is away, and for a code server that starts."""
_FAILURE_EVENTS: Final = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}


class Service:
    """The Dagster of the service that runs on this data directory."""

    def __init__(self, settings: Settings) -> None:
        """Prepare the requests; nothing is sent yet."""
        self._url = f"http://{dagster_home.HOST}:{settings.dagster_port}{dagster_home.PREFIX}/graphql"
        self._headers = {dagster_home.DOOR_HEADER: dagster_home.door_key(settings)}

    def answers(self) -> bool:
        """Return whether the service runs; the web server of another data directory does not know the key."""
        try:
            return "version" in self._query("{ version }")
        except httpx2.HTTPError:
            return False

    def launch(self, job: str, run_config: Mapping[str, object], tags: Mapping[str, str]) -> str:
        """Launch a run and return its id. Raises `dagster.Failure` where Dagster refuses."""
        run = {
            "selector": {**_REPOSITORY, "jobName": job},
            "runConfigData": run_config,
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        }
        until = time.monotonic() + _GIVE_UP_SECONDS
        while True:
            try:
                answer = self._query(_LAUNCH_MUTATION, {"run": run}, actor=tags[USER]).get("launchRun", {})
            except httpx2.HTTPError as error:
                raise dg.Failure(f"Dagster's web server did not answer: {type(error).__name__}.") from None
            if answer.get("__typename") == "LaunchRunSuccess":
                return str(answer["run"]["runId"])
            # While the code server starts, it knows no job.
            if answer.get("__typename") != "PipelineNotFoundError" or time.monotonic() > until:
                raise dg.Failure(f"Dagster did not launch {job}: {answer.get('__typename', 'no answer')}.")
            time.sleep(1)

    def wait(self, instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRun:
        """Wait for the run's end. Raises `dagster.Failure` where the service went away; the run stays as it is."""
        checked_at = seen_at = time.monotonic()
        while True:
            run = instance.get_run_by_id(run_id)
            if run is None:
                raise dg.Failure(f"Somebody deleted the run {run_id}.")
            if run.is_finished:
                return run
            now = time.monotonic()
            if now > checked_at + _HEALTH_CHECK_SECONDS:
                checked_at = now
                if self.answers():
                    seen_at = time.monotonic()
                elif now > seen_at + _GIVE_UP_SECONDS:
                    raise dg.Failure(f"The service is away. The run {run_id} goes on when it is back.")
            time.sleep(_POLL_SECONDS)

    def _query(self, query: str, variables: Mapping[str, object] | None = None, *, actor: str = "") -> JsonObject:
        headers = {**self._headers, dagster_home.ACTOR_HEADER: quote(actor)}
        with httpx2.Client(transport=httpx2.HTTPTransport(verify=False), timeout=_TIMEOUTS) as client:
            answer = client.post(self._url, json={"query": query, "variables": variables}, headers=headers)
        if not answer.is_success:
            return {}
        try:
            return dict(answer.json()["data"])
        except (ValueError, KeyError, TypeError):  # another program's answer
            return {}


_services: Final[list[Service]] = []


def prefer_service(settings: Settings) -> None:
    """Have the service execute this process's runs, where one runs."""
    service = Service(settings)
    if service.answers():
        _services.append(service)


def run(
    job: str,
    resources: Resources,
    instance: dg.DagsterInstance,
    *,
    tags: Mapping[str, str],
    run_config: Mapping[str, object],
    partition: str | None = None,
    raise_on_error: bool = True,
) -> dg.DagsterRun:
    """Run the job to its end and return the run.

    Its errors are raised: as `dagster.Failure` by the service, unchanged by this process.
    """
    if not _services:
        with _locked_run_id(resources.postgres) as run_id:
            defs.resolve_job_def(job).execute_in_process(
                run_id=run_id,
                run_config=run_config,
                partition_key=partition,
                instance=instance,
                tags={**CODE_LOCATION, **tags},
                resources=resources.as_definitions(),
                raise_on_error=raise_on_error,
            )
        ended = instance.get_run_by_id(run_id)
        assert ended is not None
        return ended
    service = _services[-1]
    run_id = service.launch(job, run_config, {**tags, **({} if partition is None else {PARTITION: partition})})
    ended = service.wait(instance, run_id)
    if raise_on_error and not ended.is_success:
        raise dg.Failure(_failure_reason(instance, ended))
    return ended


@contextmanager
def _locked_run_id(pool: Pool) -> Iterator[str]:
    """Yield the id of the run that the block executes, under a lock by which run monitoring sees that it lives.

    Without it the daemon of a service that runs beside the command would take the run for one that lost its worker.
    """
    run_id = str(uuid4())
    with pool.listening(launches.CANCELS) as connection:
        worker_id = launches.enrol(connection)
        launches.hold(connection, worker_id, run_id)
        yield run_id
        launches.end(connection, worker_id, run_id)


def _failure_reason(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return why a run did not succeed: the message of the first failed step, else Dagster's message about the run."""
    if run.status == dg.DagsterRunStatus.CANCELED:
        return f"Somebody ended its run {run.run_id} in Dagster."
    events = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=_FAILURE_EVENTS)]
    for event in filter(None, events):
        if not event.is_step_failure:
            continue
        failed = event.step_failure_data
        if failed.user_failure_data is not None and failed.user_failure_data.description:
            return failed.user_failure_data.description
        error = failed.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return error.message.strip().splitlines()[-1]
    messages = [event.message for event in events if event is not None and event.message]
    return messages[-1] if messages else f"Its run {run.run_id} failed; Dagster has its reason."
