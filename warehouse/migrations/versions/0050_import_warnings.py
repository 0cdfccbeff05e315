"""Gives imports a place for warnings, and files of corrections one for the codes that they repeat (decisions §13)."""

from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """Imports of earlier releases have none."""
    op.execute("ALTER TABLE imports ADD COLUMN warnings JSON")
    op.execute("COMMENT ON COLUMN imports.warnings IS 'ImportWarnings; null where there are none'")
    op.execute("ALTER TABLE imports ADD COLUMN taken_codes JSON")
    op.execute(
        "COMMENT ON COLUMN imports.taken_codes IS "
        "'codes that no row of this file of corrections may have; null where none'"
    )
    op.execute(
        "COMMENT ON COLUMN imports.templates IS "
        "'templates of messages in source, failure and warnings, by their English'"
    )


def downgrade() -> None:
    """The warnings are lost; a file of corrections that is read again may then overwrite what it repeats."""
    op.execute("ALTER TABLE imports DROP COLUMN warnings, DROP COLUMN taken_codes")
