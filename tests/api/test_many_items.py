"""Many items at once: a change of chosen items is an import that the service writes, tried first and undone once."""

import re
from html import unescape
from uuid import uuid4

import pytest

from pipelines.filings import deadlines
from schemas.imports.types import ImportAccepted
from tests.api.people import hidden, signed_in
from tests.api.portfolios import BODY, counted, run, service_behind, weighed
from tests.api.published import published
from warehouse.figures import stored

CAP = {"component_type": "cap", "material_family": "plastic", "weight_g": 2.5, "substances": {
    "pfas": {"status": "absent", "evidence": "a;b"}}}  # fmt: skip
LABEL = {"component_type": "label", "material_family": "paper", "weight_g": 1}


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def supplier(caller, pool):
    identity = str(uuid4())
    with pool.company(caller.company) as conn:
        conn.execute(
            "INSERT INTO suppliers (id, company_id, name, created_at, updated_at) VALUES (%s, %s, %s, now(), now())",
            (identity, caller.company, "Nord GmbH"),
        )
    return identity


def detail(caller, sku_id):
    return caller.get(f"/skus/{sku_id}").json()["data"]


def change(caller, body, query="", **headers):
    return caller.post(f"/skus/changes{query}", body, headers=headers)


def test_a_filter_is_changed_on_the_page_shown_first_and_undone_once(caller, browser):
    caller.made(sku_code="total", name="Tray 1", markets=["FR"], material="paper")
    caller.made(sku_code="007", name="Tray 2", markets=["FR"], material="paper", packaging_level="sales")
    other = caller.made(sku_code="GLASS", name="Jar", material="glass")
    page = unescape(browser.get("/items?material=paper").text)
    [address] = [link for link in re.findall(r'href="([^"]+)"', page) if link.startswith("/items/change")]
    page = unescape(browser.get(address).text)
    assert "Items chosen: 2" in page
    form = hidden(page) | {"packaging_level": "transport", "markets": "Germany, FR", "use_contexts": "food"}
    refused = browser.post(address, hidden(page))
    assert refused.status_code == 400
    assert "Choose at least one field to set." in refused.text
    tried = browser.post(address, form)
    assert tried.status_code == 303, re.findall(r'<div class="fault".*?</div>', tried.text, re.DOTALL)
    dry = tried.headers["Location"]
    run(caller, dry.rpartition("/")[2])
    report = unescape(browser.get(dry).text)
    assert "change of 2 items.csv" in report
    assert caller.get(f"/imports/{dry.rpartition('/')[2]}").json()["counts"]["updated"] == 2
    assert {sku["packaging_level"] for sku in caller.get("/skus").json()["data"]} == {None, "sales"}, "nothing yet"
    done = browser.post(f"{dry}/columns", hidden(report) | {"step": "import"})
    assert done.status_code == 303, done.text
    written = done.headers["Location"].rpartition("/")[2]
    run(caller, written)
    found = {sku["sku_code"]: sku for sku in caller.get("/skus").json()["data"]}
    assert [found[code]["packaging_level"] for code in ("total", "007")] == ["transport"] * 2
    assert [found[code]["name"] for code in ("total", "007")] == ["Tray 1", "Tray 2"]
    assert found["total"]["markets"] == ["DE", "FR"]
    assert detail(caller, found["007"]["id"])["use_contexts"] == ["food"]
    assert detail(caller, other["id"])["version"] == 1
    undo = browser.get(f"/imports/{written}/undo").text
    assert browser.post(f"/imports/{written}/undo", hidden(undo)).status_code == 303
    found = {sku["sku_code"]: sku for sku in caller.get("/skus").json()["data"]}
    assert (found["total"]["packaging_level"], found["007"]["packaging_level"]) == (None, "sales")


def test_ticked_items_get_a_supplier_and_a_polymer_where_a_part_lacks_them(caller, browser, pool):
    own = supplier(caller, pool)
    lacking = caller.made(sku_code="A-1", name="Bottle", components=[BODY, CAP, LABEL])
    whole = caller.made(sku_code="A-2", name="Jar", components=[BODY | {"supplier_id": own}])
    apart = caller.made(sku_code="A-3", name="Apart", components=[CAP])
    before = detail(caller, lacking["id"])["components"]
    assert f'name="id" value="{lacking["id"]}"' in browser.get("/items").text
    address = f"/items/change?id={lacking['id']}&id={whole['id']}"
    form = hidden(browser.get(address).text) | {"supplier_id": own, "polymer_or_grade": "PP"}
    dry = browser.post(address, form).headers["Location"]
    run(caller, dry.rpartition("/")[2])
    report = unescape(browser.get(dry).text)
    assert "change of 1 item.xlsx" in report, "the other lacks nothing"
    done = browser.post(f"{dry}/columns", hidden(report) | {"step": "import"})
    written = done.headers["Location"].rpartition("/")[2]
    run(caller, written)
    after = detail(caller, lacking["id"])["components"]
    filled = [part | {"supplier_id": own} for part in before]
    filled[1]["polymer_or_grade"] = "PP"
    ignored = ("substances",)
    assert [{k: v for k, v in part.items() if k not in ignored} for part in after] == [
        {k: v for k, v in part.items() if k not in ignored} for part in filled
    ]
    assert after[1]["substances"] == before[1]["substances"]
    assert detail(caller, apart["id"])["version"] == 1


