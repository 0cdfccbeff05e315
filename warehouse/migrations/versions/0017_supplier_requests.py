"""Adds requests to suppliers with their answers, and the queue that a person reviews.

The functions run as their owner, because the holder of a link has no company yet, and answer for a token's digest only.
Requests, entries and files are never removed; only states and decisions are overwritten.
"""

from pathlib import Path

from alembic import op

revision = "0017"
down_revision = "0016"

_OWN = "company_id = (SELECT nullif(current_setting('app.company_id', true), '')::uuid)"
_UPDATED = {
    "supplier_requests": "state, updated_at",
    "review_entries": "state, decided_by_id, decided_by_name, decided_at, reason",
    "review_files": "entry_id",
}
_FUNCTIONS = ("pcds_supplier_request(bytea)", "pcds_admit_supplier(bytea, text, integer, timestamptz)")


def upgrade() -> None:
    """Make tables and functions, enable row security, and grant the application its rights."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for table, columns in _UPDATED.items():
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY company ON {table} USING ({_OWN}) WITH CHECK ({_OWN})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE ({columns}) ON {table} TO pcds_app")
    op.execute("CREATE POLICY owner_admits ON supplier_requests FOR SELECT TO CURRENT_ROLE USING (true)")
    for function in _FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop them: requests, answers and decisions are lost, accepted values stay."""
    for function in _FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE review_files, review_entries, supplier_requests")
