"""A stored SKU as the API shows it: SkuDetailResponse.data, out of one row in the form that frames and queries share.

Text forms in, published forms out: array literals become arrays, JSON texts objects, legacy fields are read back from
the entries, the grade is explained by the rule-set version that made it. The list's items are made by the database.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

import orjson

from compliance import annex_v, grading, schemes
from compliance.flag_texts import retold
from compliance.ruleset import RuleSet
from compliance.words import resolve_format
from pipelines.writing import components, substances, volumes
from pipelines.writing.patch import array_values
from schemas.fields import SKU_FIELDS
from schemas.messages import ORIGINAL
from schemas.vocabularies import SUBSTANCES
from warehouse.skus.detail import GRADED_BEFORE
from warehouse.skus.tables import VALUE_COLUMNS

_SHORT: Final = 8 * 2**10
"""Bytes of a component graph, some two dozen parts, that is explained before a thread would have begun to."""
_KINDS: Final = frozenset({"text", "code", "number", "integer", "truth", "gtin", "uuid"})
_GRADE: Final = ("recyclability_grade", "recyclability_score")
_PLAIN: Final = tuple(field.name for field in SKU_FIELDS if field.kind in _KINDS and field.name in VALUE_COLUMNS)


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as `compliance` takes it: values of their own types instead of text forms."""
    return {
        **{name: row[name] for name in _PLAIN},
        "markets": array_values(row["markets"]),
        "use_contexts": array_values(row["use_contexts"]) or [],
        "components": orjson.loads(row["components"]) if row["components"] else [],
        **{name: orjson.loads(row[name]) if row[name] else None for name in SUBSTANCES},
    }


def fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is held in one row and graded from it, under the names of SkuDetailResponse; what is explained, not."""
    return _fields(row, record(row))


def _fields(row: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    weight = row["weight_grams"]
    return {
        **{name: held[name] for name in _PLAIN},
        "weight_grams": row["components_weight_g"] if weight is None else weight,
        **{name: row[name] for name in _GRADE},
        "markets": held["markets"],
        "use_contexts": held["use_contexts"],
        "substances": {name: substances.published(held[name]) for name in SUBSTANCES},
        **{substances.LEGACY[name]: substances.legacy_of(name, held[name]) for name in SUBSTANCES},
        "substances_source": None,
        "volumes": volumes.published(row["volumes"]),
        "components": [components.published(line) for line in held["components"]],
    }


def sku_detail(
    row: Mapping[str, Any],
    held: Mapping[str, Any],
    *,
    rules: RuleSet,
    graded_by: RuleSet,
    doc_status: str,
    today: date,
    before: RuleSet | None = None,
    lang: str = ORIGINAL,
) -> dict[str, Any]:
    """SkuDetailResponse.data of one row and its `record`; a dry run's new SKU has neither `id` nor instants.

    `rules` is the rule-set of the day, and `today` the UTC day by which a format ban is in force and for whose year
    other schemes rate. The grade is explained by the rule-set of its version, `graded_by`, and what was before a
    regrade by `before`, the one of `version_before`. Sentences are in a language of `schemas.labels.LANGUAGES`.
    """
    return {
        "id": row["id"],
        **_fields(row, held),
        "doc_status": doc_status,
        "packaging_format_key": _format_key(row["packaging_format"], rules),
        "compliance": {
            **{name: row[name] for name in _GRADE},
            "doc_status": doc_status,
            "annex_v_flags": [
                {**flag, "reason": retold(str(flag["code"]), str(flag["reason"]), rules, lang)}
                for flag in annex_v.flags(held, rules, today=today)
            ],
            "grade_trace": _trace(row, held, graded_by, before, day=rules, lang=lang),
            "schemes": schemes.shown(held, rules, today.year, lang),
        },
        "created_at": instant(row["created_at"]),
        "updated_at": instant(row["updated_at"]),
    }


async def beside_others(row: Mapping[str, Any], show: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `show` makes of a row, for a caller on an event loop: a long graph in a thread, so that no other waits."""
    return await asyncio.to_thread(show) if len(row["components"] or "") > _SHORT else show()


def _trace(
    row: Mapping[str, Any],
    held: Mapping[str, Any],
    graded_by: RuleSet,
    before: RuleSet | None,
    *,
    day: RuleSet,
    lang: str,
) -> dict[str, object]:
    inputs = tuple(row[name] for name in grading.GRADED_INPUTS)
    trace = grading.explain_row(inputs, held, graded_by, day=day, lang=lang)
    if before is None:
        return trace
    then = grading.explain_row(inputs, held, before, day=day, lang=lang)
    return {**trace, "previous": {**orjson.loads(row[GRADED_BEFORE]), "reason": then["reason"]}}


def version_before(row: Mapping[str, Any]) -> str | None:
    """The version of the rule-set that graded the row before a regrade, its facts being the same; None for no such."""
    found = row.get(GRADED_BEFORE)
    return None if found is None else str(orjson.loads(found)["ruleset_version"])


def _format_key(text: str | None, rules: RuleSet) -> str | None:
    known = resolve_format(text, rules) if text else None
    return known.key if known else None


def instant(at: str | None) -> str | None:
    """RFC 3339 in UTC with Z, out of the database's text."""
    return None if at is None else datetime.fromisoformat(at).astimezone(UTC).isoformat().replace("+00:00", "Z")
