"""Writers at once on the same SKUs, by every road: none lost, none failed, every version accounted for."""

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from uuid import UUID

from compliance import ruleset
from pipelines.writing.patch import Patch
from pipelines.writing.write import write_patch
from schemas.actors import Actor, Origin
from schemas.skus.inputs import parse_sku
from services.skus.write import write_records
from warehouse.operate.clock import Clock
from warehouse.operate.database import Database
from warehouse.operate.sessions import Pool
from warehouse.rules import Rulesets
from warehouse.skus.portfolio import FEW
from warehouse.skus.tables import Table

CODES = [f"SKU-{number:03d}" for number in range(FEW + 40)]
ROUNDS = 6
FIELDS = (
    "description",
    "material_subtype",
    "product_category",
    "packaging_format",
    "reuse_pool_owner",
    "reuse_asset_identifier",
)


def chunk(pool: Pool, company: UUID, codes: list[str], field: str, token: str) -> None:
    """What an import's chunk does: enough rows to go through COPY."""
    rows = len(codes)
    values = Table({"row": list(range(rows)), "sku_code": codes, "name": ["n"] * rows, field: [token] * rows})
    patch = Patch(values, Table({name: [True] * rows for name in ("sku_code", "name", field)}))

    def write() -> None:
        with pool.company(company) as conn:
            write_patch(
                conn, Actor(company, Origin("import", None, None, "c"), Clock().now()), patch, rules=ruleset.load()
            )

    pool.retrying(company, write)


def test_twenty_writers_by_every_road_lose_nothing(database: Database, company: UUID):
    """One writer owns each field, fourteen more write the name: each field ends as its owner left it."""

    def writer(number: int) -> None:
        rng = random.Random(number)
        for turn in range(ROUNDS):
            codes = rng.sample(CODES, len(CODES))
            token = f"{number}-{turn}"
            if number < len(FIELDS) and number % 2:
                chunk(pool, company, codes, FIELDS[number], token)
                continue
            size = 1 if number % 3 else 40
            field = FIELDS[number] if number < len(FIELDS) else "name"
            wanted = codes if number < len(FIELDS) else codes[: 3 * size]
            for start in range(0, len(wanted), 60 if number < len(FIELDS) else size):
                part = wanted[start : start + (60 if number < len(FIELDS) else size)]
                bodies = [parse_sku({"name": "n", "sku_code": code, field: token}) for code in part]
                results = pool.run(
                    company,
                    lambda conn, bodies=bodies: write_records(
                        conn,
                        Actor(company, Origin("api_key", "k", "k", "c"), Clock().now()),
                        dict(enumerate(bodies)),
                        rulesets=Rulesets(),
                        dry_run=False,
                    ),
                )
                assert not [r.errors for r in results.values() if r.errors]

    with Pool(database.app_url, size=20) as pool:
        with ThreadPoolExecutor(20) as writers:
            for done in [writers.submit(writer, number) for number in range(20)]:
                done.result()
        with pool.company(company) as conn:
            held = conn.execute(f"SELECT {', '.join(FIELDS)} FROM skus ORDER BY sku_code").fetchall()
            versions = conn.execute(
                "SELECT sku_code, array_agg(version ORDER BY version) FROM "
                "(SELECT sku_code, version FROM sku_versions UNION ALL SELECT sku_code, version FROM skus) AS every "
                "GROUP BY sku_code"
            ).fetchall()
            entries = conn.execute(
                "SELECT resource_id, array_agg(version ORDER BY version) FROM audit_entries GROUP BY resource_id"
            ).fetchall()
            counted = conn.execute("SELECT skus FROM company_counters").fetchone()
    last = tuple(f"{number}-{ROUNDS - 1}" for number in range(len(FIELDS)))
    assert held == [last] * len(CODES)
    assert counted == (len(CODES),)
    for _, numbers in [*versions, *entries]:
        assert all(after == before + 1 for before, after in pairwise([0, *numbers]))
