"""Facts on which format bans depend, answered by a person on the item's page: the ban is then certain, or is gone."""

import re

import pytest

from tests.api.people import Browser, added, hidden
from tests.api.portfolios import counted
from tests.api.test_portfolio_pages import words

EATEN = "for_immediate_consumption_from_the_receptacle_without_further_preparation"
BOX = {
    "name": "Take-away box",
    "packaging_format": "box",
    "packaging_level": "sales",
    "use_contexts": ["takeaway"],
    "markets": ["FR"],
    "components": [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "EPS", "weight_g": 9}],
}


@pytest.fixture
def sku(caller):
    return caller.made(sku_code="BOX", **BOX)["id"]


@pytest.fixture
def editor(caller, pool):
    return browser_of(caller, pool, "editor")


def browser_of(caller, pool, role):
    browser = Browser(caller.http, caller.address)
    browser.person = added(pool, caller.company, role)
    assert browser.sign_in(browser.person).status_code == 303
    return browser


def answer(browser, sku, fact, given):
    form = {"csrf": hidden(browser.get("/account").text)["csrf"], "fact": fact, "answer": given}
    return browser.post(f"/items/{sku}/facts", form)


def read(caller, sku):
    return caller.get(f"/skus/{sku}").json()["data"]


def flags(caller, sku):
    found = read(caller, sku)["compliance"]["annex_v_flags"]
    return {flag["code"]: (flag["certainty"], flag["depends_on"]) for flag in found}


def test_the_page_asks_and_a_yes_makes_the_ban_certain(caller, editor, sku):
    assert flags(caller, sku)["SUPD-B7"] == ("depends", [EATEN])
    page = editor.get(f"/items/{sku}").text
    assert f'name="fact" value="{EATEN}"' in page
    assert answer(editor, sku, EATEN, "yes").status_code == 303
    assert flags(caller, sku)["SUPD-B7"] == ("certain", [])
    [stored] = read(caller, sku)["flag_facts"]
    assert (stored["fact"], stored["answer"], stored["by"]) == (EATEN, True, editor.person.email)
    assert stored["at"][:10] == read(caller, sku)["updated_at"][:10]
    shown = words(editor.get(f"/items/{sku}"))
    assert editor.person.email in shown
    assert "Take back" in shown


def test_a_no_ends_the_ban_and_taking_back_opens_it_again(caller, editor, sku):
    assert answer(editor, sku, EATEN, "no").status_code == 303
    assert "SUPD-B7" not in flags(caller, sku)
    assert "for immediate consumption" in words(editor.get(f"/items/{sku}")), "the answer stays to be read"
    assert answer(editor, sku, EATEN, "open").status_code == 303
    assert flags(caller, sku)["SUPD-B7"] == ("depends", [EATEN])
    assert read(caller, sku)["flag_facts"] == []


def test_each_answer_is_a_version_in_the_audit_and_a_repeat_is_none(caller, pool, editor, sku):
    before = read(caller, sku)["version"]
    for _ in range(2):
        answer(editor, sku, EATEN, "yes")
    assert read(caller, sku)["version"] == before + 1
    answer(browser_of(caller, pool, "editor"), sku, EATEN, "yes")
    assert read(caller, sku)["flag_facts"][0]["by"] == editor.person.email, "who said so first"
    newest = caller.get("/audit-log", params={"resource_type": "sku"}).json()["data"][0]
    assert newest["action"] == "sku.updated"
    assert newest["actor"]["name"] == editor.person.email
    assert newest["before"]["flag_facts"] == []
    assert newest["after"]["flag_facts"][0]["answer"] is True
    assert "Answers to facts of format bans" in words(editor.get(f"/items/{sku}"))


def test_other_writes_keep_the_answers(caller, editor, sku):
    answer(editor, sku, EATEN, "no")
    assert caller.put(f"/skus/{sku}", {"name": "Box, white", "sku_code": "BOX"}).status_code == 200
    caller.post("/skus/batch", {"skus": [{"sku_code": "BOX", "name": "Box", "components": BOX["components"]}]})
    assert [fact["answer"] for fact in read(caller, sku)["flag_facts"]] == [False]
    assert "SUPD-B7" not in flags(caller, sku)


