"""The page of stored records that today's rules contradict: it lists each with the reason, and changes nothing."""

import psycopg

from tests.api.portfolios import BODY, counted


def test_what_is_already_false_is_listed_with_its_reason_in_each_language(caller, database, browser):
    assert "No such record was found." in browser.get("/portfolio/records").text
    sku = caller.made(sku_code="FALSE-1", components=[BODY])
    assert caller.put(f"/skus/{sku['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 9}])
    counted(caller)
    kept = caller.post("/declarations", {"market": "DE", "year": 2025, "format": "csv"}).json()["data"]["id"]
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        stored = '{"status":"below_limit","value":150}'
        owner.execute("UPDATE skus SET heavy_metals = %s WHERE id = %s", [stored, sku["id"]])
    assert caller.put(f"/skus/{sku['id']}/volumes", [{"market": "DE", "year": 2025, "units_placed": 8_000_000}])
    counted(caller)
    for lang, said in (("en", "read as mg_per_kg"), ("fr", "lu en mg_per_kg"), ("de", "gelesen als mg_per_kg")):
        page = browser.get(f"/portfolio/records?lang={lang}").text
        assert said in page
        assert f'href="/items/{sku["id"]}' in page
        assert f'href="/declarations/kept/{kept}' in page
    assert "/portfolio/records" in browser.get("/portfolio").text
    assert caller.get(f"/skus/{sku['id']}").json()["data"]["substances"]["heavy_metals"]["value"] == 150
