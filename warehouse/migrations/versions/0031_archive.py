"""Lets a SKU be archived: it leaves `skus`, its versions stay, and a row names the version that it rests at."""

from pathlib import Path

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Make the table and the trigger; the application may remove a SKU that is archived, and no other."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Archived SKUs keep their versions; which of them were archived is lost."""
    op.execute("REVOKE DELETE ON skus FROM pcds_app")
    op.execute("DROP TRIGGER only_archived ON skus")
    op.execute("DROP FUNCTION pcds_only_archived()")
    op.execute("DROP TABLE archived_skus")
    op.execute("ALTER TABLE imports DROP COLUMN undone_at")
