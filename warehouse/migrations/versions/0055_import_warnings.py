"""Gives imports a place for the warnings of rows that are written all the same (decisions §13)."""

from alembic import op

revision = "0055"
down_revision = "0052"


def upgrade() -> None:
    """Imports of earlier releases have none."""
    op.execute("ALTER TABLE imports ADD COLUMN warnings JSON")
    op.execute("COMMENT ON COLUMN imports.warnings IS 'ImportWarnings; null where there are none'")
    op.execute(
        "COMMENT ON COLUMN imports.templates IS "
        "'templates of messages in source, failure and warnings, by their English'"
    )


def downgrade() -> None:
    """The warnings are lost; nothing that was stored depends on them."""
    op.execute("ALTER TABLE imports DROP COLUMN warnings")
