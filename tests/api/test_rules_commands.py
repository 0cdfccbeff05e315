"""`pcds ruleset` and `pcds regrade` as an operator types them, on a data directory where no service runs."""

import shutil

import psycopg
import pytest

from compliance import ruleset
from compliance.ruleset import FURTHER
from compliance.tables import RULES as RULES_FOLDER
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from tests import ruling
from tests.api.test_commands import NOBODY
from tests.clusters import founded
from tests.commands import Pcds
from tests.ruling import BOTTLE, GLASS, LINES
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.operate.settings import Settings
from warehouse.rules import Rulesets

RELEASE = ruleset.versions()[-1]
RULES = len(ruleset.load().rules)


@pytest.fixture
def pcds(open_dir):
    settings = Settings.load(data_dir=open_dir / "data")
    with founded(settings):
        yield Pcds(settings.data_dir)


def written(pcds, company, **skus):
    records = {row: parse_sku({"sku_code": code, "name": "n", **body}) for row, (code, body) in enumerate(skus.items())}
    with (
        Pool(Database.from_settings(Settings.load(data_dir=pcds.data_dir)).app_url) as pool,
        pool.company(company) as conn,
    ):
        origin = Origin("api_key", None, None, "c")
        write_records(conn, Actor(company, origin, Clock().now()), records, rulesets=Rulesets(), dry_run=False)


def test_a_version_is_added_activated_and_regrades_what_is_held(pcds, tmp_path):
    company = pcds.json("company", "add", "--name", "Acme", "--plan", "enterprise")["id"]
    written(pcds, company, B=BOTTLE, G=GLASS)
    folder = ruling.folder(tmp_path, "2027-01-01", LINES)
    assert pcds.json("ruleset", "add", folder) == {"version": "2027-01-01", "active": False, "rules": RULES}
    assert pcds.json("ruleset", "activate", "2027-01-01") == {"version": "2027-01-01", "active": True, "rules": RULES}
    with psycopg.connect(Database.from_settings(Settings.load(data_dir=pcds.data_dir)).owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [company])
        graded = "SELECT sku_code, recyclability_grade, ruleset_version, version FROM skus ORDER BY sku_code"
        assert owner.execute(graded).fetchall() == [("B", "C", "2027-01-01", 2), ("G", "A", RELEASE, 1)]
        entered = "SELECT before, after FROM audit_entries WHERE action = 'ruleset.activated'"
        assert owner.execute(entered).fetchall() == [({"version": RELEASE}, {"version": "2027-01-01"})]
    assert pcds.json("regrade", "--company", company) == {
        "companies": 1,
        "skus": 2,
        "changed": 0,
        "matrix": {"A→A": 1, "C→C": 1},
        "ruleset_version": "2027-01-01",
    }
    listed = pcds.json("ruleset", "list")["rulesets"]
    expected = [*((version, False) for version in ruleset.versions()), ("2027-01-01", True)]
    assert [(each["version"], each["active"]) for each in listed] == expected


def test_a_version_without_the_tables_that_grade_nothing_is_added_and_activated(pcds, tmp_path):
    folder = ruling.folder(tmp_path, "2027-01-01", LINES)
    for name in FURTHER:
        (folder / name).unlink()
    added = pcds.json("ruleset", "add", folder)
    assert pcds.json("ruleset", "add", folder) == added == {"version": "2027-01-01", "active": False, "rules": RULES}
    shutil.copy(RULES_FOLDER / RELEASE / "guidance.csv", folder)
    assert "already, with other tables" in pcds.refused(1, "ruleset", "add", folder)
    assert pcds.json("ruleset", "activate", "2027-01-01")["active"]


def test_what_cannot_be_is_refused_in_one_sentence(pcds, tmp_path):
    assert NOBODY in pcds.refused(1, "regrade", "--company", NOBODY)
    assert "There is no rule-set 1999-01-01" in pcds.refused(1, "ruleset", "activate", "1999-01-01")
    assert "cannot be read" in pcds.refused(1, "ruleset", "add", tmp_path / "2027-01-02")
    twice = ruling.folder(tmp_path, "2027-01-03", {("scoring.csv", "cap_1"): {"value": "101"}})
    assert "must not raise the cap" in pcds.refused(1, "ruleset", "add", twice)
