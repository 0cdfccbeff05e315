"""Adds exports of whole portfolios, and what is left of a key's limit.

An export is a row that a run claims; a function finds waiting ones. Another function admits a request and counts.
"""

from pathlib import Path

from alembic import op

revision = "0038"
down_revision = "0037"

_OPEN = "pcds_open_exports(timestamptz, timestamptz)"
_COUNTED = "pcds_admit_counted(bytea, boolean, integer, timestamptz)"


def upgrade() -> None:
    """Make the table and the two functions."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("CREATE POLICY owner_finds ON exports FOR SELECT TO CURRENT_ROLE USING (true)")
    for function in (_OPEN, _COUNTED):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO pcds_app")


def downgrade() -> None:
    """Drop them; housekeeping removes the files."""
    for function in (_OPEN, _COUNTED):
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE exports")
