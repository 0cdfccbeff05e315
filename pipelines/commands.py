"""Runs the Dagster jobs that commands start, recorded like any other (`python -m pipelines.commands rollup`).

`pcds` and the supervisor do not import Dagster: they start this process and read its answer, one JSON object. The
service that runs on this data directory executes the runs, or this process where none does: a run for each company, one
for the catalogue. A service runs where Dagster's web server answers to the key of the data directory. Its Dagster
launches the run as any other, a worker executes it, and the command waits for its end.

It uses HTTP as `api.operate.launching` does: Dagster's own Python client uses the environment's proxies, which would
see the key.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote
from uuid import UUID, uuid4

import dagster as dg
import httpx2

from compliance.tables import TableError
from pipelines import catalogue
from pipelines.catalogue import Changes
from pipelines.definitions import defs
from pipelines.defs.catalogue import CHANGES
from pipelines.engine import tags
from pipelines.engine.instance import shared_instance
from pipelines.engine.jobs import execution_params, run_config
from pipelines.engine.resources import Resources, open_resources
from pipelines.engine.runs import name_of, partition_of
from pipelines.engine.tags import CODE_LOCATION, PARTITION, USER
from pipelines.figures import CompanyFigures, are_behind, as_dict, up_to_date_snapshot
from schemas.json_values import JsonObject
from warehouse import rules
from warehouse.companies.queries import every_company
from warehouse.figures import stored as stored_figures
from warehouse.figures.snapshots import Snapshot, current
from warehouse.operate import dagster_home, launches, logs
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.operate.surroundings import sentence_of
from warehouse.rules import Totals

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

    def launch(self, job: str, config: Mapping[str, object], run_tags: Mapping[str, str]) -> str:
        """Launch a run and return its id. Raises `dagster.Failure` where Dagster refuses."""
        until = time.monotonic() + _GIVE_UP_SECONDS
        while True:
            try:
                variables = {"run": execution_params(job, config, run_tags)}
                answer = self._query(_LAUNCH_MUTATION, variables, actor=run_tags[USER]).get("launchRun", {})
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
        try:
            return dict(answer.json()["data"]) if answer.is_success else {}
        except (ValueError, KeyError, TypeError):  # another program's answer
            return {}


_services: Final[list[Service]] = []
"""The running service, where there is one; it executes this process's runs."""


def run(
    job: str,
    resources: Resources,
    instance: dg.DagsterInstance,
    company_id: UUID | None = None,
    *,
    config: Mapping[str, Mapping[str, object]] | None = None,
    run_tags: Mapping[str, str] = tags.PCDS,
    raise_on_error: bool = True,
) -> dg.DagsterRun:
    """Run a job to its end, for the company's partition where one is named, and return the run; `config` is by asset.

    Its errors are raised: as `dagster.Failure` by the service, unchanged by this process.
    """
    pool, partition, launched_with = resources.postgres, None, {**run_tags}
    if company_id is not None:
        partition = partition_of(instance, pool, company_id)
        launched_with |= tags.of_company(company_id, name_of(pool, company_id))
    if not _services:
        with _locked_run_id(pool) as run_id:
            defs.resolve_job_def(job).execute_in_process(
                run_id=run_id,
                run_config=run_config(**(config or {})),
                partition_key=partition,
                instance=instance,
                tags={**CODE_LOCATION, **launched_with},
                resources=resources.as_definitions(),
                raise_on_error=raise_on_error,
            )
        ended = instance.get_run_by_id(run_id)
        assert ended is not None
        return ended
    service, in_partition = _services[-1], {} if partition is None else {PARTITION: partition}
    run_id = service.launch(job, run_config(**(config or {})), {**launched_with, **in_partition})
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
        launches.seize(connection, worker_id, run_id)
        yield run_id
        launches.end(connection, worker_id, run_id)


def _failure_reason(instance: dg.DagsterInstance, ended: dg.DagsterRun) -> str:
    """Return why a run did not succeed: the message of the first failed step, else Dagster's message about the run."""
    if ended.status == dg.DagsterRunStatus.CANCELED:
        return f"Somebody ended its run {ended.run_id} in Dagster."
    entries = instance.all_logs(ended.run_id, of_type=_FAILURE_EVENTS)
    events = [entry.dagster_event for entry in entries if entry.dagster_event is not None]
    for failed in [event.step_failure_data for event in events if event.is_step_failure]:
        if failed.user_failure_data is not None and failed.user_failure_data.description:
            return failed.user_failure_data.description
        error = failed.error
        while error is not None and error.cause is not None:
            error = error.cause
        if error is not None:
            return error.message.strip().splitlines()[-1]
    messages = [event.message for event in events if event.message]
    return messages[-1] if messages else f"Its run {ended.run_id} failed; Dagster has its reason."


def publish_company(
    resources: Resources, instance: dg.DagsterInstance, company_id: UUID, *, raise_on_error: bool = True
) -> Snapshot | None:
    """Publish the company and return its new snapshot.

    Errors are raised; without `raise_on_error`, None means that there is no new snapshot and the run has the reason.
    """
    before = current(resources.portfolios, company_id)
    run("publish_portfolio", resources, instance, company_id, raise_on_error=raise_on_error)
    after = current(resources.portfolios, company_id)
    return None if after == before else after


