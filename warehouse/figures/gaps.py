"""Lists the gaps of a portfolio, or of one SKU of it, the worst first."""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final, TypedDict, cast  # Any: the members of `Missing`
from uuid import UUID

from compliance import ruleset
from compliance.readiness import Finding as ReadinessFinding
from compliance.readiness import findings
from compliance.rule_rows import RuleSet
from compliance.words import nearest_materials
from schemas.figures import Gap, IncompleteSku, Missing, UnknownText
from warehouse.figures.reader import (
    FACTS,
    Now,
    Reader,
    condition,
    keep_texts,
    mask,
    of_mask,
    period,
    prepare,
    reader,
    weight_sum_sql,
)
from warehouse.figures.snapshots import Snapshot, write
from warehouse.figures.source import tables
from warehouse.operate.sessions import Connection

_JUDGED: Final = """
CREATE TEMPORARY TABLE judged AS
WITH {facts}
SELECT id, sku_code, name, {mask} AS mask, {weighed} AS weight, coalesce(units, 0)::BIGINT AS units, tonnes
FROM facts
WHERE $sku_code IS NULL OR sku_code = $sku_code
"""
_GROUPS: Final = """
SELECT mask, any_value(weight) AS weight, count(*) AS skus, sum(units)::BIGINT AS units, sum(tonnes) AS tonnes
FROM judged GROUP BY mask
"""
_ITEMS: Final = """
SELECT * FROM judged WHERE weight > 0 OR $sku_code IS NOT NULL
ORDER BY weight DESC, units DESC, sku_code LIMIT $limit OFFSET $offset
"""
_UNREAD: Final = """
SELECT sku_code, 'components[' || position || '].polymer_or_grade' AS field, polymer_or_grade FROM components
WHERE sku_code IN (SELECT unnest($codes::VARCHAR[])) AND polymer_or_grade IN (FROM unread)
UNION ALL SELECT sku_code, 'material_subtype', material_subtype FROM skus
WHERE sku_code IN (SELECT unnest($codes::VARCHAR[])) AND material_subtype IN (FROM unread)
    AND sku_code NOT IN (SELECT sku_code FROM components)
ORDER BY ALL
"""


class _Group(TypedDict):
    """SKUs with the same gaps."""

    mask: int
    weight: int
    skus: int
    units: int
    tonnes: float


class _Judged(TypedDict):
    """A SKU with its gaps."""

    id: str
    sku_code: str
    name: str
    mask: int
    weight: int
    units: int
    tonnes: float


def missing(snapshot: Snapshot, now: Now, *, sku_code: str | None = None, limit: int = 50, offset: int = 0) -> Missing:
    """Return the gaps with the SKUs, units and tonnes that they affect, and a page of SKUs with theirs.

    A SKU is sorted by the sum of its gaps' weights; of equals the one with more units comes first. An item names its
    material texts that were not understood. Units and tonnes are of the calendar year `period`, over all markets. With
    `sku_code` the answer is about that SKU alone, gaps or none; an unknown one gives no item. `with_asked` adds what
    its grade asks for.
    """
    return cast(Missing, {**now.head(snapshot), **_missing(snapshot, now.today, sku_code, limit, offset)})


@lru_cache(maxsize=64)
def _missing(snapshot: Snapshot, today: date, sku_code: str | None, limit: int, offset: int) -> dict[str, Any]:
    """Return what `missing` does, of a snapshot, which never changes: the portfolio's page asks each time."""
    missing_findings = [finding for finding in findings() if finding.on(today).kind == "missing"]
    parts = {"facts": FACTS, "mask": mask(missing_findings), "weighed": weight_sum_sql(missing_findings)}
    with reader(snapshot) as answers:
        prepare(answers)
        answers.rows(_JUDGED.format(**parts), market=None, today=today, sku_code=sku_code)
        units_of = period(answers, None, today)
        groups = answers.records(_Group, _GROUPS)
        items = answers.records(_Judged, _ITEMS, sku_code=sku_code, limit=limit, offset=offset)
        unread = _unread(answers, [item["sku_code"] for item in items])
    total = sum(group["skus"] for group in groups if group["weight"] > 0 or sku_code is not None)
    return {
        "period": units_of,
        "gaps": _worst_first(missing_findings, groups) if sku_code is None else [],
        "items": [
            {
                "id": item["id"],
                "sku_code": item["sku_code"],
                "name": item["name"],
                "units": item["units"],
                "weight": item["weight"],
                "gaps": [finding.as_dict() for finding in of_mask(missing_findings, item["mask"])],
                "not_understood": unread.get(item["sku_code"], []),
            }
            for item in items
        ],
        "pagination": {"limit": limit, "offset": offset, "total": total},
    }


def _unread(answers: Reader, codes: list[str]) -> dict[str, list[UnknownText]]:
    """Return each SKU's material texts of no known material, each with the nearest known words."""
    rules, texts = ruleset.load(), defaultdict[str, list[UnknownText]](list)
    for code, field, text in answers.rows(_UNREAD, codes=codes):
        texts[code].append({"field": field, "text": text, "nearest": list(nearest_materials(text, rules))})
    return texts


