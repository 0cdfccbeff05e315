"""Gives kept mappings an id, by which they are addressed, and lets the application remove them."""

from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    """The id has a default, so that the release before still keeps mappings."""
    op.execute("ALTER TABLE import_mappings ADD COLUMN id UUID NOT NULL DEFAULT gen_random_uuid()")
    op.execute("GRANT DELETE ON import_mappings TO pcds_app")


def downgrade() -> None:
    """Names remain, which is how the release before recalls a mapping."""
    op.execute("REVOKE DELETE ON import_mappings FROM pcds_app")
    op.execute("ALTER TABLE import_mappings DROP COLUMN id")
