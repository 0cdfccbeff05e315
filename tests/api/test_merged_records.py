"""Two brands, sites or suppliers that are one: what names either names the one that stays, by any door."""

from html import unescape

import pytest

from services.audit import verify
from tests.api.people import hidden
from tests.api.portfolios import run
from tests.api.test_import_answers import imported, stored
from tests.api.test_library_pages import browser, send, signed_in, uses

__all__ = ["browser"]
PART = {"component_type": "body", "material_family": "glass", "weight_g": 180}
KINDS = {"brand": {}, "site": {"roles": ["packing"]}, "supplier": {}}


def made(caller, kind, name):
    answer = caller.post(f"/{kind}s", {"name": name, **KINDS[kind]})
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]["id"]


def merged(caller, kind, gone, kept):
    return caller.post(f"/{kind}s/{gone}/merge", {"into": kept})


def using(kind, record_id):
    """The fields of a SKU that names the record."""
    match kind:
        case "brand":
            return {"brand_id": record_id}
        case "site":
            return {"manufacturing_site_id": record_id, "packing_site_id": record_id}
    return {"components": [PART | {"supplier_id": record_id}]}


def named(kind, sku):
    """The ids of such records that the SKU names."""
    match kind:
        case "brand":
            return {sku["brand_id"]}
        case "site":
            return {sku["manufacturing_site_id"], sku["packing_site_id"]}
    return {part["supplier_id"] for part in sku["components"]}


def detail(caller, sku):
    return caller.get(f"/skus/{sku['id']}").json()["data"]


@pytest.mark.parametrize("kind", KINDS)
def test_one_is_merged_into_another_on_its_page_after_both_are_shown(caller, pool, browser, kind):
    gone, kept = made(caller, kind, "Acme GmbH"), made(caller, kind, "Acme")
    skus = [caller.made(**using(kind, each)) for each in (gone, gone, kept)]
    archived = caller.made(**using(kind, gone))
    assert caller.post(f"/skus/{archived['id']}/archive", {}).status_code == 200
    path, count = uses(browser, kind)["Acme GmbH"]
    assert count >= 2
    page = unescape(browser.get(f"{path}?into=acme").text)
    assert "Merge Acme GmbH into Acme?" in page
    assert f"/library/{kind}/{gone}/merge" in page
    assert hidden(page)["into"] == kept
    versions = [detail(caller, sku)["version"] for sku in skus]
    answer = browser.post(f"{path}/merge", hidden(page))
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/library/{kind}/{kept}")
    found = [detail(caller, sku) for sku in skus]
    assert [named(kind, sku) for sku in found] == [{kept}] * 3
    assert [sku["version"] for sku in found] == [versions[0] + 1, versions[1] + 1, versions[2]]
    assert list(uses(browser, kind)) == ["Acme"]
    assert "Acme</h1>" in browser.get(path).text, "the old address shows the one that stays"
    again = browser.post(f"{path}/merge", hidden(page))
    assert (again.status_code, [detail(caller, sku)["version"] for sku in skus]) == (
        303,
        [sku["version"] for sku in found],
    )
    entries = caller.get("/audit-log?limit=100").json()["data"]
    [merge] = [entry for entry in entries if (entry["after"] or {}).get("merged_into")]
    assert (merge["action"], merge["resource_id"], merge["after"]) == (f"{kind}.updated", gone, {"merged_into": kept})
    assert {e["resource_id"] for e in entries if e["action"] == f"{kind}.created"} == {gone, kept}
    changed = [entry for entry in entries if entry["action"] == "sku.updated"]
    assert {gone in str(entry["before"]) and kept in str(entry["after"]) for entry in changed} == {True}
    with pool.company(caller.company) as conn:
        assert verify(conn).ok


@pytest.mark.parametrize("kind", KINDS)
def test_the_old_id_and_the_old_name_mean_the_one_that_stays(caller, kind):
    first, second, third = (made(caller, kind, name) for name in ("Ödland", "Brache", "Wiese"))
    sku = caller.made(**using(kind, first))
    assert merged(caller, kind, first, second).json()["data"]["id"] == second
    assert merged(caller, kind, second, third).json()["data"]["id"] == third, "a chain has one end"
    for record_id in (first, second):
        answer = caller.made(**using(kind, record_id))
        assert named(kind, answer) == {third}
        changed = caller.request("PATCH", f"/{kind}s/{record_id}", json={"name": "Wiese", **KINDS[kind]})
        assert changed.json()["data"]["id"] == third
    assert named(kind, detail(caller, sku)) == {third}
    if kind != "site":
        assert caller.get(f"/skus?{kind}_id={first}").json()["pagination"]["total"] == 3
        assert caller.get("/skus?q=odland").json()["pagination"]["total"] == 3
    column = {"brand": "brand_name", "site": "packing_site_id", "supplier": "supplier_name"}[kind]
    for at, name in enumerate(("ÖDLAND", "Brache", second)):
        imported(
            caller,
            f"SKU;Name;Component;Material;Weight (g);{column}\nI-{at};Jar;body;glass;180;{name}\n",
        )
        assert third in named(kind, stored(caller)[f"I-{at}"]), name
    if kind == "brand":
        assert [record["name"] for record in caller.get("/brands").json()["data"]] == ["Wiese"]
    same = caller.post(f"/{kind}s", {"name": "Ödland", **KINDS[kind]})
    assert (same.status_code, same.json()["outcome"], same.json()["data"]["id"]) == (200, "unchanged", third)


