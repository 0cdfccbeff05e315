"""Says that a credential admits one caller at most.

Without it the planner expects a thousand callers of each page, and has Postgres keep the page's rows for them.
"""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Declare it; plans that sessions hold are made anew."""
    op.get_bind().exec_driver_sql("ALTER FUNCTION pcds_admit_counted ROWS 1")
