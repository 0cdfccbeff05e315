"""Tables that somebody has cut, emptied, doubled or put together: none ends an import with a fault of ours.

Each seed's table goes through reading and the real import; the tables of one test share a company, so that later ones
meet what earlier ones have stored. More seeds: `python -m tools.fuzz_files` (reading alone).
"""

from collections.abc import Iterable
from uuid import UUID, uuid4

import pytest

from pipelines.checks import factory as checks
from pipelines.imports import process
from pipelines.imports.report import load
from pipelines.reading.grid import ReadingRefused
from pipelines.reading.rows import type_rows
from pipelines.reading.upload import Upload
from schemas import contracts
from tests.pipelines.conftest import Desk
from tools.fuzz_files.tables import mapping, table
from warehouse.imports import claims

SERVED = frozenset({"FR", "DE", "GB", "NA"})


def end_imports(desk: Desk, seeds: Iterable[int]) -> int:
    """Import the table of each seed, every third as a dry run; return how many were accepted."""
    accepted = 0
    for seed in seeds:
        name, data = table(seed)
        try:
            import_id = desk.send(data, filename=name, dry_run=seed % 3 == 0, mapping=mapping(seed))
        except ReadingRefused:
            continue
        accepted += 1
        try:
            decided = write(desk, import_id)
        except Exception as error:
            error.add_note(f"seed {seed} ({name})")
            raise
        ended = desk.poll(import_id)
        assert ended["status"] == "completed", seed
        assert ended["progress"]["done"] == ended["progress"]["total"], seed
        assert ended["counts"]["total"] == decided, seed
    return accepted


def write(desk: Desk, import_id: UUID) -> int:
    """Do what a run does with an import, without Dagster; return how many SKUs it has to decide."""
    claim = claims.take(desk.pool, desk.clock, desk.company, import_id, uuid4())
    assert claim is not None
    work = load(desk.pool, desk.company, import_id)
    upload = Upload.from_bytes(desk.objects.get(work.table_key))
    typed = type_rows(upload, default_year=work.default_year, served_markets=SERVED)
    job = process.Job(desk.pool, desk.data_dir, desk.clock, desk.rulesets, claim, work, upload, typed)
    process.write_rows(job, chunk_rows=3, proceed=lambda: None)
    frames = {"values": (contracts.typed_rows(tuple(typed.values.columns)), typed.values)}
    frames |= {"table": (contracts.parsed_table(tuple(upload.table.columns)), upload.table)}
    assert checks.judge(frames).passed
    return typed.values.height + typed.rejected


def test_no_table_ends_an_import_with_a_fault_of_ours(desk: Desk) -> None:
    assert end_imports(desk, range(30)) > 8


@pytest.mark.long
@pytest.mark.parametrize("start", range(30, 530, 100))
def test_no_table_of_many_ends_an_import_with_a_fault_of_ours(desk: Desk, start: int) -> None:
    assert end_imports(desk, range(start, start + 100)) > 30
