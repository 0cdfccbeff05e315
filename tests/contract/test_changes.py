"""The feed of changes, by our own operation beside the contract."""

import pytest

from tests.contract.outside import codes, good, until


@pytest.mark.promise("CHG-01")
def test_the_feed_tells_each_change_once_with_those_of_an_import(caller, other):
    start = good(caller.get("/changes", params={"after": "now"}))["next_cursor"]
    jar = caller.made(sku_code="JAR", name="Jar")
    good(caller.post(f"/skus/{jar['id']}/archive", {}))
    caller.imported(b"sku_code;name\nI-1;One\nI-2;Two\n")
    until(lambda: good(caller.get("/changes", params={"after": start}))["data"][-1]["type"] == "import.completed")
    told, cursor, more = [], start, True
    while more:
        page = good(caller.get("/changes", params={"after": cursor, "limit": 2, "include": "records"}))
        told, cursor, more = told + page["data"], page["next_cursor"], page["has_more"]
    of_skus = [(each["type"], each["sku_code"], each["actor_type"]) for each in told if each["sku_code"]]
    assert of_skus == [
        ("sku.created", "JAR", "api_key"),
        ("sku.archived", "JAR", "api_key"),
        ("sku.created", "I-1", "import"),
        ("sku.created", "I-2", "import"),
    ]
    assert [each["type"] for each in told if not each["sku_code"]] == ["import.submitted", "import.completed"]
    assert len({each["id"] for each in told}) == len(told)
    record = told[1]["record"]
    assert (record["id"], "archived_at" in record) == (jar["id"], True)
    assert good(caller.get("/changes", params={"after": cursor}))["data"] == []
    assert good(other.get("/changes"))["data"] == []


@pytest.mark.promise("CHG-02")
def test_a_cursor_of_another_company_is_refused(caller, other):
    caller.made(sku_code="OWN", name="Own")
    other.made(sku_code="OTHER", name="Other")
    cursor = good(caller.get("/changes"))["next_cursor"]
    assert codes(other.get("/changes", params={"after": cursor})) == ["unknown_cursor"]
