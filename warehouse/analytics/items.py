"""Finds a page of a portfolio's SKUs by text, grade, DoC status, gap, market, format ban."""

from dataclasses import dataclass
from typing import Final, TypedDict

from compliance.readiness import findings
from warehouse.analytics.findings import CONDITIONS, FACTS, prepare
from warehouse.analytics.now import Now
from warehouse.analytics.reader import reader
from warehouse.snapshots import Snapshot

GAPS: Final = tuple(found.key for found in findings() if found.kind == "missing")
"""The values of `Wanted.gap`: the findings that something is not recorded."""

_ITEMS: Final = """
{source}
SELECT id, sku_code, name, recyclability_grade, recyclability_score, grade_provisional, doc_status, markets,
       count(*) OVER () AS total
FROM {rows}
WHERE ($text IS NULL OR contains({text_code}, {text_sought}) OR contains({text_name}, {text_sought}))
  AND ($grade IS NULL OR recyclability_grade = $grade)
  AND ($doc_status IS NULL OR doc_status = $doc_status)
  AND ($flag IS NULL OR len(list_filter(flags, lambda flag: flag.code = $flag)) > 0)
  AND ({gap})
ORDER BY sku_code LIMIT $limit OFFSET $offset
"""
_PLAIN: Final = "skus"
_JUDGED: Final = "facts"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a search; a SKU has to match all that are not None.

    `text` is searched in the code and in the name, letters and accents folded. `gap` is one of `GAPS`. `market` is a
    jurisdiction code that the SKU names or has volumes for, a country with its subdivisions.
    """

    text: str | None = None
    grade: str | None = None
    doc_status: str | None = None
    gap: str | None = None
    market: str | None = None
    flag: str | None = None


class _Row(TypedDict):
    """A SKU of the page; `total` is the number of all that fit."""

    id: str
    sku_code: str
    name: str
    recyclability_grade: str
    recyclability_score: float | None
    grade_provisional: bool
    doc_status: str
    markets: list[str] | None
    total: int


def items(snapshot: Snapshot, now: Now, wanted: Wanted, *, limit: int, offset: int) -> dict[str, object]:
    """Return a page of matching SKUs, in the order of codes, and their number. Raises `KeyError` for another gap."""
    judged = wanted.gap is not None or wanted.market is not None
    query = _ITEMS.format(
        source=f"WITH {FACTS}" if judged else "",
        rows=_JUDGED if judged else _PLAIN,
        gap=CONDITIONS[wanted.gap] if wanted.gap else "true",
        text_code=_folded("sku_code"),
        text_name=_folded("name"),
        text_sought=_folded("$text"),
    )
    of_facts = {"market": wanted.market, "today": now.today} if judged else {}
    with reader(snapshot) as answers:
        if judged:
            prepare(answers)
        found = answers.records(
            _Row,
            query,
            text=wanted.text,
            grade=wanted.grade,
            doc_status=wanted.doc_status,
            flag=wanted.flag,
            limit=limit,
            offset=offset,
            **of_facts,
        )
    total = found[0]["total"] if found else 0
    return {
        **now.head(snapshot),
        "items": [{name: value for name, value in item.items() if name != "total"} for item in found],
        "pagination": {"limit": limit, "offset": offset, "total": total},
    }


def _folded(text: str) -> str:
    return f"strip_accents(lower({text}))"
