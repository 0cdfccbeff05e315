"""Drafts and proposals: the user is asked in both eras, what is filed is filed once, and no record changes."""

import asyncio
import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import mcp_types as types
import pytest

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.conformity import drafts
from services.review import decide
from services.skus.write import write_records
from tests.connector.assistants import Answer, Assistant
from warehouse import library
from warehouse import review as entries
from warehouse.review import Entry

pytestmark = pytest.mark.anyio

PDF = b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n"
DOCUMENT = {"type": "test_report_pfas", "filename": "report.pdf", "content_base64": base64.b64encode(PDF).decode()}
BOTTLE = {
    "packaging_format": "bottle",
    "packaging_level": "sales",
    "components": [
        {
            "component_type": "body",
            "material_family": "glass",
            "polymer_or_grade": "GL71",
            "weight_g": 300,
            "colour": "transparent",
        },
    ],
}
DRAFTING = {
    "generate_doc_draft": {"lang": "de"},
    "propose_sku_update": {"changes": {"name": "Flacon", "weight_grams": 301}},
    "submit_supplier_document": {"document": DOCUMENT},
}


def queue(assistant: Assistant) -> list[Entry]:
    with assistant.service.writes.company(assistant.company) as conn:
        return entries.page(conn)[0]


def saying(assistant: Assistant, mode: str, content: dict[str, bool] | None, action: str = "accept") -> Assistant:
    """The same assistant, whose user answers so."""
    asked: list[str] = []

    async def answer(_: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content=content)

    return replace(assistant, mode=mode, answers=answer, asked=asked)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("tool", DRAFTING)
async def test_the_user_is_asked_and_what_they_agree_to_waits_for_a_person(assistant: Assistant, mode: str, tool: str):
    made = assistant.made(**BOTTLE)
    agreeing = saying(assistant, mode, {"file": True})
    told = (await agreeing.call(tool, sku_code=made.sku_code, **DRAFTING[tool])).told
    assert len(agreeing.asked) == 1
    assert made.sku_code in agreeing.asked[0]
    assert told["status"] == "filed"
    [entry] = queue(assistant)
    assert (str(entry.id), entry.state, entry.filed_by_type) == (told["entry_id"], "open", "connection")
    assert entry.filed_by_name == "An assistant"
    item = (await assistant.call("get_packaging_item", sku_code=made.sku_code)).told["item"]
    assert (item["name"], item["doc_status"]) == ("Bottle", "missing")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("content", "action"), [({"file": False}, "accept"), (None, "decline"), (None, "cancel")])
async def test_what_the_user_declines_is_not_filed(assistant: Assistant, mode: str, content: Any, action: str):
    made = assistant.made()
    told = (await saying(assistant, mode, content, action).call("generate_doc_draft", sku_code=made.sku_code)).told
    assert told["status"] == "declined"
    assert queue(assistant) == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("tool", DRAFTING)
async def test_without_a_way_to_ask_a_code_confirms_these_arguments_once(assistant: Assistant, mode: str, tool: str):
    silent = replace(assistant, mode=mode)
    made = assistant.made(**BOTTLE)
    call = {"sku_code": made.sku_code, **DRAFTING[tool]}
    first = (await silent.call(tool, **call)).told
    assert (first["status"], first["entry_id"]) == ("confirmation_needed", None)
    assert queue(assistant) == []
    code = first["confirmation"]
    other = assistant.made()
    assert (await silent.call(tool, **{**call, "sku_code": other.sku_code}, confirmation=code)).refused
    elsewhere = replace(silent, who=replace(assistant.who, connection_id=uuid4()))
    assert (await elsewhere.call(tool, **call, confirmation=code)).refused
    filed = [(await silent.call(tool, **call, confirmation=code)).told for _ in range(2)]
    assert filed[0] == filed[1]
    assert [str(entry.id) for entry in queue(assistant)] == [filed[0]["entry_id"]]


async def test_two_calls_at_once_with_one_code_file_once(assistant: Assistant):
    made = assistant.made()
    code = (await assistant.call("generate_doc_draft", sku_code=made.sku_code)).told["confirmation"]
    async with assistant.connected() as client:
        arguments = {"sku_code": made.sku_code, "confirmation": code}
        filed = await asyncio.gather(*(client.call_tool("generate_doc_draft", arguments) for _ in range(4)))
    assert len({result.structured_content["entry_id"] for result in filed}) == 1
    assert len(queue(assistant)) == 1


