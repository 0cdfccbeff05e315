"""Parts that a supplier answered for and that the company has removed meanwhile: named, kept, and in nobody's way."""

import re
from html import unescape

import pytest

from tests.api.asking import ask
from tests.api.forms import filled
from tests.api.people import hidden, signed_in
from tests.api.test_enquiry_table import asked as asked  # noqa: PLC0414  (a fixture)
from tests.api.test_enquiry_table import parts_of


@pytest.fixture
def browser(caller, pool):
    return signed_in(caller, pool, "approver")


def without_cap(caller, asked):
    """The bottle as the company packs it now: the cap is gone."""
    body, _ = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"]
    answer = caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle", "components": [body]})
    assert answer.status_code == 200, answer.text


def answered(caller, pool):
    """An answer for the bottle and its cap."""
    asked = ask(caller, pool)
    of_cap = {"component_id": asked.components[1], "weight_g": 2.5, "recycled_content_percent": 17}
    assert asked.answer({"component_id": asked.components[0], "weight_g": 21}, of_cap).status_code == 202
    return asked


def entry_path(browser):
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review").text)
    return path


def section(page):
    return page.partition("Answers of parts that are gone")[2].partition("<h2>")[0]


def test_the_rest_of_an_answer_is_taken_over_and_what_was_said_of_a_gone_part_stays_shown(caller, browser, pool):
    asked = answered(caller, pool)
    path = entry_path(browser)
    assert section(unescape(browser.get(path).text)) == ""
    without_cap(caller, asked)
    page = unescape(browser.get(path).text)
    for words in ("cap, plastic, HDPE, 2 g", "2.5", "17", "the rest of the answer can be accepted"):
        assert words in section(page), words
    assert browser.post(path, hidden(page) | {"decision": "accept"}).status_code == 303
    [line] = caller.get(f"/skus/{asked.sku_id}").json()["data"]["components"]
    assert line["weight_g"] == 21
    decided = section(unescape(browser.get(path).text))
    assert "was not taken over" in decided
    assert "17" in decided
    [entered] = [
        entry
        for entry in caller.get("/audit-log?limit=50").json()["data"]
        if entry["action"] == "supplier_submission.accepted"
    ]
    assert entered["after"]["not_taken_over"] == [asked.components[1]]


def test_a_decision_for_a_version_that_has_passed_is_made_again_by_who_has_seen_what_is_gone(caller, browser, pool):
    asked = answered(caller, pool)
    path = entry_path(browser)
    form = hidden(browser.get(path).text)
    without_cap(caller, asked)
    refused = browser.post(path, form | {"decision": "accept"})
    assert refused.status_code == 409
    assert "Answers of parts that are gone" in refused.text


@pytest.mark.parametrize(("lang", "told"), [("fr", "n’existent plus"), ("de", "die es nicht mehr gibt")])
def test_it_is_said_in_the_persons_language(caller, browser, pool, lang, told):
    without_cap(caller, answered(caller, pool))
    assert told in unescape(browser.get(f"{entry_path(browser)}?lang={lang}").text)


def test_among_many_answers_one_with_a_gone_part_is_looked_at_by_itself(caller, browser, pool):
    asked = answered(caller, pool)
    without_cap(caller, asked)
    page = browser.get("/review/answers").text
    apart = page.partition("To be looked at one by one")[2]
    assert "no longer part of the item" in apart
    assert entry_path(browser) in apart
    assert browser.post("/review/answers", hidden(page)).status_code == 303
    assert entry_path(browser), "it waits still"


def test_where_every_part_is_gone_nothing_can_be_taken_over_and_all_that_was_said_is_shown(caller, browser, pool):
    asked = ask(caller, pool, lines=[1])
    assert asked.answer({"weight_g": 2.5}).status_code == 202
    without_cap(caller, asked)
    page = unescape(browser.get(entry_path(browser)).text)
    assert "The parts that the supplier answered for are no longer part of the item." in page
    assert 'value="accept"' not in page
    said = "<dt>1. cap: Weight (g)</dt><dd>2.5</dd>"
    assert said in page
    form = hidden(page) | {"decision": "reject", "reason": "Another cap"}
    assert browser.post(entry_path(browser), form).status_code == 303
    [path] = re.findall(r'href="(/review/[0-9a-f-]{36})', browser.get("/review?state=decided").text)
    assert said in unescape(browser.get(path).text), "the part is named still"


def test_the_parts_of_an_archived_item_are_not_said_to_be_gone(caller, browser, pool):
    asked = answered(caller, pool)
    path = entry_path(browser)
    assert caller.post(f"/skus/{asked.sku_id}/archive").status_code == 200
    page = unescape(browser.get(path).text)
    assert "The item is archived" in page
    assert "no longer a part of the item" not in page


