"""What a part was when it was asked about: kept, compared, and never written over another part without a word."""

from datetime import timedelta
from uuid import UUID

import orjson
import psycopg
import pytest

from schemas.actors import Actor, Origin
from schemas.refusals import Refused
from schemas.skus.types import SupplierResponse
from services import suppliers
from services.review import compare
from services.review.entries import facts_of, find_misapplied
from tests.services.review.conftest import PERSON, Queue
from warehouse import review as entries
from warehouse.operate.database import Database
from warehouse.skus import store

PE = {
    "component_type": "label",
    "material_family": "plastic",
    "polymer_or_grade": "PE",
    "weight_g": 1.2,
    "position_in_sku": 2,
}
PET = {**PE, "polymer_or_grade": "PET", "weight_g": 0.8}
ANSWER: SupplierResponse = {"components": [{"weight_g": 1.23, "substances": {"pfas": {"status": "absent"}}}]}
SUPPLIER = Origin("supplier", None, None, "c-3")


@pytest.fixture
def asked(queue: Queue) -> tuple[str, str]:
    """A SKU with a PE label, about which its supplier is asked: the SKU's id and the label's."""
    sku = queue.wrote(components=[PE])
    [line] = sku["components"]
    queue.clock.advance(timedelta(minutes=1))
    with queue.pool.company(queue.company) as conn:
        suppliers.create_request(
            conn,
            Actor(queue.company, PERSON, queue.clock.now()),
            sku_code=sku["sku_code"],
            component_ids=[UUID(line["id"])],
            supplier_name="PE Labels",
        )
    queue.clock.advance(timedelta(minutes=1))
    return sku["id"], line["id"]


def answered(queue: Queue) -> entries.Entry:
    with queue.pool.company(queue.company) as conn:
        [request] = conn.execute("SELECT id FROM supplier_requests").fetchall()
        return suppliers.submit(
            conn, Actor(queue.company, SUPPLIER, queue.clock.now()), request[0], ANSWER, rulesets=queue.rulesets
        )


def wrote(queue: Queue, *components: dict) -> None:
    queue.wrote(components=list(components))
    queue.clock.advance(timedelta(minutes=1))


def as_before(queue: Queue, database: Database, statement: str) -> None:
    """What an older release left: nothing was kept of what was asked about."""
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("SELECT set_config('app.company_id', %s, true)", [str(queue.company)])
        owner.execute(statement, [queue.company])


FORGET_REQUEST = "UPDATE supplier_requests SET asked = NULL WHERE company_id = %s"
FORGET_ENTRY = "UPDATE review_entries SET payload = (payload::jsonb - 'asked')::json WHERE company_id = %s"
FORGET_DECISION = "UPDATE review_entries SET decided = (decided::jsonb - 'asked')::json WHERE company_id = %s"
FORGET_VERSIONS = "DELETE FROM sku_versions WHERE company_id = %s"


def test_an_answer_is_written_to_the_part_that_was_asked_about(queue: Queue, asked):
    sku_id, pe = asked
    wrote(queue, PET, PE)
    entry = answered(queue)
    [part] = queue.compared(entry).asked
    assert (part.id, part.asked, part.now, part.differs) == (pe, facts_of(PE), facts_of(PE), ())
    queue.accepted(entry)
    first, second = queue.held(sku_id)["components"]
    assert (first["polymer_or_grade"], first["weight_g"], first["substances"]["pfas"]) == ("PET", 0.8, None)
    assert (second["id"], second["weight_g"], second["substances"]["pfas"]["status"]) == (pe, 1.23, "absent")


def test_a_part_that_is_another_now_is_a_conflict_until_it_is_compared(queue: Queue, asked):
    sku_id, pe = asked
    entry = answered(queue)
    wrote(queue, {**PET, "id": pe})
    [part] = queue.compared(entry).asked
    assert (part.asked, part.now) == (facts_of(PE), facts_of(PET))
    assert part.differs == ("polymer_or_grade", "weight_g")
    with pytest.raises(Refused, match="not what it was"):
        queue.accepted(entry)
    assert queue.held(sku_id)["components"][0]["weight_g"] == 0.8
    decided = queue.accepted(entry, parts_compared=True)
    assert queue.held(sku_id)["components"][0]["weight_g"] == 1.23
    assert compare.Comparison.from_stored(decided.decided).asked == (part,)
    with queue.pool.company(queue.company) as conn:
        assert find_misapplied(conn) == [], "the person was shown it"


