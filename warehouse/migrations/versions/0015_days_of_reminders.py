"""Keeps the days of reminders that a company chose for an enquiry, and lets an article number be cleared.

Every statement takes a lock for an instant.
"""

from alembic import op

revision = "0015"
down_revision = "0014"

_DAYS = """
ALTER TABLE supplier_enquiries ADD COLUMN IF NOT EXISTS reminder_days integer[];
COMMENT ON COLUMN supplier_enquiries.reminder_days IS
    'the days of its reminders, counted from due_on; null is three days before it and the day after it'
"""
_CLEARED = "GRANT DELETE ON supplier_articles TO pcds_app"


def upgrade() -> None:
    """Lock one table at a time."""
    for statement in (_DAYS, _CLEARED):
        with op.get_context().autocommit_block():
            op.get_bind().exec_driver_sql(statement)
