"""Runs the same morning with the client of openapi-python-client; needs only that client and its libraries."""

import io
import os
import time

from pcds_client import AuthenticatedClient
from pcds_client.api.imports import get_import, post_import
from pcds_client.api.sk_us import get_sku, list_skus, post_sku, put_sku
from pcds_client.models import Error, PostImportFilesBody, SkuInput
from pcds_client.types import File

CODE = "CLIENT-PYTHON"
client = AuthenticatedClient(
    base_url=os.environ["PCDS_URL"],
    token=os.environ["PCDS_KEY"],
    prefix="",
    auth_header_name="X-API-Key",
    raise_on_unexpected_status=True,
)

made = post_sku.sync(client=client, body=SkuInput(sku_code=CODE, name="Box", weight_grams=12.5, description="Brown"))
assert not isinstance(made, Error), made
sku = made.data.id

put_sku.sync(sku, client=client, body=SkuInput(sku_code=CODE, name="Folding box"))
untouched = get_sku.sync(sku, client=client).data
assert (untouched.name, untouched.description, untouched.weight_grams) == ("Folding box", "Brown", 12.5), untouched

put_sku.sync(sku, client=client, body=SkuInput(sku_code=CODE, name="Folding box", description=None))
cleared = get_sku.sync(sku, client=client).data
assert (cleared.description, cleared.weight_grams) == (None, 12.5), cleared

refused = post_sku.sync(client=client, body=SkuInput(sku_code=CODE, name="Box", weight_grams=-1))
assert isinstance(refused, Error), refused
assert refused.details[0].code == "out_of_range", refused

table = io.BytesIO(b"sku_code,name\nCLIENT-PYTHON-2,Lid\n")
accepted = post_import.sync(client=client, body=PostImportFilesBody(file=File(table, "lids.csv", "text/csv")))
assert not isinstance(accepted, Error), accepted
while (report := get_import.sync(accepted.id, client=client)).status in ("queued", "processing"):
    time.sleep(0.1)
assert report.counts.created == 1, report
assert any(item.sku_code == CODE for item in list_skus.sync(client=client, limit=200).data)
