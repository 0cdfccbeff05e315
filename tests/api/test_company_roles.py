"""A company's roles by every door: the company answers once, an item only where it differs; nothing is assumed."""

import pytest

from tests.api.people import hidden, signed_in

OWN = {"mark": "own", "specified_by": "own", "made_by": "other", "packed_by": "own", "kind": "products",
       "supplier_country": "FR", "modifies": False}  # fmt: skip
PART = {"component_type": "body", "material_family": "glass", "weight_g": 20}


def told(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


@pytest.fixture
def sku(caller):
    body = {"name": "Jar", "sku_code": "R-1", "markets": ["FR", "AT", "GB"], "components": [PART]}
    return caller.post("/skus", body).json()["data"]["id"]


def roles_of(record):
    return {each["market"]: (each["operator"]["answer"], each["producer"]["answer"]) for each in record["markets"]}


def profile(caller, pool, **answers):
    browser = signed_in(caller, pool, "administrator")
    form = hidden(browser.get("/company").text)
    assert browser.post("/company", form | answers).status_code == 303
    return browser


def test_an_item_takes_what_the_company_says_and_differs_where_it_says_so(caller, pool, sku):
    before = told(caller.get(f"/skus/{sku}/roles"))
    assert roles_of(before)["FR"] == ("undecided", "undecided")
    assert roles_of(before)["GB"] == ("none", "none")
    assert {each["fact"] for each in before["markets"][0]["operator"]["asks"]} >= {"mark", "made_by"}
    assert told(caller.put("/roles", OWN))["version"] == 1
    profile(caller, pool, seat="FR", size="small", sells_directly_abroad="no")
    company = told(caller.get("/roles"))
    assert roles_of(company) == {"AT": ("manufacturer", "no"), "FR": ("manufacturer", "yes"), "GB": ("none", "none")}
    assert roles_of(told(caller.get(f"/skus/{sku}/roles"))) == roles_of(company)
    differing = {"mark": "other", "packed_by": "other", "sells_directly_abroad": True, "supplier_country": "CN"}
    assert roles_of(told(caller.put(f"/skus/{sku}/roles?dry_run=true", differing)))["FR"] == ("importer", "yes")
    assert told(caller.get(f"/skus/{sku}/roles"))["version"] == 0
    own = told(caller.put(f"/skus/{sku}/roles", differing))
    assert roles_of(own) == {"AT": ("importer", "yes"), "FR": ("importer", "yes"), "GB": ("none", "none")}
    assert roles_of(told(caller.get("/roles"))) == roles_of(company)
    assert (own["version"], own["answers"]["kind"], own["in_effect"]["kind"]) == (1, None, "products")
    assert {each["duty"] for each in own["markets"][0]["duties"]} >= {"check_maker", "register", "represent"}
    actions = [entry["action"] for entry in caller.get("/audit-log?limit=10").json()["data"]]
    assert actions.count("roles.updated") == 2


def test_the_record_says_what_it_can(caller, sku):
    suppliers = [caller.post("/suppliers", {"name": f"S{country}", "country": country}).json()["data"]["id"]
                 for country in ("IT", "PL")]  # fmt: skip
    parts = [PART | {"supplier_id": suppliers[0]}, PART | {"component_type": "cap", "supplier_id": suppliers[0]}]
    caller.put(f"/skus/{sku}", {"sku_code": "R-1", "name": "Jar", "packaging_level": "transport", "components": parts})
    facts = told(caller.get(f"/skus/{sku}/roles"))["in_effect"]
    assert (facts["supplier_country"], facts["kind"]) == ("IT", "transport")
    parts[1]["supplier_id"] = suppliers[1]
    caller.put(f"/skus/{sku}", {"sku_code": "R-1", "name": "Jar", "components": parts})
    assert told(caller.get(f"/skus/{sku}/roles"))["in_effect"]["supplier_country"] is None


def test_units_of_the_day_make_a_market_and_those_of_2025_do_not(caller, sku):
    placed = [{"market": market, "year": year, "units_placed": 5} for market, year in (("IT", 2026), ("PL", 2025))]
    assert caller.put(f"/skus/{sku}/volumes", placed).status_code == 200
    for path in (f"/skus/{sku}/roles", "/roles"):
        assert roles_of(told(caller.get(path))).keys() == {"AT", "FR", "GB", "IT"}


def test_a_write_is_refused_for_a_wrong_value_a_passed_version_and_an_unknown_item(caller, sku, join):
    for body, field, code in (
        ({"mark": "ours"}, "mark", "not_in_vocabulary"),
        ({"supplier_country": "ZZ"}, "supplier_country", "unknown_market"),
        ({"modifies": "yes"}, "modifies", "invalid_type"),
        ({"role": "importer"}, "role", "unknown_field"),
    ):
        refused = caller.put("/roles", body)
        assert refused.status_code == 400, refused.text
        assert [(each["field"], each["code"]) for each in refused.json()["details"]] == [(field, code)]
    assert caller.put("/roles", OWN | {"if_version": 0}).status_code == 200
    conflict = caller.put("/roles", OWN | {"if_version": 0, "mark": "none"})
    assert (conflict.status_code, conflict.json()["error"]) == (412, "version_conflict")
    stranger = join()
    for answer in (stranger.get(f"/skus/{sku}/roles"), stranger.put(f"/skus/{sku}/roles", OWN)):
        assert answer.status_code == 404
    assert told(stranger.get("/roles"))["answers"]["mark"] is None


def test_people_answer_on_pages_and_read_why(caller, pool, sku):
    browser = profile(caller, pool, seat="DE", size="micro", sells_directly_abroad="yes")
    form = hidden(browser.get("/roles").text)
    answers = {name: str(value) for name, value in OWN.items() if name != "modifies"} | {"supplier_country": "France"}
    assert browser.post("/roles", form | answers).status_code == 303
    item = browser.get(f"/items/{sku}").text
    assert "Austria: Manufacturer.; Producer." in item
    shown = browser.get(f"/items/{sku}/roles?lang=de").text
    assert "Artikel 15(12)" in shown
    assert "Hersteller." in shown
    form = hidden(browser.get(f"/items/{sku}/roles").text)
    assert browser.post(f"/items/{sku}/roles", form | {"supplier_country": "Nowhere"}).status_code == 400
    assert browser.post(f"/items/{sku}/roles", form | {"supplier_country": "Germany"}).status_code == 303
    assert "Distributor." in browser.get(f"/items/{sku}").text
    assert browser.post(f"/items/{sku}/roles", form | {"mark": "none"}).status_code == 400  # a version that has passed
    assert "R-1" in browser.get("/roles").text
