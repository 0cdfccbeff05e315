"""Finds SKUs of the session's company: by words, filters and ids, in an order, a page at a time or all of them.

A search reads each of the company's rows once, whatever it asks, and keeps only id and sort key of those that fit:
under row-level security Postgres uses no index for operators that search a text, as they may leak. `today` is the UTC
day of the service's clock, never the database's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, cast  # Any: rows and parameters, whose types the statement says
from uuid import UUID

from psycopg.rows import dict_row

from compliance.scopes import FIRST_YEAR_IN_EFFECT, household_uses
from schemas.json_values import JsonObject
from schemas.skus.types import ExportedSku, SkuListItem
from schemas.vocabularies import VOCABULARIES
from warehouse import pages
from warehouse.audit.visible import AS_OF
from warehouse.operate.sessions import Connection
from warehouse.pages import Listing
from warehouse.skus.queries import (
    CHANGED,
    COVERED,
    COVERED_ALL,
    LIST_ITEM,
    NAMED,
    NAMES,
    SHOWN,
    StoredSku,
)

MOST_WORDS: Final = 8
"""The most words of a search: each makes the statement longer."""

_AT_ONCE: Final = 500
"""Items that `rows` fetches together."""
_FOUND_AT: Final = {"findings_as_of": "%(ids_as_of)s::timestamptz"}
_DOC_STATUS: Final = "coalesce(covered.doc_status, 'missing')"
NEWEST: Final = "-created_at"
"""The order of a list for which none is asked."""


def _place(vocabulary: str, value: str) -> str:
    codes = ", ".join(f"'{code}'" for code in VOCABULARIES[vocabulary])
    return f"array_position(ARRAY[{codes}], {value})"


_KEYS: Final = {
    "created_at": "skus.created_at",
    "updated_at": "greatest(skus.updated_at, covered.covered_at)",
    "sku_code": 'skus.sku_code COLLATE "C"',
    "name": 'skus.words COLLATE "C"',
    "material": 'skus.material COLLATE "C"',
    "weight_grams": "coalesce(skus.weight_grams, skus.components_weight_g)",
    "recycled_content_percent": "skus.recycled_content_percent",
    "recyclability_grade": _place("recyclability_grade", "skus.recyclability_grade"),
    "recyclability_score": "skus.recyclability_score",
    "doc_status": _place("doc_status", _DOC_STATUS),
}
"""What a list can be sorted by, with the expression of its sort key."""
SORTS: Final = tuple(sign + name for name in _KEYS for sign in ("", "-"))
"""The orders of a list; a minus is the descending one. What has no value comes last in both."""

LASTING: Final = {"created_at": "%(after_key)s::timestamptz", "sku_code": "%(after_key)s::text"}
"""The sort keys that no write changes, and SQL for the key of the SKU behind which a page begins."""
_OTHERS: Final = ("sku_codes", "updated_since", "ids_as_of", "after_key", "after_id")


def _years_from(first: int) -> str:
    """Return a regular expression of the years of four digits from one on: that year, and any greater digit of it."""
    digits = str(first)
    greater = [
        f"{digits[:place]}[{int(digit) + 1}-9][0-9]{{{len(digits) - place - 1}}}"
        for place, digit in enumerate(digits)
        if digit != "9"
    ]
    return "|".join([digits, *greater])


_PLACED: Final = f'(?:-[A-Z0-9]+)?/(?:{_years_from(FIRST_YEAR_IN_EFFECT)})/[012]": ?[1-9]'
"""Continues the key of a stored volume behind its country: units above 0 in a year in effect."""
IN_MARKET: Final = f"""(%(market)s::text = ANY(skus.markets)
    OR strpos(array_to_string(skus.markets, ' '), %(market)s::text || '-') > 0
    OR strpos(skus.volumes::text, '"' || %(market)s::text) > 0
        AND skus.volumes::text ~ ('"' || %(market)s::text || '{_PLACED}'))"""
"""The market, or a subdivision of it, is one in effect (`compliance.scopes`); `market` is a code of ISO 3166.

