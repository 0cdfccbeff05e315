"""Adds what operators watch across all companies (decision 0057), and what stays of a removed company (0058)."""

from pathlib import Path

from alembic import op

revision = "0040"
down_revision = "0039"

_FUNCTION = "pcds_measures(timestamptz, timestamptz)"


def upgrade() -> None:
    """Make the function, for the application's role alone, and the tables, for the owner."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute(f"REVOKE ALL ON FUNCTION {_FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FUNCTION} TO pcds_app")


def downgrade() -> None:
    """Drop them: certificates and kept hashes of removed companies are lost."""
    op.execute("DROP TABLE removed_links")
    op.execute("DROP TABLE removed_companies")
    op.execute(f"DROP FUNCTION {_FUNCTION}")
