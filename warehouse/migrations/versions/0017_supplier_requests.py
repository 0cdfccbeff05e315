"""What suppliers were asked and answered, and the queue that a person reviews."""

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    """Nothing yet."""
