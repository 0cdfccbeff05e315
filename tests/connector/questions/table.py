"""Thirty questions that people ask an assistant: the tools that answer each, and what a right answer has to contain.

A path goes through members and, in brackets, to the entry of a list with this value: `items[sku_code=WTR-02].state`.
`*` collects the member of every entry, `#` is the number of entries.
"""

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A call of a tool, and the values that its answer has at these paths."""

    tool: str
    arguments: dict[str, Any]
    contains: dict[str, Any]


class Question(NamedTuple):
    """One question, in the language in which it was asked."""

    number: int
    text: str
    calls: tuple[Call, ...]


# fmt: off
QUESTIONS = (
    Question(1, "How many of our items have which recyclability grade, and how many of these grades are provisional?", (
        Call("compliance_overview", {}, {
            "answer.skus": 11, "answer.grades.A": 6, "answer.grades.not_recyclable": 2, "answer.grades.not_assessed": 3,
            "answer.provisional.A": 5}),)),
    Question(2, "Which items cannot be sold in France, and why? All of them, with codes.", (
        Call("check_market_readiness", {"market": "FR", "state": "blocked"}, {
            "answer.blocked": 1, "answer.pagination.total": 1, "answer.items.*.sku_code": ["TRY-06"],
            "answer.items[sku_code=TRY-06].findings": ["heavy_metals"],
            "answer.blocks[code=heavy_metals].reference": "Art. 5(4) of Regulation (EU) 2025/40"}),)),
    Question(3, "How many tonnes of plastic did we place in Germany in the second half of 2025?", (
        Call("get_market_figures", {"market": "DE", "year": 2025, "half": 2, "material": "plastic"}, {
            "answer.half": 0, "answer.year": 2025, "answer.unit": "tonnes", "answer.total_tonnes": 68.59,
            "answer.half_note": "DE is held and declared by the calendar year, not by halves: these are the figures of "
            "all of 2025. Halves exist for GB only."}),)),
    Question(4, "Which suppliers have not answered yet, and since when?", (
        Call("list_supplier_requests", {}, {
            "answer.waiting[supplier_name=Préformes du Rhône].waiting_since": "2026-11-11T09:30:00Z",
            "answer.waiting[supplier_name=Préformes du Rhône].sku_codes": ["CHP-17", "PCH-04"],
            "answer.waiting[supplier_name=Préformes du Rhône].overdue": 2, "answer.total": 1}),)),
    Question(5, "Is our pouch PCH-04 recyclable? What would make it grade B?", (
        Call("what_if", {"sku_code": "PCH-04", "target_grade": "B"}, {
            "answer.grade_now": "not_recyclable",
            "answer.changes_that_reach_it[grade=A].changes.*.now": ["PET", "PVC"],
            "answer.changes_that_reach_it[grade=A].changes.*.then": ["PE", "PE"]}),)),
    Question(6, "Do we exceed the Spanish threshold for plastic packaging?", (
        Call("get_market_figures", {"market": "ES", "material": "plastic"}, {
            "answer.obligations[obligation=prevention_plan].threshold_tonnes": 20.0,
            "answer.obligations[obligation=prevention_plan].tonnes": 36.0,
            "answer.obligations[obligation=prevention_plan].verdict": "above"}),)),
    Question(7, "Draft the Declaration of Conformity for WTR-02.", (
        Call("generate_doc_draft", {"sku_code": "WTR-02"}, {
            "status": "confirmation_needed", "would_file.sku_code": "WTR-02", "would_file.points.#": 10}),)),
    Question(8, "Est-il vrai que les limites PFAS s'appliquent à partir d'août 2026 ?", (
        Call("check_regulation_statement", {
            "statement": "Est-il vrai que les limites PFAS s'appliquent à partir d'août 2026 ?", "lang": "fr"},
            {"verdict": "supported", "entries.*.key": ["pfas_limits"]}),)),
    Question(9, "Stimmt es, dass ab 2030 Minishampoos im Hotel verboten sind?", (
        Call("check_regulation_statement", {
            "statement": "Stimmt es, dass ab 2030 Minishampoos im Hotel verboten sind?", "lang": "de"},
            {"verdict": "supported", "entries.*.key": ["av_hotel"]}),)),
    Question(10, "Which declarations end in the next 90 days?", (
        Call("list_declarations", {"expires_within_days": 90}, {
            "declarations.*.sku_code": ["WTR-02"], "declarations.*.sku_name": ["Water bottle 0.5 l"],
            "declarations.*.expires_on": ["2026-12-21"], "page.total": 1}),)),
    Question(11, "What happened to last night's import, and which rows do I have to correct?", (
        Call("check_bulk_import", {"import_id": "latest"}, {
            "import.filename": "night.csv", "import.status": "completed", "import.counts.created": 1,
            "import.counts.rejected": 2, "import.errors.*.line": [3, 4],
            "import.errors.*.field": ["weight_grams", "gtin"], "import.errors.*.sku_code": ["IMP-2", "IMP-3"]}),)),
    Question(12, "Who changed the weight of CHP-17, when, and from what to what?", (
        Call("list_changes", {"sku_code": "CHP-17", "field": "weight"}, {
            "answer.changes.*.who": ["Ada Lovelace"], "answer.changes.*.at": ["2026-11-21T09:30:00Z"],
            "answer.changes[who=Ada Lovelace].fields[field=weight_grams].before": 4,
            "answer.changes[who=Ada Lovelace].fields[field=weight_grams].after": 5}),)),
    Question(13, "Combien de tonnes avons-nous mises sur le marché en France en 2026, par catégorie ?", (
        Call("get_market_figures", {"market": "FR", "year": 2026}, {
            "answer.total_tonnes": 73.2, "answer.by_material": {"glass": 45.0, "plastic": 28.2},
            "answer.by_category[category_code=plastique_pet].tonnes": 20.0}),)),
    Question(14, "Welche Artikel haben Kunststoffteile ohne Angabe des Polymers?", (
        Call("list_packaging_items", {"gap": "polymer_missing"}, {
            "items.*.sku_code": ["CHP-17"], "page.total": 1}),)),
    Question(15, "Which items need the Triman mark, and which lack it in our records?", (
        Call("check_items_against_rule", {"rule": "triman_mark"}, {
            "answer.counts": {"lacks_mark": 1, "not_recorded": 5, "has_mark": 1, "exempt": 1, "not_for_households": 1},
            "answer.items[sku_code=JCE-01].state": "lacks_mark", "answer.items[sku_code=WTR-02].state": "has_mark",
            "answer.items[sku_code=WIN-03].state": "exempt", "answer.items[sku_code=PCH-04].state": "not_recorded",
            "answer.items[sku_code=BOX-09].state": "not_for_households"}),)),
    Question(16, "Do we need an authorised representative in France?", (
        Call("check_market_readiness", {"market": "FR"}, {
            "answer.jurisdiction.authorised_representative_required": "yes",
            "answer.authorised_representative.required": "depends"}),)),
    Question(17, "Must we be registered in LUCID?", (
        Call("check_market_readiness", {"market": "DE"}, {
            "answer.jurisdiction.register_name":
                "Verpackungsregister LUCID (Stiftung Zentrale Stelle Verpackungsregister)",
            "answer.figures.obligations[obligation=register].verdict": "above"}),)),
    Question(18, "What should we complete first to improve our grades, by units sold?", (
        Call("check_missing_data", {}, {
            "answer.period": 2026,  # decisions §13: one period, the newest; CHP-17 was placed in 2025 alone
            "answer.gaps[code=polymer_missing].skus": 1, "answer.gaps[code=polymer_missing].units": 0,
            "answer.items[sku_code=CHP-17].units": 0, "answer.pagination.total": 11}),)),
    Question(19, "List all items with PVC.", (
        Call("list_packaging_items", {"material": "PVC"}, {
            "items.*.sku_code": ["PCH-04", "BLS-05"], "page.total": 2}),)),
    Question(20, 'Which items use the component "cap PP 28 mm", and what happens to their grades if it becomes HDPE?', (
        Call("list_packaging_items", {"component": "cap PP 28 mm"}, {"items.*.sku_code": ["WTR-02", "JCE-01"]}),
        Call("what_if", {"component": "cap PP 28 mm", "component_fields": {"polymer_or_grade": "HDPE"}}, {
            "answer.total": 2, "answer.items.*.sku_code": ["JCE-01", "WTR-02"],
            "answer.items.*.grade_now": ["A", "A"], "answer.items.*.grade_then": ["A", "A"]}),)),
    Question(21, "Are any of our items affected by the format bans of 2030? Which facts are missing to be sure?", (
        Call("check_items_against_rule", {"rule": "format_bans"}, {
            "answer.counts": {"affected": 0, "depends": 4, "undecided": 2},
            "answer.items[sku_code=HTL-08].bans[code=AV-5].applies_from": "2030-01-01",
            "answer.items[sku_code=HTL-08].bans[code=AV-5].depends_on.#": 2}),)),
    Question(22, "PMP-01 has no grade. Why, and what do I send to get one?", (
        Call("what_if", {"sku_code": "PMP-01"}, {
            "answer.grade_now": "not_assessed",
            "answer.reason": "Not assessed, because facts are missing: components.",
            "answer.facts_missing.*.field": ["components"]}),)),
    Question(23, "Can I import this table?", (
        Call("check_bulk_import", {"csv": "sku_code,name,gtin\nN-1,New,\nN-2,Bad,123\n"}, {
            "import.counts.created": 1, "import.counts.rejected": 1, "import.errors.*.line": [3]}),)),
    Question(24, "How many more SKUs may we store on our plan?", (
        Call("get_product_facts", {"limit": 200}, {
            "facts[key=starter_skus].values": ["<=100 skus"], "facts[key=growth_skus].values": ["<=1000 skus"]}),
        Call("compliance_overview", {}, {
            "answer.plan": {"sku_limit": None, "skus_held": 11, "skus_left": None}}),)),
    Question(25, "Propose 11.2 g for the body of WTR-02.", (
        Call("propose_sku_update", {"sku_code": "WTR-02", "component_changes": [{"id": "$body", "weight_g": 11.2}]}, {
            "status": "confirmation_needed", "would_file.components_removed": [],
            "would_file.changes.*.field": ["weight_grams", "components[0].weight_g"],
            "would_file.changes[field=components[0].weight_g].now": 10.0,
            "would_file.changes[field=components[0].weight_g].then": 11.2}),)),
    Question(26, "Compare our share of recycled plastic with the minimum of 2030, by item.", (
        Call("check_items_against_rule", {"rule": "recycled_content_2030"}, {
            "answer.items[sku_code=JCE-01].state": "below",
            "answer.items[sku_code=BLS-05].state": "below",
            "answer.items[sku_code=BLS-05].minimum_percent": 35.0,
            "answer.items[sku_code=BLS-05].recycled_plastic_percent": 0.0,
            "answer.items[sku_code=TRY-06].minimum_rule": "rc_pet_contact_2030",
            "answer.items[sku_code=WTR-02].minimum_rule": "rc_sup_bottle_2030",
            "answer.items[sku_code=PMP-01].state": "to_decide"}),)),
    Question(27, "Which items contain BPA or have no statement on it, among those for food?", (
        Call("check_items_against_rule", {"rule": "bpa_in_food_contact"}, {
            "answer.counts": {"contains": 1, "undecided": 3, "no_statement": 3, "declared_free": 2},
            "answer.items[sku_code=TRY-06].state": "contains",
            "answer.items[sku_code=CHP-17].state": "no_statement"}),)),
    Question(28, "What did we declare in the United Kingdom for the first half of 2026, and what was not counted?", (
        Call("list_filed_declarations", {"market": "GB", "year": 2026, "half": 1}, {
            "answer.declarations.*.total_tonnes": [12.6],
            "answer.declarations.*.in_scope_tonnes": [12.6], "answer.declarations.*.kept_by": ["Ada Lovelace"],
            "answer.declarations.*.uncounted_items": [1],
            "answer.declarations[market=GB].uncounted_first[sku_code=HTL-08].reason": "half_missing"}),)),
    Question(29, "What changed in our portfolio since last Monday?", (
        Call("list_changes", {"since": "2026-11-16"}, {
            "answer.total": 4, "answer.changes[sku_code=CHP-17].who": "Ada Lovelace",
            "answer.changes[sku_code=CHP-17].name": "Crisps bag",
            "answer.changes[who=night.csv].counts": {"import.completed": 1, "sku.created": 1}}),)),
    Question(30, "Hebt die Verordnung das Schwermetall-Limit von 100 mg/kg an?", (
        Call("check_regulation_statement", {
            "statement": "Hebt die Verordnung das Schwermetall-Limit von 100 mg/kg an?", "lang": "de"},
            {"verdict": "contradicted", "entries.*.key": ["hm_not_changed"]}),)),
)
# fmt: on
