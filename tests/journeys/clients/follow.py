"""All four loops of an ERP, with a receiver that refuses each message once; says what came of them."""

import base64
import hmac
import json
import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from load import PREFIX, connected, loaded, names
from pcds_client import pages
from pcds_client.api.changes import delete_webhook, list_changes, post_roll_secret, post_webhook
from pcds_client.api.skus import list_skus, patch_sku
from pcds_client.models import ListChangesInclude, SkuPatchInput, WebhookInput, WebhookSecretInput

SECONDS = float(os.environ["LOOP_PATIENCE"])
client = connected()
place = {"cursor": list_changes.sync(client=client, after="now").next_cursor}
said = loaded(client)

copy = {}


def follow() -> None:
    after, records = place["cursor"], ListChangesInclude.RECORDS
    for page in pages(list_changes.sync, client=client, after=after, limit=3, include=records):
        copy.update({change.record.id: change.record for change in page.data if change.record})
        place["cursor"] = page.next_cursor


def copied() -> dict[str, str]:
    return {sku.sku_code: sku.name for sku in copy.values() if sku.sku_code.startswith(PREFIX)}


follow()
said["followed"] = copied()

secret, rings, ids = b"", queue.Queue(), []


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
        signature = "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
        ids.append(self.headers["webhook-id"])
        is_taken = ids.count(ids[-1]) > 1 and signature in self.headers["webhook-signature"].split()
        if is_taken:
            rings.put(json.loads(body)["data"])
        self.send_response(204 if is_taken else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


with HTTPServer(("127.0.0.1", 0), Receiver) as server:
    threading.Thread(target=server.serve_forever).start()
    hook = post_webhook.sync(client=client, body=WebhookInput(url=f"http://127.0.0.1:{server.server_port}/"))
    while hook.secret is None:  # the answer that had it was lost
        hook = post_roll_secret.sync(hook.data.id, client=client, body=WebhookSecretInput())
    secret = base64.b64decode(hook.secret.removeprefix("whsec_"))
    for sku in [sku for sku in copy.values() if sku.sku_code in (f"{PREFIX}-0", f"{PREFIX}-1")]:
        patch_sku.sync(sku.id, client=client, body=SkuPatchInput(name="Tray"))
    rung = {rings.get(timeout=SECONDS)["sku_code"] for _ in range(2)}
    follow()
    delete_webhook.sync(hook.data.id, client=client)
    server.shutdown()

said |= {"rung": sorted(rung), "attempts": [len(ids), len(set(ids))]}
by_place = pages(list_skus.sync, client=client, q=PREFIX, limit=4, cursor="start")
said |= {"listed": sorted(sku.sku_code for page in by_place for sku in page.data)}
said |= {"copied": copied(), "at_last": names(client)}
print(json.dumps(said))
