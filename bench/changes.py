"""Measures a change of many SKUs at once beside an import of as many rows, in CPU seconds of every process.

A field of SKUs is beside a flat file that changes every row; a supplier in every part is beside a workbook with as many
SKUs and parts.
"""

import json
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from bench import data
from bench.graphs import graph_file
from bench.imports import completed, run_import
from bench.report import Line, against
from bench.service import Service

SKUS: Final = 20_000
"""The most that are changed at once."""
BOUND: Final = 2.0
_PARTS: Final = 5


def measure(service: Service) -> Iterator[Line]:
    """Yield the line of a field, that of its dry run, and that of a part's field."""
    flat, again = (data.csv_file(SKUS, changed=changed) for changed in (False, True))
    _, key = service.company()
    run_import(service, key, flat)
    imported = _spent(service, lambda: run_import(service, key, again))
    level = {"packaging_level": "transport", "use_contexts": ["industrial"]}
    for says, dry_run in (("tried, with figures", True), ("written", False)):
        spent = _spent(service, partial(_change, service, key, level, dry_run=dry_run))
        yield against(
            f"change of {SKUS} SKUs, {says}, beside an import of as many rows: CPU", spent, imported, bound=BOUND
        )
    _, key = service.company()
    graphs = graph_file("sheet", SKUS, _PARTS)
    imported = _spent(service, lambda: run_import(service, key, graphs))
    supplier = _sent(service, key, "/suppliers", {"name": "Nord GmbH"})["data"]["id"]
    spent = _spent(service, lambda: _change(service, key, {"supplier_id": supplier}, dry_run=False))
    work = f"a supplier for {_PARTS} parts of {SKUS} SKUs, beside an import of as many: CPU"
    yield against(work, spent, imported, bound=BOUND)


def _spent(service: Service, work: Callable[[], object]) -> float:
    service.wait_until_published()
    before = service.cpu_seconds()
    work()
    return service.cpu_seconds() - before


def _change(service: Service, key: str, fields: dict[str, Any], *, dry_run: bool) -> None:
    body = {"fields": fields, "all": True, "dry_run": dry_run}
    _, status = completed(service, _request(service, key, "/skus/changes", body))
    assert (status["counts"]["total"], status["counts"]["rejected"]) == (SKUS, 0), status["counts"]


def _request(service: Service, key: str, path: str, body: dict[str, Any]) -> urllib.request.Request:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    return urllib.request.Request(f"{service.url}/api/v1{path}", data=json.dumps(body).encode(), headers=headers)


def _sent(service: Service, key: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    with urllib.request.urlopen(_request(service, key, path, body)) as answer:
        return dict(json.load(answer))
