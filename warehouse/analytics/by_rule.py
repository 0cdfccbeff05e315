"""Holds each SKU of a snapshot against one rule: recycled content of 2030, bisphenol A, format bans.

Each SKU that the rule is about has one state; `compliance.item_rules` has the rule. Labels on packaging are no part of
a snapshot (`warehouse.skus.labels`).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from compliance.rollup.parts import WEIGHTLESS
from compliance.rule_rows import RuleSet
from compliance.words import resolve_format
from schemas.json_values import JsonObject
from warehouse.analytics.findings import CONDITIONS, FACTS, keep_texts, prepare
from warehouse.analytics.now import Now
from warehouse.analytics.reader import Reader, reader
from warehouse.snapshots import Snapshot

_RIDERS: Final = ", ".join(f"'{kind}'" for kind in (*WEIGHTLESS, "coating"))
_CONTACT: Final = "(food_contact OR list_has_any(contexts, ['food', 'beverage', 'cosmetics']))"
_RECYCLED: Final = f"""
CREATE TEMPORARY TABLE judged AS
WITH parts AS (
    SELECT sku_code, weight_g AS grams, recycled_content_percent AS share, polymer_or_grade IN (FROM pet) AS is_pet
    FROM components WHERE material_family = 'plastic' AND component_type NOT IN ({_RIDERS})
    UNION ALL SELECT sku_code, weight_grams, recycled_content_percent, material_subtype IN (FROM pet)
    FROM skus WHERE material = 'plastic' AND sku_code NOT IN (SELECT sku_code FROM components)
), plastic AS (
    SELECT sku_code, bool_or(grams IS NULL AND share IS DISTINCT FROM 0 OR share IS NULL) AS is_open,
           CASE WHEN count(*) = 1 THEN any_value(share) ELSE sum(grams * share) / nullif(sum(grams), 0) END AS share,
           coalesce(sum(grams) FILTER (WHERE is_pet), 0) > coalesce(sum(grams), 0) / 2
               OR bool_and(coalesce(is_pet, false)) AS is_pet
    FROM parts GROUP BY sku_code
), asked AS (
    SELECT skus.sku_code, name, updated_at, share, is_open, CASE
        WHEN list_has_any(contexts, ['pharmaceutical', 'dangerous_goods']) THEN 'exemption'
        WHEN food_contact IS NULL AND len(contexts) = 0 THEN 'unknown'
        WHEN reusable IS NOT TRUE AND packaging_format IN (FROM bottles) AND list_contains(contexts, 'beverage')
            THEN 'rc_sup_bottle_2030'
        WHEN {_CONTACT} AND is_pet THEN 'rc_pet_contact_2030'
        WHEN {_CONTACT} THEN 'rc_other_contact_2030' ELSE 'rc_rest_2030' END AS minimum
    FROM (SELECT *, coalesce(use_contexts, []) AS contexts FROM skus) AS skus JOIN plastic USING (sku_code)
)
SELECT sku_code, name, CASE
        WHEN minimum IN ('exemption', 'unknown') THEN 'to_decide' WHEN is_open OR share IS NULL THEN 'not_recorded'
        WHEN share >= percent THEN 'meets' ELSE 'below' END AS state,
    {{'minimum_rule': CASE WHEN percent IS NOT NULL THEN minimum END, 'minimum_percent': percent,
      'recycled_plastic_percent': CASE WHEN NOT is_open THEN round(share, 2) END,
      'facts_missing': CASE WHEN minimum = 'unknown' THEN ['food_contact', 'use_contexts']
          WHEN minimum = 'exemption' THEN ['whether an exemption of Article 7(4) applies']
          WHEN is_open OR share IS NULL THEN ['components.recycled_content_percent', 'components.weight_g']
          ELSE [] END}} AS facts
