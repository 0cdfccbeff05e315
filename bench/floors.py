"""Implements the floors: the least that a careful team would write for the same work, without rules, reports, history.

Importing: read, COPY into a temporary table, UPDATE … FROM, anti-join INSERT, one transaction, under row-level
security. Requests: a bare ASGI application over one psycopg pipeline, answering the database's JSON.
"""

import time
from pathlib import Path
from typing import Any
from uuid import UUID

import fastexcel
import polars as pl
import psycopg

from bench.data import COLUMNS

_NUMBERS = {"weight_grams", "recycled_content_percent", "empty_space_ratio"}
_INTEGERS = {"reuse_cycles_target", "annual_volume_fr", "annual_volume_de"}
_TRUTHS = {"food_contact", "reusable", "reuse_deposit_system", "minimisation_assessed", "material_marking_applied"}


def _type(column: str) -> str:
    if column in _NUMBERS:
        return "double precision"
    return "bigint" if column in _INTEGERS else "boolean" if column in _TRUTHS else "text"


_TYPED = ", ".join(f"{name} {_type(name)}" for name in COLUMNS)


def create_table(owner: psycopg.Connection[Any]) -> None:
    """Make the floor's own table: the file's columns, its key, the list's index, row-level security, no tuning."""
    owner.execute("DROP TABLE IF EXISTS bench_floor")
    owner.execute(
        f"CREATE TABLE bench_floor (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), company_id uuid NOT NULL, {_TYPED}, "
        "created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(), "
        "UNIQUE (company_id, sku_code))"
    )
    owner.execute("CREATE INDEX ON bench_floor (company_id, created_at, id)")
    owner.execute("ALTER TABLE bench_floor ENABLE ROW LEVEL SECURITY")
    owner.execute("ALTER TABLE bench_floor FORCE ROW LEVEL SECURITY")
    owner.execute(
        "CREATE POLICY own ON bench_floor USING (company_id = (SELECT current_setting('app.company_id')::uuid)) "
        "WITH CHECK (company_id = (SELECT current_setting('app.company_id')::uuid))"
    )
    owner.execute("GRANT SELECT, INSERT, UPDATE ON bench_floor TO pcds_app")
    owner.commit()


def _workbook(path: Path) -> pl.DataFrame:
    """Read the sheet unchanged, whole numbers as integers where the table has them."""
    sheet = fastexcel.read_excel(path).load_sheet(0).to_polars()
    return sheet.with_columns(pl.col(name).cast(pl.Int64) for name in COLUMNS if name in _INTEGERS)


def load(app: psycopg.Connection[Any], company: UUID, path: Path) -> float:
    """Return the seconds from the file on disk to the commit."""
    begun = time.perf_counter()
    table = pl.read_csv(path) if path.suffix == ".csv" else _workbook(path)
    values = table.select(COLUMNS).write_csv(include_header=False).encode()
    names = ", ".join(COLUMNS)
    differs = " OR ".join(f"f.{name} IS DISTINCT FROM s.{name}" for name in COLUMNS[1:])
    with app.transaction(), app.cursor() as cursor:
        cursor.execute("SELECT set_config('app.company_id', %s, true)", [str(company)])
        cursor.execute(f"CREATE TEMPORARY TABLE floor_staged ({_TYPED}) ON COMMIT DROP")
        with cursor.copy("COPY floor_staged FROM STDIN (FORMAT csv)") as copy:
            copy.write(values)
        cursor.execute("ANALYZE floor_staged (sku_code)")
        cursor.execute(
            f"UPDATE bench_floor f SET {', '.join(f'{name} = s.{name}' for name in COLUMNS[1:])}, updated_at = now() "
            f"FROM floor_staged s WHERE f.company_id = %s AND f.sku_code = s.sku_code AND ({differs})",
            [company],
        )
        cursor.execute(
            f"INSERT INTO bench_floor (company_id, {names}) SELECT %s, {names} FROM floor_staged s WHERE NOT EXISTS "
            "(SELECT 1 FROM bench_floor f WHERE f.company_id = %s AND f.sku_code = s.sku_code)",
            [company, company],
        )
    return time.perf_counter() - begun
