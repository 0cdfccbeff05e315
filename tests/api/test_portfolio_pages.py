"""Portfolio, items and imports as pages: what they tell, where they lead, and that they are one company's alone."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import psycopg
import pytest

from api.pages import render
from schemas.messages import LANGUAGES, number
from schemas.vocabularies import VOCABULARIES
from tests.api.people import PASSWORD, Browser, added, hash_of_password, hidden, signed_in
from tests.api.portfolios import BODY, counted, run, sent, weighed
from warehouse import conformity, library
from warehouse.figures.gaps import GAPS
from warehouse.operate import staff

SCRIPT = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
HEADER = "sku_code;name;weight_grams;food_contact;gtin"


@pytest.fixture
def browser(caller, pool):
    browser = Browser(caller.http, caller.address)
    assert browser.sign_in(added(pool, caller.company)).headers["location"] == "/portfolio"
    return browser


def doc(pool, caller, sku_id, *, ends, status="valid"):
    now = datetime.now(UTC)
    values = {
        "sku_id": sku_id,
        "reference": f"DOC-{ends}",
        "supplier_name": None,
        "status": status,
        "issued_on": None,
        "expires_on": now.date() + timedelta(days=ends),
    }
    with pool.company(caller.company) as conn:
        conformity.add(conn, caller.company, uuid4(), values=values, at=now)


def words(page):
    """The text of a page's main part, tags taken out."""
    main = page.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def links(page):
    return {unescape(address) for address in re.findall(r'href="([^"]+)"', page.text)}


def safe(page):
    assert "<script" not in page.text
    assert "<img" not in page.text
    assert "&lt;script&gt;" in page.text
    return True


def test_an_empty_company_is_told_so(browser):
    page = browser.get("/portfolio")
    assert "There are no items yet" in words(page)
    assert "No file was imported yet" in words(page)
    assert "Items found: 0" in words(browser.get("/items"))
    assert "No file was imported yet" in words(browser.get("/imports"))


def test_the_portfolio_counts_and_leads_to_the_items_behind_each_count(caller, browser, pool):
    bottle = caller.made(sku_code="BOTTLE", name="Bottle", packaging_format="bottle", components=[BODY], markets=["FR"])
    caller.made(sku_code="BOX", name="Box", markets=["DE"])
    volumes = [
        {"market": "FR", "year": 2025, "units_placed": 1_000_000},
        {"market": "FR", "year": 2024, "units_placed": 5},
    ]
    caller.put(f"/skus/{bottle['id']}/volumes", volumes)
    assert "not counted yet" in words(browser.get("/portfolio"))
    doc(pool, caller, bottle["id"], ends=30)
    doc(pool, caller, bottle["id"], ends=91)
    counted(caller)
    assert "No tonnes were computed yet" in words(browser.get("/portfolio"))
    weighed(caller)
    page = browser.get("/portfolio")
    told = words(page)
    assert "Packaging items: 2, components: 1" in told
    assert "Nothing was written since then" in told
    assert "Tonnes placed on the market in 2025" in told
    assert "France (FR) 20" in told
    assert "DOC-30" in told
    assert "DOC-91" not in told
    assert {"/items?grade=not_assessed", "/items?doc_status=valid", "/items?gap=markets_missing"} - links(page) == {
        "/items?gap=markets_missing"
    }, "a gap that no item has is not listed"
    assert {"/items?market=FR", f"/items/{bottle['id']}", "/portfolio?year=2024"} <= links(page)
    assert "Tonnes placed on the market in 2024" in words(browser.get("/portfolio?year=2024"))
    charts = page.text.partition("Tonnes by market")[0]
    rows = re.findall(r'<a href="(/items\?[^"]+)">.*?<td class="number">([\d,]+)</td>', charts)
    assert len(rows) > 12
    for address, counted_there in rows:
        assert re.search(rf"Items found: {counted_there}(?![\d,])", words(browser.get(unescape(address)))), address
    caller.made()
    assert "not counted yet: 1." in words(browser.get("/portfolio"))