def test_what_cannot_be_merged_is_refused(caller, join, browser):
    one, other, site = made(caller, "brand", "One"), made(caller, "brand", "Other"), made(caller, "site", "One")
    stranger = join()
    foreign = made(stranger, "brand", "One")
    for into, code in ((one, "invalid_format"), (foreign, "unknown_reference"), (site, "unknown_reference")):
        answer = merged(caller, "brand", one, into)
        assert (answer.status_code, answer.json()["details"][0]["code"]) == (400, code)
    assert merged(stranger, "brand", one, foreign).status_code == 404
    assert caller.post(f"/brands/{one}/merge", {}).status_code == 400
    assert join(scopes=("read",)).post(f"/brands/{one}/merge", {"into": other}).status_code == 403
    path, _ = uses(browser, "brand")["One"]
    for lang, sentence in (("en", "another record"), ("fr", "un autre enregistrement"), ("de", "anderen Eintrag")):
        assert sentence in browser.get(f"{path}?into=one&lang={lang}").text
        assert 'id="into-error"' in browser.get(f"{path}?into=nobody&lang={lang}").text
    assert send(browser, f"{path}/merge", {"into": foreign}).status_code == 400
    assert send(browser, f"{path}/merge", {"into": "x"}).status_code == 400
    assert merged(caller, "brand", one, other).status_code == 200
    third = made(caller, "brand", "Third")
    assert merged(caller, "brand", one, third).status_code == 400, "it would merge the one that stays"
    assert merged(caller, "brand", other, one).status_code == 400, "they are one already"
    assert sorted(uses(browser, "brand")) == ["Other", "Third"]


def test_a_viewer_merges_nothing(caller, pool):
    one, other = made(caller, "brand", "One"), made(caller, "brand", "Other")
    viewer = signed_in(caller, pool, "viewer")
    page = viewer.get(f"/library/brand/{one}?into=Other").text
    assert "<form" not in page.partition("<main")[2].partition("</main")[0]
    token = hidden(viewer.get("/portfolio").text)
    assert viewer.post(f"/library/brand/{one}/merge", token | {"into": other}).status_code == 403


def test_the_one_that_stays_takes_the_name_of_the_one_that_went(caller, browser):
    gone, kept = made(caller, "brand", "Acme"), made(caller, "brand", "Acme (old)")
    assert merged(caller, "brand", gone, kept).status_code == 200
    assert caller.request("PATCH", f"/brands/{kept}", json={"name": "Acme"}).json()["data"]["name"] == "Acme"
    assert list(uses(browser, "brand")) == ["Acme"]
    for at, name in enumerate(("Acme", "Acme (old)")):
        imported(caller, f"SKU;Name;brand_name\nN-{at};Jar;{name}\n")
        assert stored(caller)[f"N-{at}"]["brand_id"] == kept
    other = made(caller, "brand", "Other")
    refused = caller.request("PATCH", f"/brands/{other}", json={"name": "acme (OLD)"})
    assert "is there already" in refused.text


def test_an_undone_import_brings_no_merged_record_back(caller):
    one, other, third = (made(caller, "brand", name) for name in ("One", "Other", "Third"))
    sku = caller.made(sku_code="U-1", brand_id=one)
    first = imported(caller, "SKU;Name;brand_name\nU-1;Jar;Third\n")
    assert detail(caller, sku)["brand_id"] == third
    assert merged(caller, "brand", one, other).status_code == 200
    assert caller.post(f"/imports/{first}/undo", {}).json()["counts"]["restored"] == 1
    assert detail(caller, sku)["brand_id"] == other


def test_an_archived_sku_names_the_one_that_stays_when_it_returns(caller, pool):
    gone, kept = made(caller, "supplier", "One"), made(caller, "supplier", "Other")
    sku = caller.made(**using("supplier", gone))
    assert caller.post(f"/skus/{sku['id']}/archive", {}).status_code == 200
    assert merged(caller, "supplier", gone, kept).status_code == 200
    returned = caller.post("/skus", {"sku_code": sku["sku_code"], "name": "Bottle"})
    assert returned.status_code in (200, 201), returned.text
    assert named("supplier", detail(caller, sku)) == {kept}
    with pool.company(caller.company) as conn:
        assert verify(conn).ok


def test_a_shared_component_has_the_supplier_that_stays(caller):
    gone, kept = made(caller, "supplier", "One"), made(caller, "supplier", "Other")
    part = {"name": "Cap", "component_type": "cap", "material_family": "plastic"}
    made_part = caller.post("/components", {"code": "C-1", **part, "supplier_id": gone}).json()["data"]
    assert merged(caller, "supplier", gone, kept).status_code == 200
    later = caller.post("/components", {"code": "C-2", **part, "supplier_id": gone})
    assert later.json()["data"]["supplier_id"] == kept
    sku = caller.made(components=[{"component_type": "cap", "component_id": made_part["id"]}])
    assert named("supplier", sku) == {kept}


def test_an_import_that_was_read_before_the_merge_is_written_to_the_one_that_stays(caller):
    gone, kept = made(caller, "brand", "One"), made(caller, "brand", "Other")
    sent = {"file": ("list.csv", b"SKU;Name;brand_name\nL-1;Jar;One\n")}
    waiting = caller.request("POST", "/imports", files=sent).json()["id"]
    assert merged(caller, "brand", gone, kept).status_code == 200
    run(caller, waiting)
    assert stored(caller)["L-1"]["brand_id"] == kept
