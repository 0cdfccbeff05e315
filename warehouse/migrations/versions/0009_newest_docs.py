"""Adds an index for the list of DoCs, newest first: without it each page sorts all of a company's."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the index."""
    op.execute("CREATE INDEX ix_docs_newest ON docs (company_id, created_at DESC, id)")


def downgrade() -> None:
    """Drop the index."""
    op.execute("DROP INDEX ix_docs_newest")
