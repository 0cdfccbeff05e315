"""Admits callers that send several requests at a time, but seldom: a wide window refused them before its ceiling."""

from pathlib import Path

from alembic import op

revision = "0014"
down_revision = "0013"

_HERE = Path(__file__)


def upgrade() -> None:
    """Take a place that has room before refusing."""
    op.execute(_HERE.with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Restore the function of 0004."""
    made = _HERE.with_name("0004_tokens_and_limits.sql").read_text(encoding="utf-8")
    function = made[made.index("CREATE FUNCTION pcds_take") : made.index("-- Let a request in")]
    op.execute(function.replace("CREATE", "CREATE OR REPLACE", 1))
