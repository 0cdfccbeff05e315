"""Template and parameters of a report's messages, by which they are read in every language."""

from alembic import op

revision = "0025"
down_revision = "0024"

_BESIDE = "the message's template and parameters; null where the text is the template"
_TEMPLATES = "template and parameters of messages in source and failure, by their English"


def upgrade() -> None:
    """Reports from before have their English text alone."""
    op.execute("ALTER TABLE import_errors ADD COLUMN template TEXT")
    op.execute(f"COMMENT ON COLUMN import_errors.template IS '{_BESIDE.replace(chr(39), chr(39) * 2)}'")
    op.execute("ALTER TABLE imports ADD COLUMN templates JSON")
    op.execute(f"COMMENT ON COLUMN imports.templates IS '{_TEMPLATES}'")


def downgrade() -> None:
    """The English texts stay."""
    op.execute("ALTER TABLE import_errors DROP COLUMN template")
    op.execute("ALTER TABLE imports DROP COLUMN templates")