def test_items_are_found_by_text_grade_gap_market_and_together(caller, browser):
    for code, fields in {
        "B-1": {"name": "Flacon d’été", "components": [BODY], "markets": ["FR"]},
        "B-2": {"name": "Flasche", "markets": ["DE"]},
        "C-1": {"name": "Carton 100 %", "material": "paper"},
    }.items():
        caller.made(sku_code=code, **fields)
    counted(caller)

    def found(query):
        return re.findall(r"<code>([^<]+)</code></th>", browser.get(f"/items?{query}").text)

    assert found("") == ["C-1", "B-2", "B-1"], "the newest first"
    assert found("q=ETE") == ["B-1"], "letters and accents do not matter"
    assert found("q=b-") == ["B-2", "B-1"], "the newest first"
    assert found("q=b-&sort=sku_code") == ["B-1", "B-2"]
    assert found("q=100 carton paper") == ["C-1"], "words in any order"
    assert found("q=100 %25") == ["C-1"]
    assert found("q=_") == []
    assert found("gap=markets_missing") == ["C-1"]
    assert found("market=fr") == ["B-1"]
    assert found("gap=markets_missing&q=b") == []
    assert "B-2" in found("grade=not_assessed")
    assert set(found("doc_status=missing")) == {"B-1", "B-2", "C-1"}
    caller.made(sku_code="NEW", name="Newer than the count")
    assert found("q=newer") == ["NEW"], "words are those of this moment"
    for wrong in ("grade=D", "gap=none", "doc_status=no", "market=nowhere", "flag=none", "rule=none", "sort=none"):
        refused = browser.get(f"/items?{wrong}&q=b")
        assert refused.status_code == 400
        assert 'role="alert"' in refused.text
        assert 'value="b"' in refused.text, "what was typed is kept"


def test_a_long_list_turns_pages_and_keeps_the_search(caller, browser):
    rows = "\n".join(f"P-{place:03};Bottle {place};1;;" for place in range(120))
    run(caller, sent(caller, f"{HEADER}\n{rows}\n"))
    counted(caller)
    first = browser.get("/items?q=bottle")
    assert "1 to 50 of 120" in words(first)
    assert "/items?offset=50&q=bottle" in links(first)
    last = browser.get("/items?q=bottle&offset=100")
    assert "101 to 120 of 120" in words(last)
    assert "P-119" in last.text
    assert browser.get("/items?offset=none").status_code == 200


def test_an_item_is_told_with_its_grade_its_gaps_and_what_became_of_it(caller, browser, pool):
    made = caller.made(
        sku_code="BOTTLE",
        name="Bottle",
        packaging_format="bottle",
        food_contact=True,
        markets=["FR"],
        components=[
            BODY | {"colour": "carbon_black"},
            {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2.5},
        ],
        substances={"pfas": {"status": "below_limit", "value": 10, "unit": "ppb", "evidence": "Report 7"}},
    )
    caller.put(f"/skus/{made['id']}", {"sku_code": "BOTTLE", "name": "Bottle 50 cl"})
    caller.put(f"/skus/{made['id']}/volumes", [{"market": "FR", "year": 2026, "units_placed": 1500}])
    doc(pool, caller, made["id"], ends=-1)
    counted(caller)
    told = words(browser.get(f"/items/{made['id']}"))
    for part in (
        "Bottle 50 cl",
        "Not recyclable",
        "PET_bottle",
        "Rules that lower the grade",
        "Incompatible",
        "88.9 %",
        "below limit",
        "10 ppb",
        "Report 7",
        "France (FR) 2026 1,500",
        "Expired",
        "No Declaration of Conformity covers the SKU today.",
        "Item name: Bottle → Bottle 50 cl",
        "The item was created",
    ):
        assert part in told, part
    french = browser.get(f"/items/{made['id']}?lang=fr").text
    assert not [
        part
        for part in (
            "2,5",
            "88,9 %",
            "1\u202f500",
            "Non recyclable, à cause de",
            "Aucune déclaration de conformité ne couvre",
        )
        if part not in french
    ]


