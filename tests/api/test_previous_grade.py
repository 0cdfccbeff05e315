"""What the rule-set before gave, as the answer of a SKU and its page say it."""

import psycopg

from tests.api.people import signed_in
from tests.api.portfolios import counted
from tests.api.test_portfolio_pages import words
from tests.ruling import BOTTLE

_BEFORE = "UPDATE sku_versions SET ruleset_version = '2026-11-21' WHERE id = %s"


def test_the_page_of_an_item_says_what_the_rules_before_gave(caller, pool, database):
    sku = caller.made(sku_code="BEFORE", name="Bottle", **BOTTLE)["id"]
    assert caller.post("/skus", {"sku_code": "BEFORE", "name": "Bottle, renamed"}).status_code == 200
    with psycopg.connect(database.owner_url) as owner:  # as a regrade leaves it: another version, the same facts
        assert owner.execute(_BEFORE, (sku,)).rowcount == 1
    trace = caller.get(f"/skus/{sku}").json()["data"]["compliance"]["grade_trace"]
    assert trace["previous"]["ruleset_version"] == "2026-11-21"
    counted(caller)
    browser = signed_in(caller, pool)
    for lang, said in (("en", "By the rules of 2026-11-21:"), ("de", "Nach den Regeln von 2026-11-21:")):
        assert said in words(browser.get(f"/items/{sku}?lang={lang}"))
