"""Records what a declaration of conformity renews and why it was withdrawn, and stores it in further languages."""

from pathlib import Path

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add the columns, make the table, enable row security, and grant the application its own company's rows."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Drop them: withdrawn declarations stay as rejected ones, the bytes of further languages are lost."""
    op.execute("DROP TABLE issued_translations")
    op.execute("DROP INDEX ix_docs_renews")
    op.execute("ALTER TABLE docs DROP renews, DROP withdrawn_at, DROP withdrawn_reason")
