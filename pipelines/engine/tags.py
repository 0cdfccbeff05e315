"""The tags by which runs are found in the Dagster UI, and those of runs that no launcher of Dagster's has started."""

from datetime import datetime
from typing import Final
from uuid import UUID

import dagster as dg

from warehouse import dagster_home
from warehouse.companies import queries as companies
from warehouse.sessions import Pool

CODE_LOCATION: Final = {".dagster/repository": f"__repository__@{dagster_home.LOCATION}"}
"""By this tag the UI lists a run under its job, although no launcher has started it."""

FOLLOWED: Final = {"pcds/followed": "true"}
"""On runs that followed a write: a busy company has thousands a day, so that their record is kept for two days only."""

DAY: Final = "pcds/day"
"""On runs of a day's work: which day, by the service's clock, whoever began them."""

PCDS: Final = {"user": "pcds"}
"""On runs that the service or a command of its own starts: what the UI shows as *Launched by*, else *manually*."""

IMPORT: Final = "pcds/import_id"
"""Which import it processes."""

LEFT: Final = {"pcds/left": "true"}
"""On runs that end as canceled because their process stopped: nobody has terminated them."""

TERMINATED: Final = "pcds/terminated"
"""On runs that a person has terminated: an import ends with its run then, and is not taken up by another."""

PARTITION: Final = "dagster/partition"
"""Dagster's own, on every run of a company, however it was started: by it companies take turns."""

COMPANY: Final = "pcds/company_id"
"""Whose run it is."""

COMPANY_NAME: Final = "pcds/company"
"""The same for people: the company's name at that time."""

LARGE: Final = {"pcds/size": "large"}
"""On runs that may keep a worker busy for long: one at a time, so that small ones find a free worker (dagster.yaml)."""

REGRADE: Final = "pcds/regrade"
"""On every run of a regrade: the version it is for. dagster.yaml limits how many runs with it there are at a time."""


def of_company(company_id: UUID, name: str) -> dict[str, str]:
    """The tags by which a company's runs are found."""
    return {COMPANY: str(company_id), COMPANY_NAME: name}


def name_company(context: dg.AssetExecutionContext, company_id: UUID, name: str) -> None:
    """Give the tags to a run that the UI started with a partition and no more."""
    if COMPANY_NAME not in context.run.tags:
        context.instance.add_run_tags(context.run.run_id, of_company(company_id, name))


def read_company(pool: Pool, company_id: UUID) -> dict[str, str]:
    """The same, for whoever does not know the name."""
    with pool.company(company_id) as conn:
        found = companies.of(conn, company_id)
    assert found is not None, "its own session sees the company"
    return of_company(company_id, found[0])


def of_import(import_id: UUID, company_id: UUID, filename: str) -> dict[str, str]:
    """The tags by which an import's runs are found (decisions §10)."""
    return {IMPORT: str(import_id), COMPANY: str(company_id), "pcds/filename": filename}


def of_day(now: datetime) -> dict[str, str]:
    """The tag of a day's work."""
    return {DAY: f"{now:%Y-%m-%d}"}
