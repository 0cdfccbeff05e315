"""Callers that send at once, but seldom, under a wide window: they were refused long before its ceiling."""

from pathlib import Path

from alembic import op

revision = "0014"
down_revision = "0013"

_HERE = Path(__file__)


def upgrade() -> None:
    """Take a place that has room before refusing."""
    op.execute(_HERE.with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """The function as 0004 made it."""
    made = _HERE.with_name("0004_tokens_and_limits.sql").read_text(encoding="utf-8")
    function = made[made.index("CREATE FUNCTION pcds_take") : made.index("-- Let a request in")]
    op.execute(function.replace("CREATE", "CREATE OR REPLACE", 1))
