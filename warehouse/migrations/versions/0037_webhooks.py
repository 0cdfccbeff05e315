"""Adds webhooks: where a company's changes are sent, and a row for each change that is sent."""

from pathlib import Path

from alembic import op

revision = "0037"
down_revision = "0036"

_DUE = "pcds_due_webhooks(timestamptz, integer)"


def upgrade() -> None:
    """Make the tables, and the function that finds what is to be sent of every company."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("CREATE POLICY owner_finds ON webhooks FOR SELECT TO CURRENT_ROLE USING (true)")
    op.execute("CREATE POLICY owner_finds ON webhook_deliveries FOR SELECT TO CURRENT_ROLE USING (true)")
    op.execute(f"REVOKE ALL ON FUNCTION {_DUE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_DUE} TO pcds_app")


def downgrade() -> None:
    """Drop them: changes are told by the feed alone."""
    op.execute(f"DROP FUNCTION {_DUE}")
    op.execute("DROP TABLE webhook_deliveries")
    op.execute("DROP TABLE webhooks")
