"""Editing, making and copying an item in the browser, without JavaScript."""

import random
import re
from html import unescape
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from api.skus import form as form_skus
from schemas.fields import SKU_FIELDS
from schemas.vocabularies import SUBSTANCES, VOCABULARIES
from tests.api.forms import filled, replaced
from tests.api.people import signed_in
from tests.api.walking import broken_places

ASKED = {field.name for field in SKU_FIELDS if not field.deprecated} - {"components", "substances", "substances_source"}
"""The fields that a section of the form must have."""

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 12.5}
LABEL = {"component_type": "label", "material_family": "paper", "weight_g": 0.5, "coverage_percent": 40}
FORM_SENT = [
    ("en", "This form was sent before with other values"),
    ("fr", "Ce formulaire a déjà été envoyé avec d’autres valeurs"),
    ("de", "Dieses Formular wurde schon mit anderen Werten gesendet"),
]


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def made(caller, **fields):
    return caller.post("/skus", {"name": "Jar", **fields}).json()["data"]


def stored(caller, sku_id):
    return caller.get(f"/skus/{sku_id}").json()["data"]


def send(browser, path, pairs, step):
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": browser.address}
    sent = urlencode([*pairs, ("step", step)])
    return browser.http.post(path, content=sent, headers={**headers, "Sec-Fetch-Site": "same-origin"})


def form(browser, path):
    page = browser.get(path)
    assert page.status_code == 200, page.text
    return filled(page.text, "item")


def test_what_would_follow_is_shown_and_then_saved(caller, browser):
    item = made(caller, sku_code="E-1", material="plastic", components=[BODY], markets=["FR"])
    path = f"/items/{item['id']}/edit"
    assert path in browser.get(f"/items/{item['id']}").text
    pairs = replaced(form(browser, f"{path}?lang=de"), name="Dose", parts__0__weight_g="14,25", reusable="yes")
    checked = send(browser, f"{path}?lang=de", pairs, "check")
    assert checked.status_code == 200
    assert "Was daraus folgt" in checked.text
    assert stored(caller, item["id"])["name"] == "Jar"
    saved = send(browser, f"{path}?lang=de", filled(checked.text, "item"), "save")
    assert (saved.status_code, saved.headers["Location"]) == (303, f"/items/{item['id']}?lang=de&saved=yes")
    after = stored(caller, item["id"])
    assert (after["name"], after["reusable"], after["markets"]) == ("Dose", True, ["FR"])
    assert (after["components"][0]["weight_g"], after["components"][0]["id"]) == (14.25, item["components"][0]["id"])
    entry = caller.get("/audit-log").json()["data"][0]
    assert (entry["actor"]["type"], sorted(entry["after"])) == (
        "user",
        ["components", "name", "reusable", "weight_grams"],
    )


def test_parts_and_volumes_are_added_and_removed_without_javascript(caller, browser):
    item = made(caller, sku_code="E-2", components=[BODY, LABEL])
    path = f"/items/{item['id']}/edit"
    page = send(browser, path, form(browser, path), "add.part").text
    page = send(browser, path, filled(page, "item"), "remove.part.0").text
    page = send(browser, path, filled(page, "item"), "add.volume").text
    typed = {"parts__2__component_type": "cap", "parts__2__material_family": "metal", "parts__2__weight_g": "2"}
    row = {"volumes__0__market": "FR", "volumes__0__year": "2026", "volumes__0__units_placed": "1200"}
    assert send(browser, path, replaced(filled(page, "item"), **typed, **row), "save").status_code == 303
    after = stored(caller, item["id"])
    assert [line["component_type"] for line in after["components"]] == ["label", "cap"]
    assert after["components"][0]["id"] == item["components"][1]["id"]
    assert after["volumes"] == [{"market": "FR", "year": 2026, "half": 0, "units_placed": 1200}]
    pairs = replaced(form(browser, path), volumes__0__units_placed="")
    assert send(browser, path, pairs, "save").status_code == 303
    assert stored(caller, item["id"])["volumes"] == []


