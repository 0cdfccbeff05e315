"""Lets the owner take test keys from one sandbox to the next (decision 0064).

It has a transaction of its own: with `companies` locked, as by 0042, `api_keys` could wait for a request that holds it
and waits for `companies`, and Postgres would end the request.
"""

from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Add the policy."""
    op.execute("CREATE POLICY owner_moves ON api_keys FOR UPDATE TO CURRENT_ROLE USING (true) WITH CHECK (true)")


def downgrade() -> None:
    """Remove the policy; keys stay where they are."""
    op.execute("DROP POLICY owner_moves ON api_keys")
