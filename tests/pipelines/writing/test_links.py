"""Rows that come with origins of their own: stored as if each came alone, each a link of the ledger by itself."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.writing.records import write_records
from schemas.models import parse_sku
from services.audit import verify
from warehouse.audit.origin import Origin
from warehouse.clock import StoppedClock
from warehouse.rulesets.registry import Rulesets
from warehouse.sessions import Connection, Pool

BODY = {"component_type": "body", "material_family": "plastic", "polymer_or_grade": "PET", "weight_g": 25}
_FIELDS = st.fixed_dictionaries(
    {"name": st.sampled_from(["Bottle", "Jar"])},
    optional={
        "weight_grams": st.sampled_from([None, 0, 12.5]), "markets": st.sampled_from([["FR"], ["FR", "DE"], []]),
        "components": st.sampled_from([[], [BODY]]), "pfas_intentional": st.booleans(),
        "packaging_format": st.sampled_from(["bottle", None]),
    },
)  # fmt: skip
_GROUP = st.dictionaries(st.sampled_from(["A", "B", "é'\"\\"]), _FIELDS, min_size=1)
_STORED = (
    "sku_code, version, name, weight_grams, markets, pfas, packaging_format, components_weight_g, recyclability_grade"
)


def _origin(number: int) -> Origin:
    return Origin("api_key", f"k{number}", f"till é {number}", f"c-{number}", "10.0.0.1", None)


def _written(conn: Connection, company: UUID, records: dict[int, dict[str, Any]], origin: Any, now: Any) -> list[str]:
    results = write_records(
        conn, company, records, origin=origin, now=now, rulesets=Rulesets(), dry_run=False
    )  # fmt: skip
    return [result.outcome for result in results.values()]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=st.lists(_GROUP, min_size=1, max_size=4))
def test_a_group_is_its_rows_one_after_the_other(
    pool: Pool, new_company: Callable[[str], UUID], clock: StoppedClock, groups: list[dict[str, dict[str, Any]]]
) -> None:
    alone, together = new_company("enterprise"), new_company("enterprise")
    changed = 0
    for number, group in enumerate(groups):
        now = clock.now() + timedelta(seconds=number)
        records = {row: parse_sku({"sku_code": code, **group[code]}) for row, code in enumerate(group)}
        one_by_one: list[str] = []
        for row, record in records.items():
            with pool.company(alone) as conn:
                one_by_one += _written(conn, alone, {row: record}, _origin(row), now)
        with pool.company(together) as conn:
            assert _written(conn, together, records, {row: _origin(row) for row in records}, now) == one_by_one
        changed += len(records) - one_by_one.count("unchanged")
    seen = []
    for company in (alone, together):
        with pool.company(company) as conn:
            assert verify(conn).ok
            rows = conn.execute(f"SELECT {_STORED} FROM skus ORDER BY sku_code").fetchall()
            versions = conn.execute(f"SELECT {_STORED} FROM sku_versions ORDER BY sku_code, version").fetchall()
            links = conn.execute(
                "SELECT links.number, first_entry, entries, at, actor_type, actor_id, actor_name, correlation_id, "
                "host(ip::inet), user_agent, action, entry.version, sku_code FROM audit_transactions AS links "
                "JOIN audit_entries AS entry ON entry.transaction_id = links.id "
                "JOIN skus ON skus.id = entry.resource_id::uuid ORDER BY links.number"
            ).fetchall()
            last = conn.execute(
                "SELECT count(*) FROM skus JOIN audit_entries AS entry ON entry.transaction_id = skus.transaction_id "
                "AND entry.resource_id::uuid = skus.id AND entry.version = skus.version"
            ).fetchall()
            counted = conn.execute("SELECT skus, links, audit_entries FROM company_counters").fetchall()
            seen.append((rows, versions, links, last, counted))
    assert seen[0] == seen[1]
    assert seen[1][-1] == [(len(seen[1][0]), changed, changed)]
