"""Stores declarations as they were filed; the application's role may read and add them, never change or remove one."""

from pathlib import Path

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Make the table, enable row security, and grant the application its own company's rows."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Drop the table: what was filed is lost, its audit entries stay."""
    op.execute("DROP TABLE kept_declarations")