def test_a_fault_stands_at_its_input_and_what_was_typed_stays(caller, browser):
    item = made(caller, sku_code="E-3", components=[BODY])
    path = f"/items/{item['id']}/edit"
    page = send(browser, path, form(browser, path), "add.volume").text
    wrong = {
        "weight_grams": "heavy",
        "gtin": "123",
        "parts__0__coverage_percent": "140",
        "name": "",
        "markets": "DE, XX",
    }
    answer = send(browser, f"{path}?lang=fr", replaced(filled(page, "item"), **wrong), "save")
    assert answer.status_code == 400
    for name in ("weight_grams", "gtin", "parts.0.coverage_percent", "name", "markets"):
        assert f'id="{name}-error"' in answer.text, name
    assert broken_places(answer.text) == []
    assert ("weight_grams", "heavy") in filled(answer.text, "item")
    rows = {"volumes__0__market": "XX", "volumes__0__year": "2026", "volumes__0__units_placed": "1"}
    answer = send(browser, path, replaced(filled(page, "item"), **rows), "save")
    assert 'id="volumes.0.market-error"' in answer.text
    assert stored(caller, item["id"])["volumes"] == []


def test_the_second_of_two_people_is_told_and_keeps_the_others_fields(caller, browser):
    item = made(caller, sku_code="E-4", description="as it was")
    path = f"/items/{item['id']}/edit"
    mine = replaced(form(browser, path), name="Mine", product_category="Jam")
    theirs = replaced(form(browser, path), name="Theirs", description="theirs")
    assert send(browser, path, theirs, "save").status_code == 303
    told = send(browser, path, mine, "save")
    assert told.status_code == 409
    notice = unescape(told.text.partition('role="alert"')[2].partition("</div>")[0])
    assert re.findall(r"<li>(.*?)</li>", notice) == ["Item name: Theirs", "Packaging description: theirs"]
    assert stored(caller, item["id"])["name"] == "Theirs"
    assert send(browser, path, filled(told.text, "item"), "save").status_code == 303
    after = stored(caller, item["id"])
    assert (after["name"], after["description"], after["product_category"]) == ("Mine", "theirs", "Jam")
    untouched = replaced(form(browser, path), product_category="Honey")
    assert send(browser, path, replaced(form(browser, path), name="Theirs again"), "save").status_code == 303
    told = send(browser, path, untouched, "save")
    assert send(browser, path, filled(told.text, "item"), "save").status_code == 303
    after = stored(caller, item["id"])
    assert (after["name"], after["product_category"]) == ("Theirs again", "Honey"), "the name too is kept"


@pytest.mark.parametrize(("lang", "said"), FORM_SENT)
def test_a_form_that_the_back_button_shows_again_stores_no_other_values(caller, browser, lang, said):
    item = made(caller, sku_code="E-BACK")
    path = f"/items/{item['id']}/edit?lang={lang}"
    pairs = form(browser, path)
    assert send(browser, path, replaced(pairs, name="First"), "save").status_code == 303
    again = send(browser, path, replaced(pairs, name="Second"), "save")
    assert (again.status_code, said in again.text, "Idempotency" in again.text) == (400, True, False)
    assert stored(caller, item["id"])["name"] == "First"


def test_a_form_has_no_more_parts_than_its_page(caller, browser):
    item = made(caller, sku_code="E-6", components=[BODY] * 50)
    path = f"/items/{item['id']}/edit"
    full = send(browser, path, form(browser, path), "add.part")
    assert (full.status_code, "takes no more" in full.text) == (400, True)
    assert len([name for name, _ in filled(full.text, "item") if name == "part"]) == 50, "what was typed stays"
    csrf = [pair for pair in form(browser, path) if pair[0] in ("csrf", "version", "seen")]
    for name in ("part", "volume"):
        forged = send(browser, path, csrf + [(name, str(number)) for number in range(3_000)], "check")
        assert forged.status_code == 413


