"""The second thirty questions and twenty more: played by a reader who has the list of tools and their answers alone.

A question that the first thirty have in other words is named with its number there; each figure is a sum made from
what was loaded (`more_company`).
"""

from collections.abc import Iterator

import pytest

from tests.connector.assistants import Assistant
from tests.connector.questions import more_company as more
from tests.connector.questions.more_company import filled, of_items, placed, tonnes
from tests.connector.questions.table import Call, Question
from tests.connector.questions.test_questions import faults_of
from warehouse.operate.clock import StoppedClock

pytestmark = pytest.mark.anyio

AS_BEFORE = {18: 15, 24: 4, 25: 12, 28: 11, 35: 25, 37: 11, 39: 10}
"""Questions of the second thirty that the first thirty have, by both numbers."""
AT_2025, AT_2026 = placed("AT", 2025), placed("AT", 2026)
HALF = placed("GB", 2026, 1)


NO_NULLS = ("list_packaging_items", "list_declarations", "list_shared_components", "list_supplier_requests")
ROWS = ("items", "declarations", "components", "waiting")


STATED = (
    *(Call("check_market_readiness", {"market": market}, {}) for market in ("AT", "FR", "US-CA")),
    Call("check_market_readiness", {"market": "AT", "state": "incomplete"}, {}),
    *(Call("check_items_against_rule", {"rule": rule}, {})
      for rule in ("recycled_content_2030", "bpa_in_food_contact", "format_bans", "triman_mark")),
    *(Call("check_missing_data", arguments, {}) for arguments in ({}, {"sku_code": "PRC-1"})),
    Call("check_bulk_import", {"import_id": "latest"}, {}),
    Call("check_bulk_import", {"csv": "sku_code,name,weight_grams\nX-1,Box,much\n"}, {}),
    Call("get_market_figures", {"market": "GB"}, {}), Call("get_market_figures", {"market": "FR"}, {}),
    Call("list_filed_declarations", {}, {}),
)  # fmt: skip
"""Calls whose answers leave out what has no value."""
NEXT_OFFSETS = {"page.next_offset", "answer.page.next_offset", "answer.next_offset", "answer.uncounted.next_offset"}
"""What is null on the last page."""


