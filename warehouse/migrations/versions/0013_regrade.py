"""Rule-sets added without a release, regrades under way, and the expiry of DoCs."""

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    """Nothing yet."""