def test_a_program_does_the_same(caller):
    first, second = (caller.made(sku_code=f"R-{at}", name="Box", markets=["DE"]) for at in range(2))
    fields = {"packaging_level": "primary", "pfas": "absent", "heavy_metals": "absent"}
    dry = change(caller, {"fields": fields, "ids": [first["id"]], "dry_run": True})
    assert dry.status_code == 202, dry.text
    published(ImportAccepted, dry.json())
    assert (dry.json()["dry_run"], dry.json()["rows"]) == (True, 1)
    run(caller, dry.json()["id"])
    assert caller.get(f"/imports/{dry.json()['id']}").json()["preview"]["grades"]
    key = str(uuid4())
    one, again = (change(caller, {"fields": fields}, "?market=DE", **{"Idempotency-Key": key}) for _ in range(2))
    assert one.json()["id"] == again.json()["id"]
    assert one.json()["rows"] == 2
    run(caller, one.json()["id"])
    for sku in (first, second):
        found = detail(caller, sku["id"])
        assert (found["packaging_level"], found["substances"]["pfas"]["status"]) == ("sales", "absent")
    undone = caller.post(f"/imports/{one.json()['id']}/undo", {}).json()
    assert undone["counts"]["restored"] == 2
    assert detail(caller, first["id"])["packaging_level"] is None


def figures_of(caller, pool):
    """Tonnes, verdicts and due days as the company's pages have them."""
    counted(caller)
    weighed(caller)
    tonnes = {
        (row["market"], row["year"], row["category_code"]): row["in_scope_tonnes"]
        for row in caller.get("/figures/tonnes?limit=200").json()["data"]
        if row["half"] == 0
    }
    verdicts = {
        (row["market"], row["year"], row["obligation"], row["material"], row["threshold_tonnes"]): row["verdict"]
        for row in caller.get("/figures/obligations?limit=200").json()["data"]
    }
    service = service_behind(caller)
    found = stored.current(service.settings.data_dir, caller.company)
    with pool.company(caller.company) as conn:
        days = {(row.market, str(row.on)) for row in deadlines(conn, found, service.clock.today())}
    return tonnes, verdicts, days


def changes_of(before, after):
    return {key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}


def test_tonnes_and_duties_that_follow_are_shown_before_as_they_come_afterwards(caller, browser, pool):
    """On the page and by REST, of the chosen items, beside those of the company that are not chosen."""
    body = BODY | {"weight_g": 200}
    for code, units in (("T-1", 1_000_000), ("T-2", 30_000), ("T-3", 100_000)):
        made = caller.made(sku_code=code, name="Jar", packaging_level="sales", use_contexts=["food"], components=[body])
        volumes = [{"market": market, "year": 2025, "half": 0, "units_placed": units} for market in ("DE", "FR")]
        assert caller.put(f"/skus/{made['id']}/volumes", volumes).status_code == 200
    before = figures_of(caller, pool)
    chosen = [row["id"] for row in caller.get("/skus").json()["data"] if row["sku_code"] != "T-3"]
    fields = {"packaging_level": "transport", "use_contexts": ["industrial"]}
    dry = change(caller, {"fields": fields, "ids": chosen, "dry_run": True}).json()["id"]
    run(caller, dry)
    preview = caller.get(f"/imports/{dry}").json()["preview"]
    page = unescape(browser.get(f"/imports/{dry}").text)
    run(caller, change(caller, {"fields": fields, "ids": chosen}).json()["id"])
    after = figures_of(caller, pool)
    differences = [changes_of(*sides) for sides in list(zip(before, after, strict=True))[:2]]
    assert differences[0]
    assert differences[1], "20 tonnes are left of 226"
    others = 20  # tonnes of the item that was not chosen, which its figure has before and after
    told = {
        (row["market"], row["year"], row["category_code"]): tuple(
            row[side]["in_scope_tonnes"] + others for side in ("before", "after")
        )
        for row in preview["tonnes"]
    }
    assert told == differences[0]
    assert {
        (row["market"], row["year"], row["obligation"], row["material"], row["threshold_tonnes"]): (
            row["before"],
            row["after"],
        )
        for row in preview["duties"]
    } == differences[1]
    days = {(row["market"], row["due_on"]) for row in preview["days"] if not row["begins"]}
    assert days == before[2] - after[2]
    assert {(row["market"], row["due_on"]) for row in preview["days"] if row["begins"]} == after[2] - before[2]
    for words in ("What would become of the tonnes", "206", "What would become of your duties", "Germany, 2025"):
        assert words in page
    listed = preview["days"] + preview["duties"]
    assert page.count("<li>", page.index('id="duties"')) >= len(listed)