@pytest.mark.parametrize("change", [{"position_in_sku": 3}, {"component_type": "sleeve"}, {"material_family": "paper"}])
def test_type_material_and_position_are_compared(queue: Queue, asked, change):
    _, pe = asked
    entry = answered(queue)
    wrote(queue, {**PE, **change, "id": pe})
    assert queue.compared(entry).asked[0].differs == tuple(change)
    with pytest.raises(Refused, match="not what it was"):
        queue.accepted(entry)
    assert queue.rejected(entry).state == "rejected"


def test_a_request_from_before_it_was_kept_has_it_from_the_versions(queue: Queue, asked, database):
    _, pe = asked
    as_before(queue, database, FORGET_REQUEST)
    wrote(queue, {**PET, "id": pe})
    entry = answered(queue)
    assert entry.payload["asked"] == {pe: facts_of(PE)}
    as_before(queue, database, FORGET_ENTRY)
    with pytest.raises(Refused, match="not what it was"):
        queue.accepted(entry)


def test_what_no_version_tells_is_not_known(queue: Queue, asked, database):
    _, pe = asked
    as_before(queue, database, FORGET_REQUEST)
    wrote(queue, {**PET, "id": pe})
    as_before(queue, database, FORGET_VERSIONS)
    entry = answered(queue)
    [part] = queue.compared(entry).asked
    assert (part.asked, part.now, part.differs) == (None, facts_of(PET), ())
    assert queue.accepted(entry).state == "accepted"


@pytest.mark.parametrize("filed_before", [True, False])
def test_a_proposal_about_a_part_that_is_another_now(queue: Queue, asked, database, filed_before):
    sku_id, pe = asked
    change = {"changes": {}, "component_changes": [{"id": pe, "colour": "dark"}]}
    entry = queue.filed("sku_update", change, sku_id=UUID(sku_id))
    assert entry.payload["asked"] == {pe: facts_of(PE)}
    if filed_before:
        as_before(queue, database, FORGET_ENTRY)
    queue.clock.advance(timedelta(minutes=1))
    wrote(queue, {**PET, "id": pe})
    with pytest.raises(Refused, match="not what it was"):
        queue.accepted(entry)
    assert queue.accepted(entry, parts_compared=True).state == "accepted"


def test_of_a_proposal_about_a_part_that_is_gone_the_rest_is_taken(queue: Queue):
    sku = queue.wrote(components=[PE, {**PE, "component_type": "cap"}])
    pe, cap = sku["components"]
    lines = [{"id": pe["id"], "colour": "dark"}, {"id": cap["id"], "colour": "dark"}]
    both, alone = (
        queue.filed("sku_update", {"changes": {}, "component_changes": changes}, sku_id=UUID(sku["id"]))
        for changes in (lines, lines[1:])
    )
    queue.clock.advance(timedelta(minutes=1))
    wrote(queue, {**PE, "id": pe["id"]})
    assert queue.compared(both).gone == [cap["id"]]
    with pytest.raises(Refused, match="no longer part of the item"):
        queue.accepted(alone)
    assert queue.accepted(both).state == "accepted"
    strange = {"changes": {}, "component_changes": [{"id": sku["id"], "colour": "dark"}]}
    unknown = queue.filed("sku_update", strange, sku_id=UUID(sku["id"]))
    with pytest.raises(Refused, match="not part of the SKU"):
        queue.accepted(unknown)


