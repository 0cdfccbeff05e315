"""The worked examples of scope through the front door: SKUs written by the API, a snapshot, a declaration as JSON.

All of them are one company's; each has a year of its own, so that none counts in another's.
"""

import json
from pathlib import Path

from api.pages import render
from compliance.catalogue import ANSWERS, KINDS, pinned
from compliance.obligations import thresholds
from compliance.rollup.categories import schemes
from compliance.scopes import asked_fields, scopes
from pipelines.figures import loaded_catalogue
from pipelines.filings import Inputs
from schemas.fields import SKU
from schemas.messages import LANGUAGES
from services.filings.files import DeclarationRequest, by_category
from tests.api.people import signed_in
from tests.api.portfolios import counted, service_behind, weighed
from tests.api.test_portfolio_pages import words
from tests.compliance.scope_examples import EXAMPLES, differences
from warehouse.figures import snapshots

FIRST_YEAR = 2004


def written(caller, number, example):
    """The example's SKUs under codes and in a year of its own."""
    for sku in example["skus"]:
        fields = {name: value for name, value in sku.items() if name != "volumes"}
        made = caller.made(**{**fields, "sku_code": f"{number:02}-{sku['sku_code']}"})
        placed = [{**row, "year": FIRST_YEAR + number} for row in sku["volumes"]]
        assert caller.put(f"/skus/{made['id']}/volumes", placed).status_code == 200


def test_every_worked_example_is_declared_as_it_says(caller):
    for number, example in enumerate(EXAMPLES):
        written(caller, number, example)
    counted(caller)
    service = service_behind(caller)
    snapshot = snapshots.current(service.settings.data_dir, caller.company)
    with service.writes.company(caller.company) as conn:
        inputs = Inputs(snapshot, loaded_catalogue(conn), service.rulesets.active(conn))
    wrong = {}
    for number, example in enumerate(EXAMPLES):
        out = Path("declaration.json")
        asked = DeclarationRequest(example["market"], FIRST_YEAR + number, example["half"] or 0, "json", out)
        said = json.loads(by_category(inputs, asked).files[out])
        for row in said["scope_missing"]:
            row["sku_code"] = row["sku_code"].partition("-")[2]
        wrong[example["why"]] = differences(example, said)
    assert {why: found for why, found in wrong.items() if found} == {}


def test_a_market_shows_what_is_counted_what_is_missing_and_how_sure_each_row_is(caller, pool):
    body = {"component_type": "body", "material_family": "metal", "polymer_or_grade": "aluminium", "weight_g": 14}
    can = caller.made(
        sku_code="CAN", packaging_level="sales", packaging_format="can", use_contexts=["beverage"], components=[body]
    )
    caller.put(f"/skus/{can['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 2_500_000}])
    browser = signed_in(caller, pool)
    assert "No tonnes are counted for this market" in words(browser.get("/markets/DE"))
    counted(caller)
    weighed(caller)
    assert 'href="/markets/DE"' in browser.get("/portfolio").text
    told = words(browser.get("/markets/de"))
    assert "Aluminium 35 0 35 0 packaging that typically ends in households" in told
    assert "on a page of the authority" in told
    assert "30 0, up to 35 not decidable: it is not known what is counted (Deposit)" in told
    assert "1 item lacks one" in told
    assert "drinks containers with a deposit no" in told
    assert "Pfand" in words(browser.get("/markets/DE?lang=de"))
    assert browser.get("/markets/XX").status_code == 404
    assert browser.get("/markets/AQ").status_code == 404
    assert "not in the list of jurisdictions" in words(browser.get("/markets/JP"))


def test_pages_have_a_word_for_all_that_the_tables_of_scope_may_say():
    keys = {f"scope.{key}" for key in scopes()} | {f"covers.{kind}" for kind in KINDS}
    keys |= {f"reached.{answer}" for answer in ANSWERS} | {f"duty.{row.obligation}" for row in thresholds()}
    keys |= {f"why.{row.undecidable}" for row in thresholds() if row.undecidable}
    keys |= {f"fact.{field}" for field in asked_fields() if field not in SKU}
    said = {row.confidence for level in schemes().values() for row in level}
    said |= {text for row in thresholds() for text in (row.confidence, row.scope_confidence)}
    keys |= {f"sure.{text.partition(', ')[0]}" for text in said}
    for key in keys:
        assert all(render.text(key, lang) for lang in LANGUAGES), key
    assert len(pinned()) == 61
