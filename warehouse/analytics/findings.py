"""Defines when a SKU has a finding, as SQL over the views of a reader; `compliance.readiness` defines its meaning.

A condition is over one row of `facts`: the SKU with the sums of its parts and of its units in one period. A test
compares the keys of the two tables. Parameters are `today` and `market`, which is null where the whole portfolio is
meant.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from compliance import ruleset
from compliance.annex_v import use_decides
from compliance.readiness import Finding
from compliance.rollup.parts import WEIGHTLESS
from compliance.weights import TOLERANCE
from compliance.words import resolve_material
from warehouse.analytics.placed import PLACED, in_market
from warehouse.analytics.reader import Reader

_RIDERS: Final = ", ".join(f"'{kind}'" for kind in (*WEIGHTLESS, "coating"))
_OPEN_POLYMER: Final = "coalesce(polymer_or_grade, '') = ''"
_FLAGGED: Final = "len(list_filter(flags, lambda flag: {})) > 0"
_CERTAIN: Final = "flag.certainty = 'certain'"
_OPEN: Final = "flag.certainty = 'depends'"
_FACE: Final = "concat_ws('|', packaging_level, coalesce(reusable, false)::VARCHAR, packaging_format)"
"""The facts besides body and use that a ban asks for, as one text; a missing part is left out."""

CONDITIONS: Final = {
    "pfas_food_contact": "food_contact AND (pfas_status = 'above_limit' OR pfas_in_part)",
    "heavy_metals": "heavy_metals_status = 'above_limit' OR heavy_metals_in_part",
    "banned_format": _FLAGGED.format(f"{_CERTAIN} AND flag.applies_from <= today"),
    "bpa_food_contact": "food_contact AND (bpa_status = 'above_limit' OR bpa_in_part)",
    "format_may_be_banned": _FLAGGED.format(f"{_OPEN} AND flag.applies_from <= today"),
    "banned_format_later": _FLAGGED.format(f"{_CERTAIN} AND flag.applies_from > today"),
    "format_may_be_banned_later": _FLAGGED.format(f"{_OPEN} AND flag.applies_from > today"),
    "not_recyclable": "recyclability_grade = 'not_recyclable'",
    "doc_missing": "doc_status <> 'valid'",
    "pfas_undeclared": "food_contact AND coalesce(pfas_status, 'unknown') = 'unknown'",
    "food_contact_unknown": "food_contact IS NULL",
    "heavy_metals_undeclared": "coalesce(heavy_metals_status, 'unknown') = 'unknown'",
    "composition_missing": "parts = 0 AND material IS NULL",
    "weight_missing": "unweighed OR (parts = 0 AND weight_grams IS NULL)",
    "weight_mismatch": f"abs(weight_grams - components_weight_g) > {TOLERANCE} * weight_grams",
    "volume_missing": "NOT has_volumes",
    "markets_missing": "len(markets_in_effect) = 0",
    "polymer_missing": "polymer_open OR (parts = 0 AND material = 'plastic' AND coalesce(material_subtype, '') = '')",
    "format_missing": "coalesce(packaging_format, '') = ''",
    "level_missing": "packaging_level IS NULL",
    "grade_provisional": "grade_provisional",
    "not_assessed": "recyclability_grade = 'not_assessed'",
    "text_not_understood": "text_unread OR (parts = 0 AND material_subtype IN (FROM unread))",
    "use_missing": f"len(coalesce(use_contexts, [])) = 0 AND {_FACE} IN (FROM use_decides)",
}
"""A finding's key and its condition, which counts as not met where it is null."""

