"""The first load and the nightly sync of an ERP; says what came of them and what the service then lists."""

import json
import os
from typing import Any

from pcds_client import AuthenticatedClient, Retrying, connect, pages, readings
from pcds_client.api.imports import get_import, post_import
from pcds_client.api.skus import list_skus, post_batch
from pcds_client.models import PostImportFilesBody, SkuBatchInput
from pcds_client.types import File

PREFIX = os.environ["LOOP_PREFIX"]


def connected() -> AuthenticatedClient:
    return connect(os.environ["PCDS_URL"], os.environ["PCDS_KEY"], retries=Retrying(attempts=8))


def names(client: AuthenticatedClient) -> dict[str, str]:
    rows = [row for page in pages(list_skus.sync, client=client, limit=4) for row in page.data]
    return {row.sku_code: row.name for row in rows if row.sku_code.startswith(PREFIX)}


def loaded(client: AuthenticatedClient) -> dict[str, Any]:
    lines = "sku_code,name,weight_grams\n" + "".join(f"{PREFIX}-{number},Box,{number + 10}\n" for number in range(5))
    file = File(payload=lines.encode(), file_name="load.csv", mime_type="text/csv")
    accepted = post_import.sync(client=client, body=PostImportFilesBody(file=file))
    *_, report = readings(get_import.sync, id=accepted.id, client=client, seconds=0.2)
    changed = [{"sku_code": f"{PREFIX}-{number}", "name": "Crate"} for number in (4, 5)]
    changed.append({"sku_code": f"{PREFIX}-6", "name": "Crate", "weight_grams": -1})
    batch = SkuBatchInput.from_dict({"skus": changed})
    synced = post_batch.sync(client=client, body=batch, idempotency_key=f"sync-{PREFIX}")
    return {
        "report": [str(report.status), report.counts.created],
        "synced": [str(row.outcome) for row in synced.results],
        "faults": [issue.field for row in synced.results for issue in row.errors],
        "names": names(client),
    }


if __name__ == "__main__":
    print(json.dumps(loaded(connected())))