def test_a_field_stands_above_the_answer(caller, editor):
    cup = {"name": "Cup", "packaging_format": "cup", "packaging_level": "service", "markets": ["FR"]}
    cup_id = caller.made(sku_code="CUP", **{**BOX, **cup, "packaging_level": "sales", "use_contexts": []})["id"]
    assert flags(caller, cup_id)["SUPD-B9"] == ("depends", ["holds_a_beverage"])
    answer(editor, cup_id, "holds_a_beverage", "no")
    assert "SUPD-B9" not in flags(caller, cup_id)
    caller.put(f"/skus/{cup_id}", {"sku_code": "CUP", "name": "Cup", "use_contexts": ["beverage"]})
    assert flags(caller, cup_id)["SUPD-B9"] == ("certain", [])


def test_lists_counts_and_the_refusal_of_a_declaration_follow_the_answer(caller, editor, sku):
    counted(caller)
    assert "BOX" in words(editor.get("/items?flag=SUPD-B7"))
    answer(editor, sku, EATEN, "no")
    counted(caller)
    assert caller.get("/skus", params={"flag": "SUPD-B7"}).json()["data"] == []
    assert "Food container of expanded polystyrene" not in words(editor.get("/portfolio"))
    answer(editor, sku, EATEN, "yes")
    counted(caller)
    assert [item["sku_code"] for item in caller.get("/skus", params={"flag": "SUPD-B7"}).json()["data"]] == ["BOX"]


@pytest.mark.parametrize(
    ("fact", "given", "status"),
    [
        (EATEN, "perhaps", 400),
        (EATEN, "", 400),
        ("no_such_fact", "yes", 400),
        ("", "yes", 400),
        ("\x00", "no", 400),
        ("x" * 5000, "yes", 400),
        ("no_such_fact", "open", 303),
    ],
)
def test_what_no_ban_asks_is_refused_and_changes_nothing(caller, editor, *, fact, given, status):
    sku = caller.made(sku_code="BOX", **BOX)["id"]
    version = read(caller, sku)["version"]
    assert answer(editor, sku, fact, given).status_code == status
    assert (read(caller, sku)["version"], read(caller, sku)["flag_facts"]) == (version, [])


def test_a_viewer_and_another_company_answer_nothing(caller, join, pool, sku):
    viewer, stranger = browser_of(caller, pool, "viewer"), browser_of(join(), pool, "administrator")
    assert 'name="fact"' not in viewer.get(f"/items/{sku}").text
    assert answer(viewer, sku, EATEN, "yes").status_code == 403
    assert answer(stranger, sku, EATEN, "yes").status_code == 404
    assert read(caller, sku)["flag_facts"] == []


def test_an_archived_item_keeps_its_answers_and_takes_none(caller, editor, sku):
    answer(editor, sku, EATEN, "yes")
    caller.post(f"/skus/{sku}/archive", {})
    sent = answer(editor, sku, EATEN, "no")
    assert (sent.status_code, sent.headers["location"].partition("?")[0]) == (303, f"/items/{sku}")
    assert 'name="fact"' not in editor.get(f"/items/{sku}").text
    caller.post(f"/skus/{sku}/return", {})
    assert [fact["answer"] for fact in read(caller, sku)["flag_facts"]] == [True]


@pytest.mark.parametrize(("lang", "said"), [("fr", "Votre réponse décide"), ("de", "Ihre Antwort entscheidet")])
def test_the_question_is_asked_in_the_reader_s_language(editor, sku, lang, said):
    page = editor.get(f"/items/{sku}?lang={lang}").text
    assert said in page
    assert not re.search(r"<form[^>]*/facts[^>]*>[^<]*<input[^>]*>[^<]*<input[^>]*>\s*for immediate", page)
