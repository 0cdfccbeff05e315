"""One import as one Dagster run: graded SKUs, a report at the caller's lines, counts that add up, a record to read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import dagster as dg
import psycopg
import pytest
import structlog

from pipelines.writing.write import PlanLimitReached
from schemas import contracts
from schemas.actors import Actor
from services.imports.undo import undo
from tests.pipelines.conftest import ORIGIN, Desk, Workbook
from tests.pipelines.shown import lines

HEADER = "sku_code;name;material;weight_grams;food_contact;markets;gtin"
FILE = "\n".join(
    [
        HEADER,
        "A1;Bottle 1;plastic;24,5;yes;FR,DE;4006381333931",
        "A2;Bottle 2;plastic;heavy;yes;FR;",
        "A3;Carton;paper;12,0;no;GB;",
        "A4;Tin;metal;31,0;no;XX;4006381333930",
        "A5;Jar;glass;210,0;yes;FR;",
        "A1;Bottle 1 again;plastic;24,5;yes;FR;",
        "A6;Tray;plastic;9,5;yes;DE;",
        "A7;Film;plastic;1,5;yes;DE;",
    ]
)


def test_a_file_ends_as_graded_skus_and_a_report_of_the_rest(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert desk.poll(import_id)["status"] == "queued"
    assert desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["status"] == "completed"
    assert ended["counts"] == {"total": 8, "created": 5, "updated": 0, "unchanged": 0, "rejected": 3}
    assert ended["progress"] == {"done": 8, "total": 8}
    assert [(e["line"], e["sku_code"], e["field"], e["column"], e["value"], e["code"]) for e in ended["errors"]] == [
        (3, "A2", "weight_grams", "D", "heavy", "invalid_number"),
        (5, "A4", "markets", "F", "XX", "unknown_market"),
        (5, "A4", "gtin", "G", "4006381333930", "invalid_gtin"),
        (7, "A1", "sku_code", "A", "A1", "duplicate_sku_code"),
    ]
    stored = desk.rows(
        "SELECT sku_code, import_line, recyclability_grade IS NOT NULL FROM skus "
        "WHERE company_id = %s ORDER BY sku_code"
    )
    assert stored == [("A1", 2, True), ("A3", 4, True), ("A5", 6, True), ("A6", 8, True), ("A7", 9, True)]
    assert desk.entries() == {"import.submitted": 1, "sku.created": 5, "import.completed": 1}


def test_sending_the_same_file_again_changes_nothing(desk: Desk) -> None:
    assert desk.run(desk.send(FILE))
    again = desk.send(FILE)
    assert desk.run(again)
    assert desk.poll(again)["counts"] == {"total": 8, "created": 0, "updated": 0, "unchanged": 5, "rejected": 3}


def test_a_dry_run_reports_the_same_and_stores_no_sku(desk: Desk) -> None:
    dry = desk.send(FILE, dry_run=True)
    assert desk.run(dry)
    assert desk.rows("SELECT count(*) FROM skus WHERE company_id = %s") == [(0,)]
    wet = desk.send(FILE)
    assert desk.run(wet)
    for name in ("counts", "errors", "progress"):
        assert desk.poll(dry)[name] == desk.poll(wet)[name]


def test_the_run_is_found_by_its_tags_and_tells_what_happened(desk: Desk) -> None:
    import_id = desk.send(FILE)
    assert desk.run(import_id)
    (found,) = desk.instance.get_runs(dg.RunsFilter(tags={"pcds/import_id": str(import_id)}))
    assert found.tags["pcds/company_id"] == str(desk.company)
    assert found.tags["pcds/filename"] == "portfolio.csv"
    metadata: dict[str, Any] = {}
    for asset in ("uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report"):
        event = desk.instance.get_latest_materialization_event(dg.AssetKey(asset))
        assert event is not None
        assert event.asset_materialization is not None
        metadata[asset] = event.asset_materialization.metadata
    assert metadata["parsed_table"]["rows_read"].value == 8
    assert metadata["graded_skus"]["skus_created"].value == 5
    assert lines(metadata["graded_skus"]["grades"])[0].startswith("A | ")
    assert " | A2 | weight_grams | D | heavy | " in lines(metadata["import_report"]["first_rejected"])[0]
    evaluations = [
        event.dagster_event.asset_check_evaluation_data
        for event in desk.instance.all_logs(found.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
        if event.dagster_event
    ]
    assert [(verdict.check_name, verdict.passed) for verdict in evaluations] == [
        ("contract", True),
        ("contract", True),
        ("every_sku_has_a_grade_state", True),
        ("counts_add_up", True),
    ]


def test_components_reach_their_sku_and_faults_their_sheet_and_line(desk: Desk, workbook: Workbook) -> None:
    """A library component of nobody is found by the write path; its fault stands at its line of the components."""
    book = workbook(
        main=[["sku_code", "name"], ["A1", "Bottle"], ["A2", "Jar"]],
        components=[
            ["sku_code", "component_type", "material_family", "weight_g", "supplier_id"],
            ["A1", "body", "plastic", 20, None],
            ["A1", "cap", "plastic", 2, str(UUID(int=7))],
            ["A2", "body", "glass", 200, None],
            ["A9", "body", "glass", 200, None],
        ],
    )
    import_id = desk.send(book, filename="portfolio.xlsx")
    assert desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["counts"] == {"total": 3, "created": 1, "updated": 0, "unchanged": 0, "rejected": 2}
    shown = ("sheet", "line", "sku_code", "field", "column", "value", "code")
    assert [tuple(error[name] for name in shown) for error in ended["errors"]] == [
        ("components", 3, "A1", "supplier_id", "E", str(UUID(int=7)), "unknown_reference"),
        ("components", 5, "A9", "sku_code", "A", "A9", "unknown_reference"),
    ]


def test_an_empty_name_leaves_a_held_sku_its_own_and_makes_no_new_one(desk: Desk) -> None:
    assert desk.run(desk.send("sku_code,name,material\nA1,Bottle,plastic"))
    import_id = desk.send("sku_code,name,material\nA1,,glass\nA2,,glass")
    assert desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["counts"] == {"total": 2, "created": 0, "updated": 1, "unchanged": 0, "rejected": 1}
    assert [(e["line"], e["field"], e["column"], e["code"]) for e in ended["errors"]] == [(3, "name", "B", "required")]
    assert desk.rows("SELECT name, material FROM skus WHERE company_id = %s") == [("Bottle", "glass")]


def test_all_faults_of_a_row_are_told_at_once(desk: Desk) -> None:
    """Whether an empty name is a fault is only known where it is looked up; the other faults do not hide it."""
    assert desk.run(desk.send("sku_code,name,weight_grams\nHELD,Bottle,5"))
    rows = ("HELD,,heavy", "NEW,,heavy", "NEW,,heavy", "OTHER,Jar,heavy")
    content = "\n".join(["sku_code,name,weight_grams", *rows])
    for dry_run in (True, False):
        import_id = desk.send(content, dry_run=dry_run)
        assert desk.run(import_id)
        ended = desk.poll(import_id)
        assert ended["counts"] == {"total": 4, "created": 0, "updated": 0, "unchanged": 0, "rejected": 4}
        assert [(e["line"], e["field"], e["column"], e["code"]) for e in ended["errors"]] == [
            (2, "weight_grams", "C", "invalid_number"),
            (3, "weight_grams", "C", "invalid_number"),
            (3, "name", "B", "required"),
            (4, "sku_code", "A", "duplicate_sku_code"),
            (4, "weight_grams", "C", "invalid_number"),
            (5, "weight_grams", "C", "invalid_number"),
        ]


def test_a_refusal_by_law_stands_at_its_cell(desk: Desk) -> None:
    rows = ("A1,Wrap,yes,FR,above_limit", "A2,Wrap,yes,US,above_limit")
    import_id = desk.send("\n".join(["sku_code,name,food_contact,markets,pfas_status", *rows]))
    assert desk.run(import_id)
    ended = desk.poll(import_id)
    assert ended["counts"] == {"total": 2, "created": 1, "updated": 0, "unchanged": 0, "rejected": 1}
    assert [(e["line"], e["sku_code"], e["field"], e["column"], e["value"], e["code"]) for e in ended["errors"]] == [
        (2, "A1", "pfas_status", "E", "above_limit", "pfas_food_contact_prohibited")
    ]


REFUSED = "pfas_food_contact_prohibited"


def _told(desk: Desk, import_id: UUID) -> list[tuple[Any, ...]]:
    assert desk.run(import_id)
    shown = ("line", "sku_code", "field", "column", "code")
    return [tuple(error[name] for name in shown) for error in desk.poll(import_id)["errors"]]


@pytest.mark.parametrize("dry_run", [True, False])
def test_units_of_a_file_make_a_market_in_effect(desk: Desk, dry_run: bool) -> None:
    """decisions §13: as if `markets` named it, territories of the Union among them; units of 2025 alone make none."""
    header = "sku_code,name,food_contact,pfas_status,annual_volume_de_2026,annual_volume_re_2026,annual_volume_fr_2025"
    rows = ("A1,Wrap,yes,above_limit,5,,", "A2,Wrap,yes,above_limit,,5,", "A3,Wrap,yes,above_limit,0,,5")
    told = _told(desk, desk.send("\n".join([header, *rows]), dry_run=dry_run))
    assert told == [(line, code, "pfas_status", "D", REFUSED) for line, code in ((2, "A1"), (3, "A2"))]


def test_the_refusal_has_the_columns_name_where_the_file_has_no_such_column(desk: Desk, workbook: Workbook) -> None:
    """decisions §§2, 4, 13: the facts are stored; a file of units alone, and one of parts alone, complete them."""
    held = "sku_code,name,food_contact,pfas_status\nA1,Wrap,yes,above_limit\nA2,Wrap,yes,absent"
    assert desk.run(desk.send(held))
    units = "sku_code,name,annual_volume_de_2026\nA1,,5\nA2,,5"
    assert _told(desk, desk.send(units, dry_run=True)) == [(2, "A1", "pfas_status", None, REFUSED)]
    assert _told(desk, desk.send(units)) == [(2, "A1", "pfas_status", None, REFUSED)]
    assert desk.run(desk.send("sku_code,name,markets\nA2,,La Réunion;GB"))
    assert desk.rows("SELECT markets FROM skus WHERE company_id = %s AND sku_code = 'A2'") == [(["FR", "GB"],)]
    with psycopg.connect(desk.database.owner_url) as owner:  # as an earlier release took it
        owner.execute("UPDATE skus SET markets = '{DE}' WHERE company_id = %s AND sku_code = 'A1'", (desk.company,))
    book = workbook(
        main=[["sku_code", "name"], ["B1", "Jar"]],
        components=[
            ["sku_code", "component_type", "material_family"],
            ["A1", "body", "paper"],
            ["B1", "body", "glass"],
        ],
    )
    assert [each[1:3] for each in _told(desk, desk.send(book, filename="parts.xlsx"))] == [("A1", "pfas_status")]


def test_a_file_that_only_lowers_units_is_never_refused_by_law(desk: Desk) -> None:
    held = "sku_code,name,food_contact,annual_volume_de_2026\nA1,Wrap,yes,100\nA2,Wrap,yes,100"
    assert desk.run(desk.send(held))
    with psycopg.connect(desk.database.owner_url) as owner:  # as an earlier release took it
        above = """UPDATE skus SET pfas = '{"status":"above_limit"}' WHERE company_id = %s"""
        owner.execute(above, (desk.company,))
    told = _told(desk, desk.send("sku_code,name,annual_volume_de_2026\nA1,,99\nA2,,101"))
    assert told == [(3, "A2", "pfas_status", None, REFUSED)]
    told = _told(desk, desk.send("sku_code,name,annual_volume_de_2026\nA1,Wrap,98\nA2,Wrap,100"))
    assert told == [(3, "A2", "pfas_status", None, REFUSED)]


def test_undoing_an_import_does_not_bring_a_forbidden_record_back(desk: Desk) -> None:
    """decisions §13: undo refuses alike; the version before the import has PFAS, food contact and units of 2026."""
    assert desk.run(desk.send("sku_code,name,food_contact,annual_volume_de_2026\nA1,Wrap,yes,100"))
    with psycopg.connect(desk.database.owner_url) as owner:  # as an earlier release took it
        above = """UPDATE skus SET pfas = '{"status":"above_limit"}' WHERE company_id = %s"""
        owner.execute(above, (desk.company,))
    last = desk.send("sku_code,name,annual_volume_de_2026\nA1,,0")
    assert desk.run(last)
    with desk.pool.company(desk.company) as conn:
        actor = Actor(desk.company, ORIGIN, desk.clock.now())
        for dry_run in (True, False):
            done = undo(conn, actor, last, rulesets=desk.rulesets, dry_run=dry_run)
            kept = [(sku["sku_code"], sku["code"]) for sku in done["kept"]]
            assert (done["counts"]["restored"], kept) == (0, [("A1", REFUSED)])
    assert desk.rows("SELECT volumes::text FROM skus WHERE company_id = %s") == [('{"DE/2026/0":0}',)]


@pytest.mark.parametrize(("dry_run", "held"), [(True, 99), (False, 97)])
def test_a_plan_that_fills_up_after_acceptance_fails_the_rest_and_never_a_dry_run(
    desk: Desk, new_company: Callable[[str], UUID], dry_run: bool, held: int
) -> None:
    """The plan holds a hundred; most places are taken between the answer and the run. Chunks are of three rows."""
    small = replace(desk, company=new_company("starter"))
    import_id = small.send("sku_code,name\n" + "\n".join(f"N{n},New" for n in range(5)), dry_run=dry_run)
    others = "sku_code,name\n" + "\n".join(f"S{n},Held" for n in range(held))
    assert small.run(small.send(others))
    assert small.run(import_id) is dry_run
    ended = small.poll(import_id)
    if dry_run:
        assert (ended["status"], ended["counts"]["created"]) == ("completed", 5)
    else:
        assert (ended["status"], ended["failure"]["code"]) == ("failed", "plan_limit_reached")
        assert ended["counts"]["created"] == ended["progress"]["done"] == 3


def test_a_file_that_would_pass_the_plan_is_refused_before_anything_is_kept(
    desk: Desk, new_company: Callable[[str], UUID]
) -> None:
    small = replace(desk, company=new_company("starter"))
    with pytest.raises(PlanLimitReached):
        small.send("sku_code,name\n" + "\n".join(f"N{n},New" for n in range(101)))
    assert small.rows("SELECT count(*) FROM imports WHERE company_id = %s") == [(0,)]
    assert list(desk.objects.stored(small.company)) == []


@pytest.mark.promise("IMP-31")
def test_an_import_that_meets_a_fault_of_ours_fails_once_and_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("sku_code of “a cell of the caller”")

    monkeypatch.setattr("pipelines.defs.imports.type_rows", broken)
    import_id = desk.send(FILE)
    assert not desk.run(import_id)
    ended = desk.poll(import_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "internal_error")
    assert ended["failure"]["correlationId"] == ORIGIN.correlation_id
    assert str(ORIGIN.correlation_id) in ended["failure"]["message"]
    assert "smaller parts" not in ended["failure"]["message"]
    assert desk.run(import_id), "it is not tried again, which is no failure"
    assert desk.entries() == {"import.submitted": 1, "import.failed": 1}


@pytest.mark.parametrize("dry_run", [False, True])
def test_the_operator_finds_a_fault_of_ours_by_the_callers_id(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a cell of the caller: A1")

    monkeypatch.setattr("pipelines.defs.imports.type_rows", broken)
    import_id = desk.send(FILE, dry_run=dry_run)
    with structlog.testing.capture_logs() as logged:
        assert not desk.run(import_id)
    failure = desk.poll(import_id)["failure"]
    (entry,) = [entry for entry in logged if entry["event"] == "import.failed_by_us"]
    assert entry["correlation_id"] == failure["correlationId"] == ORIGIN.correlation_id
    assert entry["frames"][-1].endswith(" broken")
    assert "a cell of the caller" not in str(entry)
    assert failure["correlationId"] in failure["message"]
    assert ("nothing was written" in failure["message"]) == dry_run


def test_a_contract_that_is_broken_is_a_fault_of_ours_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemas.contracts.typed_rows", lambda _: contracts.parsed_table(("line",)))
    import_id = desk.send(FILE)
    run = desk.launch(import_id)
    assert not run.success
    assert desk.poll(import_id)["failure"]["code"] == "internal_error"
    assert [check.passed for check in run.get_asset_check_evaluations()] == [True, False]
    assert desk.rows("SELECT count(*) FROM skus WHERE company_id = %s") == [(0,)], "nothing is written"


@pytest.mark.parametrize("loss", [psycopg.OperationalError("away"), OSError(28, "no space left"), MemoryError()])
def test_what_is_away_for_a_while_is_tried_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, loss: BaseException
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise loss

    import_id = desk.send(FILE)
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.defs.imports.type_rows", broken)
        assert not desk.run(import_id)
        assert desk.poll(import_id)["status"] == "processing"
    assert desk.run(import_id)
    assert desk.poll(import_id)["status"] == "completed"