async def test_a_code_ends_after_ten_minutes_and_a_made_up_one_is_none(assistant: Assistant, clock):
    made = assistant.made()
    code = (await assistant.call("generate_doc_draft", sku_code=made.sku_code)).told["confirmation"]
    clock.advance(timedelta(minutes=10))
    for tried in (code, "made-up", "\ud800"):
        answer = await assistant.call("generate_doc_draft", sku_code=made.sku_code, confirmation=tried)
        assert answer.refused
    assert queue(assistant) == []


async def test_the_same_answer_sent_again_files_once(assistant: Assistant):
    """A client of the modern era may send its answer again, with the sealed state of the question."""
    made = assistant.made()
    agreeing = saying(assistant, "2026-07-28", {"file": True})
    async with agreeing.connected() as client:
        session = client.session
        arguments = {"sku_code": made.sku_code}
        asked = await session.call_tool("generate_doc_draft", arguments, allow_input_required=True)
        answers = {key: types.ElicitResult(action="accept", content={"file": True}) for key in asked.input_requests}
        again = {"input_responses": answers, "request_state": asked.request_state, "allow_input_required": True}
        sent = [await session.call_tool("generate_doc_draft", arguments, **again) for _ in range(3)]
    assert len({result.structured_content["entry_id"] for result in sent}) == 1
    assert len(queue(assistant)) == 1


async def test_a_proposal_shows_fields_and_grade_before_and_after(assistant: Assistant):
    made = assistant.made(**BOTTLE)
    told = (await assistant.call("propose_sku_update", id=made.id, changes={"components": []})).told["would_file"]
    assert told["grade_before"]["grade"] == "A"
    assert told["grade_after"]["grade"] == "not_assessed"
    assert any(change["field"].startswith("components") for change in told["changes"])


async def test_a_draft_that_was_filed_is_readable(assistant: Assistant):
    made = assistant.made(**BOTTLE)
    filed = await saying(assistant, "auto", {"file": True}).call("generate_doc_draft", sku_code=made.sku_code)
    drafted = filed.told["would_file"]
    [row] = (await assistant.call("list_review_queue", limit=1)).told["answer"]["entries"]
    assert (row["sku_code"], row["says"]["to_complete"]) == (made.sku_code, drafted["missing"])
    assert list(row["says"]["points"]) == [point["heading"] for point in drafted["points"]]


async def test_a_proposal_names_the_records_whose_ids_it_has(assistant: Assistant):
    made, company, now = assistant.made(**BOTTLE), assistant.company, assistant.service.clock.now()
    with assistant.service.writes.company(company) as conn:
        kept = {
            kind: library.add(conn, kind, company, uuid4(), values={"name": f"A {kind}"}, at=now)
            for kind in ("brand", "supplier")
        }
    ids = {kind: str(record["id"]) for kind, record in kept.items()}
    item = (await assistant.call("get_packaging_item", id=made.id)).told["item"]
    line = {"id": item["components"][0]["id"], "supplier_id": ids["supplier"]}
    proposed = {"changes": {"brand_id": ids["brand"]}, "component_changes": [line]}
    told = (await assistant.call("propose_sku_update", id=made.id, **proposed)).told["would_file"]
    assert told["names"] == {record_id: f"A {kind}" for kind, record_id in ids.items()}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "invalid_body"),
        ({"gtin": "123"}, "gtin"),
        ({"unknown": 1}, "unknown"),
        ({"sku_code": "other"}, "sku_code_mismatch"),
        ({"brand_id": str(uuid4())}, "invalid_body"),
        ({"food_contact": True, "markets": ["FR"], "substances": {"pfas": {"status": "above_limit"}}}, "5(5)"),
    ],
)
async def test_a_proposal_that_could_not_be_written_is_refused_before_anybody_is_asked(
    assistant: Assistant, changes: dict[str, Any], code: str
):
    made = assistant.made()
    agreeing = saying(assistant, "auto", {"file": True})
    answer = await agreeing.call("propose_sku_update", sku_code=made.sku_code, changes=changes)
    assert answer.refused
    assert code in answer.text
    assert agreeing.asked == []
    assert queue(assistant) == []


@pytest.mark.parametrize("tool", DRAFTING)
async def test_another_companys_item_takes_no_draft(
    assistant: Assistant, assistants: Callable[[], Assistant], tool: str
):
    theirs = assistants()
    made = theirs.made()
    for named in ({"id": made.id}, {"sku_code": made.sku_code}):
        answer: Answer = await saying(assistant, "auto", {"file": True}).call(tool, **named, **DRAFTING[tool])
        assert answer.refused
        assert answer.text.startswith("not_found: ")
    assert queue(theirs) == queue(assistant) == []


