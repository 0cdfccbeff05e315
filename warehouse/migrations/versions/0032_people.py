"""What administrators see: when people signed in, their sessions, and when a key was last used."""

from pathlib import Path

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Add the columns and the application's rights to them, and make `pcds_admit` note the use of a key."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """The times are lost."""
    before = Path(__file__).with_name("0004_tokens_and_limits.sql").read_text(encoding="utf-8")
    start, end = before.index("CREATE FUNCTION pcds_admit("), "END $$;"
    function = before[start : before.index(end, start) + len(end)]
    op.get_bind().exec_driver_sql(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"))
    op.execute("ALTER TABLE api_keys DROP COLUMN last_used_at")
    op.execute("REVOKE SELECT, DELETE ON user_sessions FROM pcds_app")
    for column in ("id", "began_at", "network", "agent"):
        op.execute(f"ALTER TABLE user_sessions DROP COLUMN {column}")
    op.execute("ALTER TABLE users DROP COLUMN signed_in_at, DROP COLUMN sign_in_failed_at")