The regular expression decides; `strpos` spares it for the many SKUs without such a volume.
"""
_OF_MATERIAL: Final = """(skus.material = %(material)s::text
    OR strpos(skus.components::text, '"material_family":"' || %(material)s::text || '"') > 0
    OR strpos(skus.components::text, '"material_family": "' || %(material)s::text || '"') > 0)"""
_CONDITIONS: Final = {
    "grade": "skus.recyclability_grade = %(grade)s::text",
    "doc_status": f"{_DOC_STATUS} = %(doc_status)s::text",
    "market": IN_MARKET,
    "material": _OF_MATERIAL,
    "brand_id": """skus.brand_id = (
        SELECT coalesce(merged_into, id) FROM brands WHERE id = %(brand_id)s::uuid)""",
    "supplier_id": """strpos(skus.components::text, (
        SELECT coalesce(merged_into, id)::text FROM suppliers WHERE id = %(supplier_id)s::uuid)) > 0""",
    "refers_to": """EXISTS (SELECT FROM unnest(%(refers_to)s::text[]) AS named(id)
        WHERE strpos(skus.components::text, named.id) > 0)""",
    "reusable": "skus.reusable = %(reusable)s::boolean",
    "empty_space_above": "skus.empty_space_ratio > %(empty_space_above)s::float8",
    "ids": "skus.id::text = ANY(%(ids)s::text[])",
}
_FOUND_BY_WORD: Final = """(strpos(skus.words, (SELECT pcds_words({word}))) > 0
    OR skus.brand_id = ANY(ARRAY(
        SELECT coalesce(merged_into, id) FROM brands
        WHERE strpos(pcds_words(name), (SELECT pcds_words({word}))) > 0))
    OR skus.components::text LIKE ANY(ARRAY(
        SELECT '%%"' || coalesce(merged_into, id) || '"%%' FROM suppliers
        WHERE strpos(pcds_words(name), (SELECT pcds_words({word}))) > 0)))"""
"""A word is part of a text of the SKU, or of the name of its brand or of a supplier of a component."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a SKU has to meet to be found, and the order of the list; None is no condition.

    Each of at most `MOST_WORDS` words is searched on its own, letters and accents folded. `market` is a jurisdiction
    code, a country with its subdivisions. `refers_to` are ids of library components or suppliers, one of which a
    component names; `empty_space_above` are percent. `ids` is a Postgres array as text, of what was found at
    `ids_as_of`. With `after_id` a page begins behind that SKU, whose sort key is `after_key`; the order is one of
    `LASTING`.
    """

    words: tuple[str, ...] = ()
    market: str | None = None
    grade: str | None = None
    doc_status: str | None = None
    material: str | None = None
    brand_id: UUID | None = None
    supplier_id: UUID | None = None
    refers_to: list[str] | None = None
    reusable: bool | None = None
    empty_space_above: float | None = None
    ids: str | None = None
    ids_as_of: datetime | None = None
    sku_codes: list[str] | None = None
    updated_since: datetime | None = None
    sort: str = NEWEST
    after_key: str | None = None
    after_id: UUID | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether this is the list in its usual order, or what codes and an instant leave of it."""
        return self.sort == NEWEST and not self.words and all(getattr(self, name) is None for name in _CONDITIONS)

    def parameters(self, now: datetime) -> dict[str, Any]:
        """Return the parameters of `page` and `rows`; `now` is of the service's clock."""
        conditions = {name: getattr(self, name) for name in _CONDITIONS}
        words = {f"word_{place}": word for place, word in enumerate(self.words)}
        others = {name: getattr(self, name) for name in _OTHERS}
        return {**conditions, **words, **others, "now": now, "today": now.date()}


_NEWEST_FIRST: Final = "skus.created_at DESC, skus.id"
_OLDEST_FIRST: Final = "skus.created_at, skus.id DESC"
_BEHIND: Final = """WHERE skus.created_at <= %(after_key)s::timestamptz
    AND (skus.created_at < %(after_key)s::timestamptz OR skus.id > %(after_id)s::uuid)"""