def test_the_enquiry_names_the_parts_that_are_gone_beside_each_item(asked):
    listed = unescape(asked.browser.get("/suppliers?name=Dosen+AG").text)
    path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', listed)[1]
    assert "No longer part" not in unescape(asked.browser.get(path).text)
    _, (body, _, label) = parts_of(asked, "CAN-3")
    sent = {"sku_code": "CAN-3", "name": "Can CAN-3", "components": [body, label]}
    assert asked.caller.post("/skus", sent).status_code == 200
    for address in (path, "/suppliers?name=Dosen+AG", "/supplier-requests"):
        page = asked.browser.get(address)
        row = re.sub("</?code>", "", unescape(page.text)).partition("CAN-3")[2].partition("</tr>")[0]
        assert "No longer part of the item: cap, metal, aluminium, 2.5 g" in row
        assert unescape(page.text).count("No longer part of the item") == 1
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    [entry] = [entry for entry in asked.entries() if entry.sku_code == "CAN-3"]
    assert "Answers of parts that are gone" in asked.browser.get(f"/review/{entry.id}").text


def test_the_suppliers_table_says_who_needs_a_row_no_longer_and_waits_for_it_no_more(asked):
    _, (body, lid, label) = parts_of(asked, "CAN-3")
    assert "No longer part of this packaging" not in asked.page()
    sent = {"sku_code": "CAN-3", "name": "Can 3", "components": [lid, label]}
    assert asked.caller.post("/skus", sent).status_code == 200
    row = asked.page().partition("2. body")[2].partition("</tr>")[0]
    assert "No longer part of this packaging and no longer asked about: Can 3" in row
    assert asked.page().count("No longer part of this packaging") == 1
    assert "Gehören nicht mehr zu dieser Verpackung" in asked.page("de")
    kept = {"3__confirmed": "yes"}
    assert "sent=1" in asked.send(rows=("3",), do="send", consent="yes", **kept).headers["location"]
    [entry] = asked.entries()
    assert (entry.sku_code, len(entry.payload["components"])) == ("CAN-3", 1)
    assert entry.payload["components"][0]["component_id"] == lid["id"] != body["id"]


def test_an_item_of_which_every_part_is_gone_is_handed_over_only_with_what_was_said(asked):
    _, (_, _, label) = parts_of(asked, "CAN-3")
    assert asked.caller.post("/skus", {"sku_code": "CAN-3", "name": "Can 3", "components": [label]}).status_code == 200
    assert "sent=0" in asked.send(rows=("1",), do="send", consent="yes", **{"1__confirmed": "yes"}).headers["location"]
    assert asked.entries() == []


def test_of_an_enquiry_that_has_ended_no_item_is_said_to_be_open(asked):
    listed = unescape(asked.browser.get("/suppliers?name=Dosen+AG").text)
    path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', listed)[1]
    assert "<td>Open" in asked.browser.get(path).text
    assert asked.browser.post(f"{path}/withdraw", hidden(asked.browser.get(path).text)).status_code == 303
    page = asked.browser.get(path).text
    assert "<td>Open" not in page
    assert page.count("<td>Link ended") == 3
    listed = asked.browser.get("/supplier-requests").text
    assert ">Link ended<" in listed
    assert ">Open</td>" not in listed


def test_asking_again_about_an_item_without_parts_shows_the_whole_form_with_what_is_wrong(asked):
    listed = unescape(asked.browser.get("/suppliers?name=Dosen+AG").text)
    path = re.search(r'href="(/enquiries/[0-9a-f-]{36})"', listed)[1]
    asked.browser.post(f"{path}/withdraw", hidden(asked.browser.get(path).text))
    sent = {"sku_code": "CAN-3", "name": "Can 3", "components": []}
    assert asked.caller.post("/skus", sent).status_code == 200
    again = asked.browser.post(f"{path}/again", hidden(asked.browser.get(path).text))
    assert "CAN-3 has no components" in unescape(again.text)
    form = dict(filled(again.text, None))
    assert (form["supplier_name"], form["sku_codes"].split()) == ("Dosen AG", ["CAN-1", "CAN-2", "CAN-3"])
    made = asked.browser.post("/enquiries", form | {"sku_codes": "CAN-1\nCAN-2"})
    assert "/supplier-enquiries/" in made.text


def enquiry_path(asked):
    listed = unescape(asked.browser.get("/suppliers?name=Dosen+AG").text)
    return re.search(r'href="(/enquiries/[0-9a-f-]{36})"', listed)[1]


