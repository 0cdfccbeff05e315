"""Authenticates a key across companies, in one statement that also sets the session's company.

The function runs as its owner, because a caller has no company yet. It answers for one digest, never lists, and sets
the key's company for the transaction, or none, so that the next query in the same round trip sees exactly that
company's rows. The owner's policies are needed because forced row-level security binds an owner that is no superuser.
"""

from alembic import op

revision = "0002"
down_revision = "0001"

_FUNCTION = """
CREATE FUNCTION pcds_authenticate(presented bytea)
RETURNS TABLE (client_id uuid, company_id uuid, name text, scopes text[], plan text, key_hash bytea)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE found_key record;
BEGIN
    SELECT keys.id, keys.company_id, keys.name, keys.scopes, companies.plan, keys.key_hash INTO found_key
    FROM api_keys AS keys JOIN companies ON companies.id = keys.company_id
    WHERE keys.key_hash = presented AND keys.revoked_at IS NULL;
    PERFORM set_config('app.company_id', coalesce(found_key.company_id::text, ''), true);
    IF found_key.id IS NOT NULL THEN
        RETURN QUERY SELECT found_key.id, found_key.company_id, found_key.name, found_key.scopes, found_key.plan,
                            found_key.key_hash;
    END IF;
END $$
"""


def upgrade() -> None:
    """Make the function, callable by the application's role alone."""
    for table in ("api_keys", "companies"):
        op.execute(f"CREATE POLICY owner_reads ON {table} FOR SELECT TO CURRENT_ROLE USING (true)")
    op.execute(_FUNCTION)
    op.execute("REVOKE ALL ON FUNCTION pcds_authenticate(bytea) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION pcds_authenticate(bytea) TO pcds_app")


def downgrade() -> None:
    """Drop the function."""
    op.execute("DROP FUNCTION pcds_authenticate(bytea)")
    for table in ("api_keys", "companies"):
        op.execute(f"DROP POLICY owner_reads ON {table}")