_HELD: Final = "coalesce((SELECT company_counters.skus FROM company_counters), 0)"
_DEEP: Final = 1000
"""Rows to skip from which on it pays to ask which end of the list is nearer."""
_STORED: Final = "stored_"
"""Begins the names of the columns of an item's stored row."""
_ROW: Final = f" CROSS JOIN LATERAL (SELECT {SHOWN}) AS stored ({', '.join(_STORED + name for name in NAMES)})"


def page(search: Search, limit: int, offset: int, now: datetime, *, with_rows: bool = False) -> Listing[SkuListItem]:
    """Return the question for a page of the SKUs that are found; `now` is of the service's clock.

    Without conditions the total is the counter that the plan's limit is held against. A page behind a SKU begins there
    whether that SKU still exists or not. Items `with_rows` have their stored row, too (`stored_rows`).
    """
    order, chosen = _NEWEST_FIRST, ""
    source, total, behind = "skus", _HELD, "" if search.after_id is None else _BEHIND
    if not search.is_plain:
        order, chosen, total = _order(search), f"WITH {_chosen(search)} ", "(SELECT count(*) FROM chosen)"
        behind = "" if search.after_id is None else f"WHERE {_after(search)}"
        keys = f"(SELECT id, key FROM chosen AS skus {behind} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d})"
        rows = f"SELECT skus.*, found.key FROM {keys} AS found JOIN skus ON skus.id = found.id"
    elif search.sku_codes is None and search.updated_since is None and offset >= _DEEP:
        rows = _deep(limit, offset)
    else:
        if search.sku_codes is not None or search.updated_since is not None:
            source = f"({_source(search)}) AS skus"
            total = f"(SELECT count(*) FROM {source})"
        rows = f"SELECT * FROM {source} {behind} ORDER BY {order} LIMIT {limit:d} OFFSET {offset:d}"
    question = pages.listing(
        f"{LIST_ITEM}, stored.*" if with_rows else LIST_ITEM,
        "skus",
        order=order,
        limit=limit,
        offset=offset,
        rows=rows,
        total=total,
        beside=COVERED + _ROW if with_rows else COVERED,
        more={"as_of": AS_OF, **(_FOUND_AT if search.ids is not None else {})},
        parameters=search.parameters(now),
    )
    return replace(question, sql=chosen + question.sql)


def stored_rows(items: Sequence[SkuListItem]) -> list[StoredSku]:
    """Take their stored rows out of the items of a page `with_rows`."""
    members = cast(Sequence[dict[str, Any]], items)
    return [cast(StoredSku, {name: item.pop(_STORED + name) for name in NAMES}) for item in members]


def _deep(limit: int, offset: int) -> str:
    """Return the rows of a page far from the top, found from whichever end of the list is nearer.

    To skip rows Postgres must walk over them, so that half of the list is the most that is ever walked. Only ids are
    read on the way, out of the index. From the end on, the page begins at the counter's total less what stands before
    it: the counter is written with the rows that it counts, so that one statement sees both as they were together.
    """
    before = f"({_HELD} - {offset:d})"
    near_top = f"{_HELD} >= {2 * offset:d}"
    return f"""SELECT * FROM skus WHERE id = ANY(ARRAY(
        (SELECT id FROM skus ORDER BY {_NEWEST_FIRST}
         LIMIT CASE WHEN {near_top} THEN {limit:d} ELSE 0 END OFFSET {offset:d})
        UNION ALL
        (SELECT id FROM skus ORDER BY {_OLDEST_FIRST}
         LIMIT CASE WHEN {near_top} THEN 0 ELSE greatest(least({before}, {limit:d}), 0) END
         OFFSET greatest({before} - {limit:d}, 0))))"""


def rows(conn: Connection, search: Search, now: datetime, *, most: int) -> Iterator[ExportedSku]:
    """Yield the items of the whole list, at most so many, as at one instant."""
    order = _order(search)
    query = f"""WITH {_chosen(search)}
        SELECT {LIST_ITEM}, brand FROM (
            SELECT skus.*, found.key FROM chosen AS found JOIN skus ON skus.id = found.id) AS skus {COVERED}
        LEFT JOIN (SELECT id AS brand_of, name AS brand FROM brands) AS brands ON brand_of = skus.brand_id
        ORDER BY {order} LIMIT {most:d}"""
    with conn.cursor("found_skus", row_factory=dict_row) as cursor:
        cursor.itersize = _AT_ONCE
        yield from cast(Iterator[ExportedSku], cursor.execute(query, search.parameters(now)))


