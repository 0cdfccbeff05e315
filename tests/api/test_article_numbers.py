"""Suppliers' article numbers: imported, seen at the item, and decided on where an answer has another."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from services import library
from services.review import decide
from tests.api.people import Browser, added, hidden
from tests.api.test_enquiry_table import LID, decided, parts_of
from tests.api.test_enquiry_table import asked as asked  # noqa: PLC0414  (a fixture)
from tests.api.test_import_answers import answered, imported, stored
from warehouse import suppliers

HEADER = "sku_code;name;component_type;material_family;component_weight_g;supplier_id;supplier_article\n"


def sold(asked, code):
    """The numbers of an item's parts, in their order: as they are kept, which the item's page shows."""
    sku_id, parts = parts_of(asked, code)
    with asked.pool.company(asked.caller.company) as conn:
        kept = {each.component_id: each for each in suppliers.sold_parts(conn, [part["id"] for part in parts])}
    page = unescape(asked.browser.get(f"/items/{sku_id}").text)
    shown = re.findall(r"<dt>Supplier’s article number</dt><dd>([^<]*)</dd>", page)
    assert shown == [f"{each.article} ({each.supplier})" for part in parts if (each := kept.get(part["id"]))]
    return [kept[part["id"]].article if part["id"] in kept else None for part in parts]


def warned(asked, import_id):
    report = asked.caller.get(f"/imports/{import_id}").json()
    return report["counts"], [(each["line"], each["code"]) for each in report["warnings"]]


def lines(*numbers, supplier="Dosen AG"):
    """A file of one item with two parts, and their numbers."""
    rows = (f"ART-1;Can;{kind};metal;{weight};{supplier}" for kind, weight in (("body", 12), ("cap", 2)))
    return HEADER + "\n".join(f"{row};{number}" for row, number in zip(rows, numbers, strict=True))


def test_a_file_gives_the_numbers_of_parts_and_a_later_one_changes_and_clears_them(asked):
    imported(asked.caller, lines("0815", "=4711"))
    assert sold(asked, "ART-1") == ["0815", "=4711"]
    counts, _ = warned(asked, imported(asked.caller, lines("0816", "")))
    assert (counts["updated"], counts["unchanged"], counts["rejected"]) == (1, 0, 0), "it changes nothing else"
    assert stored(asked.caller)["ART-1"]["version"] == 1, "it is no field of the record"
    assert sold(asked, "ART-1") == ["0816", "=4711"], "an empty cell says nothing"
    imported(asked.caller, lines("null", "x"))
    assert sold(asked, "ART-1") == [None, "x"]
    made = asked.ask("Dosen AG", "ART-1")
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert [value for name, value in asked.form().items() if name.endswith(".article") and value] == ["x"]


def renumbered(asked):
    """The numbers that the ledger has, of each entry before and after, the oldest first."""
    entries = asked.caller.get("/audit-log?resource_type=supplier&limit=100").json()["data"]
    return [
        [tuple(each[when]["articles"].values()) for when in ("before", "after")]
        for each in reversed(entries)
        if each["action"] == "supplier.updated" and "articles" in each["after"]
    ]


def accepted_numbers(asked):
    """The numbers that acceptances changed, before and after, as the ledger has them, the oldest first."""
    entries = asked.caller.get("/audit-log?action=supplier_submission.accepted&limit=100").json()["data"]
    changed = [each for each in reversed(entries) if "articles" in each["after"]]
    return [
        (each["before"]["articles"][part], new) for each in changed for part, new in each["after"]["articles"].items()
    ]


def undone(asked, import_id, **options):
    return asked.caller.post(f"/imports/{import_id}/undo", {}, params=options).json()


def test_a_number_that_a_file_changes_stands_in_the_ledger_and_is_taken_back_with_the_import(asked):
    imported(asked.caller, lines("0815", "4711"))
    second = imported(asked.caller, lines("0816", "4711"))
    assert renumbered(asked) == [[(None, None), ("0815", "4711")], [("0815",), ("0816",)]]
    dry = imported(asked.caller, lines("0817", "4711"), dry_run="true")
    assert warned(asked, dry)[0]["updated"] == 1, "a dry run says what would change"
    assert undone(asked, second, dry_run="true")["counts"]["restored"] == 1
    assert sold(asked, "ART-1") == ["0816", "4711"]
    assert undone(asked, second)["counts"] == {"restored": 1, "archived": 0, "unchanged": 0, "kept": 0}
    assert sold(asked, "ART-1") == ["0815", "4711"]
    assert renumbered(asked)[2:] == [[("0816",), ("0815",)]]
    assert undone(asked, second)["counts"]["restored"] == 0, "nothing is left to do"


def test_a_number_that_a_later_file_changed_stays_when_the_earlier_one_is_undone(asked):
    imported(asked.caller, lines("0815", "4711"))
    second, _ = imported(asked.caller, lines("0816", "4712")), imported(asked.caller, lines("0817", ""))
    answer = undone(asked, second)
    assert (answer["counts"]["restored"], [each["code"] for each in answer["kept"]]) == (1, ["changed_since"])
    assert sold(asked, "ART-1") == ["0817", "4711"]


def test_an_undone_first_import_leaves_no_number_behind(asked):
    first = imported(asked.caller, lines("0815", "4711"))
    assert undone(asked, first)["counts"]["archived"] == 1
    assert renumbered(asked)[1:] == [[("0815", "4711"), (None, None)]]


def test_parts_side_by_side_have_their_numbers_in_their_groups(asked):
    head = "sku_code;name;" + ";".join(
        f"component_{n}_{name}"
        for n in (1, 2)
        for name in ("component_type", "material_family", "weight_g", "supplier_id", "supplier_article")
    )
    rows = [f"W-1;Can;body;metal;12;{asked.own};A-1;cap;metal;2;{asked.own};A-2"]
    rows += [f"W-2;Can;;;;;;cap;metal;2;{asked.own};A-3"]
    imported(asked.caller, "\n".join([head, *rows]))
    assert (sold(asked, "W-1"), sold(asked, "W-2")) == (["A-1", "A-2"], ["A-3"])


@pytest.mark.parametrize(
    "title", ["Supplier article number", "Numéro d’article du fournisseur", "Artikelnummer des Lieferanten"]
)
def test_the_column_is_known_by_its_title(asked, title):
    text = lines("7", "8").replace("supplier_article", title)
    imported(asked.caller, text)
    assert sold(asked, "ART-1") == ["7", "8"]


def test_a_number_without_its_supplier_is_not_kept_and_says_so_and_a_dry_run_keeps_none(asked):
    counts, warnings = warned(asked, imported(asked.caller, lines("0815", "", supplier="")))
    assert (counts["created"], warnings) == (1, [(2, "required")])
    imported(asked.caller, lines("1", "2"), dry_run="true")
    assert sold(asked, "ART-1") == [None, None]
    too_long = imported(asked.caller, lines("x" * 101, "2"))
    assert warned(asked, too_long)[0]["rejected"] == 1


def test_an_answer_to_an_imports_question_gives_the_numbers_that_it_held_back(asked):
    text = lines("1", "2").replace("supplier_article", "Zyx")
    first = imported(asked.caller, text)
    report = answered(asked.caller, first, {"columns": {"supplier_article": "Zyx"}})
    assert report["counts"]["rejected"] == 0, report
    assert sold(asked, "ART-1") == ["1", "2"]
    assert stored(asked.caller)["ART-1"]["version"] == 1


@pytest.mark.parametrize(("choice", "kept"), [("take", "9999"), ("keep", "4711")])
def test_another_number_than_the_known_one_is_decided_by_a_person(asked, choice, kept):
    asked.send(do="save", **{"1__article": "4711"})
    asked.send(do="confirm")
    asked.send(do="send", consent="yes")
    reviewer = Browser(asked.caller.http, asked.caller.address)
    reviewer.sign_in(added(asked.pool, asked.caller.company, "approver"))
    entry = next(entry for entry in asked.entries() if entry.sku_code == "CAN-1")
    assert '<td colspan="5">4711</td>' in reviewer.get(f"/review/{entry.id}").text, "the reviewer sees it"
    for each in asked.entries():
        decided(asked, each, decide.accept)
    assert sold(asked, "CAN-1")[0] == "4711"
    made = asked.ask("Dosen AG", "CAN-1;CAN-2;CAN-3")
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    asked.send(do="save", **{"1__article": "9999"})
    asked.send(do="confirm")
    assert "sent=3" in asked.send(do="send", consent="yes").headers["location"]
    page = unescape(reviewer.get("/review/answers").text)
    assert "Supplier’s article number</th><td>4711</td><td><strong>9999</strong></td>" in page
    [key] = re.findall(r'name="choice\.(\w+)"', page)
    assert "accepted=1" in reviewer.post("/review/answers", hidden(page)).headers["location"], "CAN-3 has no such part"
    decision = {f"choice.{key}": choice, f"reason.{key}": "Their catalogue"}
    assert "accepted=2" in reviewer.post("/review/answers", hidden(page) | decision).headers["location"]
    assert [sold(asked, code)[0] for code in ("CAN-1", "CAN-2")] == [kept, kept]
    first, second = [(None, "4711")] * 2, [("4711", "9999")] * 2 if choice == "take" else []
    assert accepted_numbers(asked) == [*first, *second], "the ledger has each number that an answer changed"


def test_numbers_follow_a_supplier_that_is_renamed_or_merged(asked):
    imported(asked.caller, lines("1", "2"))
    renamed = asked.caller.request("PATCH", f"/suppliers/{asked.own}", json={"name": "Dosen GmbH"})
    assert renamed.status_code == 200, renamed.text
    assert sold(asked, "ART-1") == ["1", "2"]
    other = asked.caller.post("/suppliers", {"name": "Cans Ltd"}).json()["data"]["id"]
    with asked.pool.company(asked.caller.company) as conn:
        actor = Actor(UUID(str(asked.caller.company)), Origin("user", str(uuid4()), "Ada", "c-1"), datetime.now(UTC))
        library.merge(conn, actor, "supplier", UUID(asked.own), UUID(other))
    assert sold(asked, "ART-1") == ["1", "2"]
    made = asked.ask("Cans Ltd", "ART-1")
    asked.link = re.search(r"<code>[^<]*(/supplier-enquiries/[\w-]+)</code>", made.text)[1]
    assert {value for name, value in asked.form().items() if name.endswith(".article")} == {"1", "2"}


def test_no_other_company_sees_a_number(asked, join):
    imported(asked.caller, lines("SECRET-1", "2"))
    other = join()
    sku = {"sku_code": "ART-1", "name": "Own", "components": [LID]}
    own = other.post("/skus", sku).json()["data"]
    stranger = Browser(other.http, other.address)
    stranger.sign_in(added(asked.pool, other.company, "editor"))
    assert "article number" not in stranger.get(f"/items/{own['id']}").text
    theirs, parts = parts_of(asked, "ART-1")
    assert stranger.get(f"/items/{theirs}").status_code == 404
    with asked.pool.company(other.company) as conn:
        assert suppliers.sold_parts(conn, [part["id"] for part in parts]) == []
