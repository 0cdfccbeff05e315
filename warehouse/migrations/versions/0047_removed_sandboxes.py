"""Notes whose sandbox a removed company was, so that an erasure that was cut off goes on (decision 0064)."""

from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    """Earlier removals do not say it; those that were cut off go on when they are asked again."""
    op.execute("ALTER TABLE removed_companies ADD COLUMN sandbox_of UUID")
    op.execute(
        "COMMENT ON COLUMN removed_companies.sandbox_of IS "
        "'the company whose test keys reached this one; null for a company of its own'"
    )


def downgrade() -> None:
    """An erasure of a sandbox that was cut off is not found any more."""
    op.execute("ALTER TABLE removed_companies DROP COLUMN sandbox_of")
