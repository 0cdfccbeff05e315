"""Technical files of a SKU: metadata; the bytes are objects."""

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Nothing yet."""
