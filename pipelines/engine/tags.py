"""Defines the tags of runs: those by which people find them, and those that only the machinery reads.

Dagster's pages hide a tag whose name begins with `.dagster/`; it is found by its name all the same.
Nothing here needs Dagster: the API names the tags of the runs that it requests.
"""

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote
from uuid import UUID

from warehouse.operate import dagster_home

CODE_LOCATION: Final = {".dagster/repository": f"__repository__@{dagster_home.LOCATION}"}
"""With this tag the UI lists a run under its job, although no launcher has started it."""

FOLLOWED: Final = {".dagster/pcds_followed": "true"}
"""On runs that followed a write: a busy company has thousands a day, so their record is kept for two days only."""

USER: Final = "user"
"""Dagster's own: who launched the run."""

PCDS: Final = {USER: dagster_home.SERVICE}
"""On runs that the service or its commands start: the UI shows it as *Launched by*, else *manually*."""

IMPORT: Final = "pcds/import_id"
"""The import that the run processes."""

LEFT: Final = {".dagster/pcds_left": "true"}
"""On runs that end as canceled because their process stopped: nobody has terminated them."""

WRITES: Final = ".dagster/pcds_writes"
"""On the runs of imports that write: the company and whether the file is large, and once the rows are stored the run.

dagster.yaml lets one run of a value be under way, so that files are written in the order in which they came. A small
file does not wait for a large one.
"""

TERMINATED: Final = ".dagster/pcds_terminated"
"""On runs that a person has terminated: their import ends with the run, and no other run takes it up."""

PARTITION: Final = "dagster/partition"
"""Dagster's own, on every run of a company, however it was started: companies take turns by it."""

PRIORITY: Final = "dagster/priority"
"""Dagster's own, on queued runs: those of a higher number leave the queue first, equal ones in their order."""

COMPANY: Final = "pcds/company_id"
"""The company of the run."""

COMPANY_NAME: Final = "pcds/company"
"""The company's name at that time, for people."""

DAY: Final = ".dagster/pcds_day"
"""On daily runs where the service's clock is moved: the day that they are for."""

LARGE: Final = {".dagster/pcds_size": "large"}
"""On runs that may keep a worker busy for long: one at a time, so that small ones find a free worker (dagster.yaml)."""

LARGE_PUBLICATION: Final = {".dagster/pcds_publication_size": "large"}
"""On publications of large portfolios: one at a time, so that an import finds a free worker (dagster.yaml)."""

TRACEPARENT: Final = ".dagster/pcds_traceparent"
"""Where traces are sent: the request that the run continues (`warehouse.operate.tracing`)."""

REGRADE: Final = "pcds/regrade"
"""On every run of a regrade: the version it is for. dagster.yaml limits how many runs have it at a time."""


def by_actor(header: Callable[[str], str | None]) -> dict[str, str]:
    """Return the tag with who acts by a request to Dagster's web server; none where nobody may. `header` reads one."""
    actor = header(dagster_home.ACTOR_HEADER)
    return {USER: unquote(actor)} if actor else {}


def of_company(company_id: UUID, name: str) -> dict[str, str]:
    """Return the tags by which a company's runs are found."""
    return {COMPANY: str(company_id), COMPANY_NAME: name}


def of_import(import_id: UUID, company_id: UUID, filename: str) -> dict[str, str]:
    """Return the tags by which an import's runs are found (decisions §10)."""
    return {IMPORT: str(import_id), COMPANY: str(company_id), "pcds/filename": filename}


def writes(company_id: UUID, *, large: bool) -> dict[str, str]:
    """Return the tag by which the run of an import that writes waits for those that came before it."""
    return {WRITES: f"{company_id}/{'large' if large else 'small'}"}
