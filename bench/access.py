"""Measures admission: a list request with the key's limit and window, and the same with the key lookup alone."""

from collections.abc import Iterator

import psycopg

from bench import data
from bench.applications import compared, serving
from bench.imports import run_import
from bench.report import Line
from bench.service import Service, load, raw_request
from bench.unlimited_app import FUNCTION

READS, ROUNDS, WARM_UP = 400, 5, 50


def measure(service: Service) -> Iterator[Line]:
    """Measure a page of 50; both applications are started alike and take turns over eight connections."""
    _, key = service.company()
    run_import(service, key, data.csv_file(2000, changed=False))
    with psycopg.connect(service.database.owner_url) as owner:
        owner.execute(FUNCTION)
    page = [raw_request("GET", "/api/v1/skus?limit=50", key)] * READS
    environment, first = {"PCDS_DATA_DIR": str(service.data_dir)}, [raw_request("GET", "/healthz", "-")] * WARM_UP
    with (
        serving("bench.unlimited_app:app", environment=environment, first=first) as floor,
        serving("api.app:app_of_process", "--factory", environment=environment, first=first) as ours,
    ):
        pairs = [(load(floor, page, connections=8), load(ours, page, connections=8)) for _ in range(ROUNDS)]
    yield from compared("GET a page of 50, key with limit and window", pairs, 1.25)