FACTS: Final = f"""
{PLACED},
composed AS (
    SELECT sku_code, count(*) AS parts,
           bool_or(weight_g IS NULL AND component_type NOT IN ({_RIDERS})) AS unweighed,
           bool_or(material_family = 'plastic' AND {_OPEN_POLYMER} AND component_type NOT IN ({_RIDERS}))
               AS polymer_open,
           coalesce(bool_or(polymer_or_grade IN (FROM unread)), false) AS text_unread,
           bool_or(pfas_status = 'above_limit') AS pfas_in_part, bool_or(bpa_status = 'above_limit') AS bpa_in_part,
           bool_or(heavy_metals_status = 'above_limit') AS heavy_metals_in_part
    FROM components GROUP BY sku_code
), facts AS (
    SELECT skus.*, coalesce(parts, 0) AS parts, coalesce(unweighed, false) AS unweighed,
           coalesce(polymer_open, false) AS polymer_open, coalesce(text_unread, false) AS text_unread,
           coalesce(pfas_in_part, false) AS pfas_in_part,
           coalesce(bpa_in_part, false) AS bpa_in_part, coalesce(heavy_metals_in_part, false) AS heavy_metals_in_part,
           units, coalesce(has_volumes, false) AS has_volumes, $today::DATE AS today
    FROM skus LEFT JOIN composed USING (sku_code) LEFT JOIN placed USING (sku_code)
    WHERE $market IS NULL OR len(list_filter(markets_in_effect, lambda code: {in_market("code")})) > 0
)"""
"""One row per SKU of which the market is one in effect; of every SKU without a market. `units` are of one period."""


_TEXTS: Final = """
SELECT polymer_or_grade FROM components WHERE polymer_or_grade <> ''
UNION SELECT material_subtype FROM skus WHERE material_subtype <> ''
"""
_FACES: Final = f"""
SELECT DISTINCT {_FACE}, packaging_level, reusable, packaging_format FROM skus WHERE len(coalesce(use_contexts, [])) = 0
"""


def prepare(answers: Reader) -> None:
    """Make the tables that conditions use besides the snapshot's: distinct texts that only the rules can judge.

    `unread` has the material texts of no known material, `use_decides` the faces whose use a ban asks for.
    """
    rules = ruleset.load()
    keep_texts(answers, "unread", lambda code: code is None)
    asked = [
        face
        for face, level, reusable, text in answers.rows(_FACES)
        if use_decides({"packaging_level": level, "reusable": reusable, "packaging_format": text}, rules)
    ]
    _keep(answers, "use_decides", asked)


def keep_texts(answers: Reader, table: str, is_meant: Callable[[str | None], bool]) -> None:
    """Make a table of the snapshot's material texts whose canonical code is meant; None is that of an unknown text."""
    rules = ruleset.load()
    _keep(answers, table, [text for (text,) in answers.rows(_TEXTS) if is_meant(resolve_material(text, rules))])


def _keep(answers: Reader, table: str, texts: Sequence[str]) -> None:
    answers.rows(f"CREATE TEMPORARY TABLE {table} AS SELECT unnest($texts::VARCHAR[]) AS text", texts=list(texts))


def mask(findings: Sequence[Finding]) -> str:
    """Return SQL for the findings of a row of `facts` as one number, a bit for each, to count equal rows together."""
    bits = (f"CASE WHEN {CONDITIONS[found.key]} THEN {1 << place} ELSE 0 END" for place, found in enumerate(findings))
    return f"({' + '.join(bits)})::BIGINT"


def of_mask(findings: Sequence[Finding], number: int) -> list[Finding]:
    """Return the findings of a number."""
    return [found for place, found in enumerate(findings) if number >> place & 1]


def weight_sum_sql(findings: Sequence[Finding]) -> str:
    """Return SQL for the sum of the weights of a row's findings."""
    return " + ".join(f"CASE WHEN {CONDITIONS[found.key]} THEN {found.weight:d} ELSE 0 END" for found in findings)


def applicable_findings(findings: Sequence[Finding], *, in_union: bool, today: date) -> list[Finding]:
    """Return the findings that apply on a market, in the European Union or outside of it, as they count on a day."""
    return [found.on(today) for found in findings if in_union or not found.eu]
