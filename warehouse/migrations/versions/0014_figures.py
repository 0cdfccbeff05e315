"""What the rollup to tonnes keeps."""

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    """Nothing yet."""
