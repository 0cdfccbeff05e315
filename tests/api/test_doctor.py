"""`pcds doctor`: codes from before texts had one form are reported, and nothing is merged."""

from datetime import UTC, datetime
from types import SimpleNamespace

import orjson
import psycopg
import typer
from typer.testing import CliRunner

from api.operate import commands as command
from schemas.actors import Actor
from schemas.operate import State
from services import operate
from services.operate import Finding, Problem, find_codes
from services.review import decide
from tests.api.asking import BODY, OPERATOR, ask
from tests.api.test_documents import drafted, issued
from warehouse.operate.clock import Clock
from warehouse.rules import Rulesets


def held_from_before(caller, database, code, stored):
    """A SKU as an earlier release stored its code."""
    sku = caller.made(sku_code=code)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        owner.execute("UPDATE skus SET sku_code = %s WHERE id = %s", [stored, sku["id"]])
    return sku


def examined(pool, monkeypatch):
    """The command over the test database."""

    here = SimpleNamespace(pool=pool, clock=Clock())
    monkeypatch.setattr(command, "looked_at", lambda *_: ([], here))
    app = typer.Typer()
    app.command()(command.doctor)
    return app


def test_values_without_a_unit_are_reported_and_stay_as_they_are(caller, database, pool, monkeypatch):
    sku = caller.made(sku_code="A")
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        stored = '{"status":"below_limit","value":150}'
        owner.execute("UPDATE skus SET heavy_metals = %s WHERE id = %s", [stored, sku["id"]])
    printed = CliRunner().invoke(examined(pool, monkeypatch), ["--company", str(caller.company), "--json"])
    [found] = orjson.loads(printed.stdout)["values_without_unit"]
    assert (found["sku_code"], found["sku_id"], found["unit"]) == ("A", sku["id"], "mg_per_kg")
    assert (found["status"], found["implied"]) == ("below_limit", "above_limit")
    entry = caller.get(f"/skus/{sku['id']}").json()["data"]["substances"]["heavy_metals"]
    assert (entry["value"], entry["unit"], entry["status"]) == (150, None, "below_limit")


def test_codes_that_are_one_now_are_reported_and_stay_as_they_are(caller, database, pool, monkeypatch):
    held_from_before(caller, database, "OLD-1", "CODE\u200b-1")
    caller.made(sku_code="CODE-1")
    lonely = held_from_before(caller, database, "OLD-2", "Cafe\u0301 \x1b")
    caller.made(sku_code="Café")  # in the one form from the start
    with pool.company(caller.company) as conn:
        found = find_codes(conn)
    assert found == [
        Finding("sku", "CODE-1", ("CODE-1", "CODE\u200b-1")),
        Finding("sku", "Café \x1b", ("Cafe\u0301 \x1b",)),
    ]
    assert [finding.collides for finding in found] == [True, False]

    app = examined(pool, monkeypatch)
    printed = CliRunner().invoke(app, ["--company", str(caller.company), "--json"])
    report = orjson.loads(printed.stdout)
    assert [each["held"] for each in report["collisions"]] == [["CODE-1", "CODE\u200b-1"]]
    assert report["unreachable"][0]["code"] == "Café \x1b"
    assert "\x1b" not in CliRunner().invoke(app, ["--company", str(caller.company)]).stdout
    assert len(caller.get("/skus").json()["data"]) == 4
    assert caller.get(f"/skus/{lonely['id']}").json()["data"]["sku_code"] == "Cafe\u0301 \x1b"


def test_answers_for_another_part_are_reported_and_stay_as_they_are(caller, database, pool, monkeypatch):
    """As an older release applied one: it kept nothing of the PET label that the supplier was asked about."""
    asked = ask(caller, pool, components=[{**BODY, "component_type": "label"}])
    assert asked.answer({"weight_g": 1.5}).status_code == 202
    other = {"id": asked.components[0], "component_type": "cap", "material_family": "metal", "weight_g": 2}
    caller.put(f"/skus/{asked.sku_id}", {"sku_code": "BOTTLE-1", "name": "Bottle", "components": [other]})
    with pool.company(caller.company) as conn:
        [[entry]] = conn.execute("SELECT id FROM review_entries").fetchall()
        now = datetime.now(UTC)
        decide.accept(conn, Actor(caller.company, OPERATOR, now), entry, rulesets=Rulesets(), parts_compared=True)
    app = examined(pool, monkeypatch)
    arguments = ["--company", str(caller.company)]
    assert orjson.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["misapplied_answers"] == []
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        owner.execute("UPDATE review_entries SET decided = NULL WHERE company_id = %s", [caller.company])
    [found] = orjson.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["misapplied_answers"]
    assert (found["entry_id"], found["sku_code"]) == (str(entry), "BOTTLE-1")
    assert (found["asked"]["polymer_or_grade"], found["written_to"]["material_family"]) == ("PET", "metal")
    told = CliRunner().invoke(app, arguments).stdout
    assert "label (PET, 20 g)" in told
    assert "cap (metal, 2 g)" in told


def test_a_declaration_that_its_own_record_contradicts_is_found_with_each_fact(caller, database, pool, monkeypatch):
    """decisions §13, issue 31: what is already false is found, and nothing is rewritten."""
    sound, wrong, gone = (caller.made(material="paper", weight_grams=9) for _ in range(3))
    docs = [issued(caller, drafted(caller, sku)) for sku in (sound, wrong, gone)]
    facts = """food_contact = true, pfas = '{"status":"above_limit"}', heavy_metals = '{"status":"above_limit"}'"""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        owner.execute(f"UPDATE skus SET {facts} WHERE id = ANY(%s)", [[wrong["id"], gone["id"]]])
    assert caller.post(f"/docs/{docs[2]['id']}/withdraw", {"reason": "Wrong."}).status_code == 200
    printed = CliRunner().invoke(examined(pool, monkeypatch), ["--company", str(caller.company), "--json"])
    [found] = orjson.loads(printed.stdout)["declarations_against_record"]
    assert (found["doc_id"], found["sku_code"]) == (docs[1]["id"], wrong["sku_code"])
    assert ["Article 5(5)" in found["facts"][0], "Article 5(4)" in found["facts"][1]] == [True, True]
    assert caller.get(f"/docs/{docs[1]['id']}").json()["data"]["state"] == "valid"
    archived = caller.post(f"/skus/{wrong['id']}/archive", {})
    assert archived.status_code == 200, archived.text
    again = CliRunner().invoke(examined(pool, monkeypatch), ["--company", str(caller.company), "--json"])
    assert orjson.loads(again.stdout)["declarations_against_record"] == [found]


def test_what_was_not_looked_at_is_not_called_sound(monkeypatch):
    wrong = [Problem(State.MIGRATION, "It is behind.", "Migrate.")]
    monkeypatch.setattr(command, "looked_at", lambda *_: (wrong, None))
    app = typer.Typer()
    app.command()(command.doctor)
    report = orjson.loads(CliRunner().invoke(app, ["--json"]).stdout)
    assert "migration" in [each["check"] for each in report["problems"]]
    assert [report[name] for name in ("companies", *operate.KINDS)] == [None] * (1 + len(operate.KINDS))


def test_a_sku_from_before_is_written_by_its_id(caller, database):
    sku = held_from_before(caller, database, "OLD", "A\u200b1")
    answer = caller.put(f"/skus/{sku['id']}", {"sku_code": "A\u200b1", "name": "New"})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "updated")
    assert caller.put(f"/skus/{sku['id']}", {"sku_code": "A2", "name": "New"}).status_code == 400
