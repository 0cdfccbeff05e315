"""Asking a supplier about many SKUs under one link, by our own operations beside the contract."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from services.review import decide
from tests.contract.outside import good, refused
from warehouse.rules import Rulesets

PERSON = Origin("user", str(uuid4()), "Ada Marsh", "c-1")
PARTS = [{"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}]
PATH = "/supplier-enquiries"
NO_ADDRESSES = [{"supplier_email": text} for text in ("", "here", "a@b", "a@b.de\r\nBcc: c@d.de", "ä@b.de", "a b@c.de")]


class Asked:
    """An enquiry about two SKUs of the caller's company, and the supplier who holds its link."""

    def __init__(self, caller, **fields):
        self.caller = caller
        self.skus = [caller.made(sku_code=code, components=PARTS) for code in ("ENQ-1", "ENQ-2")]
        self.body = {"supplier_name": "Préformes", "sku_codes": ["ENQ-1", "ENQ-2"], **fields}
        answer = caller.post(PATH, self.body, headers={"Idempotency-Key": "ask"})
        assert answer.status_code == 201
        made = good(answer)
        self.url, self.id, self.made = made["url"], made["data"]["id"], made["data"]
        self.mail = made["mail"]
        self.page = "/supplier-enquiries/" + self.url.rpartition("/")[2]

    def shown(self, lang="en"):
        return self.caller.server.send("GET", f"{self.page}?lang={lang}")

    def tokens(self):
        """The tokens of the items' forms that the page links to."""
        return re.findall(r"/supplier-data/([\w-]{43})", self.shown().text)

    def states(self):
        data = good(self.caller.get(f"{PATH}/{self.id}"))["data"]
        return [item["state"] for item in data["items"]]

    def answer(self, token, **fields):
        return self.caller.server.send(
            "POST",
            f"/api/supplier-data/{token}",
            json={"consent": True, "response": {"components": [fields]}},
            headers={"X-Forwarded-For": self.caller.address},
        )

    def decide(self, pool, submission, how, **more):
        with pool.company(UUID(self.caller.company)) as conn:
            actor = Actor(UUID(self.caller.company), PERSON, datetime.now(UTC))
            how(conn, actor, UUID(submission), rulesets=Rulesets(), **more)


@pytest.mark.promise("SUP-60")
def test_one_link_leads_to_a_form_for_each_item_with_its_state(caller, pool):
    asked = Asked(caller, message="For our declaration")
    assert (asked.made["state"], asked.made["counts"]["total"], asked.states()) == ("open", 2, ["open", "open"])
    first, second = asked.tokens()
    assert "For our declaration" in asked.shown().text
    submission = good(asked.answer(first, weight_g=21))["submission_id"]
    assert asked.states() == ["answered", "open"]
    asked.decide(pool, submission, decide.reject, note="Weigh it without the cap")
    assert asked.states() == ["rejected", "open"]
    for lang, words in (("en", "please answer again"), ("fr", "à nouveau"), ("de", "erneut")):
        page = asked.shown(lang).text
        assert (words in page, "Weigh it without the cap" in page) == (True, True)
    assert good(caller.get(f"{PATH}/{asked.id}"))["data"]["items"][0]["note"] == "Weigh it without the cap"
    asked.decide(pool, good(asked.answer(first, weight_g=22))["submission_id"], decide.accept)
    assert (asked.states(), asked.tokens()) == (["accepted", "open"], [second])
    refused(asked.answer(first, weight_g=23), 404, "not_found")
    good(asked.answer(second, weight_g=5))
    [listed] = caller.data(PATH)
    assert (listed["state"], listed["counts"]["accepted"], listed["counts"]["answered"]) == ("answered", 1, 1)


@pytest.mark.promise("SUP-61")
def test_a_withdrawn_enquiry_ends_all_its_links_at_once(caller, pool):
    asked, submission = Asked(caller), None
    first, second = asked.tokens()
    submission = good(asked.answer(first, weight_g=21))["submission_id"]
    path = f"{PATH}/{asked.id}/withdraw"
    assert good(caller.post(path, {}, params={"dry_run": "true"}))["outcome"] == "updated"
    assert asked.shown().status_code == 200
    assert good(caller.post(path, {"reason": "By mistake"}))["data"]["state"] == "withdrawn"
    assert good(caller.post(path, {}))["outcome"] == "unchanged"
    for token in (first, second):
        refused(asked.answer(token, weight_g=22), 404, "not_found")
        assert caller.server.send("GET", f"/supplier-data/{token}").status_code == 404
    unknown = caller.server.send("GET", f"{PATH}/{'x' * 43}?lang=en")
    assert (asked.shown().status_code, unknown.status_code) == (404, 404)
    asked.decide(pool, submission, decide.reject)
    refused(asked.answer(first, weight_g=22), 404, "not_found")
    actions = [entry["action"] for entry in caller.data("/audit-log") if entry["resource_id"] == asked.id]
    assert actions == ["supplier_enquiry.withdrawn", "supplier_enquiry.created"]


@pytest.mark.promise("SUP-61")
def test_a_link_ends_with_its_last_day(caller, pool):
    asked = Asked(caller)
    [first, _] = asked.tokens()
    with pool.company(UUID(caller.company)) as conn:
        find = "SELECT * FROM pcds_supplier_enquiry(sha256(%s), %s)"
        item = "SELECT * FROM pcds_supplier_request(sha256(%s), %s)"
        end = datetime.fromisoformat(asked.made["expires_at"])
        for query, token in ((find, asked.page.rpartition("/")[2]), (item, first)):
            before = [token.encode(), end - timedelta(microseconds=1)]
            assert len(conn.execute(query, before).fetchall()) == 1
            assert conn.execute(query, [token.encode(), end]).fetchall() == []
    assert (end.hour, end.minute) == (0, 0)


