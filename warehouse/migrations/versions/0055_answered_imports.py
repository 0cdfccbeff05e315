"""Keeps the mapping of an import, and of an answer which import it answers (decisions §13, *Asked has a protocol*)."""

from alembic import op

revision = "0055"
down_revision = "0053"


def upgrade() -> None:
    """Imports of before have neither: their mapping is what their source tells of it."""
    op.execute("ALTER TABLE imports ADD COLUMN mapping JSON, ADD COLUMN answers UUID")
    op.execute("COMMENT ON COLUMN imports.mapping IS 'the caller''s, an earlier one merged with its answers'")
    op.execute(
        "COMMENT ON COLUMN imports.answers IS 'the import whose held-back values this one writes; null where none'"
    )


def downgrade() -> None:
    """What was answered is stored all the same."""
    op.execute("ALTER TABLE imports DROP COLUMN mapping, DROP COLUMN answers")
