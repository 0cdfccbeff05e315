"""Brands, sites and suppliers can name the record that they were merged into.

The release before goes on meanwhile: it leaves the column out, and lists a merged record as any other.
"""

from alembic import op

revision = "0004"
down_revision = "0003"

_COLUMN = """
ALTER TABLE {table} ADD COLUMN IF NOT EXISTS merged_into uuid;
COMMENT ON COLUMN {table}.merged_into IS 'the record that stands in its place; never one that is merged itself'
"""


def upgrade() -> None:
    """Lock one table of requests at a time, for an instant: two at once could form a deadlock with a request's."""
    with op.get_context().autocommit_block():
        for table in ("brands", "sites", "suppliers"):
            op.get_bind().exec_driver_sql(_COLUMN.format(table=table))