async def test_a_document_is_judged_by_its_bytes_and_kept_with_its_fingerprint(assistant: Assistant):
    made = assistant.made()
    agreeing = saying(assistant, "auto", {"file": True})
    await agreeing.call("submit_supplier_document", sku_code=made.sku_code, document=DOCUMENT)
    [entry] = queue(assistant)
    assert entry.payload["sha256"] == hashlib.sha256(PDF).hexdigest()
    with assistant.service.writes.company(assistant.company) as conn:
        [file] = entries.of_entry(conn, entry.id)
    key = f"{assistant.company}/files/{file.id}"
    assert assistant.service.objects.get(key) == PDF
    for fault in (
        {"content_base64": "%%%"},
        {"content_base64": base64.b64encode(b"hello").decode()},
        {"type": "novel"},
    ):
        answer = await agreeing.call("submit_supplier_document", sku_code=made.sku_code, document={**DOCUMENT, **fault})
        assert answer.refused


@pytest.mark.parametrize("lang", ["en", "de"])
async def test_a_draft_has_the_points_of_the_annex_and_is_set_as_a_pdf(assistant: Assistant, lang: str):
    made = assistant.made(**BOTTLE, name='Bottle #[sys] "quoted" *bold* é')
    told = (await assistant.call("generate_doc_draft", sku_code=made.sku_code, lang=lang)).told["would_file"]
    assert [point["number"] for point in told["points"]] == list(range(10))
    assert any("2." in heading for heading in told["missing"])
    pdf = drafts.pdf(drafts.Draft.from_stored({name: told[name] for name in drafts.Draft.__slots__}))
    assert pdf.startswith(b"%PDF-")


THREE_PARTS = [
    {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 20},
    {"component_type": "cap", "material_family": "plastic", "polymer_or_grade": "PP", "weight_g": 2},
    {"component_type": "label", "material_family": "paper", "weight_g": 1},
]


async def test_a_proposal_for_one_component_changes_it_alone_whatever_changed_meanwhile(assistant: Assistant):
    made = assistant.made(components=THREE_PARTS)
    agreeing = saying(assistant, "auto", {"file": True})
    body, cap, _ = (await assistant.call("get_packaging_item", sku_code=made.sku_code)).told["item"]["components"]
    changes = [{"id": body["id"], "weight_g": 11.2, "substances": {"bpa": {"status": "absent"}}}]
    told = (await agreeing.call("propose_sku_update", sku_code=made.sku_code, component_changes=changes)).told
    assert told["would_file"]["components_removed"] == []
    assert "REMOVES" not in agreeing.asked[0]
    assert "components[0].weight_g: 20.0 → 11.2" in agreeing.asked[0]
    service, now = assistant.service, assistant.service.clock.now()
    with service.writes.company(assistant.company) as conn:  # somebody else corrects the cap before the decision
        record = {"sku_code": made.sku_code, "name": "Bottle", "components": [{**part} for part in THREE_PARTS]}
        record["components"][1]["weight_g"] = 3
        origin = Origin("operator", "test", "test", "c")
        write_records(
            conn,
            Actor(assistant.company, origin, now),
            {0: parse_sku(record)},
            rulesets=service.rulesets,
            dry_run=False,
        )
        [entry], _ = entries.page(conn)
        decide.accept(conn, Actor(assistant.company, origin, now), entry.id, rulesets=service.rulesets)
    after = (await assistant.call("get_packaging_item", sku_code=made.sku_code)).told["item"]["components"]
    assert [line["weight_g"] for line in after] == [11.2, 3, 1]
    assert after[0]["substances"]["bpa"]["status"] == "absent"
    assert [line["id"] for line in after[:2]] == [body["id"], cap["id"]]


async def test_a_question_names_every_component_that_would_go(assistant: Assistant):
    parts = [*THREE_PARTS, *({"component_type": "ink", "material_family": "other", "weight_g": n} for n in range(1, 9))]
    made = assistant.made(components=parts)
    agreeing = saying(assistant, "auto", {"file": True})
    changes = {"components": THREE_PARTS[:1]}
    told = (await agreeing.call("propose_sku_update", sku_code=made.sku_code, changes=changes)).told
    named = ["cap (PP, 2 g)", "label (paper, 1 g)", *(f"ink (other, {n} g)" for n in range(1, 9))]
    assert told["would_file"]["components_removed"] == named
    assert f"It REMOVES 10 of its components: {', '.join(named)}." in agreeing.asked[0]
    both = {"changes": changes, "component_changes": [{"id": str(uuid4()), "weight_g": 1}]}
    assert "not both" in (await assistant.call("propose_sku_update", sku_code=made.sku_code, **both)).text
    unknown = {"component_changes": [{"id": str(uuid4()), "weight_g": 1}]}
    assert "not part of the SKU" in (await assistant.call("propose_sku_update", sku_code=made.sku_code, **unknown)).text
