"""Renders a stored SKU as the API shows it: SkuDetailResponse.data of one row, as frames and queries both have rows.

Array literals become arrays, JSON texts become objects, legacy fields are read back from the entries, and the grade is
explained by the rule-set version that graded. The items of the SKU list are made by the database.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Final, TypeAlias, cast  # Any: a field's kind says its type

import orjson

from compliance import annex_v, grading
from compliance.annex_v import translated_reason
from compliance.ruleset import RuleSet
from compliance.schemes import settling
from compliance.weights import weight_source
from compliance.words import resolve_format
from pipelines.writing import json_fields
from schemas.fields import SKU_FIELDS
from schemas.messages import ORIGINAL
from schemas.rules import SkuCompliance
from schemas.skus.types import Sku, SkuDetail
from schemas.vocabularies import SUBSTANCES
from warehouse.operate.sessions import Connection
from warehouse.rules import Rulesets
from warehouse.skus.queries import StoredSku
from warehouse.skus.tables import VALUE_COLUMNS

_SHORT: Final = 8 * 2**10
"""Bytes of a component graph, some two dozen parts, that takes less time to explain than a thread takes to start."""
_KINDS: Final = frozenset({"text", "code", "number", "integer", "truth", "gtin", "uuid"})
_PLAIN: Final = tuple(field.name for field in SKU_FIELDS if field.kind in _KINDS and field.name in VALUE_COLUMNS)

GradedBy: TypeAlias = tuple[RuleSet, RuleSet, RuleSet | None]
"""The rule-sets of the day, of a stored grade, and of the grade before it where there is one."""


def record(row: StoredSku) -> Sku:
    """Return the row as `compliance` takes it: values of their own types instead of text forms."""
    graph = row["components"]
    entries: dict[str, object] = {name: orjson.loads(text) if (text := row[name]) else None for name in SUBSTANCES}
    values = {
        **_plain(row),
        "markets": json_fields.array_values(row["markets"]),
        "use_contexts": json_fields.array_values(row["use_contexts"]) or [],
        "components": orjson.loads(graph) if graph else [],
        "volumes": json_fields.published_volumes(row["volumes"]),
        "flag_facts": orjson.loads(row["flag_facts"] or "[]"),
        **entries,
    }
    return cast(Sku, values)


def _plain(row: StoredSku) -> dict[str, object]:
    """Return the fields that a row has as they are shown, in the order of the contract."""
    values: Mapping[str, object] = row
    return {name: values[name] for name in _PLAIN}


def fields(row: StoredSku) -> dict[str, object]:
    """Return the stored fields of a row, and its grade, under the names of `SkuDetail`; without explanations."""
    return _fields(row, record(row))


def _fields(row: StoredSku, sku: Sku) -> dict[str, object]:
    weight = row["weight_grams"]
    return {
        **_plain(row),
        "weight_grams": row["components_weight_g"] if weight is None else weight,
        "weight_source": weight_source(weight, row["components_weight_g"]),
        "recyclability_grade": row["recyclability_grade"],
        "recyclability_score": row["recyclability_score"],
        "markets": sku["markets"],
        "use_contexts": sku["use_contexts"],
        "substances": {name: json_fields.published_entry(sku[name]) for name in SUBSTANCES},
        **{json_fields.LEGACY[name]: json_fields.legacy_of(name, sku[name]) for name in SUBSTANCES},
        "substances_source": None,
        "volumes": sku["volumes"],
        "flag_facts": sku["flag_facts"],
        "components": [json_fields.published_line(line) for line in sku["components"]],
    }


def versions_of(row: StoredSku) -> tuple[str, str | None]:
    """Return the version of the rule-set that graded a row, and of the one before a regrade of the same facts."""
    before = row.get("graded_before")
    return row["ruleset_version"], None if before is None else before["ruleset_version"]


def rulesets_of(conn: Connection, rulesets: Rulesets, row: StoredSku) -> GradedBy:
    """Return the rule-sets that explain a row."""
    version, before = versions_of(row)
    return rulesets.active(conn), rulesets.load(conn, version), None if before is None else rulesets.load(conn, before)


def sku_detail(
    row: StoredSku, graded: GradedBy, *, today: date, lang: str = ORIGINAL, sku: Sku | None = None
) -> SkuDetail:
    """Return `data` of SkuDetailResponse of one row; a dry run's new SKU has no `id` and no instants.

    `today` is the UTC day by which a format ban is in force and for whose year other schemes rate. Grades are explained
    by the rule-sets that gave them. Sentences are in a language of `schemas.messages.LANGUAGES`. `sku` is the row's
    `record` where the caller has it.
    """
    rules, graded_by, before = graded
    sku, doc_status = sku or record(row), row.get("doc_status") or "missing"
    values: Mapping[str, Any] = row  # the names are those of `Inputs`, in their order
    inputs: grading.Inputs = tuple(values[name] for name in grading.GRADED_INPUTS)
    trace = grading.explain_row(inputs, sku, graded_by, day=rules, lang=lang)
    if before is not None and (earlier := row["graded_before"]) is not None:
        then = grading.explain_row(inputs, sku, before, day=rules, lang=lang)
        trace = {**trace, "previous": {**earlier, "reason": then["reason"]}}
    form = row["packaging_format"]
    packaging_format = resolve_format(form, rules) if form else None
    flags, undecided = annex_v.flags_and_undecided(sku, rules, today=today)
    compliance: SkuCompliance = {
        "recyclability_grade": row["recyclability_grade"],
        "recyclability_score": row["recyclability_score"],
        "doc_status": doc_status,
        "annex_v_flags": [
            {**flag, "reason": translated_reason(flag["code"], flag["reason"], rules, lang)} for flag in flags
        ],
        "annex_v_undecided": list(undecided),
        "grade_trace": trace,
        "schemes": settling.published_schemes(sku, rules, today.year, lang),
    }
    detail = {
        "id": row["id"],
        **_fields(row, sku),
        "doc_status": doc_status,
        "packaging_format_key": packaging_format.key if packaging_format else None,
        "compliance": compliance,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "version": row["version"],
    }
    return cast(SkuDetail, detail)


async def sku_detail_on_loop(
    row: StoredSku, graded: Callable[[str, str | None], Awaitable[GradedBy]], *, today: date, lang: str = ORIGINAL
) -> tuple[SkuDetail, RuleSet]:
    """Return `sku_detail` of a row, and the rule-set of the day, for a caller on an event loop.

    `graded` finds the rule-sets by the versions of the grade and of the one before. A long graph is explained in a
    thread, so that no other caller waits.
    """
    by = await graded(*versions_of(row))
    show = partial(sku_detail, row, by, today=today, lang=lang)
    return await asyncio.to_thread(show) if len(row["components"] or "") > _SHORT else show(), by[0]


def instant(at: str | None) -> str | None:
    """Return the database's text of an instant as RFC 3339 in UTC with Z."""
    return None if at is None else datetime.fromisoformat(at).astimezone(UTC).isoformat().replace("+00:00", "Z")