def test_an_item_says_what_could_change_its_grade_and_which_texts_and_uses_are_not_known(caller, browser):
    made = caller.made(
        sku_code="JAR",
        name="Jar",
        packaging_format="tray",
        packaging_level="sales",
        markets=["FR"],
        components=[BODY, BODY | {"component_type": "label", "polymer_or_grade": "polyethylenne", "weight_g": 1}],
    )
    bottle = caller.made(sku_code="BOTTLE", name="Bottle", packaging_format="bottle", components=[BODY])
    for lang, colour, became, unread in (
        ("en", "What colour is the pack?", "Could become: B, Not recyclable.", "was not understood"),
        ("fr", "De quelle couleur est l’emballage ?", "Pourrait devenir : B, Non recyclable.", "n’a pas été compris"),
        ("de", "Welche Farbe hat die Verpackung?", "Könnte werden: B, Nicht recyclingfähig.", "wurde nicht verstanden"),
    ):
        told = words(browser.get(f"/items/{bottle['id']}?lang={lang}"))
        assert colour in told, told
        assert became in told
        told = words(browser.get(f"/items/{made['id']}?lang={lang}"))
        assert "polyethylenne" in told
        assert unread in told
    assert "What it is used for is not said" in words(browser.get(f"/items/{made['id']}?lang=en"))
    counted(caller)
    assert "Welche Farbe hat die Verpackung?" in words(browser.get("/portfolio?lang=de"))


def test_who_has_no_audit_log_sees_no_history(join, pool):
    caller = join(plan="growth")
    browser = signed_in(caller, pool)
    assert "Latest changes" not in words(browser.get(f"/items/{caller.made()['id']}"))


def test_an_import_is_told_with_its_report_by_reason_and_how_the_file_was_read(caller, browser):
    bad = "\n".join(f"X-{place};Tray;heavy;;" for place in range(60))
    import_id = sent(caller, f"Code article;name;weight_grams;Farbe;gtin\nA-1;Bottle;12,5;;\n{bad}\nA-2;Jar;1,5;;123\n")
    waiting = words(browser.get(f"/imports/{import_id}"))
    assert "Waiting" in waiting
    assert "0 of 62 lines" in waiting
    run(caller, import_id)
    page = browser.get(f"/imports/{import_id}")
    told = words(page)
    assert "62 of 62 lines" in told
    assert "Created 1" in told
    assert "Rejected 61" in told
    assert "Packaging weight (g): The cell is no number." in told
    assert "invalid_number" not in told
    assert "Code article SKU" in told
    assert "Columns not read: 1 D: Farbe" in told
    assert "1 to 50 of 61" in told
    [reason] = [address for address in links(page) if "code=invalid_gtin" in address]
    chosen = browser.get(reason)
    assert "A-2" in words(chosen)
    assert "X-1" not in words(chosen)
    assert browser.get(f"/imports/{import_id}?code=invalid_gtin").status_code == 404
    assert "portfolio.csv" in words(browser.get("/portfolio"))
    [item] = caller.get("/skus").json()["data"]
    assert f"/imports/{import_id}" in links(browser.get(f"/items/{item['id']}"))
    assert "Zeile 2 von" in words(browser.get(f"/items/{item['id']}?lang=de"))


