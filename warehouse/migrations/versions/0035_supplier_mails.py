"""Adds mails to suppliers: the address and language of an enquiry, and a row for each mail that is to be sent."""

from pathlib import Path

from alembic import op

revision = "0035"
down_revision = "0034"

_DUE = "pcds_due_mails(timestamptz)"


def upgrade() -> None:
    """Make the columns, the table, and the function that finds due mails of every company."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute("CREATE POLICY owner_finds ON supplier_mails FOR SELECT TO CURRENT_ROLE USING (true)")
    op.execute(f"REVOKE ALL ON FUNCTION {_DUE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_DUE} TO pcds_app")


def downgrade() -> None:
    """Drop them: mails that wait are not sent."""
    op.execute(f"DROP FUNCTION {_DUE}")
    op.execute("DROP TABLE supplier_mails")
    op.execute("ALTER TABLE supplier_enquiries DROP supplier_email, DROP language, DROP asked_by")
