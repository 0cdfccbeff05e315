"""Measures the publication of a portfolio's snapshot beside a plain export of the same tables."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Final

from bench.loaded import Loaded
from bench.report import Line, against, memory
from bench.spent import cpu, peak_mib, rounds_for
from schemas.actors import Actor, Origin
from warehouse.audit import ledger
from warehouse.figures import snapshots
from warehouse.figures.source import SKUS
from warehouse.operate.clock import Clock
from warehouse.rules import Rulesets

_UPDATE: Final = "UPDATE skus SET name = name || '.', version = version + 1 WHERE sku_code = 'P-0000000' RETURNING id"
_STORED: Final = [name for name in SKUS if name not in ("flags", "rules") and not name.endswith("status")]
_EXPORTS: Final = (
    f"SELECT {', '.join(_STORED)} FROM skus",
    """SELECT sku_code, line.* FROM skus CROSS JOIN LATERAL json_to_recordset(components) AS line (
           id text, component_type text, material_family text, polymer_or_grade text, weight_g float8,
           separable boolean, recycled_content_percent float8)""",
    """SELECT sku_code, split_part(key, '/', 1), split_part(key, '/', 2)::int, split_part(key, '/', 3)::int,
              value::bigint FROM skus CROSS JOIN LATERAL json_each_text(volumes)""",
)
"""The three tables, exported by Postgres alone."""


def measure(held: Loaded) -> Iterator[Line]:
    """Measure publishing after one write and with every row read anew."""
    rulesets, folders = Rulesets(), count()

    def publish() -> None:
        snapshots.publish(held.pool, held.company, held.data_dir, Clock().now(), rulesets)

    def publish_anew() -> None:
        folder = held.data_dir / f"anew-{next(folders)}"
        snapshots.publish(held.pool, held.company, folder, Clock().now(), rulesets)
        shutil.rmtree(folder)

    with peak_mib(held.server) as peak:
        _write_one(held)  # after a snapshot of a ledger without links, the next one reads every row
        publish()
        ours = floor = anew = 0.0
        rounds = rounds_for(held.skus)
        for _ in range(rounds):
            _write_one(held)
            floor += cpu(partial(_copy_tables, held), held.server) / rounds
            ours += cpu(publish, held.server) / rounds
            anew += cpu(publish_anew, held.server) / rounds
    work = f"snapshot of {held.skus} SKUs after one write"
    yield against(f"{work}, beside COPY of the three tables, CPU", ours, floor, bound=held.bound(1.2))
    yield against("the same with every row read anew", anew, floor, bound=None)
    yield memory(work, peak[0])


def _write_one(held: Loaded) -> None:
    with held.pool.company(held.company) as conn:
        row = conn.execute(_UPDATE).fetchone()
        assert row is not None
        ledger.enter(
            conn,
            Actor(held.company, Origin("system", None, "bench", "bench"), Clock().now()),
            "sku.updated",
            row[0],
            before=None,
            after=None,
        )


def _copy_tables(held: Loaded) -> None:
    """Copy the three tables out of Postgres, which takes graphs and volumes apart."""
    with held.pool.company(held.company) as conn, conn.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        for query in _EXPORTS:
            with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
                for _ in copy:
                    pass