def test_of_a_whole_graph_with_a_part_that_is_gone_the_rest_is_taken(queue: Queue):
    sku = queue.wrote(components=[PE, {**PE, "component_type": "cap"}])
    pe, cap = sku["components"]
    dark = [{**PE, "id": pe["id"], "colour": "dark"}, {**PE, "component_type": "cap", "id": cap["id"]}]
    seal = {**PE, "component_type": "seal"}
    whole, alone, named = (
        queue.filed("sku_update", {"changes": changes}, sku_id=UUID(sku["id"]))
        for changes in ({"components": [*dark, seal]}, {"components": dark[1:]}, {"name": "N", "components": dark[1:]})
    )
    queue.clock.advance(timedelta(minutes=1))
    wrote(queue, {**PE, "id": pe["id"]})
    compared = queue.compared(whole)
    assert (compared.refused, compared.gone) == (None, [cap["id"]])
    with pytest.raises(Refused, match="no longer part of the item"):
        queue.accepted(alone)
    assert queue.accepted(named).state == "accepted", "the graph stays as it is: nothing is left of the one sent"
    assert queue.accepted(whole).state == "accepted"
    with queue.pool.company(queue.company) as conn:
        lines = store.of_id(conn, UUID(sku["id"]))
    assert [(line["component_type"], line.get("colour")) for line in lines] == [("label", "dark"), ("seal", None)]
    strange = {"changes": {"components": [{**PE, "id": sku["id"]}]}}
    unknown = queue.filed("sku_update", strange, sku_id=UUID(sku["id"]))
    with pytest.raises(Refused, match="refused"):
        queue.accepted(unknown)


def test_a_comparison_follows_a_part_to_its_new_place(queue: Queue):
    sku = queue.wrote(components=[PE, {**PE, "component_type": "cap"}])
    cap, pe = sku["components"][1], sku["components"][0]
    lines = [{**PET, "position_in_sku": 1}, {**PE, "id": pe["id"], "colour": "dark"}]
    entry = queue.filed("sku_update", {"changes": {"components": lines}}, sku_id=UUID(sku["id"]))
    changes = {each.field: (each.now, each.then) for each in queue.compared(entry).changes}
    assert changes["components[0].polymer_or_grade"] == (None, "PET")
    assert changes["components[1].colour"] == (None, "dark")
    assert changes["components[1].polymer_or_grade"] == ("PE", "PE"), "it is named, and stays"
    assert changes["components[2].component_type"] == ("cap", None)
    assert [line["id"] for line in queue.compared(entry).removed] == [cap["id"]]
    assert not any(field.endswith("].id") for field in changes)


def test_an_answer_that_was_written_to_another_part_is_found(queue: Queue, asked, database):
    """As an older release did: the id moved to the PET label, and the answer of the PE supplier with it."""
    sku_id, pe = asked
    entry = answered(queue)
    wrote(queue, {**PET, "id": pe}, {**PE, "position_in_sku": 3})
    queue.accepted(entry, parts_compared=True)
    for forget in (FORGET_REQUEST, FORGET_ENTRY, FORGET_DECISION):
        as_before(queue, database, forget)
    with queue.pool.company(queue.company) as conn:
        [found] = find_misapplied(conn)
        kept = conn.execute("SELECT payload::text FROM review_entries").fetchone()
    assert (found.entry_id, found.kind, found.component_id) == (entry.id, "supplier_answer", pe)
    assert (str(found.sku_id), found.sku_code, found.filed_by) == (sku_id, "BOTTLE-1", "PE Labels")
    assert (found.asked, found.written_to) == (facts_of(PE), facts_of(PET))
    assert (found.decided_by, found.decided_at) == ("Ada Marsh", queue.clock.now())
    assert "asked" not in orjson.loads(kept[0]), "nothing is rewritten"


@pytest.mark.parametrize("change", [{"weight_g": 1.25}, {"position_in_sku": 5}, {"colour": "dark"}])
def test_a_part_that_was_corrected_meanwhile_is_no_other_part(queue: Queue, asked, database, change):
    _, pe = asked
    entry = answered(queue)
    wrote(queue, {**PE, **change, "id": pe})
    queue.accepted(entry, parts_compared=True)
    for forget in (FORGET_REQUEST, FORGET_ENTRY, FORGET_DECISION):
        as_before(queue, database, forget)
    with queue.pool.company(queue.company) as conn:
        assert find_misapplied(conn) == []