@pytest.mark.parametrize("lang", ["en", "de", "fr"])
def test_an_item_with_more_parts_and_volumes_than_a_form_shows_keeps_them(caller, browser, lang):
    item = made(caller, sku_code="E-7", components=[BODY] * 51)
    for market in ("FR", "DE", "IT"):
        rows = [{"market": market, "year": 2000 + at, "units_placed": at} for at in range(67)]
        written = caller.put(f"/skus/{item['id']}/volumes", rows)
        assert written.status_code == 200, written.text
    before = stored(caller, item["id"])
    path = f"/items/{item['id']}/edit?lang={lang}"
    page, pairs = browser.get(path).text, form(browser, path)
    assert ("51 " in page, "201 " in page) == (True, True), "how many there are, and that they stay"
    assert not {"part", "volume"} & {name for name, _ in pairs}
    for button in ("add.part", "add.volume"):
        assert button not in page
        assert send(browser, path, pairs, button).status_code == 200, "a forged button checks"
    edited = [(name, "Anders" if name == "name" else value) for name, value in pairs]
    assert send(browser, path, edited, "save").status_code == 303
    after = stored(caller, item["id"])
    assert after["name"] == "Anders"
    assert (after["components"], after["volumes"]) == (before["components"], before["volumes"])
    for name in ("part", "volume"):
        assert send(browser, path, [*pairs, (name, "0")], "save").status_code == 413
    copy = browser.get(f"/items/{item['id']}/copy?lang={lang}").text
    assert ("51 " in copy, "201 " in copy) == (True, False)


def test_the_largest_item_that_a_form_shows_is_saved(caller, browser):
    item = made(caller, sku_code="E-8", components=[BODY] * 50)
    for market in ("FR", "DE"):
        rows = [{"market": market, "year": 2000 + at, "units_placed": at} for at in range(100)]
        assert caller.put(f"/skus/{item['id']}/volumes", rows).status_code == 200
    path = f"/items/{item['id']}/edit"
    pairs = form(browser, path)
    edited = [(name, "Other" if name == "name" else value) for name, value in pairs]
    assert send(browser, path, edited, "save").status_code == 303
    assert stored(caller, item["id"])["name"] == "Other"


def test_an_item_is_made_and_copied(caller, browser):
    pairs = replaced(form(browser, "/items/new"), sku_code="N-1", name="New", material="glass", weight_grams="200")
    assert "What would follow" in send(browser, "/items/new", pairs, "check").text
    saved = send(browser, "/items/new", pairs, "save")
    sku_id = saved.headers["Location"].rpartition("/")[2].partition("?")[0]
    assert stored(caller, sku_id)["weight_grams"] == 200
    assert send(browser, "/items/new", pairs, "save").headers["Location"] == saved.headers["Location"], "sent twice"
    again = replaced(pairs, once=str(uuid4()))
    refused = send(browser, "/items/new", again, "save")
    assert (refused.status_code, "already" in refused.text) == (400, True)
    caller.put(f"/skus/{sku_id}", {"sku_code": "N-1", "name": "New", "components": [BODY]})
    copy = filled(browser.get(f"/items/{sku_id}/copy").text, "item")
    assert ("sku_code", "") in copy
    saved = send(browser, "/items/new", replaced(copy, sku_code="N-2"), "save")
    twin = stored(caller, saved.headers["Location"].rpartition("/")[2].partition("?")[0])
    assert (twin["material"], len(twin["components"])) == ("glass", 1)
    assert twin["components"][0]["id"] != stored(caller, sku_id)["components"][0]["id"]


