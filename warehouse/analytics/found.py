"""Finds the SKUs of a snapshot that have a finding: a gap, a format ban that they may meet, a design rule, a material.

Materials are compared by their canonical code, whatever words a company writes for them.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Final

from compliance.readiness import findings
from warehouse.analytics.findings import CONDITIONS, FACTS, keep_texts, prepare
from warehouse.analytics.now import Now
from warehouse.analytics.reader import reader
from warehouse.snapshots import Snapshot

GAPS: Final = tuple(found.key for found in findings() if found.kind == "missing")
"""The values of `Finding.gap`: the findings that something is not recorded."""

_IDS: Final = """
{source}
SELECT '{{' || coalesce(string_agg(id, ','), '') || '}}' FROM {rows}
WHERE ($flag IS NULL OR len(list_filter(flags, lambda flag: flag.code = $flag)) > 0)
  AND ($rule IS NULL OR list_contains(rules, $rule))
  AND ({gap})
  AND ({material})
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

    `polymer` is the canonical code of a polymer, a paper grade or an alloy that a part or the SKU is of.
    """

    gap: str | None = None
    flag: str | None = None
    rule: str | None = None
    polymer: str | None = None


def ids_with(snapshot: Snapshot, now: Now, finding: Finding) -> str:
    """Return the ids of the SKUs that have all of it, as a Postgres array's text. Raises `KeyError` for another gap.

    A snapshot never changes, so that the answer is kept for the next page of the list.
    """
    asked = (snapshot.folder, now.today, finding)
    if (kept := _KEPT.get(asked)) is None:
        kept = _ids(snapshot, now, finding)
        _KEPT.put(asked, kept)
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
        gap=CONDITIONS[finding.gap] if finding.gap else "true",
        material=_OF_MATERIAL if finding.polymer else "true",
    )
    of_facts = {"market": None, "today": now.today} if judged else {}
    with reader(snapshot) as answers:
        if judged:
            prepare(answers)
        if finding.polymer is not None:
            keep_texts(answers, "meant", lambda code: code == finding.polymer)
        [(ids,)] = answers.rows(query, flag=finding.flag, rule=finding.rule, **of_facts)
    return str(ids)


class _Kept:
    """The answers that were asked for last, up to a number of bytes."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[Path, date, Finding], str] = OrderedDict()
        self._bytes, self._lock = 0, Lock()

    def get(self, asked: tuple[Path, date, Finding]) -> str | None:
        with self._lock:
            if asked in self._answers:
                self._answers.move_to_end(asked)
            return self._answers.get(asked)

    def put(self, asked: tuple[Path, date, Finding], ids: str) -> None:
        with self._lock:
            self._bytes += len(ids) - len(self._answers.pop(asked, ""))
            self._answers[asked] = ids
            while self._bytes > _KEPT_BYTES and self._answers:
                self._bytes -= len(self._answers.popitem(last=False)[1])


_KEPT: Final = _Kept()
