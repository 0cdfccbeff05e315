"""Gives imports a place for what a dry run would do to grades."""

from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Dry runs of earlier releases have none."""
    op.execute("ALTER TABLE imports ADD COLUMN preview JSON")
    op.execute("COMMENT ON COLUMN imports.preview IS 'ForeseenGrades, of a dry run'")


def downgrade() -> None:
    """What was foreseen is lost; nothing that was stored depends on it."""
    op.execute("ALTER TABLE imports DROP COLUMN preview")