def publish_all(resources: Resources, instance: dg.DagsterInstance, company_ids: Sequence[UUID]) -> Iterator[Snapshot]:
    """Publish the companies, a run each, and yield their new snapshots.

    Raises `dagster.Failure`, after all others, where a company's was not published.
    """
    unpublished = list[str]()
    for company_id in company_ids:
        snapshot = publish_company(resources, instance, company_id, raise_on_error=len(company_ids) == 1)
        if snapshot is None or are_behind(resources.portfolios, company_id):
            unpublished.append(str(company_id))
        else:
            yield snapshot
    if unpublished:
        raise dg.Failure(f"Not published: {', '.join(unpublished)}. Their runs in Dagster have each reason.")


def roll_up(resources: Resources, instance: dg.DagsterInstance, company_id: UUID) -> CompanyFigures:
    """Return the company's current figures; a snapshot older than the last write is published anew first."""
    if up_to_date_snapshot(resources.postgres, resources.portfolios, company_id) is None:
        publish_company(resources, instance, company_id)
    else:
        run("roll_up", resources, instance, company_id)
    stored = stored_figures.current(resources.portfolios, company_id)
    assert stored is not None
    return as_dict(stored)


def regrade_portfolios(
    resources: Resources, instance: dg.DagsterInstance, chosen: Sequence[UUID], *, only_open: bool = False
) -> Totals:
    """Regrade these companies by the active rule-set, and return the totals, earlier runs of the regrade included.

    All are requested first, so that the service does the rest when the command is killed.
    """
    pool = resources.postgres
    with pool.system() as conn:
        version = resources.rule_sets.active(conn).version
    if not only_open:
        for company_id in chosen:
            with pool.company(company_id) as conn:
                rules.request(conn, company_id, version, resources.clock.now())
    config, run_tags = {"regraded_skus": {"only_open": True}}, {**tags.PCDS, tags.REGRADE: version}
    for company_id in rules.open_regrades(pool):
        if company_id in chosen:
            run("regrade_portfolios", resources, instance, company_id, config=config, run_tags=run_tags)
    return rules.total(pool, chosen, version)


def refresh_catalogue(
    resources: Resources, instance: dg.DagsterInstance, file: Path | None, *, operator: str | None = None
) -> Changes:
    """Load an operator's file, or the release's; raises `dagster.Failure` with the file's faults."""
    try:
        name = None if file is None else catalogue.copy_for_runs(resources.portfolios, file)
    except TableError as fault:
        raise dg.Failure(str(fault)) from None
    options = {"file": name, "operator": operator}
    source = {name: value for name, value in options.items() if value is not None}
    by_whom = tags.PCDS if operator is None else {USER: operator}
    ended = run("refresh_catalogue", resources, instance, config={"jurisdiction_catalogue": source}, run_tags=by_whom)
    [entry] = instance.all_logs(ended.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    assert entry.asset_materialization is not None
    changes = entry.asset_materialization.metadata[CHANGES].value
    assert isinstance(changes, dict)
    return Changes(**changes)


def main() -> int:
    """Run the job that the arguments name. Exit status 0: done; 1: refused, with one sentence on standard error."""
    arguments = _arguments()
    settings = Settings.load()
    logs.configure(settings)
    # A run's faults stay out of the log: this command prints one sentence, and the run's record has them whole.
    logger = logging.getLogger("dagster.run")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    try:
        # With `--if-needed` the supervisor calls it, before its services start.
        if not arguments.if_needed and (service := Service(settings)).answers():
            _services.append(service)
        with open_resources(settings) as resources:
            if not arguments.if_needed or _is_load_needed(resources.postgres):
                with shared_instance(settings, Database.from_settings(settings)) as instance:
                    print(json.dumps(_answer(arguments, resources, instance)))
    except Exception as error:
        sentence = error.description if isinstance(error, dg.Failure) else sentence_of(error)
        if sentence is None:  # a fault of this program: its traceback is needed
            raise
        print(sentence, file=sys.stderr)
        return 1
    return 0


def _is_load_needed(pool: Pool) -> bool:
    """Return whether the release brings another catalogue than is stored."""
    with pool.system() as conn:
        return catalogue.is_needed(conn, catalogue.read(None))


def _answer(arguments: argparse.Namespace, resources: Resources, instance: dg.DagsterInstance) -> Mapping[str, object]:
    """Return what the run changed: the published record."""
    if arguments.run == "catalogue-refresh":
        return refresh_catalogue(resources, instance, arguments.file, operator=arguments.operator).as_dict()
    chosen = chosen_companies(resources.postgres, arguments.company)
    if arguments.run == "regrade":
        return regrade_portfolios(resources, instance, chosen, only_open=arguments.open).as_dict()
    if arguments.run == "rollup":
        return {"companies": [roll_up(resources, instance, company_id) for company_id in chosen]}
    return {"companies": [snapshot.as_dict() for snapshot in publish_all(resources, instance, chosen)]}


def chosen_companies(pool: Pool, company_id: UUID | None) -> Sequence[UUID]:
    """Return the company of a command, or all companies; raise `dagster.Failure` where there is no such company."""
    every = every_company(pool)
    if company_id is not None and company_id not in every:
        raise dg.Failure(f"There is no company {company_id}; `pcds company list` shows those there are.")
    return every if company_id is None else [company_id]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipelines.commands", description=main.__doc__)
    parser.add_argument("run", choices=["catalogue-refresh", "regrade", "rollup", "snapshot"])
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")
    parser.add_argument("--open", action="store_true", help="regrade only what an activation has asked for")
    parser.add_argument("--file", type=Path, help="an operator's catalogue; it stands until the next refresh")
    parser.add_argument("--operator", help="the account that asked for it; the service itself where it is left out")
    parser.add_argument("--if-needed", action="store_true", help="only where the release brings another catalogue")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
