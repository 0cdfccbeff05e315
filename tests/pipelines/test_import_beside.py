"""Columns of what is printed on packs and of who is who: written with their rows, said, refused, and taken back."""

from typing import Any
from uuid import UUID

import orjson
import pytest

from schemas.actors import Actor
from services.imports.undo import undo
from tests.pipelines.conftest import ORIGIN, Desk, Workbook

HEADERS = (
    "sku_code;name;Logos auf der Verpackung;Stand der Druckvorlage;Neue Druckvorlage ab;Abgefüllt von;Lieferantenland"
)
FILE = f"""{HEADERS}
A1;Bottle;Grüner Punkt, Triman;in Gestaltung;31.12.2026;Lohnabfüller;Österreich
A2;Jar;keine;;;;
A3;Tin;RESY; ;;wir;
A4;Box;;;;;
"""


def mark(name: str, **answers: object) -> dict[str, object]:
    return {"mark": name, "carrier": "printed", "of_epr": None, **answers}


def printed(desk: Desk) -> dict[str, Any]:
    rows = desk.rows(
        "SELECT sku_code, printed::text FROM marks JOIN skus ON skus.id = record_id WHERE marks.company_id = %s"
    )
    return {code: text and orjson.loads(text) for code, text in rows}


def roles(desk: Desk) -> dict[str, Any]:
    rows = desk.rows(
        "SELECT sku_code, answers::text FROM role_answers JOIN skus ON skus.id = record_id"
        " WHERE role_answers.company_id = %s"
    )
    return {code: orjson.loads(text) for code, text in rows}


def ran(desk: Desk, content: str | bytes, **more: Any) -> dict[str, Any]:
    import_id = desk.send(content, **more)
    assert desk.run(import_id)
    return {"id": import_id, **desk.poll(import_id)}


def test_a_row_records_marks_artwork_and_answers(desk: Desk) -> None:
    ended = ran(desk, FILE)
    assert ended["counts"] == {"total": 4, "created": 4, "updated": 0, "unchanged": 0, "rejected": 0}
    artwork = {"artwork_reference": None, "artwork_state": "in_design", "changes_on": "2026-12-31"}
    nothing = {"claims": [], "artwork_reference": None, "artwork_state": None, "changes_on": None}
    assert printed(desk) == {
        "A1": {"marks": [mark("Grüner Punkt"), mark("Triman")], "claims": [], **artwork},
        "A2": {**nothing, "marks": []},
        "A3": {**nothing, "marks": [mark("RESY")]},
    }
    assert roles(desk) == {
        "A1": {"packed_by": "other", "supplier_country": "AT"},
        "A3": {"packed_by": "own"},
    }
    assert (desk.entries()["marks.updated"], desk.entries()["roles.updated"]) == (3, 2)
    said = {(reading["text"], reading["value"]) for reading in ended["source"]["readings"]}
    assert {("Grüner Punkt, Triman", "Grüner Punkt: epr, Triman: sorting"), ("keine", "[]")} <= said


def test_the_same_file_again_changes_nothing(desk: Desk) -> None:
    ran(desk, FILE)
    before = desk.entries()
    assert ran(desk, FILE)["counts"]["unchanged"] == 4
    after = desk.entries()
    assert [after[name] for name in ("marks.updated", "roles.updated")] == [
        before[name] for name in ("marks.updated", "roles.updated")
    ]


def test_a_cell_changes_its_own_field_alone(desk: Desk) -> None:
    """Answers of a mark that is named again stay, digital marks stay, and an empty cell leaves what is there."""
    ran(desk, FILE)
    digital = {"mark": "Green Dot", "carrier": "digital", "of_epr": None}
    claim = {"text": "Recyclable", "property": "recyclability", "about": "all", "exceeds": None, "proof_id": None}
    with desk.pool.company(desk.company) as conn:
        conn.execute(
            "UPDATE marks SET printed = %s WHERE record_id = (SELECT id FROM skus WHERE sku_code = 'A3')",
            [
                orjson.dumps(
                    {
                        "marks": [mark("RESY", of_epr=True), digital],
                        "claims": [claim],
                        "artwork_reference": "AW-1",
                        "artwork_state": None,
                        "changes_on": None,
                    }
                ).decode()
            ],
        )
    ended = ran(desk, "sku_code;printed_marks;artwork_state;role_made_by\nA3;Resy|Foo;approved;null\nA1;null;;andere\n")
    assert ended["counts"]["updated"] == 2
    assert printed(desk)["A3"] == {
        "marks": [mark("Resy", of_epr=True), mark("Foo"), digital],
        "claims": [claim],
        "artwork_reference": "AW-1",
        "artwork_state": "approved",
        "changes_on": None,
    }
    assert printed(desk)["A1"]["marks"] is None
    assert printed(desk)["A1"]["artwork_state"] == "in_design"
    assert roles(desk)["A1"] == {"packed_by": "other", "supplier_country": "AT", "made_by": "other"}
    ran(desk, "sku_code;marks_of_epr\nA3;no\n")
    assert [one["of_epr"] for one in printed(desk)["A3"]["marks"]] == [False, False, None]


