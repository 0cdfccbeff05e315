"""Bearer tokens, request windows and the admission of a caller."""

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Nothing yet."""
