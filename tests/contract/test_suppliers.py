"""A supplier's link from the operator's command to the record: what it takes, how often, and when it ends."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from services.review import compare, decide
from tests.contract.outside import good, refused
from tests.waiting import within_a_minute
from warehouse.rules import Rulesets

PERSON = Origin("user", str(uuid4()), "Ada Marsh", "c-1")
PARTS = [
    {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20},
    {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "HDPE", "weight_g": 2},
]


class Link:
    """One request of the caller's company, and the supplier who holds its link."""

    def __init__(self, caller, *, component=None) -> None:
        self.sku = caller.made(components=PARTS)
        self.caller, chosen = caller, () if component is None else ("--component", self.ids[component])
        self.request = caller.server.place.pcds(
            "supplier-request",
            "create",
            "--company",
            caller.company,
            "--sku",
            self.sku["sku_code"],
            "--supplier-name",
            "Préformes du Rhône",
            *chosen,
        )
        self.path = f"/api/supplier-data/{self.request['token']}"

    @property
    def ids(self):
        return [line["id"] for line in self.sku["components"]]

    def send(self, body, *, address=None):
        return self.caller.server.send(
            "POST", self.path, json=body, headers={"X-Forwarded-For": address or self.caller.address}
        )

    def answer(self, **fields):
        return self.send({"consent": True, "response": {"components": [{"component_id": self.ids[0], **fields}]}})

    def state(self):
        listed = self.caller.server.place.pcds("supplier-request", "list", "--company", self.caller.company)
        return next(each["state"] for each in listed["requests"] if each["id"] == self.request["id"])

    def held(self):
        return good(self.caller.get(f"/skus/{self.sku['id']}"))["data"]["components"]

    def decide(self, pool, submission, how, **more):
        with pool.company(UUID(self.caller.company)) as conn:
            how(conn, Actor(UUID(self.caller.company), PERSON, datetime.now(UTC)), UUID(submission), **more)


@pytest.mark.promise("SUP-01", "SUP-02", "SUP-05", "SVC-09")
def test_a_link_goes_from_open_to_review_to_open_again_and_to_its_end(caller, pool):
    link = Link(caller)
    assert set(link.request) >= {"id", "url", "token", "component_ids"}
    assert link.request["url"].endswith(f"/supplier-data/{link.request['token']}")
    assert (len(link.request["token"]) >= 32, link.request["component_ids"], link.state()) == (True, link.ids, "open")
    first = link.answer(weight_g=21)
    assert (first.status_code, first.json()["status"]) == (202, "awaiting_review")
    assert (link.state(), link.held()) == ("awaiting_review", link.sku["components"])
    second = good(link.answer(weight_g=22))["submission_id"]
    with pytest.raises(compare.Conflict):
        link.decide(pool, first.json()["submission_id"], decide.accept, rulesets=Rulesets())
    link.decide(pool, second, decide.reject, rulesets=Rulesets())
    assert (link.state(), link.held()) == ("open", link.sku["components"])
    third = good(link.answer(weight_g=23))["submission_id"]
    link.decide(pool, third, decide.accept, rulesets=Rulesets(), reason="Weighed")
    assert (link.state(), [line["weight_g"] for line in link.held()]) == ("closed", [23, 2])
    gone = refused(link.answer(weight_g=24), 404, "not_found")
    unknown = caller.server.send("POST", "/api/supplier-data/" + "x" * 43, json={})
    assert gone == refused(unknown, 404, "not_found")
    written = caller.data("/audit-log", action="sku.updated")[0]
    assert (written["actor"]["type"], third in written["reason"]) == ("user", True)


@pytest.mark.promise("SUP-03")
def test_an_answer_is_for_the_components_asked_about_with_consent(caller):
    link = Link(caller, component=1)
    other = link.answer(weight_g=1)
    assert [issue["code"] for issue in refused(other, 400, "invalid_body")] == ["unknown_reference"]
    for body in ({"consent": False, "response": {}}, {"response": {}}, {"consent": True, "response": {"sku": 1}}):
        refused(link.send(body), 400, "invalid_body")
    assert link.state() == "open"
    assert link.send({"consent": True, "response": {}}).status_code == 202, "every field of an answer is optional"


@pytest.mark.promise("SUP-04")
def test_ten_answers_a_minute_for_a_link_and_for_an_address(caller):
    within_a_minute(lambda: has_ten_answers(Link(caller)))
    within_a_minute(lambda: has_ten_guesses(caller.server))


def has_ten_answers(link):
    answers = [link.send({"consent": True, "response": {}}, address=f"198.51.100.{n + 10}") for n in range(11)]
    assert [answer.status_code for answer in answers] == [202] * 10 + [429]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60


def has_ten_guesses(server):
    headers = {"X-Forwarded-For": "198.51.100.7"}
    guesses = [server.send("POST", f"/api/supplier-data/{n}", json={}, headers=headers) for n in range(11)]
    assert [answer.status_code for answer in guesses] == [404] * 10 + [429]


@pytest.mark.promise("SUP-01")
def test_what_cannot_be_asked_is_refused_in_a_sentence(caller):
    sku, bare = caller.made(components=PARTS), caller.made()
    create = ("supplier-request", "create", "--company", caller.company, "--sku")
    for words, said in (
        (("no-such-code",), "no SKU no-such-code"),
        ((bare["sku_code"],), "no components"),
        ((sku["sku_code"], "--component", str(uuid4())), "is no component of the SKU"),
    ):
        status, sentence = caller.server.place.command(*create, *words)
        assert (status, said in sentence) == (1, True), sentence
    assert caller.server.place.command(*create, sku["sku_code"], "--component", "cap")[0] == 2
    first, second = (line["id"] for line in sku["components"])
    both = caller.server.place.pcds(*create, sku["sku_code"], "--component", f"{second},{first}")
    assert both["component_ids"] == [second, first]
    created = caller.data("/audit-log", action="supplier_request.created")
    assert [(entry["resource_id"], entry["actor"]["type"]) for entry in created] == [(both["id"], "operator")]
    assert both["token"] not in str(created)
