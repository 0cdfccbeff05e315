"""One import as one Dagster run: graded SKUs, a report at the caller's lines, counts that add up, and the ways to end."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import dagster as dg
import psycopg
import pytest

from pipelines.resources import Workshop
from pipelines.steps.imports import claim as claims
from pipelines.steps.imports import process
from pipelines.worker import execute
from tests.pipelines.conftest import Send
from warehouse.database import Database

HEADER = "sku_code;name;material;weight_grams;food_contact;markets;gtin"
FILE = "\n".join([
    HEADER,
    "A1;Bottle 1;plastic;24,5;yes;FR,DE;4006381333931",
    "A2;Bottle 2;plastic;heavy;yes;FR;",
    "A3;Carton;paper;12,0;no;GB;",
    "A4;Tin;metal;31,0;no;XX;4006381333930",
    "A5;Jar;glass;210,0;yes;FR;",
    "A1;Bottle 1 again;plastic;24,5;yes;FR;",
    "A6;Tray;plastic;9,5;yes;DE;",
    "A7;Film;plastic;1,5;yes;DE;",
])  # fmt: skip

Poll = Callable[[UUID], dict[str, Any]]


def run(workshop: Workshop, instance: dg.DagsterInstance, import_id: UUID) -> bool:
    claim = claims.take(workshop.pool, workshop.clock, import_id)
    assert claim is not None
    return execute(claim, workshop, instance)


def rows(database: Database, company: UUID, query: str) -> list[tuple[Any, ...]]:
    """What the owner sees of one company; `%s` is the company."""
    with psycopg.connect(database.owner_url) as owner:
        return owner.execute(query, (company,)).fetchall()


def test_a_file_ends_as_graded_skus_and_a_report_of_the_rest(
    workshop: Workshop, instance: dg.DagsterInstance, send: Send, poll: Poll, database: Database, company: UUID
) -> None:
    import_id = send(FILE)
    assert poll(import_id)["status"] == "queued"
    assert run(workshop, instance, import_id)
    ended = poll(import_id)
    assert ended["status"] == "completed"
    assert ended["counts"] == {"total": 8, "created": 5, "updated": 0, "unchanged": 0, "rejected": 3}
    assert ended["progress"] == {"done": 8, "total": 8}
    assert [(e["line"], e["sku_code"], e["field"], e["column"], e["value"], e["code"]) for e in ended["errors"]] == [
        (3, "A2", "weight_grams", "D", "heavy", "invalid_number"),
        (5, "A4", "markets", "F", "XX", "unknown_market"),
        (5, "A4", "gtin", "G", "4006381333930", "invalid_gtin"),
        (7, "A1", "sku_code", "A", "A1", "duplicate_sku_code"),
    ]
    stored = rows(database, company, "SELECT sku_code, import_line, recyclability_grade IS NOT NULL FROM skus "
                                     "WHERE company_id = %s ORDER BY sku_code")  # fmt: skip
    assert stored == [("A1", 2, True), ("A3", 4, True), ("A5", 6, True), ("A6", 8, True), ("A7", 9, True)]
    entries = rows(database, company, "SELECT action, count(*) FROM audit_entries WHERE company_id = %s GROUP BY 1")
    assert dict(entries) == {"import.submitted": 1, "sku.created": 5, "import.completed": 1}


def test_sending_the_same_file_again_changes_nothing(
    workshop: Workshop, instance: dg.DagsterInstance, send: Send, poll: Poll
) -> None:
    assert run(workshop, instance, send(FILE))
    again = send(FILE)
    assert run(workshop, instance, again)
    assert poll(again)["counts"] == {"total": 8, "created": 0, "updated": 0, "unchanged": 5, "rejected": 3}


def test_a_dry_run_reports_the_same_and_stores_no_sku(
    workshop: Workshop, instance: dg.DagsterInstance, send: Send, poll: Poll, database: Database, company: UUID
) -> None:
    dry = send(FILE, dry_run=True)
    assert run(workshop, instance, dry)
    assert rows(database, company, "SELECT count(*) FROM skus WHERE company_id = %s") == [(0,)]
    wet = send(FILE)
    assert run(workshop, instance, wet)
    for name in ("counts", "errors", "progress"):
        assert poll(dry)[name] == poll(wet)[name]


def test_the_run_is_found_by_its_tags_and_tells_what_happened(
    workshop: Workshop, instance: dg.DagsterInstance, send: Send, company: UUID
) -> None:
    import_id = send(FILE)
    assert run(workshop, instance, import_id)
    (found,) = instance.get_runs(dg.RunsFilter(tags={"pcds/import_id": str(import_id)}))
    assert found.tags["pcds/company_id"] == str(company)
    assert found.tags["pcds/filename"] == "portfolio.csv"
    metadata = {}
    for asset in ("uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report"):
        event = instance.get_latest_materialization_event(dg.AssetKey(asset))
        assert event is not None
        assert event.asset_materialization is not None
        metadata[asset] = event.asset_materialization.metadata
    assert metadata["parsed_table"]["rows_read"].value == 8
    assert metadata["graded_skus"]["skus_created"].value == 5
    assert "| A |" in metadata["graded_skus"]["grades"].value
    assert "| A2 | weight_grams | D | heavy |" in metadata["import_report"]["first_rejected"].value
    checks = instance.event_log_storage.get_asset_check_summary_records  # noqa: F841
    evaluations = [
        record.asset_check_evaluation for record in instance.all_logs(found.run_id) if record.dagster_event
    ]


class Interrupted(Exception):
    """Stands for whatever ends a process between two chunks."""


@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_what_breaks_between_two_chunks_is_continued_without_a_row_twice(
    workshop: Workshop, instance: dg.DagsterInstance, send: Send, poll: Poll, database: Database, company: UUID,
    chunks: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The first run dies after some chunks were committed; the second one is another process as far as rows know."""
    lines = [f"S{number:02};Bottle {number};plastic;{number},5;no;FR;" for number in range(1, 9)]
    import_id = send("\n".join([HEADER, *lines]))
    written = process._write_chunk
    with monkeypatch.context() as patched:
        calls = iter(range(99))

        def dies(job: process.Job, chunk: process.Chunk) -> Any:
            if next(calls) == chunks:
                raise Interrupted
            return written(job, chunk)

        patched.setattr(process, "_write_chunk", dies)
        first = claims.take(workshop.pool, workshop.clock, import_id)
        assert first is not None
        assert not execute(first, workshop, instance)
    halfway = poll(import_id)
    assert halfway["status"] == "processing"
    assert halfway["counts"]["total"] == halfway["progress"]["done"] == chunks * 3
    claims.hand_back(workshop.pool, first)
    assert run(workshop, instance, import_id)
    assert poll(import_id)["counts"] == {"total": 8, "created": 8, "updated": 0, "unchanged": 0, "rejected": 0}
    assert rows(database, company, "SELECT version, count(*) FROM skus WHERE company_id = %s GROUP BY 1") == [(1, 8)]
    entries = rows(database, company, "SELECT action, count(*) FROM audit_entries WHERE company_id = %s GROUP BY 1")
    assert dict(entries) == {"import.submitted": 1, "sku.created": 8, "import.completed": 1}
