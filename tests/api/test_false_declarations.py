"""Kept declarations that today's record contradicts, and equal first ones, are found; nothing of them is changed."""

import shutil

import orjson
import psycopg
import pytest
from typer.testing import CliRunner

from services.operate import Looked, find
from tests.api.portfolios import counted, service_behind
from tests.api.test_declarations import GERMANY, JAR, UK, kept, placed
from tests.api.test_doctor import examined


@pytest.fixture
def declared(caller):
    placed(caller, "JAR", JAR, ("DE", 2025, 0, 1_000_000), ("GB", 2025, 1, 10_001))
    counted(caller)
    return caller


def found(caller, pool):
    service = service_behind(caller)
    with pool.company(caller.company) as conn:
        looked = Looked(conn, service.rulesets, service.clock.today(), caller.company, service.settings.data_dir)
        every = find(looked)
    return {"changed": every["changed_declarations"], "double": every["double_declarations"]}


def as_owner(database, caller, statement, *values):
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, false)", [str(caller.company)])
        owner.execute(statement, values)


def rated(**uk):
    ratings = [{"sku_code": "JAR", "component_type": kind, "rating": "G"} for kind in ("body", "closure")]
    return UK | {"uk": {"organisation_id": "123456", "ratings": ratings, **uk}}


def test_what_is_still_so_is_not_found(declared, pool):
    for body in (GERMANY, GERMANY | {"format": "json"}, rated(), {"market": "GB", "year": 2025, "format": "csv"}):
        kept(declared, **body)
    assert found(declared, pool) == {"changed": [], "double": []}


@pytest.mark.parametrize("form", ["csv", "json", "rpd"])
def test_a_declaration_whose_figures_are_others_now_is_found_until_it_is_corrected(declared, pool, form):
    body = rated() if form == "rpd" else GERMANY | {"format": form}
    first = kept(declared, **body)
    placed(declared, "MORE", JAR[:1], ("DE", 2025, 0, 500_000), ("GB", 2025, 1, 5_000))
    counted(declared)
    [changed] = found(declared, pool)["changed"]
    assert {name: changed[name] for name in ("id", "format", "kept_at")} == {
        "id": first["id"],
        "format": form,
        "kept_at": first["created_at"],
    }
    assert len(changed["differs"]) == 1
    if form == "rpd":
        assert changed["now"] - changed["filed"] == 1000
    else:
        assert changed["differs"] == ["glass"]
    assert declared.get(f"/declarations/{first['id']}").json()["data"]["sha256"] == first["sha256"]
    kept(declared, **body | {"corrects": first["id"]})
    assert found(declared, pool)["changed"] == []


def test_a_year_of_one_half_that_an_earlier_release_filed_as_nothing_is_found(declared, database, pool):
    """decisions §13: 0 t were filed where 1 463 t were recorded for half 1."""
    made = kept(declared, market="GB")
    header = declared.get(f"/declarations/{made['id']}/content").content.split(b"\r\n")[0] + b"\r\n"
    as_owner(database, declared, "UPDATE kept_declarations SET content = %s WHERE id = %s", header, made["id"])
    [changed] = found(declared, pool)["changed"]
    assert (changed["id"], changed["filed"], changed["differs"]) == (made["id"], 0, ["GL", "ST"])
    assert changed["now"] == 2.082708


def test_a_file_that_would_be_refused_now_says_so(declared, pool):
    first = kept(declared, **rated())
    made = next(sku for sku in declared.get("/skus").json()["data"] if sku["sku_code"] == "JAR")
    cleared = [{"market": "GB", "year": 2025, "half": 1, "units_placed": None}]
    assert declared.put(f"/skus/{made['id']}/volumes", cleared).status_code == 200
    counted(declared)
    [changed] = found(declared, pool)["changed"]
    assert (changed["id"], changed["filed"], changed["now"]) == (first["id"], 2083, None)
    assert changed["why"].startswith("It would be refused now: ")


def test_equal_first_declarations_from_before_are_found_and_doctor_reports_them(declared, database, pool, monkeypatch):
    first = kept(declared)
    second = kept(declared, corrects=first["id"])
    as_owner(database, declared, "UPDATE kept_declarations SET corrects = NULL WHERE id = %s", second["id"])
    double = {"market": "DE", "year": 2025, "half": 0, "format": "csv", "ids": [first["id"], second["id"]]}
    assert found(declared, pool) == {"changed": [], "double": [double]}

    placed(declared, "MORE", JAR[:1], ("DE", 2025, 0, 500_000))
    counted(declared)
    app = examined(pool, monkeypatch)
    data_dir = str(service_behind(declared).settings.data_dir)
    arguments = ["--company", str(declared.company), "--data-dir", data_dir]
    report = orjson.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    company = {"company_id": str(declared.company)}
    assert report["double_declarations"] == [company | double]
    assert {each["id"] for each in report["changed_declarations"]} == {first["id"], second["id"]}
    assert {each["company_id"] for each in report["changed_declarations"]} == {str(declared.company)}
    assert first["id"] in CliRunner().invoke(app, arguments).stdout


def test_what_could_not_be_compared_is_not_called_right(declared, pool):
    first = kept(declared)
    shutil.rmtree(service_behind(declared).settings.data_dir / "snapshots" / str(declared.company))
    [changed] = found(declared, pool)["changed"]
    assert (changed["id"], changed["compared_with"], changed["differs"]) == (first["id"], None, [])
    assert "nothing was compared" in changed["why"]
