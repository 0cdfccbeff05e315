"""Registrations and mandates by every door: what is missing in a market, and the file for marketplaces."""

import csv
import io

import pytest

from tests.api.people import hidden
from tests.api.test_company_roles import OWN, profile, told

PART = {"component_type": "body", "material_family": "glass", "weight_g": 20}
NUMBER = {"register_name": "LUCID", "number": "DE123", "valid_from": "2026-01-01"}
MANDATE = {"name": "Vertreter GmbH", "address": "Berlin", "mandate_from": "2026-08-12"}
SIGNED = {"name": "Ada Lovelace", "signed_on": "2026-08-12"}
PDF = b"%PDF-1.7\n%%EOF\n"


@pytest.fixture
def sku(caller):
    body = {"name": "Jar", "sku_code": "R-1", "markets": ["FR", "DE", "GB"], "components": [PART]}
    return caller.post("/skus", body).json()["data"]["id"]


@pytest.fixture
def seller(caller, pool, sku):
    """A company of France that sells directly to end users in Germany."""
    told(caller.put("/roles", OWN))
    return profile(caller, pool, seat="FR", size="small", sells_directly_abroad="yes")


def states(caller):
    return {each["market"]: each["state"] for each in told(caller.get("/registers"))}


def lines(caller, **more):
    answer = caller.get("/registers/file", **more)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return {line["member_state"]: line for line in csv.DictReader(io.StringIO(answer.text))}


def test_what_is_missing_follows_from_the_roles_and_what_is_held(caller, pool, sku):
    assert states(caller) == {"DE": "undecided", "FR": "undecided", "GB": "outside"}
    [germany] = [each for each in told(caller.get("/registers")) if each["market"] == "DE"]
    assert "LUCID" in germany["register_name"]
    by_market = {each["market"]: each for each in told(caller.get("/roles"))["markets"]}
    assert germany["asks"] == by_market["DE"]["producer"]["asks"]
    assert {each["fact"] for each in germany["asks"]} >= {"seat", "sells_directly_abroad"}
    told(caller.put("/roles", OWN))
    profile(caller, pool, seat="FR", size="small", sells_directly_abroad="no")
    assert states(caller) == {"DE": "not_needed", "FR": "missing", "GB": "outside"}
    told(caller.put(f"/skus/{sku}/roles", {"sells_directly_abroad": True}))
    assert states(caller) == {"DE": "missing", "FR": "missing", "GB": "outside"}


def test_markets_are_those_of_units_above_none_since_2026(caller):
    for code, rows in (
        ("Z-1", [("FR", 2026, 0), ("DE", 2026, 1), ("IT", 2025, 7)]),
        ("Z-2", [("ES", 2026, 0)]),
        ("Z-3", [("AT", 2027, 10), ("PL", 2026, 100)]),
    ):
        sku_id = caller.made(sku_code=code)["id"]
        volumes = [{"market": market, "year": year, "units_placed": units} for market, year, units in rows]
        told(caller.put(f"/skus/{sku_id}/volumes", volumes))
    assert states(caller).keys() == {"DE", "AT", "PL"}


def test_a_market_is_ready_with_number_and_mandate_and_the_file_says_so(caller, seller):
    body = {"market": "DE", "registrations": [NUMBER], "certification": SIGNED}
    foreseen = told(caller.put("/registers?dry_run=true", body | {"representative": MANDATE}))
    assert (foreseen["state"], foreseen["version"]) == ("ready", 0)
    assert states(caller)["DE"] == "missing"
    stored = told(caller.put("/registers", body))
    assert (stored["state"], stored["certified"], stored["version"]) == ("missing", False, 1)
    assert [(each["need"], each["state"]) for each in stored["needs"]] == [
        ("registration", "met"), ("representative", "missing")]  # fmt: skip
    row = lines(caller)["DE"]
    assert (row["register"], row["registration_number"], row["self_certification"]) == ("LUCID", "DE123", "")
    ready = told(caller.put("/registers", body | {"representative": MANDATE}))
    assert (ready["state"], ready["certified"], ready["version"]) == ("ready", True, 2)
    assert told(caller.put("/registers", body | {"representative": MANDATE}))["version"] == 2  # nothing changes
    written = lines(caller, headers={"Accept-Language": "de"})
    assert set(written) == {"DE", "FR"}  # a row for each Member State, none for GB
    row = written["DE"]
    assert row["self_certification"].startswith("Ich bescheinige")
    assert (row["certified_by"], row["certified_on"]) == ("Ada Lovelace", "2026-08-12")
    assert (row["authorised_representative"], row["valid_from"]) == ("Vertreter GmbH", "2026-01-01")
    assert written["FR"]["registration_number"] == ""
    two = [NUMBER, NUMBER | {"register_name": "=SUM(A1)", "number": "2", "valid_to": "2099-12-31"},
           NUMBER | {"number": "old", "valid_to": "2026-01-02"}]  # fmt: skip
    told(caller.put("/registers", body | {"registrations": two}))
    row = lines(caller)["DE"]
    assert (row["registration_number"], row["register"]) == ("DE123; 2", "LUCID; =SUM(A1)")
    assert row["valid_to"] == "; 2099-12-31"
    actions = [entry["action"] for entry in caller.get("/audit-log?limit=20").json()["data"]]
    assert actions.count("registers.updated") == 3