def test_a_row_whose_part_is_gone_from_every_item_is_not_waited_for_by_any_count(asked):
    assert "Confirmed rows: 0 of 3" in asked.page()
    for code in ("CAN-1", "CAN-2", "CAN-3"):
        _, (body, _, label) = parts_of(asked, code)
        sent = {"sku_code": code, "name": code, "components": [body, label]}
        assert asked.caller.post("/skus", sent).status_code == 200
    assert "Confirmed rows: 0 of 2" in asked.page()
    assert "Confirmed rows: 0 of 2" in unescape(asked.browser.get(enquiry_path(asked)).text)
    assert "0 / 2" in asked.browser.get("/suppliers?name=Dosen+AG").text
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]


def test_every_door_names_the_parts_that_are_gone_and_the_items_that_are_archived(asked):
    _, (body, lid, label) = parts_of(asked, "CAN-3")
    sent = {"sku_code": "CAN-3", "name": "Can 3", "components": [body, label]}
    assert asked.caller.post("/skus", sent).status_code == 200
    sku_id, _ = parts_of(asked, "CAN-1")
    assert asked.caller.post(f"/skus/{sku_id}/archive").status_code == 200
    path = enquiry_path(asked)
    items = asked.caller.get(f"/supplier-{path[1:]}").json()["data"]["items"]
    assert items == sorted(items, key=lambda item: item["sku_code"])
    listed = {each["id"]: each for each in asked.caller.get("/supplier-requests").json()["data"]}
    for item in items:
        request = listed[item["id"]]
        assert (request["archived"], request["gone_parts"]) == (item["archived"], item["gone_parts"])
    assert [item["archived"] for item in items] == [True, False, False]
    was = {"component_type": "cap", "material_family": "metal", "polymer_or_grade": "aluminium", "weight_g": 2.5}
    gone = {"component_id": lid["id"], "was": {**was, "position_in_sku": None}}
    assert [item["gone_parts"] for item in items] == [[], [], [gone]]
    for address in (path, "/suppliers?name=Dosen+AG", "/supplier-requests"):
        row = unescape(asked.browser.get(address).text).partition("CAN-1")[2].partition("</tr>")[0]
        assert "archived" in row


def test_a_request_of_which_every_part_is_gone_is_ended_by_the_company(caller, browser, pool):
    asked = ask(caller, pool, lines=[1])
    without_cap(caller, asked)
    page = browser.get("/supplier-requests").text
    [path] = re.findall(r'action="(/supplier-requests/[0-9a-f-]{36}/withdraw)"', page)
    assert browser.post(path, hidden(page)).status_code == 303
    page = browser.get("/supplier-requests").text
    assert "Link ended" in page
    assert "/withdraw" not in page
    assert asked.answer({"weight_g": 2.5}).status_code == 404
    [request] = caller.get("/supplier-requests").json()["data"]
    assert request["state"] == "ended"
    again = caller.post(f"/supplier-requests/{request['id']}/withdraw", {})
    assert (again.status_code, again.json()["outcome"]) == (200, "unchanged")
    actions = [entry["action"] for entry in caller.get("/audit-log?limit=50").json()["data"]]
    assert actions.count("supplier_request.withdrawn") == 1


def test_one_item_of_an_enquiry_is_withdrawn_and_the_others_are_asked_about_still(asked):
    path = enquiry_path(asked)
    address = f"/supplier-{path[1:]}"
    item = asked.caller.get(address).json()["data"]["items"][2]
    tried = asked.caller.post(f"/supplier-requests/{item['id']}/withdraw?dry_run=true", {"reason": "A new can"})
    assert (tried.status_code, tried.json()["data"]["state"]) == (200, "ended")
    assert asked.caller.get(address).json()["data"]["items"][2]["state"] == "open"
    done = asked.caller.post(f"/supplier-requests/{item['id']}/withdraw", {"reason": "A new can"})
    assert (done.json()["outcome"], done.json()["data"]["state"]) == ("updated", "ended")
    enquiry = asked.caller.get(address).json()["data"]
    assert (enquiry["state"], enquiry["counts"]["open"], enquiry["counts"]["ended"]) == ("open", 2, 1)
    assert "no longer asked" in asked.page()
    asked.send(do="confirm")
    assert "sent=2" in asked.send(do="send", consent="yes").headers["location"]
    assert {entry.sku_code for entry in asked.entries()} == {"CAN-1", "CAN-2"}
    page = asked.browser.get(path).text
    assert "in review" in page
    assert page.count("<td>Link ended") == 1


def test_with_its_last_item_an_enquiry_is_withdrawn_and_is_never_called_answered(asked):
    path = enquiry_path(asked)
    items = asked.caller.get(f"/supplier-{path[1:]}").json()["data"]["items"]
    states = []
    for item in items:
        assert asked.caller.post(f"/supplier-requests/{item['id']}/withdraw").status_code == 200
        states.append(asked.caller.get(f"/supplier-{path[1:]}").json()["data"]["state"])
    assert states == ["open", "open", "withdrawn"]
    assert asked.supplier.get(asked.link).status_code == 404
