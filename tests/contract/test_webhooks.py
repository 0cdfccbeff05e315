"""Webhooks, by our own operations beside the contract: the running service sends to a receiver on loopback."""

from collections.abc import Iterator

import pytest

from tests import receiver as receivers
from tests.contract.outside import codes, good, refused, until
from tests.receiver import Receiver

UNKNOWN = "00000000-0000-7000-8000-000000000000"
URL = {"url": "https://erp.example/hooks"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receivers.opened() as opened:
        yield opened


@pytest.mark.long
@pytest.mark.promise("CHG-03")
def test_changes_are_sent_signed_in_order_and_again_from_a_cursor(caller, receiver):
    made = good(caller.post("/webhooks", {"url": receiver.url}))
    path, secret = f"/webhooks/{made['data']['id']}", made["secret"]
    assert good(caller.post(f"{path}/test", {})) == {"delivered": True, "status": 204, "fault": None}
    assert codes(caller.post(f"{path}/test", {}, headers={"Idempotency-Key": "x" * 300})) == ["out_of_range"]
    failed = set()

    def once_in_vain(change, _data):
        known = change in failed
        failed.add(change)
        return 204 if known else 503

    receiver.answer = once_in_vain
    jar = caller.made(sku_code="JAR", name="Jar")
    good(caller.post("/skus", {"sku_code": "JAR", "name": "Can"}))
    until(lambda: len(receiver.taken()) == 3)
    told = [(got.type, got.data.get("sku_code"), got.data.get("version")) for got in receiver.taken()]
    assert told == [("webhook.test", None, None), ("sku.created", "JAR", 1), ("sku.updated", "JAR", 2)]
    assert all(got.is_signed_by(secret) for got in receiver.got)
    changes = [change for change in good(caller.get("/changes"))["data"] if change["sku_id"] == jar["id"]]
    assert [got.data for got in receiver.taken()[1:]] == changes
    assert [got.id for got in receiver.got[1:]] == [changes[0]["id"]] * 2 + [changes[1]["id"]] * 2
    until(lambda: {each["state"] for each in good(caller.get(f"{path}/deliveries"))["data"]} == {"delivered"})
    listed = good(caller.get(f"{path}/deliveries"))["data"]
    assert [(each["id"], each["tries"], each["status"]) for each in listed] == [
        (change["id"], 2, 204) for change in reversed(changes)
    ]
    again = good(caller.post(f"{path}/replay", {"after": changes[0]["cursor"]}))
    assert again["outcome"] == "updated"
    until(lambda: [got.id for got in receiver.got].count(changes[1]["id"]) == 3)
    assert [got.id for got in receiver.got].count(changes[0]["id"]) == 2


@pytest.mark.long
@pytest.mark.promise("CHG-06")
def test_a_webhook_is_sent_the_types_of_its_filter(caller, receiver):
    chosen = ["sku.updated", "sku_volumes.updated"]
    path = f"/webhooks/{good(caller.post('/webhooks', {'url': receiver.url, 'types': chosen}))['data']['id']}"
    start = good(caller.get("/changes", params={"after": "now"}))["next_cursor"]
    jar = caller.made(sku_code="JAR", name="Jar")
    good(caller.post("/skus", {"sku_code": "JAR", "name": "Can"}))
    until(lambda: len(receiver.taken()) == 1)
    good(caller.request("PATCH", path, json={"types": None}))
    good(caller.post(f"/skus/{jar['id']}/archive", {"reason": "No longer sold"}))
    until(lambda: len(receiver.taken()) == 2)
    assert [got.type for got in receiver.taken()] == ["sku.updated", "sku.archived"], "what was left out stays so"
    good(caller.post(f"{path}/replay", {"after": start}))
    until(lambda: len(receiver.taken()) == 5)
    assert [got.type for got in receiver.taken()[2:]] == ["sku.created", "sku.updated", "sku.archived"]
    good(caller.request("PATCH", path, json={"types": ["sku.archived"]}))
    good(caller.post(f"{path}/replay", {"after": start}))
    until(lambda: len(receiver.taken()) == 6)
    assert receiver.taken()[5].type == "sku.archived"


@pytest.mark.promise("CHG-06")
def test_a_filter_has_types_that_the_feed_publishes(caller):
    chosen = ["sku.updated", "sku.created", "sku.updated"]
    made = good(caller.post("/webhooks", {**URL, "types": chosen}))["data"]
    path = f"/webhooks/{made['id']}"
    assert made["types"] == ["sku.created", "sku.updated"], "each once, in the order of the feed's own list"
    assert good(caller.get(path))["data"]["types"] == made["types"]
    same = good(caller.request("PATCH", path, json={"types": chosen, "description": None}))
    assert same["outcome"] == "unchanged"
    assert good(caller.request("PATCH", path, json={"description": "ERP"}))["data"]["types"] == made["types"]
    for sent, code, field in (
        (["sku.updated", "sku.burnt"], "not_in_vocabulary", "types[1]"),
        ([], "too_short", "types"),
        ("sku.updated", "invalid_type", "types"),
    ):
        for answer in (
            caller.post("/webhooks", {**URL, "types": sent}),
            caller.request("PATCH", path, json={"types": sent}),
        ):
            [issue] = refused(answer, 400, "invalid_body")
            assert (issue["code"], issue["field"]) == (code, field)
            assert code != "not_in_vocabulary" or "'sku.archived'" in issue["message"]
    assert good(caller.request("PATCH", path, json={"types": None}))["data"]["types"] is None
    changed = caller.data("/audit-log")[0]
    assert (changed["before"], changed["after"]) == ({"types": made["types"]}, {"types": None})
    assert good(caller.post("/webhooks", URL))["data"]["types"] is None


@pytest.mark.promise("CHG-04")
def test_a_secret_is_shown_once(caller, receiver):
    headers = {"Idempotency-Key": "one"}
    made = good(caller.post("/webhooks", {**URL, "description": "ERP"}, headers=headers))
    assert made["secret"].startswith("whsec_")
    assert good(caller.post("/webhooks", {**URL, "description": "ERP"}, headers=headers)) == made | {"secret": None}
    path = f"/webhooks/{made['data']['id']}"
    rolled = good(caller.post(f"{path}/roll-secret", {"overlap_hours": 2}))
    assert rolled["secret"] not in (None, made["secret"])
    assert rolled["data"]["old_secret_until"] > rolled["data"]["updated_at"]
    assert "whsec_" not in caller.get(path).text + caller.get("/webhooks").text + caller.get("/audit-log").text
    tried = good(caller.post("/webhooks", URL, params={"dry_run": "true"}))
    assert (tried["data"], tried["secret"], tried["dry_run"]) == (None, None, True)
    assert codes(caller.post(f"{path}/roll-secret", {"overlap_hours": 1000})) == ["out_of_range"]


@pytest.mark.promise("CHG-05")
def test_nothing_is_sent_but_to_public_addresses(caller):
    for url in ("https://10.1.2.3/", "https://[fd00::1]/", "https://169.254.169.254/latest", "http://erp.example/"):
        assert codes(caller.post("/webhooks", {"url": url})) == ["out_of_range"], url
    for url in ("ftp://erp.example/", "https://", "https://a:b@erp.example/", "erp.example", "https://erp.example:0/"):
        assert codes(caller.post("/webhooks", {"url": url})) == ["invalid_format"], url


@pytest.mark.promise("CHG-03")
def test_a_webhook_is_paused_changed_and_removed(caller, other):
    made = good(caller.post("/webhooks", URL))["data"]
    path = f"/webhooks/{made['id']}"
    tried = good(caller.request("PATCH", path, json={"state": "paused"}, params={"dry_run": "true"}))
    assert (tried["outcome"], tried["data"]) == ("updated", made)
    paused = good(caller.request("PATCH", path, json={"state": "paused"}))
    assert (paused["outcome"], paused["data"]["state"]) == ("updated", "paused")
    assert good(caller.request("PATCH", path, json={"state": "paused"}))["outcome"] == "unchanged"
    assert good(caller.get(path))["data"] == paused["data"]
    refused(other.request("DELETE", path), 404, "not_found")
    assert good(caller.request("DELETE", path, params={"dry_run": "true"}))["data"] == paused["data"]
    assert good(caller.request("DELETE", path))["data"] is None
    refused(caller.request("DELETE", path), 404, "not_found")
    assert good(caller.get("/webhooks"))["data"] == []
    for method, more in (("GET", ""), ("GET", "/deliveries"), ("POST", "/test")):
        refused(caller.request(method, f"/webhooks/{UNKNOWN}{more}"), 404, "not_found")
    cursor = good(caller.get("/changes"))["next_cursor"]
    refused(caller.post(f"/webhooks/{UNKNOWN}/replay", {"after": cursor}), 404, "not_found")
    actions = [each["action"] for each in caller.data("/audit-log")][:3]
    assert actions == ["webhook.removed", "webhook.updated", "webhook.created"]
    for number in range(10):
        good(caller.post("/webhooks", {"url": f"https://erp.example/{number}"}))
    assert codes(caller.post("/webhooks", URL)) == ["out_of_range"]