def test_a_new_item_of_a_code_that_rests_or_was_renamed_is_told_so(caller, browser):
    gone, old = made(caller, sku_code="GONE"), made(caller, sku_code="OLD")
    assert caller.post(f"/skus/{gone['id']}/archive", {}).status_code == 200
    assert caller.request("PATCH", f"/skus/{old['id']}", json={"sku_code": "NEW"}).status_code == 200
    for code, said in (("GONE", "The item GONE is archived. Bring it back first."), ("OLD", "was renamed to “NEW”")):
        refused = send(browser, "/items/new", replaced(form(browser, "/items/new"), sku_code=code, name="x"), "save")
        assert (refused.status_code, said in unescape(refused.text)) == (400, True), code
    assert stored(caller, gone["id"])["archived_at"], "nothing brought it back"


def test_what_is_missing_leads_to_its_input(caller, browser):
    item = made(caller, sku_code="E-5", material="plastic", components=[BODY, LABEL])
    page = unescape(browser.get(f"/items/{item['id']}").text)
    links = re.findall(rf'href="(/items/{item["id"]}/edit\?field=[^"]+)#([^"]+)"', page)
    assert len(links) > 2
    for address, anchor in links:
        opened = browser.get(address).text
        assert f'id="{anchor}"' in opened, anchor
    assert browser.get(f"/items/{uuid4()}/edit").status_code == 404
    assert browser.get(f"/items/{uuid4()}/copy").status_code == 404


def random_item(random_):
    def code(vocabulary):
        return random_.choice((None, *VOCABULARIES[vocabulary]))

    def entry():
        status = code("substance_status")
        parts = {"value": random_.choice((None, 0.5, 1e-7)), "unit": code("substance_unit"), "source": None}
        return None if status is None else {"status": status, "basis": None, "evidence": "Report\n7", **parts}

    texts = (None, "Flasche, 50 cl", "a\nb", "=1+1", "ﬁne 🧴", "“x”")
    values = {}
    for field in (form_skus.SKU[name] for name in sorted(ASKED)):
        match field.kind:
            case "text" | "gtin" | "uuid":
                values[field.name] = random_.choice(texts)
            case "number":
                values[field.name] = random_.choice((None, 0.0, 12.5, 1e-7, 123456.789))
            case "integer":
                values[field.name] = random_.choice((None, 0, 2**31 - 1))
            case "truth":
                values[field.name] = random_.choice((None, True, False))
            case "code":
                values[field.name] = code(field.vocabulary)
            case "codes" | "markets":
                values[field.name] = random_.choice(([], ["FR"], ["DE", "FR"]))
    values["substances"] = {name: entry() for name in SUBSTANCES}
    line = {
        **BODY,
        "id": "x",
        "additives": random_.choice((None, [], ["slip"])),
        "separable": random_.choice((None, False)),
    }
    values["components"] = [{**line, "substances": {name: entry() for name in SUBSTANCES}} for _ in range(3)]
    values["volumes"] = [{"market": "FR", "year": 2026, "half": 0, "units_placed": 5}]
    return values


@pytest.mark.parametrize("lang", ["en", "fr", "de"])
@pytest.mark.parametrize("seed", range(20))
def test_an_untouched_form_changes_nothing(lang, seed):
    item = random_item(random.Random(seed))
    opened = form_skus.form_of(item, lang)
    # What a browser makes of values: no line end in an input of one line, CRLF in a text of several.
    sent = form_skus.Form(
        [
            (name, value.replace("\n", "\r\n") if name in form_skus.LONG else value.replace("\n", ""))
            for name, value in opened.multi_items()
        ]
    )
    assert form_skus.changed(sent, opened, lang) == {}
    assert form_skus.changed_volumes(sent, opened, lang) == []
    body = form_skus.body_of(sent, lang)
    for name in sorted(ASKED - form_skus.LONG):
        value = item[name]
        expected = " ".join(value.split("\n")) if isinstance(value, str) else value
        assert body[name] == (expected if expected != [] else None), name
    assert [line.get("additives") for line in body["components"]] == [line["additives"] for line in item["components"]]


