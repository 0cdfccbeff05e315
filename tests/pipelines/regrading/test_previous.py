"""What the rule-set before gave: told after a regrade, kept while the facts stay, gone with the first that changes."""

from typing import Any

from schemas.actors import Actor
from schemas.skus.inputs import parse_sku
from services.skus import detail as detail_skus
from services.skus.write import write_records
from tests.pipelines.regrading.office import CALLER, Office
from tests.ruling import BOTTLE, FEATURE, GLASS, LINES
from warehouse.skus import queries


def read(office: Office, code: str) -> dict[str, Any] | None:
    """`previous` as a read of the SKU answers it."""
    with office.pool.company(office.company) as conn:
        found = conn.execute(queries.BY_CODE, {"sku_code": code, "today": office.clock.today()}).fetchone()
        row = queries.row_of(found)
        before = detail_skus.version_before(row)
        shown = detail_skus.sku_detail(
            row,
            detail_skus.record(row),
            rules=office.rulesets.active(conn),
            doc_status="missing",
            graded_by=office.rulesets.of(conn, row["ruleset_version"]),
            before=before and office.rulesets.of(conn, before),
            today=office.clock.today(),
        )
    return shown["compliance"]["grade_trace"]["previous"]


def written(office: Office, code: str, **fields: Any) -> tuple[str, dict[str, Any] | None]:
    """The outcome of a person's write, and `previous` as it answers."""
    with office.pool.company(office.company) as conn:
        results = write_records(
            conn,
            Actor(office.company, CALLER, office.clock.now()),
            {0: parse_sku({"sku_code": code, "name": "n", **fields})},
            rulesets=office.rulesets,
            dry_run=False,
        )
        detail = results[0].detail()
    return results[0].outcome, detail["compliance"]["grade_trace"]["previous"]


def test_a_regrade_tells_what_the_rule_set_before_gave(office: Office) -> None:
    first = office.held_by()
    office.write(B_1=BOTTLE, G_1=GLASS)
    assert read(office, "B-1") is None
    second = office.activate(LINES)
    told = read(office, "B-1")
    assert told is not None
    assert (told["ruleset_version"], told["grade"], told["score"]) == (first, "B", 94)
    assert told["reason"].startswith("B with 94.0 points")
    assert read(office, "G-1") is None, "it was not regraded"
    office.activate(FEATURE)
    told = read(office, "B-1")
    assert told is not None
    assert (told["ruleset_version"], told["grade"]) == (second, "C")


def test_it_stays_while_the_facts_stay_and_goes_with_the_first_that_changes(office: Office) -> None:
    office.write(B_1=BOTTLE)
    office.activate(LINES)
    told = read(office, "B-1")
    assert told is not None
    assert written(office, "B-1", name="another") == ("updated", told)
    assert read(office, "B-1") == told
    assert written(office, "B-1", name="another") == ("unchanged", told)
    assert written(office, "B-1", packaging_format="jar") == ("updated", None)
    assert read(office, "B-1") is None
    assert written(office, "B-1", packaging_format="bottle") == ("updated", None)
    assert read(office, "B-1") is None, "another record in between: the rule-set before never saw this one"


def test_a_write_that_comes_before_the_regrade_tells_it_too(office: Office) -> None:
    first = office.held_by()
    office.write(B_1=BOTTLE, B_2=BOTTLE)
    office.activate(LINES, then_regrade=False)
    outcome, told = written(office, "B-1", name="renamed")
    assert told is not None
    assert (outcome, told["ruleset_version"], told["grade"]) == ("updated", first, "B")
    assert read(office, "B-1") == told
    assert written(office, "B-2", name="n", weight_grams=99) == ("updated", None)
    assert read(office, "B-2") is None
    assert written(office, "B-3", **BOTTLE) == ("created", None)