def test_a_write_is_refused_for_what_contradicts_itself_and_for_a_passed_version(caller, sku, join):
    for more, field, code in (
        ({"market": "ZZ"}, "market", "unknown_market"),
        ({"market": "AQ"}, "market", "unknown_market"),
        ({"registrations": [NUMBER | {"valid_to": "2025-12-31"}]}, "registrations[0].valid_to", "out_of_range"),
        ({"registrations": [NUMBER | {"valid_from": "2026-02-30"}]}, "registrations[0].valid_from", "invalid_date"),
        ({"registrations": [{"number": "1", "valid_from": "2026-01-01"}]}, "registrations[0].register_name", None),
        ({"representative": MANDATE | {"mandate_to": "2026-01-01"}}, "representative.mandate_to", "out_of_range"),
        ({"certification": SIGNED | {"signed_on": "2999-01-01"}}, "certification.signed_on", "out_of_range"),
        ({"registrations": [NUMBER] * 21}, "registrations", None),
        ({"state": "ready"}, "state", "unknown_field"),
    ):
        refused = caller.put("/registers", {"market": "DE", **more})
        assert refused.status_code == 400, refused.text
        [detail] = refused.json()["details"]
        assert detail["field"] == field
        assert code in (None, detail["code"])
    assert states(caller)["DE"] == "undecided"
    assert caller.put("/registers", {"market": "DE", "registrations": [NUMBER], "if_version": 0}).status_code == 200
    conflict = caller.put("/registers", {"market": "DE", "if_version": 0})
    assert (conflict.status_code, conflict.json()["error"]) == (412, "version_conflict")
    assert told(caller.get("/registers"))[0]["registrations"][0]["number"] == "DE123"
    assert told(join().get("/registers")) == []


def test_a_proof_is_a_file_of_the_same_company(caller, sku, join):
    sent = {
        "data": {"type": "authorised_representative_mandate"},
        "files": {"file": ("lucid.pdf", PDF, "application/pdf")},
    }
    uploaded = caller.request("POST", f"/skus/{sku}/files", **sent)
    assert uploaded.status_code == 201, uploaded.text
    proof = uploaded.json()["data"]["id"]
    body = {"market": "DE", "registrations": [NUMBER | {"proof_id": proof}],
            "representative": MANDATE | {"proof_id": proof}}  # fmt: skip
    assert told(caller.put("/registers", body))["registrations"][0]["proof_id"] == proof
    for refused in (join().put("/registers", body), join().put("/registers?dry_run=true", body)):
        assert refused.status_code == 400
        faults = [(each["field"], each["code"]) for each in refused.json()["details"]]
        paths = ("registrations[0].proof_id", "representative.proof_id")
        assert faults == [(path, "unknown_reference") for path in paths]


def test_parts_of_a_member_state_are_recorded_with_it(caller):
    stored = told(caller.put("/registers", {"market": "BE-VLG", "registrations": [NUMBER]}))
    assert (stored["market"], list(states(caller))) == ("BE", ["BE"])
    assert told(caller.put("/registers", {"market": "US-CA"}))["state"] == "outside"


def test_a_repeat_with_its_key_is_answered_as_the_first_was(caller):
    headers, body = {"Idempotency-Key": "registers-1"}, {"market": "DE", "registrations": [NUMBER]}
    first, again = (caller.put("/registers", body, headers=headers) for _ in range(2))
    assert first.json() == again.json()
    assert told(caller.get("/registers"))[0]["version"] == 1


def test_people_record_what_they_hold_on_pages(caller, seller):
    assert "Something is missing." in seller.get("/registers").text
    assert "Something is missing." in seller.get("/markets/DE").text
    form = hidden(seller.get("/registers?market=Germany").text)
    filled = {f"registrations[0].{name}": text for name, text in NUMBER.items()}
    filled |= {f"representative.{name}": text for name, text in MANDATE.items()}
    wrong = seller.post("/registers", form | filled | {"representative.mandate_from": "never"})
    assert wrong.status_code == 400
    assert "Vertreter GmbH" in wrong.text
    assert seller.post("/registers", form | filled).status_code == 303
    assert "Bereit." in seller.get("/registers?market=DE&lang=de").text
    assert "Prêt." in seller.get("/markets/DE?lang=fr").text
    assert "DE123" in seller.get("/registers").text
    assert seller.get("/registers/file.csv").text.splitlines()[0].startswith("member_state,register,")
    assert seller.post("/registers", form | filled).status_code == 400  # a version that has passed
    assert seller.get("/registers?market=Nowhere").status_code == 400
    assert told(caller.get("/registers"))[0]["representative"]["name"] == "Vertreter GmbH"