def test_every_field_of_the_contract_is_asked_once():
    asked = [name for names in form_skus.SECTIONS.values() for name in names]
    assert sorted(asked) == sorted(ASKED)


TYPED = [
    ("en", "1,234", "1.234", "1234"),
    ("de", "1.234", "1,234", "1234"),
    ("fr", "12.500", "12,500", "12500"),
]


@pytest.mark.parametrize(("lang", "typed", "fraction", "whole"), TYPED)
def test_a_number_with_one_mark_before_three_digits_is_asked_with_both_readings(  # noqa: PLR0917
    caller, browser, lang, typed, fraction, whole
):
    item = made(caller, sku_code="N-1")
    path = f"/items/{item['id']}/edit?lang={lang}"
    refused = send(browser, path, replaced(form(browser, path), weight_grams=typed), "save")
    assert refused.status_code == 400
    told = unescape(refused.text)
    assert fraction in told
    assert whole in told
    for answer in (fraction, whole):
        assert send(browser, path, replaced(form(browser, path), weight_grams=answer), "save").status_code == 303
        held = stored(caller, item["id"])["weight_grams"]
        assert held == float(answer.replace(",", "."))


@pytest.mark.parametrize(
    ("lang", "typed", "grams"),
    [
        ("en", "1,234.5", 1234.5),
        ("en", "1.234", 1.234),
        ("de", "1.234,5", 1234.5),
        ("de", "1,234", 1.234),
        ("de", "1 234,5", 1234.5),
        ("fr", "1 234,5", 1234.5),
        ("fr", "1\u202f234,5", 1234.5),
        ("en", "1,234,567", 1234567),
        ("en", "0,125", 0.125),
        ("en", "0.1 kg", 100),
    ],
)
def test_a_number_that_can_be_read_in_one_way_is_read_as_in_a_file(caller, browser, lang, typed, grams):
    item = made(caller, sku_code="N-2")
    path = f"/items/{item['id']}/edit?lang={lang}"
    assert send(browser, path, replaced(form(browser, path), weight_grams=typed), "save").status_code == 303
    assert stored(caller, item["id"])["weight_grams"] == grams
    again = form(browser, path)  # what is shown is read back as it is
    assert send(browser, path, replaced(again, name="Other"), "save").status_code == 303
    assert stored(caller, item["id"])["weight_grams"] == grams


def test_every_unclear_number_of_a_form_is_named_at_its_input(caller, browser):
    item = made(caller, sku_code="N-3", components=[BODY])
    path = f"/items/{item['id']}/edit?lang=en"
    page = send(browser, path, form(browser, path), "add.volume").text
    row = {"volumes__0__market": "FR", "volumes__0__year": "2026", "volumes__0__units_placed": "1,200"}
    unclear = {**row, "parts__0__weight_g": "12,345", "substances__pfas__status": "below_limit"}
    pairs = replaced(filled(page, "item"), **unclear, substances__pfas__value="1,234", weight_grams="12-13")
    refused = send(browser, path, pairs, "save")
    assert refused.status_code == 400
    for name in ("volumes.0.units_placed", "parts.0.weight_g", "substances.pfas.value", "weight_grams"):
        assert f'href="#{name}"' in refused.text, name
    assert "is a range" in unescape(refused.text)


def test_markets_are_typed_by_name_and_an_unknown_one_is_answered_with_the_nearest(caller, browser):
    item = made(caller, sku_code="M-1")
    path = f"/items/{item['id']}/edit?lang=en"
    row = {"volumes__0__market": "Deutschland", "volumes__0__year": "2026", "volumes__0__units_placed": "7"}
    pairs = replaced(filled(send(browser, path, form(browser, path), "add.volume").text, "item"), **row)
    refused = send(browser, path, replaced(pairs, markets="Germany; Frnace", volumes__0__market="Germny"), "save")
    assert refused.status_code == 400
    assert "France (FR)" in unescape(refused.text)
    assert unescape(refused.text).count("Germany (DE)")
    typed = replaced(pairs, markets="United Kingdom, Allemagne; FR IT")
    assert send(browser, path, typed, "save").status_code == 303
    after = stored(caller, item["id"])
    assert after["markets"] == ["GB", "DE", "FR", "IT"]
    assert [row["market"] for row in after["volumes"]] == ["DE"]
    assert (
        caller.put(f"/skus/{item['id']}", {"sku_code": "M-1", "name": "x", "markets": ["Germany"]}).status_code == 400
    )