def test_a_change_that_follows_nothing_in_tonnes_says_so(caller, browser, pool):
    made = caller.made(sku_code="U-1", name="Jar", packaging_level="sales", components=[BODY])
    volumes = [{"market": "DE", "year": 2025, "half": 0, "units_placed": 1_000}]
    assert caller.put(f"/skus/{made['id']}/volumes", volumes).status_code == 200
    dry = change(caller, {"fields": {"pfas": "absent"}, "all": True, "dry_run": True}).json()["id"]
    run(caller, dry)
    assert "tonnes" not in caller.get(f"/imports/{dry}").json()["preview"], "no snapshot yet"
    assert "are not known yet" in unescape(browser.get(f"/imports/{dry}").text)
    counted(caller)
    dry = change(caller, {"fields": {"pfas": "absent"}, "all": True, "dry_run": True}).json()["id"]
    run(caller, dry)
    preview = caller.get(f"/imports/{dry}").json()["preview"]
    assert [preview[name] for name in ("tonnes", "duties", "days")] == [[], [], []]
    assert preview["figures_as_of"]
    page = unescape(browser.get(f"/imports/{dry}?lang=de").text)
    assert "Die Tonnen dieser Artikel blieben gleich." in page
    assert "Keine Pflicht würde beginnen oder enden." in page


def test_declarations_of_chosen_items_are_drafted_in_one_go(caller, browser):
    skus = [caller.made(sku_code=f"D-{at}", name="Box", material="paper") for at in range(4)]
    other = caller.made(sku_code="D-9", name="Jar", material="glass")
    has_one = caller.post(f"/skus/{skus[0]['id']}/doc-drafts", {}).json()["data"]
    address = "/items/change?" + "&".join(f"id={sku['id']}" for sku in skus[:3])
    page = unescape(browser.get(address).text)
    [action] = [link for link in re.findall(r'action="([^"]+)"', page) if link.startswith("/items/change/drafts")]
    form = hidden(page) | {"draft_lang": "de"}
    for drafted in ("Drafts prepared: 2. Left out, as they have a draft", "Drafts prepared: 0. Left out"):
        answer = browser.post(action, form)  # sent again, it finds the drafts
        assert answer.status_code == 303, answer.text
        assert drafted in unescape(browser.get(answer.headers["Location"]).text)
    drafts = caller.get("/doc-drafts").json()["data"]
    assert {draft["sku_code"] for draft in drafts} == {"D-0", "D-1", "D-2"}
    assert {draft["lang"] for draft in drafts if draft["id"] != has_one["id"]} == {"de"}
    answer = browser.post("/items/change/drafts?material=glass", form)
    assert answer.status_code == 303
    assert caller.get("/doc-drafts").json()["data"][0]["sku_id"] == other["id"]


def test_drafts_are_of_some_chosen_items_and_not_too_many(caller, browser, monkeypatch):
    skus = [caller.made(sku_code=f"M-{at}", name="Box") for at in range(3)]
    monkeypatch.setattr("services.conformity.documents.MOST_DRAFTED", 2)
    form = hidden(browser.get(f"/items/change?id={skus[0]['id']}").text)
    assert "/items/change/drafts" not in browser.get("/items/change?all=1").text
    for address in ("/items/change/drafts", "/items/change/drafts?all=1", "/items/change/drafts?id=nothing"):
        refused = browser.post(address, form)
        assert refused.status_code == 400
    assert caller.get("/doc-drafts").json()["data"] == []


def test_the_companys_own_words_do_not_change_what_is_set(caller):
    sku = caller.made(sku_code="W-1", name="Box")
    words = [{"field": "packaging_level", "text": "transport", "value": "sales"}]
    assert caller.put("/words", {"words": words}).status_code == 200
    answer = change(caller, {"fields": {"packaging_level": "transport"}, "all": True})
    run(caller, answer.json()["id"])
    assert detail(caller, sku["id"])["packaging_level"] == "transport"


