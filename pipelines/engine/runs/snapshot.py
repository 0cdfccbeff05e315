"""Runs `snapshot`: publishes the portfolio of one company or of all, a run each."""

import argparse
from typing import Final
from uuid import UUID

from pipelines.engine.resources import Resources
from pipelines.engine.runs import Answer, OpenInstance
from pipelines.engine.runs.of_company import chosen_companies, publish_all

HELP: Final = "publish portfolios as Parquet"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the company."""
    parser.add_argument("--company", type=UUID, help="one company's id; all where it is left out")


def run(arguments: argparse.Namespace, resources: Resources, open_instance: OpenInstance) -> Answer:
    """Publish; raises `dagster.Failure` where there is no such company, or where one was not published."""
    chosen = chosen_companies(resources.postgres.pool, arguments.company)
    with open_instance() as instance:
        records = [snapshot.as_dict() for snapshot in publish_all(resources, instance, chosen)]
    rows = sum(sum(record["rows"].values()) for record in records)
    return Answer({"companies": records}, f"{len(records)} companies published, {rows} rows.")
