"""Lists a company's items by words, filters and findings: the one search of the REST API, the pages and the exports.

Words and filters are met by the records as they stand now; gaps, format bans and design rules by the newest snapshot,
which follows each write within half a minute.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final
from uuid import UUID

from compliance.ruleset import RuleSet
from schemas.issues import Issue
from schemas.json_values import JsonObject
from schemas.messages import Message
from schemas.normalise import shown
from schemas.refusals import Refused
from warehouse import snapshots
from warehouse.analytics import Now
from warehouse.analytics.found import Finding, ids_with
from warehouse.clock import Clock
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection, Pool
from warehouse.skus import queries
from warehouse.skus import search as skus
from warehouse.skus.search import Search

MOST_EXPORTED: Final = 1_048_575
"""The most items of an export: the lines of a worksheet below its headers."""

_NOTHING: Final = Finding()
_NEAREST: Final = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where items are searched: the deployment's database and snapshots, and the company."""

    pool: Pool
    clock: Clock
    rulesets: Rulesets
    data_dir: Path
    company_id: UUID


def page(
    place: Place, search: Search, finding: Finding, *, limit: int, offset: int, item: str = queries.LIST_ITEM
) -> str:
    """Return SkuListResponse as JSON text, with items of this select list. Raise `Refused`."""
    with _prepared(place, search, finding) as (conn, wanted):
        plain = wanted == Search()
        query = queries.page(limit, offset, item=item) if plain else skus.page(wanted, limit, offset, item=item)
        row = conn.execute(query, wanted.parameters(place.clock.now())).fetchone()
    assert row is not None, "a page is one row"
    return str(row[0])


@contextmanager
def every(place: Place, search: Search, finding: Finding) -> Iterator[Iterator[JsonObject]]:
    """Open the whole list, at most `MOST_EXPORTED` items, as it stands at one instant. Raise `Refused`."""
    with _prepared(place, search, finding) as (conn, wanted):
        yield skus.rows(conn, wanted, place.clock.now(), most=MOST_EXPORTED)


@contextmanager
def _prepared(place: Place, search: Search, finding: Finding) -> Iterator[tuple[Connection, Search]]:
    """Open a transaction of the company, with the search narrowed to the items that have the finding."""
    with place.pool.company(place.company_id) as conn:
        if finding == _NOTHING:
            yield conn, search
            return
        _check(finding, place.rulesets.active(conn))
        snapshot = snapshots.current(place.data_dir, place.company_id)
        ids = "{}" if snapshot is None else ids_with(snapshot, Now.read(conn, place.clock), finding)
        yield conn, replace(search, ids=ids, ids_as_of=None if snapshot is None else snapshot.as_of)


def _check(finding: Finding, rules: RuleSet) -> None:
    bans = sorted({ban.code for ban in rules.bans})
    if finding.flag is not None and finding.flag not in bans:
        sentence = Message("{value} is not one of: {codes}.", value=shown(finding.flag), codes=", ".join(bans))
        raise Refused([Issue("not_in_vocabulary", sentence, "flag")])
    if finding.rule is not None and finding.rule not in rules.rules:
        nearest = get_close_matches(finding.rule.upper()[:100], rules.rules, _NEAREST, 0) or sorted(rules.rules)
        sentence = Message(
            "{value} is no design rule of the rule-set; the nearest are: {codes}.",
            value=shown(finding.rule),
            codes=", ".join(nearest[:_NEAREST]),
        )
        raise Refused([Issue("not_in_vocabulary", sentence, "rule")])