LEVEL = {"packaging_level": "sales"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"fields": {}}, "Choose at least one field"),
        ({"fields": LEVEL, "ids": []}, "No item is chosen"),
        ({"fields": LEVEL, "ids": [str(uuid4()) for _ in range(20_001)]}, "At most 20000 items"),
        ({"fields": {"markets": None}, "all": True}, "cannot be cleared"),
        ({"fields": {"polymer_or_grade": "unobtainium"}, "all": True}, "no known polymer"),
        ({"fields": {"polymer_or_grade": "PP"}, "all": True}, "nothing would change"),
        ({"fields": LEVEL}, "Say which SKUs in one way"),
        ({"fields": LEVEL, "all": False}, "Say which SKUs in one way"),
        ({"fields": LEVEL, "all": True, "ids": [str(uuid4())]}, "Say which SKUs in one way"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_a_sentence(caller, body, said):
    caller.made(sku_code="N-1", name="Box")
    answer = change(caller, body)
    assert answer.status_code == 400, answer.text[:500]
    assert said in answer.text


def test_every_item_is_changed_only_where_the_page_was_asked_for_all_of_them(caller, browser):
    skus = [caller.made(sku_code=f"E-{at}", name="Box") for at in range(2)]
    for address in ("/items/change", "/items/change?lang=en&sort=name"):  # no item was ticked
        page = unescape(browser.get(address).text)
        assert "No item is chosen." in page
        assert "Items chosen: 0" in page
        assert '<form method="post" action="/items/change' not in page
        refused = browser.post(
            address, hidden(page) | {"packaging_level": "sales", "csrf": hidden(browser.get("/items/new").text)["csrf"]}
        )
        assert (refused.status_code, "No item is chosen." in refused.text) == (400, True)
    listed = unescape(browser.get("/items").text)
    [address] = [link for link in re.findall(r'href="([^"]+)"', listed) if link.startswith("/items/change")]
    page = browser.get(address).text
    assert "Items chosen: 2" in page
    tried = browser.post(address, hidden(page) | {"packaging_level": "sales"})
    assert tried.status_code == 303, tried.text
    import_id = tried.headers["Location"].rpartition("/")[2]
    run(caller, import_id)
    assert caller.get(f"/imports/{import_id}").json()["counts"]["updated"] == len(skus)


def test_another_companys_ids_and_a_filter_beside_ids_are_refused(caller, join):
    own, foreign = caller.made(sku_code="O-1", name="Box"), join().made(sku_code="O-1", name="Box")
    answer = change(caller, {"fields": LEVEL, "ids": [own["id"], foreign["id"]]})
    assert (answer.status_code, "1 of these ids" in answer.text) == (400, True)
    answer = change(caller, {"fields": LEVEL, "ids": [own["id"]]}, "?market=DE")
    assert (answer.status_code, "in one way" in answer.text) == (400, True)
    for query in ("?market=DE", "?sort=name"):  # an order leaves all items
        answer = change(caller, {"fields": LEVEL} | ({"all": True} if "market" in query else {}), query)
        assert (answer.status_code, "in one way" in answer.text) == (400, True)
    assert detail(caller, own["id"])["version"] == 1


def test_a_viewer_is_refused(caller, pool):
    caller.made(sku_code="V-1", name="Box")
    viewer = signed_in(caller, pool, "viewer")
    assert "/items/change" not in viewer.get("/items").text
    assert viewer.get("/items/change").status_code == 403


def test_a_file_of_a_person_without_names_is_still_asked_about(caller):
    sent = {"filename": "list.csv", "dry_run": "true"}
    text = b"sku_code;packaging_level\nA-1;sales\n"
    refused = caller.request("POST", "/imports", content=text, params=sent)
    assert (refused.status_code, "missing_column" in refused.text) == (400, True)


def test_what_others_changed_since_it_was_shown_is_not_overwritten(caller, browser):
    sku = caller.made(sku_code="S-1", name="Bottle", components=[CAP])
    dry = change(caller, {"fields": {"polymer_or_grade": "PP"}, "all": True, "dry_run": True}).json()["id"]
    run(caller, dry)
    caller.post("/skus", {"sku_code": "S-1", "name": "Bottle", "components": [CAP | {"weight_g": 9}]})
    page = browser.get(f"/imports/{dry}").text
    refused = browser.post(f"/imports/{dry}/columns", hidden(page) | {"step": "import"})
    assert (refused.status_code, "since it was shown: 1." in refused.text) == (400, True)
    assert detail(caller, sku["id"])["components"][0]["weight_g"] == 9
    again = change(caller, {"fields": {"polymer_or_grade": "PP"}, "all": True}).json()["id"]
    run(caller, again)
    part = detail(caller, sku["id"])["components"][0]
    assert (part["weight_g"], part["polymer_or_grade"]) == (9, "PP")
