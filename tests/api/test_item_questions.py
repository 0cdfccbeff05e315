"""Answering on an item's page what could change its grade, without JavaScript: the answer is an edit."""

import re
from html import unescape

import pytest

from tests.api.forms import filled, replaced
from tests.api.people import signed_in
from tests.api.test_edit_pages import BODY, LABEL, made, send, stored

QUESTIONS = {
    "en": "What could change the grade",
    "fr": "Ce qui pourrait changer la classe",
    "de": "Was die Klasse ändern könnte",
}


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "editor")


def asked(page):
    """Return the names of the forms that ask, in their order."""
    return re.findall(r'<form method="post" action="[^"]*/answer[^"]*" id="(ask\.[^"]+)"', page)


@pytest.mark.parametrize("lang", QUESTIONS)
def test_an_open_fact_is_answered_where_it_is_asked(caller, browser, lang):
    item = made(caller, sku_code=f"Q-{lang}", packaging_format="bottle", components=[BODY, LABEL])
    path = f"/items/{item['id']}"
    page = browser.get(f"{path}?lang={lang}").text
    assert QUESTIONS[lang] in page
    open_facts = item["compliance"]["grade_trace"]["open"]
    places = {line["id"]: place for place, line in enumerate(item["components"])}
    assert open_facts
    assert asked(page) == [f"ask.parts.{places[fact['component_id']]}.{fact['field']}" for fact in open_facts]
    form = "ask.parts.0.colour"
    pairs = replaced(filled(page, form), parts__0__colour="dark")
    shown = send(browser, f"{path}/answer?lang={lang}", pairs, "check")
    assert shown.status_code == 200
    assert 'id="after"' in shown.text
    assert stored(caller, item["id"])["components"] == item["components"]
    saved = send(browser, f"{path}/answer?lang={lang}", pairs, "save")
    assert (saved.status_code, saved.headers["Location"]) == (303, f"{path}?lang={lang}&saved=yes#grade")
    after = stored(caller, item["id"])
    body, label = item["components"]
    assert after["components"] == [body | {"colour": "dark"}, label]
    assert form not in asked(browser.get(path).text)
    entry = caller.get("/audit-log").json()["data"][0]
    assert (entry["actor"]["type"], min(entry["after"])) == ("user", "components")


SAVE_ANSWER = {"en": "Save this answer", "fr": "Enregistrer cette réponse", "de": "Diese Antwort speichern"}
LIGHT = {"component_type": "seal", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 0.001}


@pytest.mark.parametrize("lang", SAVE_ANSWER)
def test_an_answer_about_a_part_of_more_than_a_form_shows_is_saved_where_it_is_previewed(caller, browser, lang):
    item = made(caller, sku_code=f"Q-51-{lang}", packaging_format="bottle", components=[BODY, LABEL, *[LIGHT] * 49])
    path = f"/items/{item['id']}"
    page = browser.get(f"{path}?lang={lang}").text
    assert "ask.parts.0.colour" in asked(page), asked(page)
    pairs = replaced(filled(page, "ask.parts.0.colour"), parts__0__colour="dark")
    shown = send(browser, f"{path}/answer?lang={lang}", pairs, "check")
    assert (shown.status_code, 'id="after"' in shown.text) == (200, True)
    assert SAVE_ANSWER[lang] in shown.text
    assert 'id="item"' not in shown.text, "a form that would save without the answer"
    again = filled(shown.text, "answer")
    assert ("parts.0.colour", "dark") in again
    assert stored(caller, item["id"])["components"] == item["components"]
    saved = send(browser, f"{path}/answer?lang={lang}", again, "save")
    assert (saved.status_code, saved.headers["Location"]) == (303, f"{path}?lang={lang}&saved=yes#grade")
    body, *others = item["components"]
    assert stored(caller, item["id"])["components"] == [body | {"colour": "dark"}, *others]


def test_a_wrong_or_late_answer_about_one_of_many_parts_is_corrected_where_it_is_refused(caller, browser):
    weightless = {key: value for key, value in BODY.items() if key != "weight_g"}
    item = made(caller, sku_code="Q-52", packaging_format="bottle", components=[weightless, *[LIGHT] * 50])
    path = f"/items/{item['id']}"
    pairs = replaced(filled(browser.get(path).text, "ask.parts.0.weight_g"), parts__0__weight_g="heavy")
    refused = send(browser, f"{path}/answer", pairs, "save")
    assert (refused.status_code, 'id="parts.0.weight_g-error"' in refused.text) == (400, True)
    caller.post("/skus", {"sku_code": "Q-52", "name": "Theirs"})
    typed = replaced(filled(refused.text, "answer"), parts__0__weight_g="12.5")
    told = send(browser, f"{path}/answer", typed, "save")
    assert (told.status_code, "Theirs" in told.text) == (409, True)
    assert send(browser, f"{path}/answer", filled(told.text, "answer"), "save").status_code == 303
    after = stored(caller, item["id"])
    assert (after["name"], after["components"][0]["weight_g"]) == ("Theirs", 12.5)


def test_what_a_grade_needs_is_answered_too(caller, browser):
    item = made(caller, sku_code="Q-1", components=[{"component_type": "body", "material_family": "plastic"}])
    path = f"/items/{item['id']}"
    page = browser.get(path).text
    assert "What the grade needs" in page
    form = next(each for each in asked(page) if each.endswith(".weight_g"))
    pairs = filled(page, form)
    for wrong in ("", "heavy"):
        answer = send(browser, f"{path}/answer", replaced(pairs, parts__0__weight_g=wrong), "save")
        assert answer.status_code == 400
        assert 'id="parts.0.weight_g-error"' in answer.text
    assert send(browser, f"{path}/answer", replaced(pairs, parts__0__weight_g="12.5"), "save").status_code == 303
    assert stored(caller, item["id"])["components"][0]["weight_g"] == 12.5


def test_the_second_of_two_people_is_told_what_changed(caller, browser):
    item = made(caller, sku_code="Q-2", packaging_format="bottle", components=[BODY, LABEL])
    path = f"/items/{item['id']}"
    page = browser.get(path).text
    caller.post("/skus", {"sku_code": "Q-2", "name": "Theirs"})
    pairs = replaced(filled(page, "ask.parts.0.colour"), parts__0__colour="dark")
    told = send(browser, f"{path}/answer", pairs, "save")
    assert told.status_code == 409
    notice = unescape(told.text.partition('role="alert"')[2].partition("</div>")[0])
    assert re.findall(r"<li>(.*?)</li>", notice) == ["Item name: Theirs"]
    assert stored(caller, item["id"])["components"] == item["components"]
    again = send(browser, f"{path}/edit", filled(told.text, "item"), "save")
    assert again.status_code == 303
    after = stored(caller, item["id"])
    assert (after["name"], after["components"][0]["colour"]) == ("Theirs", "dark")


def test_a_viewer_reads_the_questions_and_rule_ids_stand_under_details(caller, pool):
    item = made(caller, sku_code="Q-3", packaging_format="bottle", components=[BODY, LABEL])
    page = signed_in(caller, pool, "viewer").get(f"/items/{item['id']}").text
    assert not asked(page)
    trace = item["compliance"]["grade_trace"]
    assert all(fact["ask"] in unescape(page) for fact in trace["open"])
    fired = [rule["rule_id"] for unit in trace["units"] for part in unit["components"] for rule in part["rules"]]
    assert fired
    outside = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    for name in fired:
        assert name in page
        assert name not in outside
