"""Gives webhooks a filter: the types of changes that are sent."""

from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Webhooks of earlier releases are sent every change."""
    op.execute("ALTER TABLE webhooks ADD COLUMN types TEXT[]")
    op.execute("COMMENT ON COLUMN webhooks.types IS 'of the changes that are sent; null for all'")
    op.execute("GRANT UPDATE (types) ON webhooks TO pcds_app")


def downgrade() -> None:
    """The filters are lost: every webhook is sent all changes again."""
    op.execute("ALTER TABLE webhooks DROP COLUMN types")
