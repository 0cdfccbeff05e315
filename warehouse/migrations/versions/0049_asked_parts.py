"""Lets a supplier's request keep what its parts were when they were asked about."""

from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Requests of earlier releases have no such memory; nothing is derived for them here."""
    op.execute("ALTER TABLE supplier_requests ADD COLUMN asked JSON")
    op.execute(
        "COMMENT ON COLUMN supplier_requests.asked IS "
        "'what its components were then, by id; null for requests before it was kept'"
    )


def downgrade() -> None:
    """What was asked about is then known from the versions of the SKU alone."""
    op.execute("ALTER TABLE supplier_requests DROP COLUMN asked")