def test_only_staff_find_the_runs_of_an_import(stopped, pool, database):
    browser, email = Browser(stopped.http, stopped.address), f"{uuid4()}@operator.example"
    browser.sign_in(added(pool, stopped.company))
    import_id = sent(stopped, f"{HEADER}\nA;B;;;\n")
    runs = f"/dagster/runs?q[0]=tag:pcds/import_id={import_id}"
    assert runs not in links(browser.get(f"/imports/{import_id}"))
    with psycopg.connect(database.owner_url) as owner:
        staff.add(owner, uuid4(), email=email, role="analyst", password_hash=hash_of_password(), at=datetime.now(UTC))
    assert browser.get("/staff/runs").headers["location"] == "/staff/sign-in?next=%2Fstaff"
    form = hidden(browser.get("/staff/sign-in").text)
    assert browser.post("/staff/sign-in", form | {"email": email, "password": PASSWORD}).status_code == 303
    assert runs in links(browser.get(f"/imports/{import_id}"))
    assert browser.get("/staff/runs", params={"import": f" {import_id} "}).headers["location"] == runs
    for wrong in ("", "acme.csv", "<b>"):
        told = browser.get("/staff/runs", params={"import": wrong})
        assert (told.status_code, "<b>" in told.text) == (422, False)
        assert "32 digits" in words(told)


def test_another_companys_and_unknown_records_are_not_there(caller, join, browser):
    other = join()
    item, import_id = other.made()["id"], sent(other, f"{HEADER}\nA;B;;;\n")
    counted(other)
    for path in (f"/items/{item}", f"/items/{uuid4()}", "/items/x", f"/imports/{import_id}", "/imports/x"):
        answer = browser.get(path)
        assert answer.status_code == 404, path
        assert "There is no such record" in words(answer)
    assert item not in browser.get("/items").text
    assert import_id not in browser.get("/imports").text
    assert "There are no items yet" in words(browser.get("/portfolio"))


def test_the_pages_are_for_who_is_signed_in(caller):
    stranger = Browser(caller.http, caller.address)
    for path in (f"/items/{uuid4()}", f"/imports/{uuid4()}", "/items?q=a", "/portfolio?year=2024"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["location"][:9]) == (303, "/sign-in?")


def test_stored_script_is_shown_as_text(caller, browser, pool):
    made = caller.made(
        sku_code=SCRIPT,
        name=SCRIPT,
        description=SCRIPT,
        material_subtype=SCRIPT,
        packaging_format=SCRIPT,
        components=[BODY | {"polymer_or_grade": SCRIPT}],
        substances={"pfas": {"status": "absent", "evidence": SCRIPT}},
    )
    caller.put(f"/skus/{made['id']}", {"sku_code": SCRIPT, "name": f"{SCRIPT} 2"})
    now = datetime.now(UTC)
    values = {
        "sku_id": made["id"],
        "reference": SCRIPT,
        "supplier_name": SCRIPT,
        "status": "valid",
        "issued_on": None,
        "expires_on": now.date(),
    }
    with pool.company(caller.company) as conn:
        conformity.add(conn, caller.company, uuid4(), values=values, at=now)
    bare = SCRIPT.replace('"', "")
    import_id = sent(caller, f"sku_code;name;weight_grams;{bare}\n{bare};Bottle;{bare};x\nB;Box;1;y\n", f"{bare}.csv")
    run(caller, import_id)
    counted(caller)
    for path in ("/portfolio", "/items", "/items?lang=de", f"/items/{made['id']}", "/imports", f"/imports/{import_id}"):
        assert safe(browser.get(path)), path
    assert safe(browser.get("/items", params={"q": SCRIPT}))


def test_numbers_are_written_as_the_language_writes_them():
    assert [number(1234567.5, lang, 3) for lang in LANGUAGES] == ["1,234,567.5", "1\u202f234\u202f567,5", "1.234.567,5"]
    assert [number(value, "en", 2) for value in (0, -0.001, 0.005, -1234.5, 1000)] == [
        "0",
        "0",
        "0.01",
        "-1,234.5",
        "1,000",
    ]


def test_a_declaration_is_listed_from_ninety_days_before_its_last_day_to_that_day(caller, browser, pool):
    sku = caller.made()
    for ends in (-1, 0, 90, 91):
        doc(pool, caller, sku["id"], ends=ends)
    doc(pool, caller, None, ends=5)
    doc(pool, caller, sku["id"], ends=6, status="pending")
    told = words(browser.get("/portfolio"))
    assert re.findall(r"DOC-(-?\d+)", told) == ["0", "5", "90"]
    assert "3 in all" in told


