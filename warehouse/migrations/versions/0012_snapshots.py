"""What the snapshots of a company hold, and which companies wrote since."""

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    """Nothing yet."""
