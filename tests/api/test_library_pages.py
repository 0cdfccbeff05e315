"""What SKUs refer to by name, in the browser: listed with its uses, added, renamed, by whom it may, in its company."""

import re
from html import unescape

import pytest

from tests.api.people import hidden, signed_in
from tests.api.portfolios import run
from tests.api.test_import_answers import answered, imported, stored


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def send(browser, path, fields, lang="en"):
    token = hidden(browser.get("/library").text)
    return browser.post(f"{path}?lang={lang}", token | fields)


def uses(browser, kind):
    page = unescape(browser.get(f"/library?kind={kind}").text)
    rows = re.findall(r'<th scope="row"><a href="([^"?]+)[^"]*">([^<]+)</a></th><td[^>]*>(?:<a[^>]*>)?(\d+)', page)
    return {name: (path, int(number)) for path, name, number in rows}


def test_a_record_is_added_used_renamed_and_entered_in_the_ledger(caller, browser):
    assert send(browser, "/library/supplier", {"name": "Glas Nord", "country": "Allemagne"}).status_code == 303
    assert send(browser, "/library/supplier", {"name": "Glas Nord", "country": "DE"}).status_code == 303, "sent twice"
    assert send(browser, "/library/brand", {"name": "Aqua"}).status_code == 303
    assert send(browser, "/library/site", {"name": "Lyon", "roles": "packing"}).status_code == 303
    imported(
        caller,
        "SKU;Name;Component;Material;Weight (g);supplier_name;brand_name;packing_site_id\n"
        "U-1;Jar;body;glass;180;glas nord;AQUA;Lyon\nU-1;Jar;cap;metal;5;Glas Nord;AQUA;Lyon\n",
    )
    assert {name: number for name, (_, number) in uses(browser, "supplier").items()} == {"Glas Nord": 2}
    assert {name: number for name, (_, number) in uses(browser, "brand").items()} == {"Aqua": 1}
    assert {name: number for name, (_, number) in uses(browser, "site").items()} == {"Lyon": 1}
    path, _ = uses(browser, "supplier")["Glas Nord"]
    assert 'value="DE"' in browser.get(path).text
    for _ in range(2):
        assert send(browser, path, {"name": "Glas Süd", "email": "q@glas.example"}).status_code == 303
    entries = [e for e in caller.get("/audit-log").json()["data"] if e["action"].startswith("supplier.")]
    assert [(e["action"], e["before"], e["after"]) for e in entries] == [
        (
            "supplier.updated",
            {"name": "Glas Nord", "email": None, "country": "DE"},
            {"name": "Glas Süd", "email": "q@glas.example", "country": None},
        ),
        ("supplier.created", None, {"name": "Glas Nord", "country": "DE"}),
    ]
    assert list(uses(browser, "supplier").values()) == [(path, 2)]


def test_bad_input_stands_at_its_field_in_three_languages(browser):
    assert send(browser, "/library/brand", {"name": "Aqua"}).status_code == 303
    for lang, sentence in (("en", "is there already"), ("fr", "existe déjà"), ("de", "gibt es schon")):
        answer = send(browser, "/library/brand", {"name": "ÁQUA"}, lang)
        assert (answer.status_code, sentence in answer.text) == (400, True)
    for path, fields, at in (
        ("/library/brand", {"name": " "}, "name"),
        ("/library/brand", {"name": "x" * 256}, "name"),
        ("/library/supplier", {"name": "A", "email": "nobody"}, "email"),
        ("/library/supplier", {"name": "A", "country": "Atlantis"}, "country"),
        ("/library/site", {"name": "A"}, "roles"),
        ("/library/site", {"name": "A", "roles": "selling"}, "roles"),
    ):
        answer = send(browser, path, fields)
        assert answer.status_code == 400, (path, fields)
        assert f'id="{at}-error"' in answer.text, (path, fields)
    assert send(browser, "/library/brand", {"name": "Terra"}).status_code == 303
    path, _ = uses(browser, "brand")["Terra"]
    assert 'id="name-error"' in send(browser, path, {"name": "aqua"}).text
    assert sorted(uses(browser, "brand")) == ["Aqua", "Terra"]
    assert send(browser, "/library/sku", {"name": "A"}).status_code == 404
    assert browser.get("/library?kind=sku").status_code == 200
    assert browser.get("/library/brand/none").status_code == 404


def test_a_viewer_sees_and_another_company_does_not(caller, join, pool, browser):
    assert send(browser, "/library/site", {"name": "Lyon", "roles": "packing", "city": "Lyon"}).status_code == 303
    path, _ = uses(browser, "site")["Lyon"]
    viewer = signed_in(caller, pool, "viewer")
    assert "Products are packed" in viewer.get(path).text
    assert "<form" not in viewer.get(path).text.partition("<main")[2].partition("</main")[0]
    assert viewer.post(path, hidden(viewer.get("/portfolio").text) | {"name": "X"}).status_code == 403
    stranger = signed_in(join(), pool, "editor")
    assert uses(stranger, "site") == {}
    assert stranger.get(path).status_code == 404
    assert send(stranger, path, {"name": "Paris", "roles": "packing"}).status_code == 404
    assert list(uses(browser, "site")) == ["Lyon"]