def test_one_cell_of_a_sku_does_not_hide_what_its_brand_says(desk: Desk) -> None:
    brand = UUID(int=7)
    with desk.pool.company(desk.company) as conn:
        conn.execute(
            "INSERT INTO brands (company_id, id, name, created_at, updated_at) VALUES (%s, %s, 'B', now(), now())",
            [desk.company, brand],
        )
        body = {
            "marks": [mark("Green Dot")],
            "claims": [],
            "artwork_reference": None,
            "artwork_state": None,
            "changes_on": None,
        }
        conn.execute(
            "INSERT INTO marks VALUES (%s, %s, %s, 1, now())", [desk.company, brand, orjson.dumps(body).decode()]
        )
    ran(desk, f"sku_code;name;brand_id;printed_marks;artwork_state\nA1;a;{brand};;approved\nA2;b;{brand};Green Dot;\n")
    assert printed(desk) == {"A1": {**body, "artwork_state": "approved"}}


def test_what_is_not_understood_rejects_its_row(desk: Desk) -> None:
    ended = ran(
        desk,
        "sku_code;name;printed_marks;artwork_state;artwork_changes_on;role_supplier_country;role_mark\n"
        "A1;a;yes;;;;\nA2;b;;half;;;\nA3;c;;;01/02/2027;;\nA4;d;;;;Atlantis;\nA5;e;;;;;ours\nA6;f;;;;DE-BY;\nA7;g;n/a;;;;\n",
    )
    assert [(e["sku_code"], e["field"], e["code"]) for e in ended["errors"]] == [
        ("A1", "printed_marks", "invalid_type"),
        ("A2", "artwork_state", "not_in_vocabulary"),
        ("A3", "artwork_changes_on", "invalid_date"),
        ("A4", "role_supplier_country", "unknown_market"),
        ("A6", "role_supplier_country", "invalid_format"),
    ]
    assert (printed(desk), roles(desk)) == ({}, {"A5": {"mark": "own"}})


def test_a_dry_run_writes_nothing_and_says_what_would_change(desk: Desk) -> None:
    ran(desk, "sku_code;name\nA1;a\nA2;b\n")
    ended = ran(desk, "sku_code;name;printed_marks\nA1;a;Green Dot\nA2;b;\nA3;c;Triman\n", dry_run=True)
    assert ended["counts"] == {"total": 3, "created": 1, "updated": 1, "unchanged": 1, "rejected": 0}
    assert printed(desk) == {}


def test_undoing_the_import_puts_back_what_stood_there(desk: Desk) -> None:
    ran(desk, FILE)
    first = printed(desk)
    import_id = ran(desk, "sku_code;printed_marks;role_packed_by\nA1;Tidyman;wir\nA2;Green Dot;\nA3;FSC;\n")["id"]
    with desk.pool.company(desk.company) as conn:  # somebody answers since
        conn.execute(
            "UPDATE marks SET printed = jsonb_set(printed::jsonb, '{marks}', '[]')::json, version = version + 1"
            " WHERE record_id = (SELECT id FROM skus WHERE sku_code = 'A3')"
        )
    actor = Actor(desk.company, ORIGIN, desk.clock.now())
    for dry_run in (True, False):
        with desk.pool.company(desk.company) as conn:
            undone = undo(conn, actor, import_id, rulesets=desk.rulesets, dry_run=dry_run)
        assert undone["counts"] == {"restored": 2, "archived": 0, "unchanged": 0, "kept": 1}
        assert [(kept["sku_code"], kept["code"]) for kept in undone["kept"]] == [("A3", "changed_since")]
    assert printed(desk) == {**first, "A3": {**first["A3"], "marks": []}}
    assert roles(desk) == {"A1": {"packed_by": "other", "supplier_country": "AT"}, "A3": {"packed_by": "own"}}
    with desk.pool.company(desk.company) as conn:
        again = undo(conn, actor, import_id, rulesets=desk.rulesets, dry_run=False)
    assert again["counts"]["restored"] == 0


def test_a_day_of_a_workbook_is_a_day(desk: Desk, workbook: Workbook) -> None:
    ran(desk, workbook(SKUs=[["sku_code", "name", "artwork_changes_on"], ["A1", "a", "2027-01-15"]]), filename="a.xlsx")
    assert printed(desk)["A1"]["changes_on"] == "2027-01-15"


@pytest.mark.parametrize("cell", [";".join(f"Mark {number}" for number in range(51)), "x" * 256])
def test_too_many_marks_and_too_long_names_are_refused(desk: Desk, cell: str) -> None:
    ended = ran(desk, f'sku_code,name,printed_marks\nA1,a,"{cell}"\n')
    assert [(e["field"], e["code"]) for e in ended["errors"]] == [
        ("printed_marks", "out_of_range" if ";" in cell else "too_long")
    ]