FROM asked LEFT JOIN minimums USING (minimum)
"""
_BPA: Final = """
CREATE TEMPORARY TABLE judged AS
WITH parts AS (
    SELECT sku_code, bool_or(bpa_status = 'above_limit') AS has_bpa,
           bool_and(coalesce(bpa_status, 'unknown') <> 'unknown') AS all_say
    FROM components GROUP BY sku_code
)
SELECT sku_code, name, CASE WHEN bpa_status = 'above_limit' OR has_bpa THEN 'contains'
        WHEN coalesce(bpa_status, 'unknown') <> 'unknown' OR all_say THEN 'declared_free' ELSE 'no_statement' END
    AS state, {'bpa_status': bpa_status} AS facts
FROM skus LEFT JOIN parts USING (sku_code) WHERE food_contact
"""
_BANS: Final = f"""
CREATE TEMPORARY TABLE judged AS
WITH {{facts}}
SELECT sku_code, name, CASE WHEN len(list_filter(flags, lambda flag: flag.certainty = 'certain')) > 0 THEN 'affected'
        WHEN len(flags) > 0 THEN 'depends' ELSE 'use_missing' END AS state,
    {{{{'bans': list_transform(flags, lambda flag: {{{{'code': flag.code, 'applies_from': flag.applies_from::VARCHAR,
        'certainty': flag.certainty, 'why': flag.text}}}}),
      'facts_missing': CASE WHEN {CONDITIONS["use_missing"]} THEN ['use_contexts'] ELSE [] END}}}} AS facts
FROM facts WHERE len(flags) > 0 OR ({CONDITIONS["use_missing"]})
"""
_MINIMUMS: Final = """
CREATE TEMPORARY TABLE minimums AS
SELECT unnest($codes::VARCHAR[]) AS minimum, unnest($percents::DOUBLE[]) AS percent
"""
_COUNTED: Final = "SELECT state, count(*) FROM judged GROUP BY state ORDER BY count(*) DESC, state"
_PAGE: Final = """
SELECT sku_code, name, state, facts FROM judged WHERE $state IS NULL OR state = $state
ORDER BY array_position($order, state), sku_code LIMIT $limit OFFSET $offset
"""
STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "recycled_content_2030": ("below", "not_recorded", "to_decide", "meets"),
    "bpa_in_food_contact": ("contains", "no_statement", "declared_free"),
    "format_bans": ("affected", "depends", "use_missing"),
}
"""The states of each rule, the gravest first, which is the order of a list."""


class Judged(NamedTuple):
    """How many SKUs have each state, and a page of the SKUs with the facts that gave it."""

    counts: dict[str, int]
    items: list[JsonObject]


def by_rule(
    snapshot: Snapshot, now: Now, rules: RuleSet, key: str, *, state: str | None, limit: int, offset: int
) -> Judged:
    """Judge the SKUs that a rule of `STATES` is about; the page has those of one state, or all, the gravest first."""
    with reader(snapshot) as answers:
        if key == "recycled_content_2030":
            _recycled(answers, rules)
        elif key == "bpa_in_food_contact":
            answers.rows(_BPA)
        else:
            prepare(answers)
            answers.rows(_BANS.format(facts=FACTS), market=None, today=now.today)
        counts = {str(name): int(count) for name, count in answers.rows(_COUNTED)}
        page = answers.rows(_PAGE, state=state, order=list(STATES[key]), limit=limit, offset=offset)
    items = [{"sku_code": code, "name": name, "state": found, **facts} for code, name, found, facts in page]
    return Judged({name: counts.get(name, 0) for name in STATES[key]}, items)


def _recycled(answers: Reader, rules: RuleSet) -> None:
    """Make the tables that the judgement of recycled content uses, then judge."""
    keep_texts(answers, "pet", lambda code: code == "PET")
    formats = [text for (text,) in answers.rows("SELECT DISTINCT packaging_format FROM skus") if text]
    bottles = [text for text in formats if (found := resolve_format(text, rules)) and found.key == "bottle"]
    answers.rows("CREATE TEMPORARY TABLE bottles AS SELECT unnest($texts::VARCHAR[]) AS text", texts=bottles)
    minimums = {
        code: float(limit.value)
        for code, limit in rules.limits.items()
        if code.startswith("rc_") and code.endswith("_2030") and limit.value is not None
    }
    answers.rows(_MINIMUMS, codes=list(minimums), percents=list(minimums.values()))
    answers.rows(_RECYCLED)
