"""Only what changes is written, once, wherever it is broken off."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines import rules
from pipelines.commands import regrade_portfolios
from tests.pipelines.regrading.office import Office
from tests.ruling import BOTTLE, FEATURE, GLASS, LINES
from warehouse.skus.portfolio import FEW


def test_only_what_changes_is_written_and_says_why(office: Office) -> None:
    office.write(B_1=BOTTLE, B_2=BOTTLE, G_1=GLASS)
    before = office.held()
    version = office.activate(LINES, then_regrade=False)
    assert office.held() == before
    totals = office.regrade()
    assert totals.as_dict() == {
        "companies": 1,
        "skus": 3,
        "changed": 2,
        "matrix": {"A→A": 1, "B→C": 2},
        "ruleset_version": version,
    }
    assert totals.regraded.examples == [["B-1", "B", "C"], ["B-2", "B", "C"]]
    assert office.held() == {"B-1": ("C", version, 2), "B-2": ("C", version, 2), "G-1": before["G-1"]}
    assert office.entries()[4:] == [
        ("ruleset.activated", "operator", None, None),
        *[("sku.updated", "system", f"Regraded by rule-set {version}.", 2)] * 2,
    ]
    assert office.chain_holds()


def test_a_trace_that_changes_is_written_although_the_grade_stays(office: Office) -> None:
    office.write(B_1=BOTTLE, G_1=GLASS)
    grades = {code: grade for code, (grade, _, _) in office.held().items()}
    version = office.activate(FEATURE)
    assert {code: grade for code, (grade, _, _) in office.held().items()} == grades
    assert {code: held[1] == version for code, held in office.held().items()} == {"B-1": True, "G-1": False}


def test_the_same_tables_under_another_name_change_nothing(office: Office) -> None:
    office.activate({})
    office.write(B_1=BOTTLE, G_1=GLASS)
    before, entries = office.held(), len(office.entries())
    office.activate({})
    assert office.held() == before
    assert len(office.entries()) == entries + 1, "the activation alone"
    again = regrade_portfolios(office.resources, office.instance, [office.company])
    assert (again.regraded.skus, again.regraded.changed) == (2, 0)


def test_it_goes_on_where_it_stopped_and_does_nothing_twice(office: Office) -> None:
    office.write(**{f"B_{number:02}": BOTTLE for number in range(10)})
    version = office.activate(LINES, then_regrade=False)
    services = office.services(3)
    for blocks in range(3):
        left = iter([None] * blocks)
        with pytest.raises(StopIteration):
            rules.regrade_company(services, office.company, lambda left=left: next(left))
    assert [held[1] == version for held in office.held().values()] == [True] * 9 + [False]
    rules.regrade_company(services, office.company, lambda: None)
    totals = office.regrade()
    assert (totals.regraded.skus, totals.regraded.changed, len(totals.regraded.examples)) == (10, 10, 10)
    assert {held[2] for held in office.held().values()} == {2}


def test_a_block_that_breaks_off_leaves_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.write(B_1=BOTTLE)
    before = office.held(), office.entries()
    office.activate(LINES, then_regrade=False)
    with monkeypatch.context() as broken:
        broken.setattr("warehouse.rules.advance", None)
        with pytest.raises(TypeError):
            office.regrade()
    assert (office.held(), office.entries()[:-1]) == before
    office.regrade()
    assert office.held()["B-1"][::2] == ("C", 2)


def test_workers_on_one_company_take_turns(office: Office) -> None:
    office.write(**{f"B_{number:02}": BOTTLE for number in range(30)})
    office.activate(LINES, then_regrade=False)
    services = office.services(2)
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(rules.regrade_company, services, office.company, lambda: None) for _ in range(4)]:
            done.result()
    assert {held[2] for held in office.held().values()} == {2}
    assert office.regrade().regraded.changed == 30
    assert office.chain_holds()


def test_a_block_of_more_rows_than_go_as_parameters_is_written_too(office: Office) -> None:
    """A deployment's blocks have thousands."""
    office.write(**{f"B_{number:03}": BOTTLE for number in range(FEW + 1)})
    version = office.activate(LINES, then_regrade=False)
    rules.regrade_company(office.services(FEW + 2), office.company, lambda: None)
    assert {*office.held().values()} == {("C", version, 2)}
    assert office.chain_holds()