def test_the_names_of_what_an_item_refers_to_are_shown(caller, browser, pool):
    brand, supplier = uuid4(), uuid4()
    now = datetime.now(UTC)
    with pool.company(caller.company) as conn:
        library.add(conn, "brand", caller.company, brand, values={"name": "Alpine", "owner_name": "X"}, at=now)
        named = {"name": SCRIPT, "email": None, "country": None}
        library.add(conn, "supplier", caller.company, supplier, values=named, at=now)
    made = caller.made(brand_id=str(brand), components=[BODY | {"supplier_id": str(supplier)}])
    page = browser.get(f"/items/{made['id']}")
    assert "Brand Alpine" in words(page)
    assert f"Supplier {SCRIPT}" in words(page)
    assert safe(page)


def test_the_latest_versions_are_shown_and_no_more(caller, browser):
    made = caller.made()
    for place in range(12):
        caller.put(f"/skus/{made['id']}", {"sku_code": made["sku_code"], "name": f"Name {place}"})
    told = words(browser.get(f"/items/{made['id']}"))
    assert re.findall(r"Version (\d+)", told) == [str(version) for version in range(13, 3, -1)]
    assert "Name 10 → Name 11" in told


def test_every_code_that_a_page_may_show_has_its_word():
    known = {row["key"] for row in render.rows()}
    shown = {
        "gap": GAPS,
        "grade": VOCABULARIES["recyclability_grade"],
        "doc_status": VOCABULARIES["doc_status"],
        "doc.status": VOCABULARIES["doc_record_status"],
        "imports.state": VOCABULARIES["import_status"],
        "review.filer": VOCABULARIES["audit_actor_type"],
        "verdict": ("compatible", "limited", "incompatible", "not_assessed", "overruled"),
        "effect": ("none", "removed", "limited", "removed_limited", "not_assessed", "disqualify"),
        "imports.layout": ("rows", "long", "wide", "materials"),
    }
    assert {f"{group}.{code}" for group, codes in shown.items() for code in codes} - known == set()


def test_an_import_says_which_columns_it_asks_about(caller, browser):
    import_id = sent(caller, "product_id,name,length_cm,weight_kg\nP1,Chair,40,3.5\n")
    told = words(browser.get(f"/imports/{import_id}"))
    assert "Not read because it can mean several things: 1 column D: “weight_kg” may be the product’s" in told
    assert "Columns not read: 1 C: length_cm" in told


def test_an_import_shows_what_the_texts_became(caller, browser):
    import_id = sent(caller, "sku_code,name,material,weight_grams\nTIN,Tin,Weißblech,25\n")
    told = words(browser.get(f"/imports/{import_id}"))
    assert "What the texts became: 2" in told
    assert "D Packaging weight 25 25 g 1" in told
    assert "C Main material Weißblech metal, tinplate 1" in told


@pytest.mark.parametrize(("lang", "said"), [("en", "differ by more than 5 %"), ("de", "5 %"), ("fr", "5 %")])
def test_an_item_says_that_its_weight_is_not_that_of_its_parts(caller, browser, lang, said):
    made = caller.made(weight_grams=32.1, components=[{**BODY, "weight_g": 27.1}])
    listed = caller.get("/skus").json()["data"][0]
    assert (made["weight_source"], listed["weight_source"], listed["weight_grams"]) == ("declared", "declared", 32.1)
    note = browser.get(f"/items/{made['id']}?lang={lang}").text
    assert said in note
    assert "32.1" in note or "32,1" in note
    same = caller.made(sku_code="same", components=[{**BODY, "weight_g": 27.1}])
    assert caller.get("/skus").json()["data"][0]["weight_source"] == same["weight_source"] == "components"
    assert "5 %" not in browser.get(f"/items/{same['id']}?lang={lang}").text
