"""The review queue: filed once, compared without writing, decided once, written by the one write path, audited."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor
from schemas.messages import translate
from schemas.refusals import NotThere, Refused
from services.audit import verify
from services.review import compare
from services.review import entries as entries_review
from services.skus import what_if
from services.skus.write import write_volumes
from tests.services.review.conftest import PERSON
from warehouse import review as entries

CARBON_BLACK = {
    "changes": {
        "components": [
            {
                "component_type": "body",
                "material_family": "plastic",
                "polymer_or_grade": "PET",
                "weight_g": 20,
                "colour": "carbon_black",
            },
        ]
    }
}
FORBIDDEN = {"changes": {"substances": {"pfas": {"status": "above_limit"}}}}


def proposal(queue, payload=CARBON_BLACK, **more):
    return queue.filed("sku_update", payload, sku_id=more.pop("sku_id", None) or queue.wrote()["id"], **more)


def test_a_proposal_is_compared_written_and_audited(queue):
    before = queue.wrote()
    entry = proposal(queue)
    comparison = queue.compared(entry)
    assert (comparison.version, comparison.refused) == (1, None)
    assert ("components[0].colour", None, "carbon_black") in comparison.changes
    assert ("components[1].component_type", "cap", None) in comparison.changes
    assert (comparison.before.grade, comparison.after.grade) == (before["recyclability_grade"], "not_recyclable")
    assert queue.held(before["id"])["components"] == before["components"], "a comparison writes nothing"
    decided = queue.accepted(entry, reason="Seen at the plant", seen_version=comparison.version)
    assert (decided.state, decided.decided_by_name, decided.reason) == ("accepted", "Ada Marsh", "Seen at the plant")
    held = queue.held(before["id"])
    assert (held["recyclability_grade"], held["components"][0]["colour"]) == ("not_recyclable", "carbon_black")
    assert queue.ledger()[1:] == [
        ("sku_proposal.filed", str(entry.id), "connection", "Assistant", None),
        ("sku.updated", before["id"], "user", "Ada Marsh", f"sku_proposal {entry.id} accepted: Seen at the plant"),
        ("sku_proposal.accepted", str(entry.id), "user", "Ada Marsh", "Seen at the plant"),
    ]


def test_the_reason_of_a_grade_is_kept_with_its_template(queue):
    comparison = queue.compared(proposal(queue))
    kept = json.loads(json.dumps(comparison.as_dict()))
    assert compare.Comparison.from_stored(kept).after == comparison.after
    assert translate(compare.Comparison.from_stored(kept).after.reason, "de").startswith(
        "Nicht recyclingfähig wegen der Gestaltung"
    )
    del kept["after"]["template"]
    assert translate(compare.Comparison.from_stored(kept).after.reason, "de") == comparison.after.reason


def test_a_rejection_applies_nothing(queue):
    sku = queue.wrote()
    assert queue.rejected(proposal(queue), reason="No").state == "rejected"
    assert queue.held(sku["id"])["components"] == sku["components"]
    assert [action for action, *_ in queue.ledger()] == ["sku.created", "sku_proposal.filed", "sku_proposal.rejected"]


@pytest.mark.parametrize("first", ["accepted", "rejected"])
def test_what_is_decided_stays_decided(queue, first):
    entry = proposal(queue)
    getattr(queue, first)(entry)
    for decide in (queue.accepted, queue.rejected):
        with pytest.raises(Refused, match=first):
            decide(entry)


def test_of_two_people_at_once_one_decides(queue):
    entry = proposal(queue)

    def decide(number):
        try:
            return (queue.accepted if number % 2 else queue.rejected)(entry).state
        except Refused:
            return None

    with ThreadPoolExecutor(6) as threads:
        outcomes = list(threads.map(decide, range(6)))
    assert len([outcome for outcome in outcomes if outcome]) == 1
    actions = [action for action, *_ in queue.ledger()]
    assert len([action for action in actions if action in ("sku_proposal.accepted", "sku_proposal.rejected")]) == 1


def test_a_sku_that_changed_since_it_was_shown_is_not_written(queue):
    entry = proposal(queue)
    seen = queue.compared(entry).version
    queue.wrote(name="Bottle, new")
    with pytest.raises(Refused, match="changed since"):
        queue.accepted(entry, seen_version=seen)
    assert queue.compared(entry).version == 2
    assert queue.accepted(entry, seen_version=2).state == "accepted"


def test_what_the_law_forbids_is_told_and_not_written(queue):
    sku = queue.wrote()
    entry = proposal(queue, FORBIDDEN)
    comparison = queue.compared(entry)
    assert [issue.code for issue in comparison.refusal[1:]] == ["pfas_food_contact_prohibited"]
    assert "Article 5(5)" in comparison.refused
    with pytest.raises(Refused, match=r"Article 5\(5\)"):
        queue.accepted(entry)
    assert queue.held(sku["id"])["substances"]["pfas"] is None
    assert queue.rejected(entry).state == "rejected"


def test_units_make_a_market_for_a_proposal_and_for_a_question_too(queue):
    """decisions §13: what accepting would refuse, the comparison and a what-if question refuse alike."""
    sku = queue.wrote(markets=None)
    rows = [{"market": "DE", "year": 2026, "half": 0, "units_placed": 5}]
    with queue.pool.company(queue.company) as conn:
        actor = Actor(queue.company, PERSON, queue.clock.now())
        write_volumes(conn, actor, sku["sku_code"], rows, rulesets=queue.rulesets, dry_run=False)
    entry = proposal(queue, FORBIDDEN, sku_id=sku["id"])
    with pytest.raises(Refused, match=r"units of 2026 \(5\) make DE a market"):
        queue.accepted(entry)
    with queue.pool.company(queue.company) as conn:
        actor = Actor(queue.company, PERSON, queue.clock.now())
        asked = what_if.compared(conn, actor, UUID(sku["id"]), FORBIDDEN["changes"], [], rulesets=queue.rulesets)
    assert [issue.message for issue in asked.refusal] == [issue.message for issue in queue.compared(entry).refusal]


def test_a_proposal_can_make_a_sku_as_far_as_the_plan_allows(other):
    with other.pool.company(other.company) as conn:
        conn.execute("UPDATE company_counters SET skus = 999")
    new = [other.filed("sku_update", {"changes": {"sku_code": code, "name": "New"}}) for code in ("N-1", "N-2")]
    assert (other.compared(new[0]).version, other.compared(new[0]).before) == (None, None)
    assert other.accepted(new[0]).state == "accepted"
    assert "1000" in other.compared(new[1]).refused
    with pytest.raises(Refused, match="1000"):
        other.accepted(new[1])


def test_a_sku_that_was_made_meanwhile_is_not_written_over(queue):
    entry = queue.filed("sku_update", {"changes": {"sku_code": "BOTTLE-1", "name": "Proposed"}})
    sku = queue.wrote()
    assert "exists by now" in queue.compared(entry).refused
    with pytest.raises(Refused, match="exists by now"):
        queue.accepted(entry)
    assert queue.held(sku["id"])["name"] == "Bottle"


def test_a_filing_that_is_repeated_is_filed_once(queue):
    sku = queue.wrote()
    with ThreadPoolExecutor(4) as threads:
        filed = list(threads.map(lambda _: proposal(queue, sku_id=sku["id"], filing_key=b"once"), range(4)))
    assert len({entry.id for entry in filed}) == 1
    queue.rejected(filed[0])
    assert proposal(queue, sku_id=sku["id"], filing_key=b"once").state == "rejected"
    assert [action for action, *_ in queue.ledger()].count("sku_proposal.filed") == 1


def test_a_draft_becomes_a_valid_declaration_once_nothing_is_open(queue, clock):
    sku = queue.wrote()
    entry = queue.filed("doc_draft", {"reference": "DOC-7"}, sku_id=sku["id"])
    today = clock.today()
    full = {
        "point.manufacturer": "Quai 1, Lyon",
        "point.standards": "EN 13430",
        "on_behalf_of": "Brand",
        "signatory": "Ada Marsh",
        "function": "Head of quality",
        "place": "Lyon",
        "issued_on": str(today),
        "expires_on": str(today + timedelta(days=365)),
    }
    wrong = {
        "point.standards": " ",
        "place": "",
        "issued_on": str(today + timedelta(days=1)),
        "signatory": "x" * 201,
        "expires_on": str(today - timedelta(days=1)),
        "function": "\x00",
    }
    for name, value in {**wrong, "point.manufacturer": "\n"}.items():
        with pytest.raises(Refused) as refused:
            queue.accepted(entry, issued_with=full | {name: value})
        assert [issue.field for issue in refused.value.issues] == [name]
    with pytest.raises(Refused) as refused:
        queue.accepted(entry)
    assert {issue.field for issue in refused.value.issues} == full.keys() - {"expires_on"}
    queue.accepted(entry, issued_with=full)
    with queue.pool.company(queue.company) as conn:
        docs = conn.execute("SELECT sku_id::text, reference, status, issued_on FROM docs").fetchall()
        [(content, pdf, sha256)] = conn.execute("SELECT content, pdf, sha256 FROM issued_declarations").fetchall()
    assert docs == [(sku["id"], "DOC-7", "valid", today)]
    assert (pdf[:5], hashlib.sha256(pdf).hexdigest()) == (b"%PDF-", sha256)
    said = str(content)
    assert "to be completed" not in said
    assert (content["notice"], content["missing"]) == ("", [])
    assert all(value in said for value in full.values() if value != full["expires_on"])
    assert [action for action, *_ in queue.ledger()][-2:] == ["doc.created", "doc_draft.accepted"]


def test_a_draft_about_nothing_cannot_be_issued(queue):
    with pytest.raises(Refused, match="names no item"):
        queue.accepted(queue.filed("doc_draft", {"reference": "DOC-7"}))


def test_the_queue_is_paged_the_longest_waiting_first(queue, clock):
    filed = []
    for _ in range(5):
        filed.append(proposal(queue).id)
        clock.advance(timedelta(minutes=1))
    with queue.pool.company(queue.company) as conn:
        pages = [entries.page(conn, limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [entry.id for page, _ in pages for entry in page] == filed
    assert {total for _, total in pages} == {5}
    queue.rejected(pages[0][0][0])
    queue.accepted(pages[0][0][1])
    with queue.pool.company(queue.company) as conn:
        decided, total = entries.page(conn, state="decided")
        assert entries.page(conn)[1] == 3
    assert ({entry.id for entry in decided}, total) == (set(filed[:2]), 2)


def test_another_companys_entries_are_nobodys(queue, other):
    entry = proposal(queue)
    for attempt in (other.accepted, other.rejected):
        with pytest.raises(NotThere):
            attempt(entry)
    with other.pool.company(other.company) as conn:
        assert entries.page(conn) == ([], 0)
        with pytest.raises(NotThere):
            entries_review.load_entry(conn, entry.id)
        with pytest.raises(NotThere):
            entries_review.load_entry(conn, uuid4())
    assert queue.accepted(entry).state == "accepted"


def test_the_ledger_of_decisions_verifies(queue):
    queue.accepted(proposal(queue))
    with queue.pool.company(queue.company) as conn:
        assert verify(conn).ok
