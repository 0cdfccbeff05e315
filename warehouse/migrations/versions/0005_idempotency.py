"""Answers kept for requests that are sent again."""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Nothing yet."""
