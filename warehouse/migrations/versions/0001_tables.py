"""Makes every table, its row-level security, and the rights of the application's role.

This migration isolates companies. A company's table shows its rows to the company of the transaction's setting
`app.company_id` and to no session without one; row security is forced, so that it binds the tables' owner too, unless
it is a superuser. The setting is read in a sub-select, which Postgres evaluates once a statement instead of once a row.
"""

import csv
from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None

_HERE = Path(__file__)
_COMPANY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_ADD = "SELECT, INSERT"
_KEEP = "SELECT, INSERT, UPDATE"
_ALL = "SELECT, INSERT, UPDATE, DELETE"

_GRANTS = {
    "companies": "SELECT",
    "company_counters": _KEEP,
    "api_keys": f"{_ADD}, UPDATE (revoked_at)",
    "brands": _ALL,
    "sites": _ALL,
    "suppliers": _ALL,
    "library_components": _ALL,
    "skus": _KEEP,
    "sku_versions": _ADD,
    "docs": _ALL,
    "imports": _KEEP,
    "import_errors": _ADD,
    "audit_transactions": _ADD,
    "audit_entries": _ADD,
}
"""Rights on each company's table; the database refuses all others."""
_SHARED_GRANTS = {"plans": "SELECT", "jurisdictions": _ALL, "catalogue_loads": _ADD}
"""Rights on the tables that belong to no company."""


def upgrade() -> None:
    """Make the tables, enable their row security, grant the application its rights, and insert the plans."""
    op.get_bind().exec_driver_sql(_HERE.with_suffix(".sql").read_text(encoding="utf-8"))
    for table, rights in _GRANTS.items():
        own = f"{'id' if table == 'companies' else 'company_id'} = {_COMPANY}"
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY company ON {table} USING ({own}) WITH CHECK ({own})")
        op.execute(f"GRANT {rights} ON {table} TO pcds_app")
    for table, rights in _SHARED_GRANTS.items():
        op.execute(f"GRANT {rights} ON {table} TO pcds_app")
    op.execute("GRANT USAGE ON SCHEMA public TO pcds_app")
    _put_plans_in()


def _put_plans_in() -> None:
    with _HERE.with_name("0001_plans.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    statement = (
        f"INSERT INTO plans ({', '.join(columns)}) VALUES (%s, nullif(%s, '')::int, %s::int, %s::bool, %s::bool)"
    )
    for row in rows:
        op.get_bind().exec_driver_sql(statement, tuple(row))


def downgrade() -> None:
    """Do nothing: there is no release before the first to go back to."""
    raise NotImplementedError("0001 is the first release; drop the database instead")
