"""Asks Dagster for the run of an import or an export that was just accepted, after the caller's answer.

It uses Dagster's interface for programs: the mutation `launchRun` of its webserver. If that does not answer, nothing is
lost: the sensors `queued_imports` and `due_companies` request a run for what has none. What belongs here: the request.
What does not: the work of the run (`pipelines.defs`), and the connection to the webserver (`api.staff.access`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal
from uuid import UUID

import httpx2
import orjson
import structlog

from api.staff.access import Upstream
from pipelines.engine import tags
from pipelines.engine.jobs import REPOSITORY, execution_params, import_config, run_config
from schemas.json_values import JsonObject
from warehouse.imports.claims import SMALL_ROWS
from warehouse.operate import dagster_home, tracing

_PATH: Final = f"{dagster_home.PREFIX}/graphql"
_ASK: Final = """
mutation($partition: String!, $where: RepositorySelector!, $run: ExecutionParams!) {
  addDynamicPartition(repositorySelector: $where, partitionsDefName: "companies", partitionKey: $partition) {
    __typename
  }
  launchRun(executionParams: $run) { __typename ... on PythonError { message } }
}
"""
_TIMES: Final = httpx2.Timeout(connect=2, read=30, write=5, pool=5)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Launch:
    """The run of a job that a record needs, with its tags; `slug` names its company's partition, `rows` its size."""

    record: Literal["import", "export"]
    record_id: UUID
    company_id: UUID
    slug: str
    rows: int
    job: str
    config: Mapping[str, object]
    tags: Mapping[str, str]

    def variables(self) -> JsonObject:
        """Return the variables of the mutation, with the tags of `pipelines.engine.tags`."""
        traceparent = tracing.here()
        of_run = {
            tags.PARTITION: self.slug,
            tags.COMPANY: str(self.company_id),
            **tags.PCDS,
            **self.tags,
            **(tags.LARGE if self.rows > SMALL_ROWS else {}),
            **({} if traceparent is None else {tags.TRACEPARENT: traceparent}),
        }
        return {"partition": self.slug, "where": REPOSITORY, "run": execution_params(self.job, self.config, of_run)}


def launch_of_import(
    import_id: UUID, company_id: UUID, slug: str, filename: str, rows: int, *, dry_run: bool
) -> Launch:
    """Return the run that an import needs; a dry run waits for nothing that the company's other files write."""
    run_tags = tags.of_import(import_id, company_id, filename)
    if not dry_run:
        run_tags |= tags.writes(company_id, large=rows > SMALL_ROWS)
    return Launch("import", import_id, company_id, slug, rows, "import_file", import_config(import_id), run_tags)


def launch_of_export(export_id: UUID, company_id: UUID, slug: str, rows: int) -> Launch:
    """Return the run that an export needs; it writes whatever exports of the company wait."""
    return Launch("export", export_id, company_id, slug, rows, "export_portfolio", run_config(), {})


class Launching:
    """Running launches of one API process."""

    def __init__(self, upstream: Upstream) -> None:
        """`upstream` is the connection to Dagster's webserver."""
        self._upstream = upstream
        self._latest: dict[UUID, asyncio.Task[bool]] = {}

    def soon(self, launch: Launch) -> None:
        """Request the launch and return at once; a company's launches are requested one after the other."""
        company_id = launch.company_id
        task = asyncio.create_task(self._ask(launch, self._latest.get(company_id)))
        self._latest[company_id] = task
        task.add_done_callback(partial(self._forget, company_id))

    def _forget(self, company_id: UUID, task: asyncio.Task[bool]) -> None:
        if self._latest.get(company_id) is task:
            del self._latest[company_id]

    async def _ask(self, launch: Launch, before: asyncio.Task[bool] | None) -> bool:
        """Return whether there is a run; where the company's launch before has none, the sensor asks for both."""
        if before is not None and not await before:
            return False
        there = self._upstream
        request = there.client.build_request(
            "POST",
            f"http://{there.address}{_PATH}",
            headers={
                "content-type": "application/json",
                dagster_home.ACTOR_HEADER: dagster_home.SERVICE,
                **there.key_header,
            },
            content=orjson.dumps({"query": _ASK, "variables": launch.variables()}),
            timeout=_TIMES,
        )
        try:
            answer = await there.client.send(request)
            outcome = orjson.loads(answer.content)["data"]["launchRun"]["__typename"] if answer.is_success else None
            fault = f"status {answer.status_code}" if outcome is None else outcome
        except (httpx2.TransportError, orjson.JSONDecodeError, KeyError, TypeError) as error:
            fault = type(error).__name__
        if fault != "LaunchRunSuccess":
            record = {f"{launch.record}_id": str(launch.record_id)}
            event = f"{launch.record}.not_launched"
            log.warning(event, **record, reason=fault, then="the sensor asks")
        return fault == "LaunchRunSuccess"
