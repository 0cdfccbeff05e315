"""`pcds doctor`: codes from before texts had one form are reported, and nothing is merged."""

from contextlib import nullcontext

import orjson
import psycopg
import typer
from typer.testing import CliRunner

from api.commands import doctor as command
from services.doctor import Finding, find_codes
from services.place_checks import Problem


def held_from_before(caller, database, code, stored):
    """A SKU as an earlier release stored its code."""
    sku = caller.made(sku_code=code)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(caller.company)])
        owner.execute("UPDATE skus SET sku_code = %s WHERE id = %s", [stored, sku["id"]])
    return sku


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

    class Here:
        def __enter__(self):
            self.pool = pool
            self.company = pool.company
            return self

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(command, "as_operator", lambda _: Here())
    monkeypatch.setattr(command, "database_problems", lambda *_: [])
    app = typer.Typer()
    app.command()(command.doctor)
    printed = CliRunner().invoke(app, ["--company", str(caller.company), "--json"])
    report = orjson.loads(printed.stdout)
    assert [each["held"] for each in report["collisions"]] == [["CODE-1", "CODE\u200b-1"]]
    assert report["unreachable"][0]["code"] == "Café \x1b"
    assert "\x1b" not in CliRunner().invoke(app, ["--company", str(caller.company)]).stdout
    assert len(caller.get("/skus").json()["data"]) == 4
    assert caller.get(f"/skus/{lonely['id']}").json()["data"]["sku_code"] == "Cafe\u0301 \x1b"


def test_what_was_not_looked_at_is_not_called_sound(monkeypatch):
    monkeypatch.setattr(command, "as_operator", lambda _: nullcontext())
    monkeypatch.setattr(command, "database_problems", lambda *_: [Problem("migration", "It is behind.", "Migrate.")])
    app = typer.Typer()
    app.command()(command.doctor)
    report = orjson.loads(CliRunner().invoke(app, ["--json"]).stdout)
    assert "migration" in [each["check"] for each in report["problems"]]
    names = ("companies", "collisions", "unreachable", "changed_declarations", "double_declarations")
    assert [report[name] for name in names] == [None] * 5


def test_a_sku_from_before_is_written_by_its_id(caller, database):
    sku = held_from_before(caller, database, "OLD", "A\u200b1")
    answer = caller.put(f"/skus/{sku['id']}", {"sku_code": "A\u200b1", "name": "New"})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "updated")
    assert caller.put(f"/skus/{sku['id']}", {"sku_code": "A2", "name": "New"}).status_code == 400
