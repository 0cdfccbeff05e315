"""A second factor at the sign-in: the sealed secret of one-time codes, and codes for when the device is lost."""

from pathlib import Path

from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Add the columns and the table, and the application's rights to them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Everybody signs in with the password alone again."""
    op.execute("DROP TABLE recovery_codes")
    op.execute("ALTER TABLE users DROP COLUMN totp_secret, DROP COLUMN totp_step")
