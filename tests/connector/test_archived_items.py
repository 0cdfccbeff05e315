"""What an assistant is told of an item that is archived, or that has another code by now: the truth, and the way on."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas.actors import Actor, Origin
from services import library, suppliers
from services.review.entries import attach
from services.skus.archive import archive_sku, return_sku
from services.skus.write import keep_former_code
from tests.connector.assistants import Answer, Assistant
from warehouse import conformity
from warehouse.files import File

pytestmark = pytest.mark.anyio

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20}
PDF = {"type": "test_report", "filename": "a.pdf", "content_base64": "JVBERi0xLjQK"}
JUDGING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("check_missing_data", {}),
    ("what_if", {"target_grade": "A"}),
    ("generate_doc_draft", {}),
    ("propose_sku_update", {"changes": {"description": "new"}}),
    ("submit_supplier_document", {"document": PDF}),
)


def actor(assistant: Assistant) -> Actor:
    return Actor(assistant.company, Origin("operator", "test", "Ada", str(uuid4())), assistant.service.clock.now())


def archived(assistant: Assistant, code: str) -> UUID:
    """An archived item of a declaration and a part."""
    made = assistant.made(sku_code=code, packaging_format="bottle", markets=["FR"], components=[BODY])
    sku_id = UUID(str(made.id))
    values = {"sku_id": sku_id, "reference": "DOC-1", "supplier_name": None, "status": "valid", "issued_on": None}
    with assistant.service.writes.company(assistant.company) as conn:
        now, rules = assistant.service.clock.now(), assistant.service.rulesets.active(conn)
        conformity.add(conn, assistant.company, uuid4(), values={**values, "expires_on": None}, at=now)
        archive_sku(conn, actor(assistant), sku_id, rules=rules, dry_run=False)
    return sku_id


async def both(assistant: Assistant, tool: str, sku_id: UUID, code: str, **more: Any) -> Answer:
    """The answer by id, after the same was answered by code."""
    by_code = await assistant.call(tool, sku_code=code, **more)
    by_id = await assistant.call(tool, id=str(sku_id), **more)
    assert (by_code.refused, by_code.text if by_code.refused else "") == (
        by_id.refused,
        by_id.text if by_id.refused else "",
    )
    return by_id


async def test_an_archived_item_is_shown_as_rest_shows_it(assistant: Assistant):
    sku_id = archived(assistant, "GONE")
    told = (await both(assistant, "get_packaging_item", sku_id, "GONE")).told
    assert told["item"]["id"] == str(sku_id)
    assert told["item"]["archived_at"]
    assert told["item"]["components"][0]["weight_g"] == 20
    assert "archived" in told["next_step"]


async def test_its_history_and_its_declarations_stay_and_say_that_it_was_archived(assistant: Assistant):
    sku_id = archived(assistant, "GONE")
    told = (await both(assistant, "list_changes", sku_id, "GONE")).told["answer"]
    assert [change["action"] for change in told["changes"]] == ["sku.archived", "sku.created"]
    listed = (await assistant.call("list_declarations", sku_code=" GONE ")).told["declarations"]
    assert [declaration["reference"] for declaration in listed] == ["DOC-1"]
    with assistant.service.writes.company(assistant.company) as conn:
        return_sku(conn, actor(assistant), sku_id, rulesets=assistant.service.rulesets, dry_run=False)
    told = (await both(assistant, "list_changes", sku_id, "GONE")).told["answer"]
    assert [change["action"] for change in told["changes"]] == ["sku.returned", "sku.archived", "sku.created"]


@pytest.mark.parametrize(("tool", "more"), JUDGING, ids=[tool for tool, _ in JUDGING])
async def test_nothing_is_judged_or_filed_of_it_and_the_refusal_says_why(
    assistant: Assistant, tool: str, more: dict[str, Any]
):
    sku_id = archived(assistant, "GONE")
    refused = await both(assistant, tool, sku_id, "GONE", **more)
    assert refused.refused
    assert refused.text.startswith("sku_archived: “GONE” is archived")


@pytest.mark.parametrize("rests", [False, True], ids=["held", "archived"])
@pytest.mark.parametrize("tool", ["get_packaging_item", "list_changes", "check_missing_data", "list_declarations"])
async def test_a_former_code_leads_to_the_code_of_today(assistant: Assistant, tool: str, rests: bool):
    sku_id = UUID(str(assistant.made(sku_code="OLD").id))
    with assistant.service.writes.company(assistant.company) as conn:
        keep_former_code(conn, actor(assistant), sku_id, "OLD", "NEW")
        conn.execute("UPDATE skus SET sku_code = 'NEW' WHERE id = %s", [sku_id])
        if rests:
            rules = assistant.service.rulesets.active(conn)
            archive_sku(conn, actor(assistant), sku_id, rules=rules, dry_run=False)
    refused = await assistant.call(tool, sku_code="OLD")
    assert refused.text.startswith("sku_code_former: “OLD” was renamed to “NEW”"), refused.text


async def test_what_another_company_archived_is_not_there(assistants: Any):
    sku_id = archived(assistants(), "GONE")
    stranger = assistants()
    for tool in ("get_packaging_item", "list_changes", "check_missing_data"):
        assert (await stranger.call(tool, id=str(sku_id))).text.startswith("not_found:")


async def test_a_history_and_a_question_do_not_say_that_a_list_is_null_which_has_members(assistant: Assistant):
    sku_id = UUID(str(assistant.made(sku_code="UNITS", components=[]).id))
    assistant.write(sku_code="UNITS", name="Bottle", components=[BODY])
    told = (await assistant.call("list_changes", id=str(sku_id))).told["answer"]["changes"][0]["fields"]
    assert "components" not in {change["field"] for change in told}
    assert {"field": "components[0].weight_g", "before": None, "after": 20.0} in told
    emptied = {"sku_code": "UNITS", "changes": {"components": []}}
    tried = (await assistant.call("what_if", **emptied)).told["answer"]["changes"]
    assert "components" not in {change["field"] for change in tried}
    assert {"field": "components[0].weight_g", "now": 20.0, "then": None} in tried


async def test_the_documents_of_a_suppliers_answer_are_told_with_it(assistant: Assistant):
    made = assistant.made(sku_code="ASKED", components=[BODY])
    by = actor(assistant)
    with assistant.service.writes.company(assistant.company) as conn:
        request, _ = suppliers.create_request(conn, by, sku_code=made.sku_code, supplier_name="Plasto")
        said = {"type": "test_report_pfas", "reference": None, "issuer": None, "issued_on": None, "expires_on": None}
        file = File(uuid4(), "report.pdf", "application/pdf", 9, "ab" * 32, **said)
        attach(conn, by, file, request_id=request.id)
        suppliers.submit(conn, by, request.id, {"comment": "see report"}, rulesets=assistant.service.rulesets)
    [waiting] = (await assistant.call("list_review_queue")).told["answer"]["entries"]
    assert waiting["says"]["documents"] == [{"type": "test_report_pfas", "filename": "report.pdf", "sha256": "ab" * 32}]


async def test_an_entry_of_the_review_queue_says_that_its_item_is_archived_and_which_part_is_gone(assistant: Assistant):
    cap = {"component_type": "cap", "material_family": "plastic", "weight_g": 2}
    made = assistant.made(sku_code="ASKED", components=[BODY, cap])
    by = actor(assistant)
    with assistant.service.writes.company(assistant.company) as conn:
        request, _ = suppliers.create_request(conn, by, sku_code=made.sku_code, supplier_name="Plasto")
        lines = [{"component_id": str(part), "weight_g": 3} for part in request.component_ids]
        suppliers.submit(conn, by, request.id, {"components": lines}, rulesets=assistant.service.rulesets)

    async def queue() -> tuple[Any, list[Any]]:
        [entry] = (await assistant.call("list_review_queue")).told["answer"]["entries"]
        return entry.get("archived"), [line.get("gone") for line in entry["says"]["components"]]

    assert await queue() == (None, [None, None])
    kept = {**BODY, "id": str(request.component_ids[0])}
    assistant.write(sku_code="ASKED", name="Bottle", components=[kept])
    assert await queue() == (None, [None, True])
    with assistant.service.writes.company(assistant.company) as conn:
        rules = assistant.service.rulesets.active(conn)
        archive_sku(conn, by, UUID(str(made.id)), rules=rules, dry_run=False)
    assert await queue() == (True, [None, True])


async def test_the_code_that_a_proposal_names_its_item_by_is_no_change(assistant: Assistant):
    sku_id = UUID(str(assistant.made(sku_code="OLD").id))
    asked = {"id": str(sku_id), "changes": {"description": "new"}}
    code = (await assistant.call("propose_sku_update", **asked)).told["confirmation"]
    assert not (await assistant.call("propose_sku_update", **asked, confirmation=code)).refused
    [waiting] = (await assistant.call("list_review_queue")).told["answer"]["entries"]
    assert waiting["says"] == {"changes": {"description": "new"}}
    renamed = await assistant.call("propose_sku_update", id=str(sku_id), changes={"sku_code": "NEW"})
    assert "PATCH /skus/{id}" in renamed.text


async def test_awaited_suppliers_are_told_with_their_archived_items_and_gone_parts(assistant: Assistant):
    cap = {"component_type": "cap", "material_family": "plastic", "weight_g": 2}
    made = assistant.made(sku_code="ASKED", components=[BODY, cap])
    by = actor(assistant)
    with assistant.service.writes.company(assistant.company) as conn:
        request, _ = suppliers.create_request(conn, by, sku_code="ASKED", supplier_name="Plasto")

    async def marked() -> Any:
        [waiting] = (await assistant.call("list_supplier_requests")).told["answer"]["waiting"]
        assert "request_ids" not in waiting
        return waiting.get("marked")

    assert await marked() is None
    assistant.write(sku_code="ASKED", name="Bottle", components=[{**BODY, "id": str(request.component_ids[0])}])
    assert await marked() == {"ASKED": {"gone_parts": ["cap (plastic, 2 g)"]}}
    with assistant.service.writes.company(assistant.company) as conn:
        rules = assistant.service.rulesets.active(conn)
        archive_sku(conn, by, UUID(str(made.id)), rules=rules, dry_run=False)
    assert await marked() == {"ASKED": {"archived": True, "gone_parts": ["cap (plastic, 2 g)"]}}


async def test_where_no_import_was_sent_the_latest_is_not_asked_for_again(assistant: Assistant):
    assert "has sent no import yet" in (await assistant.call("check_bulk_import", import_id="latest")).text


async def test_what_a_supplier_still_owes_is_told_by_words_of_its_name_and_an_unknown_one_is_refused(
    assistant: Assistant,
):
    assistant.made(sku_code="ASKED", components=[BODY])
    by = actor(assistant)
    with assistant.service.writes.company(assistant.company) as conn:
        suppliers.create_request(conn, by, sku_code="ASKED", supplier_name="Plasto Verpackungen GmbH")
        library.add(conn, by, "supplier", {"name": "Silent SA"})

    async def owed(supplier: str) -> tuple[int, str]:
        answer = await assistant.call("list_supplier_requests", supplier=supplier)
        assert not answer.refused, answer.text
        return answer.told["answer"]["total"], answer.told["next_step"]

    assert (await owed("plasto"))[0] == (await owed("PLASTO VERPACKUNGEN GMBH"))[0] == 1
    assert await owed("Silent") == (0, "“Silent SA” was never asked for data here.")
    unknown = await assistant.call("list_supplier_requests", supplier="Nobody GmbH")
    assert unknown.text.startswith("not_found: "), "0 would read as nothing owed"
