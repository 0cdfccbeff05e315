"""${message}

Before this runs, know: the release before it is still serving. Add columns as nullable or with a constant default;
fill them in a later migration; drop or rename only when no running release reads the old name. A statement that waits
five seconds for a lock gives up, and so does one that runs for a minute: build an index on a table with rows
CONCURRENTLY, outside the transaction (`with op.get_context().autocommit_block():`).

A table of a company's gets row-level security, forced, with the policy `company` of 0001, and grants to pcds_app for
exactly what the application does with it. It stands in `warehouse.tables.COMPANY_TABLES`; a test compares.
"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
