"""People, their sessions, and the applications that they have connected."""

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    """Nothing yet."""