def nulls(value: object, path: str = "") -> Iterator[str]:
    """The paths of members that are null."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from nulls(member, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for member in value:
            yield from nulls(member, path)
    elif value is None:
        yield path


def percent(part: float, whole: float) -> float:
    return round(part / whole * 100, 1)


# fmt: off
def second_thirty() -> tuple[Question, ...]:
    """Numbered as they were asked."""
    return (
    Question(1, "How many tonnes of plastic did we put on the Austrian market in the first half of 2026?", (
        Call("get_market_figures", {"market": "Austria", "year": 2026, "half": 1, "material": "plastic"}, {
            "answer.total_tonnes": round(tonnes(AT_2026, material_family="plastic"), 2), "answer.half": 0,
            "answer.half_note": "AT is held and declared by the calendar year, not by halves: these are the figures of "
            "all of 2026. Halves exist for GB only."}),)),
    Question(4, "Is it true that black PP trays are banned? And ours?", (
        Call("check_regulation_statement", {"statement": "Black trays of PP are banned."}, {"provisions.#": 3}),
        Call("list_packaging_items", {"search": "tray", "grade": "not_recyclable"}, {
            "items.*.sku_code": ["BEL-1"]}),
        Call("summarise_items", {"by": "reason", "sort": "items", "filters": {"search": "black"}}, {
            "answer.total.items": 1}))),
    Question(5, "If we switch the cap of all water bottles from PP to HDPE, what happens?", (
        Call("what_if", {"component": "cap PP 28 mm", "component_fields": {"polymer_or_grade": "HDPE"}}, {
            "answer.summary.tried": 2, "answer.summary.grade_changes": 0, "answer.summary.refused": 0}),)),
    Question(6, "Verfasse die Konformitätserklärung für AUR-1 auf Deutsch", (
        Call("generate_doc_draft", {"sku_code": "AUR-1", "lang": "de"}, {
            "status": "confirmation_needed", "would_file.lang": "de"}),)),
    Question(7, "Which supplier owes us data, is anything overdue?", (
        Call("list_supplier_requests", {}, {"answer.waiting[supplier_name=Préformes du Rhône].overdue": 2}),)),
    Question(9, "What share of what we sell in Austria is grade A or B, by tonnes?", (
        Call("summarise_items", {"by": "grade", "market": "AT"}, {
            "answer.total.tonnes": tonnes(AT_2026), "answer.total.units": sum(AT_2026.values()),
            "answer.rows[of=not_recyclable].share_percent":
                percent(tonnes(of_items(AT_2026, ppwr_role="importer")), tonnes(AT_2026))}),)),
    Question(10, "How did our Austrian tonnage move from 2025 to 2026, by material?", (
        Call("summarise_items", {"by": "material", "market": "AT", "year": 2025}, {
            "answer.rows[of=plastic].tonnes": tonnes(AT_2025, material_family="plastic")}),
        Call("summarise_items", {"by": "material", "market": "AT", "year": 2026}, {
            "answer.rows[of=plastic].tonnes": tonnes(AT_2026, material_family="plastic"),
            "answer.rows[of=glass].tonnes": tonnes(AT_2026, material_family="glass"),
            "answer.rows[of=paper].tonnes": tonnes(AT_2026, material_family="paper")}))),
    Question(11, "Quels articles utilisent des pièces d'Alpla, et combien pèsent-elles ?", (
        Call("list_packaging_items", {"supplier": "Alpla", "sort": "sku_code"}, {
            "items.*.sku_code": ["AUR-1", "AUR-2", "BEL-2", "PRC-1", "PRC-2"]}),
        Call("summarise_items", {"by": "item", "market": "AT", "filters": {"supplier": "Alpla"}}, {
            "answer.rows[of=AUR-2].tonnes": tonnes({"AUR-2": AT_2026["AUR-2"]}, material_family="plastic"),
            "answer.rows[of=BEL-2].tonnes": tonnes({"BEL-2": AT_2026["BEL-2"]}, polymer_or_grade="PET"),
            "answer.total.tonnes": tonnes(AT_2026, supplier_id=more.LIBRARY[more.ALPLA])}))),
    Question(12, "Which parts of our chips bags have no supplier recorded?", (
        Call("list_packaging_items", {"search": "chips", "supplier": "none"}, {"items.*.sku_code": ["BEL-2"]}),
        Call("summarise_items", {"by": "polymer", "filters": {"search": "chips", "supplier": "none"}}, {
            "answer.rows.*.of": ["PP"]}))),
    Question(13, "Bei welchen Lebensmittelverpackungen fehlt die PFAS-Erklärung, wie viele?", (
        Call("list_packaging_items", {"gap": "pfas_undeclared", "market": "AT", "sort": "sku_code"}, {
            "page.total": 4, "items.*.sku_code": ["AUR-1", "AUR-2", "BEL-1", "BEL-2"]}),)),
    Question(14, "Which items exceed 100 mg/kg heavy metals or have no value?", (
        Call("list_packaging_items", {"gap": "heavy_metals", "sort": "sku_code"}, {
            "items.*.sku_code": ["BEL-2", "TRY-06"]}),
        Call("list_packaging_items", {"gap": "heavy_metals_undeclared", "market": "AT"}, {"page.total": 4}))),
    Question(15, "Which test reports exist for AUR-1, from whom and when?", (
        Call("get_packaging_item", {"sku_code": "AUR-1"}, {
            "item.technical_files.total": 1, "item.technical_files.newest.*.issuer": ["TÜV"],
            "item.technical_files.newest.*.type": ["test_report"],
            "item.technical_files.newest.*.issued_on": ["2026-05-04"]}),)),
    Question(16, "Peut-on écrire « 100 % recyclable » sur AUR-1 ?", (
        Call("check_regulation_statement", {"statement": "On peut écrire « 100 % recyclable ».", "lang": "fr"}, {
            "provisions.#": 3}),
        Call("what_if", {"sku_code": "AUR-1", "target_grade": "A"}, {"answer.provisional": True}))),
    Question(19, "Until when may we sell items that a ban concerns, by which article, and which items?", (
        Call("check_items_against_rule", {"rule": "format_bans"}, {
            "answer.items[sku_code=HTL-08].bans[code=AV-5].applies_from": "2030-01-01"}),)),
    Question(20, "Does the PPWR repeal Directive 94/62/EC, and when?", (
        Call("check_regulation_statement", {"statement": "The PPWR repeals Directive 94/62/EC on 12 August 2026."}, {
            "provisions.#": 3}),)),
    Question(21, "Quelles sanctions risque-t-on ?", (
        Call("check_regulation_statement", {"statement": "Les sanctions vont jusqu'à 4 % du chiffre d'affaires.",
            "lang": "fr"}, {"verdict": "not_covered", "provisions.#": 2}),)),
    Question(29, "Was wartet auf meine Freigabe?", (
        Call("list_review_queue", {}, {
            "answer.total": 1, "answer.entries.*.sku_code": ["AUR-1"], "answer.entries.*.name": ["Spring water 1 l"],
            "answer.entries.*.filed_by": [more.ALPLA],
            "answer.entries[kind=supplier_answer].says.components.*.recycled_content_percent": [40]}),)),
    Question(31, "What do we sell in California and what must we do there?", (
        Call("check_market_readiness", {"market": "California"}, {"answer.skus": 1}),
        Call("get_market_figures", {"market": "US-CA"}, {
            "answer.total_tonnes": round(tonnes(placed("US-CA", 2026)), 2)}))),
    Question(33, "Quelle marque a les plus mauvaises notes ?", (
        Call("summarise_items", {"by": "brand", "grade": "not_recyclable", "market": "AT"}, {
            "answer.rows.*.name": ["Bellevue"],
            "answer.rows[name=Bellevue].tonnes": tonnes(of_items(AT_2026, ppwr_role="importer"))}),)),
    Question(34, "Which parcels have more than 50 % empty space?", (
        Call("list_packaging_items", {"empty_space_above": 50}, {"items.*.sku_code": ["PRC-1"], "page.total": 1}),
        Call("get_packaging_item", {"sku_code": "PRC-1"}, {"item.empty_space_ratio": 62}))),
    Question(38, "Compare AUR-1 and AUR-2", (
        Call("get_packaging_item", {"sku_code": "AUR-1"}, {"item.components.#": 2, "item.reusable": False}),
        Call("get_packaging_item", {"sku_code": "AUR-2"}, {"item.components.#": 2, "item.reusable": True}))),
    Question(41, "Welche Artikel sind Mehrweg?", (
        Call("list_packaging_items", {"reusable": True}, {"items.*.sku_code": ["AUR-2"], "page.total": 1}),)),
    )


def ten_more() -> tuple[Question, ...]:
    """Questions of our own: which by which reason, what changed, how much in a half-year, who has not answered."""
    alpla, imported = more.LIBRARY[more.ALPLA], of_items(AT_2026, ppwr_role="importer")
    return (
    Question(101, "Which items are below grade C, by which reason?", (
        Call("list_packaging_items", {"grade": "not_recyclable", "market": "AT", "sort": "sku_code"}, {
            "items.*.sku_code": ["BEL-1", "BEL-2"]}),
        Call("summarise_items", {"by": "reason", "grade": "not_recyclable", "market": "AT"}, {
            "answer.total.tonnes": tonnes(imported)}))),
    Question(102, "What changed since Friday, and who did it?", (
        Call("list_changes", {"since": "2026-11-20"}, {
            "answer.changes[sku_code=PRC-2].name": "Small parcel"}),)),
    Question(103, "How many tonnes did Alpla supply for the United Kingdom in the first half of 2026?", (
        Call("summarise_items", {"by": "supplier", "market": "GB", "year": 2026, "half": 1}, {
            "answer.half": 1, "answer.rows[name=Alpla Hard].tonnes": tonnes(HALF, supplier_id=alpla),
            "answer.total.units": sum(HALF.values()), "answer.total.tonnes": tonnes(HALF)}),)),
    Question(104, "Who has not answered, since when?", (
        Call("list_supplier_requests", {}, {"answer.waiting.*.supplier_name": ["Préformes du Rhône"],
            "answer.waiting.*.waiting_since": ["2026-11-11T09:30:00Z"]}),)),
    Question(105, "Which three items bring the least tonnes to Austria?", (
        Call("summarise_items", {"by": "item", "market": "AT", "least_first": True, "limit": 3}, {
            "answer.rows.*.of": sorted(AT_2026, key=lambda code: tonnes({code: AT_2026[code]}))[:3]}),)),
    Question(106, "Which items for Austria have a part without a supplier?", (
        Call("list_packaging_items", {"supplier": "none", "market": "AT", "sort": "sku_code"}, {
            "items.*.sku_code": ["AUR-1", "AUR-2", "BEL-1", "BEL-2"]}),)),
    Question(107, "How much packaging do we import to Austria, and how much of it is plastic?", (
        Call("summarise_items", {"by": "role", "market": "AT"}, {
            "answer.rows[of=importer].tonnes": tonnes(imported),
            "answer.rows[of=importer].items": len(imported)}),
        Call("summarise_items", {"by": "role", "market": "AT", "material": "plastic"}, {
            "answer.rows[of=importer].tonnes": tonnes(imported, material_family="plastic")}))),
    Question(108, "What was rejected in the review, by whom and why?", (
        Call("list_review_queue", {"state": "decided"}, {
            "answer.entries.*.state": ["rejected"], "answer.entries.*.decided_by": ["Ada Lovelace"],
            "answer.entries.*.reason": ["The name is right"],
            "answer.entries[sku_code=BEL-2].says.changes.name": "Chips bag"}),)),
    Question(109, "How many units of reusable packaging did we sell in Austria?", (
        Call("summarise_items", {"by": "reusable", "market": "AT", "sort": "units"}, {
            "answer.rows[of=true].units": AT_2026["AUR-2"], "answer.rows[of=true].tonnes":
                tonnes({"AUR-2": AT_2026["AUR-2"]})}),)),
    Question(110, "Which of our items are heaviest?", (
        Call("list_packaging_items", {"sort": "-weight_grams", "limit": 2}, {
            "items.*.sku_code": ["PRC-1", "WIN-03"]}),)),
    Question(111, "Who supplies our paper label?", (
        Call("list_shared_components", {}, {"components[code=LBL-1].supplier_name": more.ALPLA}),)),
    )


def ten_others() -> tuple[Question, ...]:
    """Questions that neither table has: names of what was changed, all markets, shares, levels, declarations."""
    aurora, bellevue = more.LIBRARY["Aurora"], more.LIBRARY["Bellevue"]
    at_once = {market: placed(market, 2026) for market in ("AT", "ES", "FR", "GB", "US-CA")}
    plastic = {"material_family": "plastic"}
    refused = [{"BEL-1": AT_2026["BEL-1"], "BEL-2": AT_2026["BEL-2"]}, {"PCH-04": at_once["FR"]["PCH-04"]}]
    of_format = {form: of_items(AT_2026, packaging_format=form) for form in ("bag", "bottle", "tray", "box")}
    formats = {form: sum(units.values()) for form, units in of_format.items()}
    ends = {"WTR-02": sum(units.get("WTR-02", 0) for units in at_once.values())}
    return (
    Question(121, "Which brand did the proposal name that was rejected?", (
        Call("list_review_queue", {"state": "decided"}, {
            "answer.entries[sku_code=BEL-2].says.changes.brand_id": aurora, f"answer.names.{aurora}": "Aurora"}),)),
    Question(122, "Who gave the small parcel to which brand?", (
        Call("list_changes", {"sku_code": "PRC-2", "field": "brand"}, {
            "answer.changes.*.who": ["Ada Lovelace"],
            "answer.changes[who=Ada Lovelace].fields[field=brand_id].after": bellevue,
            f"answer.names.{bellevue}": "Bellevue"}),)),
    Question(123, "Wie viele Einheiten haben wir 2026 in welchem Land verkauft?", (
        Call("summarise_items", {"by": "market", "year": 2026, "sort": "units"}, {
            **{f"answer.rows[of={market}].units": sum(units.values()) for market, units in at_once.items()},
            "answer.total.units": sum(sum(units.values()) for units in at_once.values())}),)),
    Question(124, "What share of the plastic that we sell in Austria is PVC?", (
        Call("summarise_items", {"by": "polymer", "market": "AT", "material": "plastic"}, {
            "answer.rows[of=PVC].tonnes": tonnes(AT_2026, polymer_or_grade="PVC"), "answer.rows[of=PVC].share_percent":
                percent(tonnes(AT_2026, polymer_or_grade="PVC"), tonnes(AT_2026, **plastic))}),)),
    Question(125, "Quels formats vendons-nous le plus en Autriche, en unités ?", (
        Call("summarise_items", {"by": "format", "market": "AT", "sort": "units"}, {
            "answer.rows.*.of": sorted(formats, key=lambda form: -formats[form]),
            "answer.rows.*.units": sorted(formats.values(), reverse=True)}),)),
    Question(126, "How many items have no declaration of conformity that is valid today?", (
        Call("summarise_items", {"by": "declaration", "sort": "items"}, {  # WTR-02 and WIN-03 have one; one is imported
            "answer.rows[of=valid].items": 2, "answer.rows[of=missing].items": len(more.every_item()) + 1 - 2}),
        Call("list_packaging_items", {"doc_status": "missing", "limit": 1}, {
            "page.total": len(more.every_item()) + 1 - 2}))),
    Question(127, "Wie viel Glas haben wir 2026 in welchem Halbjahr ins Vereinigte Königreich gebracht?", tuple(
        Call("get_market_figures", {"market": "GB", "year": 2026, "half": half, "material": "glass"}, {
            "answer.half": half,
            "answer.total_tonnes": round(tonnes(placed("GB", 2026, half), material_family="glass"), 2)})
        for half in (1, 2))),
    Question(128, "How many tonnes do we sell under a declaration that ends within 90 days?", (
        Call("list_declarations", {"expires_within_days": 90}, {"declarations.*.sku_code": list(ends)}),
        Call("summarise_items", {"by": "item", "year": 2026, "filters": {"search": "WTR-02"}}, {
            "answer.total.tonnes": tonnes(ends), "answer.total.units": ends["WTR-02"]}))),
    Question(129, "How many tonnes of transport packaging do we bring to Austria?", (
        Call("summarise_items", {"by": "level", "market": "AT"}, {
            "answer.rows[of=transport].tonnes": tonnes(of_items(AT_2026, packaging_level="transport")),
            "answer.rows[of=sales].tonnes": tonnes(of_items(AT_2026, packaging_level="sales"))}),)),
    Question(130, "How much of our plastic cannot be recycled, and which brand has most of it in Austria?", (
        Call("summarise_items", {"by": "grade", "year": 2026, "material": "plastic"}, {
            "answer.rows[of=not_recyclable].tonnes": round(sum(tonnes(units, **plastic) for units in refused), 6)}),
        Call("summarise_items", {"by": "brand", "market": "AT", "material": "plastic", "grade": "not_recyclable"}, {
            "answer.rows.*.name": ["Bellevue"], "answer.total.tonnes": tonnes(refused[0], **plastic)}))),
    )
# fmt: on


async def test_each_question_is_answered(assistant: Assistant, clock: StoppedClock):
    await filled(assistant, clock)
    wrong = {}
    async with assistant.connected() as client:
        for question in (*second_thirty(), *ten_more(), *ten_others()):
            for call in question.calls:
                answer = await assistant.ask(client, call.tool, call.arguments)
                if faults := faults_of(answer, call.contains, call.arguments):
                    wrong[f"{question.number} {question.text} ({call.tool})"] = faults
        told = [answer.told for tool in NO_NULLS if (answer := await assistant.ask(client, tool, {}))]
        stated = [(await assistant.ask(client, call.tool, call.arguments)).told for call in STATED]
    assert wrong == {}
    rows = [row for answer in told for name in ROWS for row in {**answer, **answer.get("answer", {})}.get(name, ())]
    assert len(rows) > 2 * len(NO_NULLS)
    assert [row for row in rows if None in row.values()] == []
    assert {path for answer in stated for path in nulls(answer)} <= NEXT_OFFSETS
