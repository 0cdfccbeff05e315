"""Records when a ledger transaction could first be seen (decision 0033).

Existing transactions were visible before any such query: a constant stamps them without rewriting rows.
"""

from alembic import op

revision = "0020"
down_revision = "0019"

_STAMP = """
CREATE FUNCTION pcds_stamp_visible(moved interval) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH unstamped AS MATERIALIZED (
        SELECT id FROM audit_transactions WHERE visible_at IS NULL FOR UPDATE SKIP LOCKED
    ), stamped AS (
        UPDATE audit_transactions AS seen
        SET visible_at = greatest(seen.at, clock_timestamp() + moved, (
            SELECT max(visible_at) FROM audit_transactions AS own WHERE own.company_id = seen.company_id
        ) + interval '1 microsecond')
        WHERE seen.id = ANY(ARRAY(SELECT id FROM unstamped))
        RETURNING 1
    )
    SELECT count(*) FROM stamped
$$
"""
_OF_NOBODY = "(SELECT nullif(current_setting('app.company_id', true), '')::uuid) IS NULL"
_STATEMENTS = (
    "ALTER TABLE audit_transactions ADD visible_at TIMESTAMP WITH TIME ZONE DEFAULT '-infinity'",
    "ALTER TABLE audit_transactions ALTER visible_at DROP DEFAULT",
    "SET LOCAL statement_timeout = 0",  # the index of a ledger of millions takes seconds, once
    "CREATE INDEX ix_audit_transactions_company_id_visible_at ON audit_transactions (company_id, visible_at)",
    "CREATE INDEX ix_audit_transactions_unstamped ON audit_transactions (id) WHERE visible_at IS NULL",
    "GRANT UPDATE (visible_at) ON audit_transactions TO pcds_app",
    f"CREATE POLICY owner_stamps ON audit_transactions FOR UPDATE TO CURRENT_ROLE USING ({_OF_NOBODY})",
    _STAMP,
    "REVOKE ALL ON FUNCTION pcds_stamp_visible(interval) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION pcds_stamp_visible(interval) TO pcds_app",
)


def upgrade() -> None:
    """Add the stamp, its index, and the narrow right to set it."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the stamp."""
    op.execute("DROP FUNCTION pcds_stamp_visible(interval)")
    op.execute("DROP POLICY owner_stamps ON audit_transactions")
    op.execute("REVOKE UPDATE (visible_at) ON audit_transactions FROM pcds_app")
    op.execute("ALTER TABLE audit_transactions DROP visible_at")
