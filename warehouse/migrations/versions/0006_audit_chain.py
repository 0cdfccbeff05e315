"""The chain of hashes over the audit ledger."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Nothing yet."""