WIDE = (
    "SKU;Name;Material 1;Gewicht 1 (g);Lieferant 1;Material 2;Gewicht 2 (g);Lieferant;Marke\n"
    "W-1;Jar;glass;180;Verre SA;metal;5;Glas Nord;Aqua\nW-2;Cup;paper;9;;;;Glas Nord;\n"
)


def test_a_row_s_supplier_is_that_of_each_part_that_names_none(caller):
    first = imported(caller, WIDE)
    report = caller.get(f"/imports/{first}").json()
    assert (report["counts"]["created"], report["counts"]["rejected"]) == (2, 0), "what is asked is not read"
    assert {asked["header"] for asked in report["source"]["asked"]} == {"Lieferant 1", "Lieferant", "Marke"}
    assert {asked["answer"]["create"] for asked in report["source"]["asked"]} == {True}
    report = answered(caller, first, {"create": True})
    assert report["errors"] == []
    assert (report["counts"]["updated"], report["source"]["asked"]) == (2, [])
    names = {
        entry["resource_id"]: entry["after"]["name"]
        for entry in caller.get("/audit-log").json()["data"]
        if entry["action"] in ("supplier.created", "brand.created")
    }
    skus = stored(caller)
    suppliers = {code: [names.get(part["supplier_id"]) for part in sku["components"]] for code, sku in skus.items()}
    assert suppliers == {"W-1": ["Verre SA", "Glas Nord"], "W-2": ["Glas Nord"]}
    assert names[skus["W-1"]["brand_id"]] == "Aqua"


def test_a_supplier_of_a_row_without_parts_is_not_read_and_not_asked_about(caller):
    first = imported(caller, "SKU;Name;supplier_name\nN-1;Jar;Glas Nord\n")
    report = caller.get(f"/imports/{first}").json()
    assert report["source"]["asked"] == []
    assert [column["header"] for column in report["source"]["ignored"]] == ["supplier_name"]
    assert stored(caller)["N-1"]["components"] == []
    refused = caller.post(f"/imports/{first}/repeat", {"mapping": {"columns": {"supplier_id": "supplier_name"}}})
    assert [issue["code"] for issue in refused.json()["details"]] == ["invalid_mapping"]


def test_one_confirmation_on_the_page_of_an_import_makes_all_records(caller, browser):
    page = browser.get(f"/imports/{(first := imported(caller, WIDE))}").text
    assert page.count("Make these records") == 3, "each column is asked about"
    answer = browser.post(f"/imports/{first}/columns", hidden(page) | {"answer.0": "create", "step": "import"})
    assert answer.status_code == 303
    run(caller, answer.headers["Location"].rpartition("/")[2])
    assert (sorted(uses(browser, "supplier")), list(uses(browser, "brand"))) == (["Glas Nord", "Verre SA"], ["Aqua"])


def test_a_program_adds_a_supplier_and_changes_records_as_the_pages_do(caller, join):
    made = caller.post("/suppliers", {"name": "Glas Nord", "email": "q@glas.example", "country": "de"})
    assert (made.status_code, made.json()["outcome"], made.json()["data"]["country"]) == (201, "created", "DE")
    path = f"/suppliers/{made.json()['data']['id']}"
    changed = caller.request("PATCH", path, json={"name": "Glas Süd", "email": None})
    data = changed.json()["data"]
    assert (changed.status_code, data["name"], data["email"], data["country"]) == (200, "Glas Süd", None, "DE")
    again = caller.request("PATCH", path, json={"name": "Glas Süd"}).json()
    assert again == changed.json() | {"outcome": "unchanged"}
    assert caller.post("/suppliers", {"name": "Ver SA"}).status_code == 201
    taken = caller.request("PATCH", path, json={"name": "ver sa"})
    assert (taken.status_code, taken.json()["error"]) == (409, "name_taken")
    body = {"json": {"name": "A", "roles": []}}
    assert caller.request("PATCH", path, **body).json()["details"][0]["code"] == "unknown_field"
    body = {"json": {"name": "A"}}
    assert caller.request("PATCH", path.replace("suppliers", "brands"), **body).status_code == 404
    assert join().request("PATCH", path, **body).status_code == 404
    assert join(scopes=("read",)).request("PATCH", path, **body).json()["error"] == "insufficient_scope"
    actions = [entry["action"] for entry in caller.get("/audit-log").json()["data"]]
    assert actions.count("supplier.updated") == 1
