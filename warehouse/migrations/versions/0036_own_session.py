"""Says which session is that of a presented token, so that a person sees one's own marked among one's sessions."""

from pathlib import Path

from alembic import op

revision = "0036"
down_revision = "0035"

_FUNCTION = "pcds_session_id(bytea)"


def upgrade() -> None:
    """Make the function, for the application only."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    op.execute(f"REVOKE ALL ON FUNCTION {_FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FUNCTION} TO pcds_app")


def downgrade() -> None:
    """Drop it."""
    op.execute(f"DROP FUNCTION {_FUNCTION}")
