"""Rows that are each a request by itself: stored as if each came alone, each a link of the ledger by itself."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from schemas.skus.types import SkuPatch
from services.audit import verify
from services.skus.write import write_records
from warehouse.operate.clock import StoppedClock
from warehouse.operate.sessions import Connection, Pool
from warehouse.rules import Rulesets

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
_FIELDS = st.fixed_dictionaries(
    {"name": st.sampled_from(["Bottle", "Jar"])},
    optional={
        "weight_grams": st.sampled_from([None, 0, 12.5]),
        "markets": st.sampled_from([["FR"], ["FR", "DE"], []]),
        "components": st.sampled_from([[], [BODY]]),
        "pfas_intentional": st.booleans(),
        "packaging_format": st.sampled_from(["bottle", None]),
    },
)
_GROUP = st.dictionaries(st.sampled_from(["A", "B", "é'\"\\"]), _FIELDS, min_size=1)
_STORED = (
    "sku_code, version, name, weight_grams, markets, pfas, packaging_format, components_weight_g, recyclability_grade"
)
_LINKS = """
SELECT first_entry - links.number, entries, at, actor_type, actor_id, actor_name, correlation_id, host(ip::inet),
       user_agent, action, entry.version, sku_code
FROM audit_transactions AS links JOIN audit_entries AS entry ON entry.transaction_id = links.id
JOIN skus ON skus.id = entry.resource_id::uuid ORDER BY sku_code, entry.version"""
_LAST = """
SELECT count(*) FROM skus JOIN audit_entries AS entry
ON entry.transaction_id = skus.transaction_id AND entry.resource_id::uuid = skus.id AND entry.version = skus.version"""


def _origin(number: int) -> Origin:
    return Origin("api_key", f"k{number}", f"till é {number}", f"c-{number}", "10.0.0.1", None)


def _write(
    conn: Connection, company: UUID, records: Mapping[int, SkuPatch], now: datetime, origins: Mapping[int, Origin]
) -> list[str]:
    [first, *_] = records
    actor = Actor(company, _origin(first), now)
    outcomes = write_records(conn, actor, records, rulesets=Rulesets(), dry_run=False, origins=origins)
    return [outcome.outcome for outcome in outcomes.values()]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(_GROUP, min_size=1, max_size=4))
def test_a_group_is_its_rows_one_after_the_other(
    pool: Pool, new_company: Callable[[str], UUID], clock: StoppedClock, groups: list[dict[str, dict[str, object]]]
) -> None:
    alone, together = new_company("enterprise"), new_company("enterprise")
    changed = 0
    for number, group in enumerate(groups):
        now = clock.now() + timedelta(seconds=number)
        records = {row: parse_sku({"sku_code": code, **group[code]}) for row, code in enumerate(group)}
        one_by_one: list[str] = []
        for row, record in records.items():
            with pool.company(alone) as conn:
                one_by_one += _write(conn, alone, {row: record}, now, {})
        with pool.company(together) as conn:
            origins = {row: _origin(row) for row in records}
            assert _write(conn, together, records, now, origins) == one_by_one
        changed += len(records) - one_by_one.count("unchanged")
    seen = []
    for company in (alone, together):
        with pool.company(company) as conn:
            assert verify(conn).ok
            queries = [f"SELECT {_STORED} FROM {t} ORDER BY sku_code, version" for t in ("skus", "sku_versions")]
            counted = "SELECT skus, links, audit_entries FROM company_counters"
            seen.append([conn.execute(query).fetchall() for query in (*queries, _LINKS, _LAST, counted)])
    assert seen[0] == seen[1]
    assert seen[1][-1] == [(len(seen[1][0]), changed, changed)]
