"""Asks Dagster for the run of an import or an export that was just accepted, after the caller's answer.

It uses Dagster's interface for programs: the mutation `launchRun` of its webserver. If that does not answer, nothing is
lost: the sensors `queued_imports` and `due_companies` request a run for what has none. What belongs here: the request.
What does not: the work of the run (`pipelines.defs`), and the connection to the webserver (`api.staff.access`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
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


class Launchable(Protocol):
    """A run that can be requested."""

    def variables(self) -> JsonObject:
        """Return the variables of the mutation."""

    def named(self) -> dict[str, str]:
        """Return what the log says of it where the request fails."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The run that an import needs; `slug` names its company's partition."""

    import_id: UUID
    company_id: UUID
    slug: str
    filename: str
    rows: int

    def variables(self) -> JsonObject:
        """Return the variables of the mutation."""
        named = tags.of_import(self.import_id, self.company_id, self.filename)
        return _variables(self, "import_file", import_config(self.import_id), named, large=self.rows > SMALL_ROWS)

    def named(self) -> dict[str, str]:
        """Return what the log says of it where the request fails."""
        return {"event": "import.not_launched", "import_id": str(self.import_id)}


@dataclass(frozen=True, slots=True)
class ExportLaunch:
    """The run that an export needs; it writes whatever exports of the company wait."""

    export_id: UUID
    company_id: UUID
    slug: str
    skus: int

    def variables(self) -> JsonObject:
        """Return the variables of the mutation."""
        return _variables(self, "export_portfolio", run_config(), {}, large=self.skus > SMALL_ROWS)

    def named(self) -> dict[str, str]:
        """Return what the log says of it where the request fails."""
        return {"event": "export.not_launched", "export_id": str(self.export_id)}


def _variables(
    launch: Launch | ExportLaunch, job: str, config: Mapping[str, object], more: Mapping[str, str], *, large: bool
) -> JsonObject:
    """Return the variables of the mutation for a run of a company, with the tags of `pipelines.engine.tags`."""
    traceparent = tracing.here()
    of_run = {
        tags.PARTITION: launch.slug,
        tags.COMPANY: str(launch.company_id),
        **tags.PCDS,
        **more,
        **(tags.LARGE if large else {}),
        **({} if traceparent is None else {tags.TRACEPARENT: traceparent}),
    }
    return {"partition": launch.slug, "where": REPOSITORY, "run": execution_params(job, config, of_run)}


class Launching:
    """Running launches of one API process."""

    def __init__(self, upstream: Upstream) -> None:
        """`upstream` is the connection to Dagster's webserver."""
        self._upstream = upstream
        self._under_way: set[asyncio.Task[None]] = set()

    def soon(self, launch: Launchable) -> None:
        """Request the launch and return at once."""
        task = asyncio.create_task(self._ask(launch))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _ask(self, launch: Launchable) -> None:
        there = self._upstream
        asked = there.client.build_request(
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
            answer = await there.client.send(asked)
            outcome = orjson.loads(answer.content)["data"]["launchRun"]["__typename"] if answer.is_success else None
            fault = f"status {answer.status_code}" if outcome is None else outcome
        except (httpx2.TransportError, orjson.JSONDecodeError, KeyError, TypeError) as error:
            fault = type(error).__name__
        if fault != "LaunchRunSuccess":
            log.warning(**launch.named(), reason=fault, then="the sensor asks")
