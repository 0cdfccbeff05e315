"""Every page of records that hold as little as a record can, or what no table has a word for: shown, never a fault."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import pytest

from schemas.actors import Actor, Origin
from services import suppliers
from services.review import entries as entries_review
from tests.api.asking import ask
from tests.api.portfolios import counted, run, sent
from warehouse import conformity

BARE = {"component_type": "body", "material_family": "plastic", "weight_g": 1}
NOBODY = Origin("connection", None, None, str(uuid4()))
PAYLOADS = {
    "sku_update": [
        {"changes": {"sku_code": "NEW-1", "name": "New"}},
        {"changes": {"sku_code": "NEW-2", "name": "New", "components": None, "substances": {"pfas": None}}},
        {"changes": {"sku_code": "NEW-3", "name": "New", "components": [BARE], "markets": [], "weight_grams": 1e30}},
        {"changes": {"sku_code": "NEW-4"}, "more": [{"text": None}, 1, {}]},
    ],
    "doc_draft": [{"reference": "D"}, {"reference": None, "lang": "fr"}],
    "supplier_document": [{}, {"type": "no such type", "filename": None, "size_bytes": 3}],
}


def filled(caller, pool):
    """What a company can have that holds next to nothing."""
    now = datetime.now(UTC)
    bare = [
        {"sku_code": "S-0", "name": "x"},
        {"sku_code": "S-1", "name": "x", "components": [BARE]},
        {"sku_code": "S-2", "name": "x", "components": [{"component_type": "ink", "material_family": "other"}]},
        {
            "sku_code": "S-3",
            "name": "x",
            "material_subtype": "unobtainium",
            "packaging_format": "thing",
            "components": [
                {
                    **BARE,
                    "polymer_or_grade": "unobtainium",
                    "substances": {"svhc": {"status": "below_limit", "value": 1e-9, "unit": "percent_w_w"}},
                }
            ],
        },
    ]
    made = [caller.made(**fields) for fields in bare]
    with pool.company(caller.company) as conn:
        for status in ("draft", "pending", "valid", "rejected"):
            empty = dict.fromkeys(("sku_id", "reference", "supplier_name", "issued_on", "expires_on"))
            values = {**empty, "status": status, "expires_on": now.date() if status == "valid" else None}
            conformity.add(conn, caller.company, uuid4(), values=values, at=now)
            conformity.add(conn, caller.company, uuid4(), values={**values, "sku_id": made[0]["id"]}, at=now)
        for kind, payloads in PAYLOADS.items():
            for payload in payloads:
                for sku_id in (None, made[1]["id"]):
                    entries_review.file(conn, Actor(caller.company, NOBODY, now), kind, payload, sku_id=sku_id)
    asked = ask(caller, pool, components=[BARE])
    with pool.company(caller.company) as conn:
        for payload in ({}, {"components": None}, {"components": [{"component_id": asked.components[0]}]}):
            entry = entries_review.file(
                conn,
                Actor(caller.company, NOBODY, now),
                "supplier_answer",
                payload,
                sku_id=asked.sku_id,
                request_id=asked.id,
            )
            conn.execute("UPDATE review_entries SET state = 'replaced' WHERE id = %s", [entry.id])
        suppliers.create_request(
            conn,
            Actor(caller.company, NOBODY, now),
            sku_code="S-1",
            component_ids=[],
            supplier_name=None,
        )
    run(caller, sent(caller, "sku_code;name\nI-1;\n"))
    counted(caller)
    return asked


@pytest.mark.long
@pytest.mark.parametrize("lang", ["en", "de"])
def test_every_page_of_next_to_nothing_is_shown(caller, pool, browser, lang):
    asked = filled(caller, pool)
    with pool.company(caller.company) as conn:
        entries = [row[0] for row in conn.execute("SELECT id FROM review_entries")]
    waiting = [
        "/portfolio",
        "/items",
        "/imports",
        "/review",
        "/supplier-requests",
        f"/supplier-data/{asked.token}",
        *(f"/supplier-requests?sku=S-{number}" for number in range(4)),
    ]
    waiting += [f"/review/{entry}" for entry in entries]
    seen = set(waiting)
    while waiting:
        address = waiting.pop()
        page = browser.get(address, params={"lang": lang} if "?" not in address else None)
        allowed = (200, 400) if address.startswith("/supplier-requests?sku=S-0") else (200, 405)
        assert page.status_code in allowed, address
        if not page.headers["content-type"].startswith("text/html"):
            continue
        main = page.text.partition("<main")[2]
        main = re.sub(r">None</(?:td|label)>", "", main)  # the word for no effect and no additives
        assert not re.findall(r">\s*(?:None|null|nan|Undefined)\s*<", main), address
        found = {unescape(link) for link in re.findall(r'href="(/[^"#]*)', main)} - seen
        found = {link for link in found if link.startswith(("/items/", "/imports/", "/review/", "/declarations/"))}
        seen |= found
        waiting += found


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_every_entry_of_next_to_nothing_can_be_decided_or_is_told_why_not(caller, pool, browser, decision):
    filled(caller, pool)
    with pool.company(caller.company) as conn:
        entries = [row[0] for row in conn.execute("SELECT id FROM review_entries")]
    csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get("/items").text)[1]
    for entry in entries:
        answer = browser.post(f"/review/{entry}", {"csrf": csrf, "decision": decision, "reason": "Seen"})
        assert answer.status_code in (303, 400, 409), entry
        assert browser.get(f"/review/{entry}").status_code == 200
