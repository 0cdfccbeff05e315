"""What an assistant hands over is read by a reader as well: stopped at a limit, with what to do."""

import base64
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from api.http.service import Service, open_service
from tests.connector.assistants import Assistant
from tests.pipelines.sandbox.files import SMALL, large_document, large_table
from warehouse.operate.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
async def strict(database, clock, tmp_path) -> AsyncIterator[Service]:
    settings = Settings.load(data_dir=tmp_path, reader_cpu_seconds=0.01)
    async with open_service(settings, database, clock) as service:
        yield service


@pytest.fixture
def limited(strict: Service, assistant: Assistant) -> Assistant:
    return replace(assistant, service=strict)


@pytest.mark.long
async def test_rows_to_check(limited: Assistant, assistant: Assistant):
    text = large_table()[:900_000].decode()
    answer = await limited.call("check_bulk_import", csv=text)
    assert answer.refused
    assert "unreadable_file: Reading the file took more than 0.01 seconds of computing" in answer.text
    answer = await assistant.call("check_bulk_import", csv=SMALL.decode())
    assert answer.told["import"]["counts"]["created"] == 1


async def test_a_document(limited: Assistant):
    made = limited.made()
    for data, stopped in ((large_document(), True), (b"%PDF-1.7\n", False)):
        content = base64.b64encode(data).decode()
        sent = {"type": "test_report_pfas", "filename": "report.pdf", "content_base64": content}
        answer = await limited.call("submit_supplier_document", sku_code=made.sku_code, document=sent)
        assert answer.refused == stopped
        assert ("unreadable_file: Reading the file took" in answer.text) == stopped
