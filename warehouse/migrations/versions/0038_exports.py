"""Adds exports of whole portfolios: a row for each, which a run claims, and the function that finds waiting ones."""

from pathlib import Path

from alembic import op

revision = "0038"
down_revision = "0036"

_OPEN = "pcds_open_exports(timestamptz, timestamptz)"


def upgrade() -> None:
    """Make the table, and the function that finds waiting exports of every company."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("CREATE POLICY owner_finds ON exports FOR SELECT TO CURRENT_ROLE USING (true)")
    op.execute(f"REVOKE ALL ON FUNCTION {_OPEN} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_OPEN} TO pcds_app")


def downgrade() -> None:
    """Drop them; housekeeping removes the files."""
    op.execute(f"DROP FUNCTION {_OPEN}")
    op.execute("DROP TABLE exports")