def _worst_first(missing_findings: list[ReadinessFinding], groups: list[_Group]) -> list[Gap]:
    """Return the gaps that some SKU has, by weight times SKUs."""
    skus, units, tonnes = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for group in groups:
        for finding in of_mask(missing_findings, group["mask"]):
            skus[finding.key] += group["skus"]
            units[finding.key] += group["units"]
            tonnes[finding.key] += group["tonnes"]
    worst = sorted(missing_findings, key=lambda finding: -finding.weight * skus[finding.key])
    return [
        {
            **finding.as_dict(),
            "skus": skus[finding.key],
            "units": units[finding.key],
            "tonnes": round(tonnes[finding.key], 6),
        }
        for finding in worst
        if skus[finding.key]
    ]


GAPS: Final = tuple(finding.key for finding in findings() if finding.kind == "missing")
"""The values of `Finding.gap`: the findings that something is not recorded."""

_IDS: Final = """
{source}
SELECT '{{' || coalesce(string_agg(id, ','), '') || '}}' FROM {rows}
WHERE ($flag IS NULL OR len(list_filter(flags, lambda flag: flag.code = $flag)) > 0)
  AND ($rule IS NULL OR list_contains(rules, $rule))
  AND ({gap})
  AND ({material})
  AND (NOT $no_supplier OR sku_code NOT IN (FROM (SELECT sku_code FROM components GROUP BY sku_code
       HAVING bool_and(supplier_id IS NOT NULL))))
"""
_OF_MATERIAL: Final = """sku_code IN (SELECT sku_code FROM components WHERE polymer_or_grade IN (FROM meant))
    OR material_subtype IN (FROM meant)"""
_BY_RULE: Final = """
SELECT rule, count(*) FROM (SELECT unnest(rules) AS rule FROM skus) GROUP BY rule ORDER BY count(*) DESC, rule
"""
_KEPT_BYTES: Final = 32 * 2**20
"""The size of the answers that a process keeps; one of 50 000 SKUs has 2 MB."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a SKU has to have; None is no condition. `gap` is one of `GAPS`, `flag` a ban's code, `rule` a rule's id.

    `polymer` is the canonical code of a polymer, a paper grade or an alloy that a part or the SKU is of. `no_supplier`
    is a part, or the SKU where it has none, without a supplier. `market` is the one that a gap is asked about: units
    are missing there, whatever was placed elsewhere.
    """

    gap: str | None = None
    flag: str | None = None
    rule: str | None = None
    polymer: str | None = None
    no_supplier: bool = False
    market: str | None = None


def ids_with(snapshot: Snapshot, now: Now, finding: Finding) -> str:
    """Return the ids of the SKUs that have all of it, as a Postgres array's text. Raises `KeyError` for another gap.

    A snapshot never changes, so that the answer is kept for the next page of the list.
    """
    key = (snapshot.folder, now.today, finding)
    if (kept := _KEPT.get(key)) is None:
        kept = _ids(snapshot, now, finding)
        _KEPT.put(key, kept)
    return kept


@lru_cache(maxsize=128)
def skus_by_rule(snapshot: Snapshot) -> Mapping[str, int]:
    """Return how many SKUs each design rule fired on, the most first."""
    with reader(snapshot) as answers:
        return {str(rule): int(count) for rule, count in answers.rows(_BY_RULE)}


def _ids(snapshot: Snapshot, now: Now, finding: Finding) -> str:
    judged = finding.gap is not None
    query = _IDS.format(
        source=f"WITH {FACTS}" if judged else "",
        rows="facts" if judged else "skus",
        gap=condition(finding.gap) if finding.gap else "true",
        material=_OF_MATERIAL if finding.polymer else "true",
    )
    of_facts = {"market": finding.market, "today": now.today} if judged else {}
    with reader(snapshot) as answers:
        if judged:
            prepare(answers)
        if finding.polymer is not None:
            keep_texts(answers, lambda code: code == finding.polymer)
        [(ids,)] = answers.rows(
            query, flag=finding.flag, rule=finding.rule, no_supplier=finding.no_supplier, **of_facts
        )
    return str(ids)


class _Kept:
    """The answers that were asked for last, up to a number of bytes."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[Path, date, Finding], str] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def get(self, key: tuple[Path, date, Finding]) -> str | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def put(self, key: tuple[Path, date, Finding], ids: str) -> None:
        with self._lock:
            self._bytes += len(ids) - len(self._answers.pop(key, ""))
            self._answers[key] = ids
            while self._bytes > _KEPT_BYTES and self._answers:
                self._bytes -= len(self._answers.popitem(last=False)[1])


_KEPT: Final = _Kept()


def missing_in_one(
    conn: Connection, company_id: UUID, sku_id: UUID, now: Now, *, at: datetime, rules: RuleSet
) -> IncompleteSku | None:
    """Return a SKU of the session's company with its `gaps`, the gravest first, and its texts `not_understood`.

    As `missing` does; None where the company has no such SKU.
    """
    with TemporaryDirectory(prefix="pcds-item-") as folder:
        parts = write(Path(folder), tables(conn, now.today, rules, [sku_id]), lambda: None)
        snapshot = Snapshot(company_id, "item", at, 0, "", now.figure_writes, "", parts, 0, Path(folder))
        items: list[IncompleteSku] = _missing.__wrapped__(snapshot, now.today, None, 1, 0)["items"]  # asked once
    return items[0] if items else None
