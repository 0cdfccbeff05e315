"""A database that the release with rules of 2026-11-21 wrote, under the release that brings the newest."""

import shutil
from pathlib import Path
from random import Random

import pytest

from compliance.ruleset import RULES, versions
from pipelines import rules
from pipelines.defs.sensors import due_companies, overdue_work
from tests.compliance.worked import EXAMPLES, record_of
from tests.conftest import migrated
from tests.pipelines.regrading.office import Office, opened
from tests.pipelines.regrading.test_previous import read
from tests.pipelines.sensing import follow, of_job
from warehouse import rules as rules_warehouse
from warehouse.operate.clock import StoppedClock
from warehouse.operate.database import Database

OLD, *_, NEW = versions()
SEED = 15
WORKED = {version: {e["name"]: e for of, e in (p.values for p in EXAMPLES) if of == version} for version in (OLD, NEW)}
CODES = {f"S_{number:02}": name for number, name in enumerate(sorted(WORKED[OLD]))}
"""The examples that both rule-sets have, as SKUs."""


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of the release before; another release is its folder with one more version."""
    monkeypatch.setattr("warehouse.rules.FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rules, "FRESH_SECONDS", 0.0)
    shipped = tmp_path / "shipped"
    shutil.copytree(RULES / OLD, shipped / OLD)
    monkeypatch.setattr("compliance.ruleset.RULES", shipped)
    return shipped


def as_worked(office: Office, version: str) -> None:
    """Every SKU has the grade that was worked out by hand for it."""
    grades = {code: grade for code, (grade, _, _) in office.held().items()}
    expected = {code.replace("_", "-"): WORKED[version][name]["expected"]["grade"] for code, name in CODES.items()}
    assert grades == expected


def test_the_new_release_regrades_by_itself_and_says_what_was_before(
    server: Database, clock: StoppedClock, tmp_path: Path, release: Path
) -> None:
    with migrated(server) as database, opened(database, clock, tmp_path) as office:
        office.write(**{code: {**record_of(WORKED[OLD][name])} for code, name in CODES.items()})
        as_worked(office, OLD)
        written = len(office.entries())
        shutil.copytree(RULES / NEW, release / NEW)
        follow(overdue_work, office.instance, office.resources, only=of_job("read_rule_set"))
        chance = Random(SEED)
        for _ in range(5):  # broken off after so many blocks of three, each time by another process
            left = iter([None] * chance.randrange(1, 3))
            with pytest.raises(StopIteration):
                rules.regrade_company(office.services(3), office.company, lambda left=left: next(left))
            assert office.chain_holds()
        assert [
            run.success
            for run in follow(due_companies, office.instance, office.resources, only=of_job("regrade_portfolios"))
        ] == [True]
        assert rules_warehouse.open_regrades(office.pool) == []
        as_worked(office, NEW)
        regraded = {code for code, (_, by, _) in office.held().items() if by == NEW}
        assert len(regraded) > 10
        assert {version for code, (_, _, version) in office.held().items() if code in regraded} == {2}
        assert [entry[:3] for entry in office.entries()[written:]] == [
            ("sku.updated", "system", f"Regraded by rule-set {NEW}.")
        ] * len(regraded)
        for code, name in CODES.items():
            told, before = read(office, code.replace("_", "-")), WORKED[OLD][name]["expected"]
            expected = (OLD, before["grade"], before["score"]) if code.replace("_", "-") in regraded else None
            assert expected == (told and (told["ruleset_version"], told["grade"], told["score"]))
        assert office.chain_holds()
