"""Adds to SKUs the column of answers to format bans' facts, which their earlier versions have since 0002."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Lock one table of requests for an instant."""
    op.get_bind().exec_driver_sql("ALTER TABLE skus ADD COLUMN flag_facts json")
    op.get_bind().exec_driver_sql(
        """COMMENT ON COLUMN skus.flag_facts IS
        '[{"fact", "answer", "by", "at"}], sorted: open facts of format bans that a person answered'"""
    )


def downgrade() -> None:
    """Do nothing: a backup of the release before goes back to it."""
    raise NotImplementedError("restore a backup of the release before")
