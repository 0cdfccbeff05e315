"""Reads lists, an import and the feed to their ends, at once and asynchronously, and says what came."""

import asyncio
import json
import os
from uuid import UUID

from pcds_client import Refused, connect, pages, pages_async, readings, readings_async
from pcds_client.api.changes import list_changes
from pcds_client.api.imports import get_import, post_import
from pcds_client.api.skus import get_sku, list_skus
from pcds_client.models import PostImportFilesBody
from pcds_client.types import File

client = connect(os.environ["PCDS_URL"], os.environ["PCDS_KEY"])
lines = "sku_code,name\n" + "".join(f"LOOP-{number},Box\n" for number in range(5))
file = File(payload=lines.encode(), file_name="loop.csv", mime_type="text/csv")
accepted = post_import.sync(client=client, body=PostImportFilesBody(file=file))
last = [reading.status for reading in readings(get_import.sync, id=accepted.id, client=client, seconds=0.2)][-1]


async def again() -> list[object]:
    end = [reading.status async for reading in readings_async(get_import.asyncio, id=accepted.id, client=client)][-1]
    counts = [len(page.data) async for page in pages_async(list_skus.asyncio, client=client, q="loop", limit=2)]
    return [end, counts]


counts = [len(page.data) for page in pages(list_skus.sync, client=client, q="loop", limit=2)]
by_place = [len(page.data) for page in pages(list_skus.sync, client=client, q="loop", limit=2, cursor="start")]
changes = [change for page in pages(list_changes.sync, client=client, limit=3) for change in page.data]
created = sum(1 for change in changes if (change.sku_code or "").startswith("LOOP-"))
try:
    get_sku.sync(UUID(int=0), client=client)
    refusal = None
except Refused as refused:
    refusal = [refused.status, refused.error]
said = {"last": last, "pages": counts, "by_place": by_place, "created": created, "refusal": refusal}
print(json.dumps(said | {"again": asyncio.run(again())}))
