"""Lets units of an archived SKU be written, and an import leave archived SKUs archived (decisions §13)."""

from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """Every import so far has brought archived SKUs back."""
    op.execute("GRANT UPDATE (version) ON archived_skus TO pcds_app")
    op.execute(
        "COMMENT ON COLUMN archived_skus.version IS "
        "'the version as which it rests, in sku_versions: that of archiving, or of units written since'"
    )
    op.execute("ALTER TABLE imports ADD COLUMN keep_archived BOOLEAN NOT NULL DEFAULT false")
    op.execute(
        "COMMENT ON COLUMN imports.keep_archived IS 'whether rows of archived SKUs are rejected, not brought back'"
    )


def downgrade() -> None:
    """Units of archived SKUs stay as they are, and can no longer be written."""
    op.execute("ALTER TABLE imports DROP COLUMN keep_archived")
    op.execute("COMMENT ON COLUMN archived_skus.version IS 'the version that archiving made, in sku_versions'")
    op.execute("REVOKE UPDATE (version) ON archived_skus FROM pcds_app")
