"""Files that wait with an entry: kept by housekeeping, recorded by the acceptance, bounded in number."""

import os
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from pipelines import operate
from schemas.actors import Actor
from schemas.refusals import Refused
from services.review import entries
from tests.services.review.conftest import PERSON
from warehouse.files import File, key_of
from warehouse.operate.objects import Objects
from warehouse.operate.settings import Settings


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects.from_settings(Settings.load(data_dir=tmp_path))


def attached(queue, *, file_id=None, **to):
    file = File(file_id or uuid4(), "a.pdf", "application/pdf", 4, "0" * 64, "test_report", None, "Lab", None, None)
    with queue.pool.company(queue.company) as conn:
        entries.attach(conn, Actor(queue.company, PERSON, queue.clock.now()), file, **to)
    return file.id


def test_a_file_that_waits_is_no_orphan(queue, objects):
    stray = uuid4()
    waiting = attached(queue, request_id=uuid4())
    for file_id in (waiting, stray):
        key = key_of(queue.company, file_id)
        objects.put(key, b"%PDF")
        then = (objects.folder / key).stat().st_mtime - operate.GRACE.total_seconds() - 60
        os.utime(objects.folder / key, (then, then))
    operate.remove_orphans(queue.pool, objects, lambda: None)
    assert [key for key, _ in objects.stored(queue.company, "files")] == [key_of(queue.company, waiting)]


def test_an_accepted_document_becomes_a_technical_file_of_the_same_id(queue):
    sku = queue.wrote()["id"]
    entry = queue.filed("supplier_document", {"type": "test_report", "filename": "a.pdf"}, sku_id=UUID(sku))
    file_id = attached(queue, entry_id=entry.id)
    queue.accepted(entry, reason="Read")
    with queue.pool.company(queue.company) as conn:
        held = conn.execute("SELECT id, sku_id::text, issuer FROM technical_files").fetchall()
    assert held == [(file_id, sku, "Lab")]
    assert [action for action, *_ in queue.ledger()][-2:] == ["technical_file.uploaded", "supplier_document.accepted"]


def test_a_rejected_document_is_no_technical_file(queue):
    sku = queue.wrote()["id"]
    entry = queue.filed("supplier_document", {"type": "test_report"}, sku_id=UUID(sku))
    attached(queue, entry_id=entry.id)
    queue.rejected(entry)
    with queue.pool.company(queue.company) as conn:
        assert conn.execute("SELECT count(*) FROM technical_files").fetchone() == (0,)


def test_a_request_takes_so_many_files_and_no_more(queue):
    request = uuid4()
    for _ in range(entries.MOST_FILES):
        attached(queue, request_id=request)
    with pytest.raises(Refused):
        attached(queue, request_id=request)
    attached(queue, request_id=uuid4())
