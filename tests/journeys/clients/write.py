"""Writes a SKU and orders an export over a connection that fails, and says what the answers were."""

import asyncio
import json
import os

import httpx
from pcds_client import Refused, Retrying, connect
from pcds_client.api.exports import post_export
from pcds_client.api.skus import post_sku
from pcds_client.models import ExportInput, SkuInput

URL, KEY = os.environ["PCDS_URL"], os.environ["PCDS_KEY"]
client = connect(URL, KEY)
sku = post_sku.sync_detailed(client=client, body=SkuInput(sku_code="RETRIED-PYTHON", name="Box"))
export = asyncio.run(post_export.asyncio_detailed(client=client, body=ExportInput.from_dict({"format": "csv"})))
impatient = connect(URL, KEY, retries=Retrying(longest_wait=0))
status = 0
try:
    post_sku.sync(client=impatient, body=SkuInput(sku_code="REFUSED-PYTHON", name="Box"))
except Refused as refusal:
    status = refusal.status
single = connect(URL, KEY, retries=Retrying(attempts=1))
try:
    post_sku.sync(client=single, body=SkuInput(sku_code="REFUSED-PYTHON", name="Box"))
    lost = False
except httpx.RemoteProtocolError:
    lost = True
print(json.dumps({"statuses": [sku.status_code, export.status_code, status], "lost": lost}))