@pytest.mark.promise("SUP-60")
def test_the_link_is_in_the_first_answer_only_and_stored_nowhere(caller, pool):
    asked = Asked(caller)
    again = caller.post(PATH, asked.body, headers={"Idempotency-Key": "ask"})
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert good(again) == {"outcome": "created", "dry_run": False, "data": asked.made, "url": None, "mail": None}
    tried = caller.post(PATH, asked.body, params={"dry_run": "true"})
    assert (tried.status_code, tried.json()["data"], tried.json()["url"]) == (200, None, None)
    assert len(caller.data(PATH)) == 1
    [first, second] = asked.tokens()
    assert len({first, second, asked.url.rpartition("/")[2]}) == 3
    assert caller.server.send("GET", f"/supplier-enquiries/{first}").status_code == 404
    assert caller.server.send("GET", f"/supplier-data/{asked.page.rpartition('/')[2]}").status_code == 404
    assert first not in str(caller.data("/audit-log"))


@pytest.mark.promise("SUP-62")
def test_the_mail_is_text_with_the_link_and_a_reminder_names_what_is_open(caller):
    """The service of these tests mails nothing."""
    asked = Asked(caller, supplier_email=" Quality@preformes.example", language="fr", message="Pour 2026")
    assert (asked.made["supplier_email"], asked.made["mails"]) == ("Quality@preformes.example", [])
    assert asked.mail["subject"].endswith("demande des données d’emballage")
    for said in (asked.url + "?lang=fr", "- ENQ-1: ", "- ENQ-2: ", "Pour 2026"):
        assert said in asked.mail["text"]
    good(asked.answer(asked.tokens()[0], weight_g=21))
    reminded = good(caller.post(f"{PATH}/{asked.id}/remind", {}))
    assert (reminded["outcome"], reminded["url"]) == ("unchanged", asked.url)
    assert ("ENQ-1" in reminded["mail"]["text"], "ENQ-2" in reminded["mail"]["text"]) == (False, True)
    good(caller.post(f"{PATH}/{asked.id}/withdraw", {}))
    ended = good(caller.post(f"{PATH}/{asked.id}/remind", {}))
    assert (ended["outcome"], ended["url"], ended["mail"]) == ("unchanged", None, None)
    refused(caller.post(f"{PATH}/{uuid4()}/remind", {}), 404, "not_found")


@pytest.mark.promise("SUP-63")
def test_a_supplier_is_listed_with_what_was_asked_answered_and_is_open(caller):
    asked = Asked(caller, due_on=datetime.now(UTC).date().isoformat())
    good(asked.answer(asked.tokens()[0], weight_g=21))
    caller.made(sku_code="OTHER", components=PARTS)
    good(caller.post(PATH, {"supplier_name": "Zinnwerk", "sku_codes": ["OTHER"]}))
    first, second = caller.data("/asked-suppliers")
    assert (first["supplier_name"], second["supplier_name"]) == ("Préformes", "Zinnwerk")
    assert first["counts"] | {"total": 2, "open": 1, "answered": 1} == first["counts"]
    assert (first["overdue"], second["last_answered_at"]) == (0, None)
    listed = caller.data("/supplier-requests", supplier_name="PRÉFORMES")
    assert sorted((each["sku_code"], each["state"]) for each in listed) == [("ENQ-1", "answered"), ("ENQ-2", "open")]
    assert {each["enquiry_id"] for each in listed} == {asked.id}
    good(caller.post(f"{PATH}/{asked.id}/withdraw", {}))
    assert [each["sku_code"] for each in caller.data("/supplier-requests", state="ended")] == ["ENQ-2"]
    assert caller.data("/supplier-requests", supplier_name="Nobody") == []
    [of_one] = caller.data("/supplier-enquiries", supplier_name="PRÉFORMES")
    assert of_one["supplier_name"] == "Préformes"
    assert caller.data("/supplier-enquiries", supplier_name="Nobody") == []
    refused(caller.get("/supplier-requests", params={"state": "lost"}), 400, "invalid_body")


@pytest.mark.promise("SUP-60")
def test_what_cannot_be_asked_is_refused_with_every_fault(caller):
    caller.made(sku_code="ENQ-1", components=PARTS)
    caller.made(sku_code="BARE")
    day = datetime.now(UTC).date()
    body = {
        "supplier_name": "Préformes",
        "sku_codes": ["ENQ-1", "BARE", "NONE", "ENQ-1"],
        "due_on": (day - timedelta(days=1)).isoformat(),
        "expires_on": (day + timedelta(days=400)).isoformat(),
    }
    found = {issue["field"]: issue["code"] for issue in refused(caller.post(PATH, body), 400, "invalid_body")}
    assert found == {
        "due_on": "out_of_range",
        "expires_on": "out_of_range",
        "sku_codes[1]": "unknown_reference",
        "sku_codes[2]": "unknown_reference",
        "sku_codes[3]": "duplicate_sku_code",
    }
    for wrong in ({"due_on": "tomorrow"}, {"sku_codes": []}, {"supplier_name": " "}, {"link": "x"}, *NO_ADDRESSES):
        refused(caller.post(PATH, {"supplier_name": "P", "sku_codes": ["ENQ-1"]} | wrong), 400, "invalid_body")
    assert caller.data(PATH) == []
    refused(caller.get(f"{PATH}/{uuid4()}"), 404, "not_found")