def codes(conn: Connection, search: Search, now: datetime, *, most: int) -> list[str]:
    """Return the codes of the SKUs of the whole list, at most so many, in no order."""
    query = f"WITH {_chosen(search)} SELECT sku_code FROM chosen JOIN skus USING (id) LIMIT {most:d}"
    return [code for (code,) in conn.execute(query, search.parameters(now))]


def _order(search: Search) -> str:
    direction = "DESC" if search.sort.startswith("-") else "ASC"
    return f"skus.key {direction} NULLS LAST, skus.id"


def _after(search: Search) -> str:
    """Return the condition that a SKU stands behind the one of `after_id` in the order."""
    beyond, value = ("<" if search.sort.startswith("-") else ">"), LASTING[search.sort.removeprefix("-")]
    return f"(skus.key {beyond} {value} OR skus.key = {value} AND skus.id > %(after_id)s::uuid)"


def _source(search: Search) -> str:
    """Return the query of the SKUs that codes and instant leave."""
    return CHANGED if search.updated_since is not None else f"SELECT * FROM skus WHERE {NAMED}"


def _chosen(search: Search) -> str:
    """Return the part of a query that has id and sort key of each SKU that is found."""
    conditions = [_FOUND_BY_WORD.format(word=f"%(word_{place})s::text") for place in range(len(search.words))]
    conditions += [text for name, text in _CONDITIONS.items() if getattr(search, name) is not None]
    key = search.sort.removeprefix("-")
    covered = COVERED_ALL if search.doc_status is not None or key in ("updated_at", "doc_status") else ""
    return f"""chosen AS MATERIALIZED (
        SELECT skus.id, {_KEYS[key]} AS key FROM ({_source(search)}) AS skus {covered}
        WHERE {" AND ".join(conditions) or "true"})"""


STATES: Final = ("lacks_mark", "not_recorded", "has_mark", "exempt", "not_for_households")
"""The states, the gravest first. `lacks_mark`: another label or none is recorded; `exempt`: drinks in glass."""
_STATE: Final = """CASE
    WHEN packaging_level = 'transport' OR 'industrial' = ANY(use_contexts) AND NOT use_contexts && %(household)s::text[]
        THEN 'not_for_households'
    WHEN material = 'glass' AND 'beverage' = ANY(use_contexts) THEN 'exempt'
    WHEN sorting_label_scheme IN ('triman_fr', 'info_tri_fr') THEN 'has_mark'
    WHEN sorting_label_scheme IS NULL THEN 'not_recorded'
    ELSE 'lacks_mark' END"""
_JUDGED: Final = f"""
SELECT sku_code, name, sorting_label_scheme, packaging_level, {_STATE} AS state FROM skus WHERE {IN_MARKET}"""
_COUNTS: Final = f"SELECT state, count(*) FROM ({_JUDGED}) AS judged GROUP BY state"
_PAGE: Final = f"""
SELECT sku_code, name, state, sorting_label_scheme, packaging_level FROM ({_JUDGED}) AS judged
WHERE %(state)s::text IS NULL OR state = %(state)s::text
ORDER BY array_position(%(order)s::text[], state), sku_code COLLATE "C" LIMIT %(limit)s OFFSET %(offset)s"""
_MARKET: Final = "FR"


def by_label(
    conn: Connection, *, state: str | None, limit: int, offset: int
) -> tuple[dict[str, int], list[JsonObject]]:
    """Return how many SKUs have each state, and a page of those of one state, or of all, the gravest first."""
    parameters = {"market": _MARKET, "state": state, "order": list(STATES), "limit": limit, "offset": offset}
    parameters["household"] = list(household_uses())
    counts = dict(conn.execute(_COUNTS, parameters).fetchall())
    with conn.cursor(row_factory=dict_row) as cursor:
        return {name: counts.get(name, 0) for name in STATES}, cursor.execute(_PAGE, parameters).fetchall()