def test_the_filters_of_pages_take_names_of_markets(caller, browser):
    made(caller, sku_code="M-2", markets=["DE"])
    assert "M-2" in browser.get("/items?market=Deutschland").text
    unknown = browser.get("/items?market=Germny")
    assert unknown.status_code == 400
    assert "Germany (DE)" in unescape(unknown.text)
    assert browser.get("/markets/Germany").status_code == 200
    assert caller.get("/skus", params={"market": "Deutschland"}).status_code == 400


def test_a_part_is_edited_by_its_id(caller, browser):
    """Each input names its part: an equal one that is filled in before it takes no id from it."""
    item = made(caller, sku_code="E-ID", components=[BODY, LABEL])
    body, label = (line["id"] for line in item["components"])
    path = f"/items/{item['id']}/edit"
    pairs = replaced(
        form(browser, path), parts__0__material_family="glass", parts__0__component_type="cap", parts__0__weight_g="3"
    )
    assert ("parts.0.id", body) in pairs
    assert send(browser, path, pairs, "save").status_code == 303
    after = stored(caller, item["id"])["components"]
    assert [(line["id"], line["component_type"]) for line in after] == [(body, "cap"), (label, "label")]


def test_a_copy_has_parts_of_its_own(caller, browser):
    item = made(caller, sku_code="E-1", components=[BODY, LABEL])
    pairs = replaced(form(browser, f"/items/{item['id']}/copy"), sku_code="E-2", name="Copy")
    assert not any(name.endswith(".id") for name, _ in pairs)
    answer = send(browser, "/items/new", pairs, "save")
    assert answer.status_code == 303, answer.text
    copied = caller.get("/skus?sku_code=E-2").json()["data"][0]["id"]
    ids = {line["id"] for line in stored(caller, copied)["components"]}
    assert len(ids) == 2
    assert ids.isdisjoint(line["id"] for line in item["components"])


def test_a_part_that_somebody_else_took_away_is_saved_as_a_new_one(caller, browser):
    item = made(caller, sku_code="E-1", components=[BODY, LABEL])
    path = f"/items/{item['id']}/edit"
    pairs = replaced(form(browser, path), parts__1__weight_g="0.75")
    caller.post("/skus", {"sku_code": "E-1", "name": "Jar", "components": [BODY]})
    refused = send(browser, path, pairs, "save")
    assert refused.status_code == 409
    assert send(browser, path, filled(refused.text, "item"), "save").status_code == 303
    body, label = stored(caller, item["id"])["components"]
    assert body["id"] == item["components"][0]["id"]
    assert (label["weight_g"], label["id"] == item["components"][1]["id"]) == (0.75, False)


def test_the_filters_of_pages_take_names_of_brands(caller, browser):
    brand = caller.post("/brands", {"name": "Alpenquell"}).json()["data"]["id"]
    made(caller, sku_code="B-1", brand_id=brand)
    made(caller, sku_code="B-2")
    for value in (brand, "alpenquell"):
        page = browser.get(f"/items?brand_id={value}&lang=en").text
        assert ("B-1" in page, "B-2" in page) == (True, False)
    unknown = browser.get("/items?brand_id=Alpenqell&lang=en")
    assert (unknown.status_code, "Alpenquell" in unescape(unknown.text)) == (400, True)
    assert caller.get("/skus", params={"brand_id": "Alpenquell"}).status_code == 400
