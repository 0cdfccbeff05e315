"""Records each company's newest snapshot, and finds the companies that wrote since.

The function runs as its owner, whom forced row-level security binds too. The owner's policies show rows of every
company only where no company is set; the function returns companies and instants, nothing that they wrote.
"""

from alembic import op

revision = "0012"
down_revision = "0011"

_COMPANY = "nullif(current_setting('app.company_id', true), '')::uuid"

_TABLE = """
CREATE TABLE snapshots (
    company_id UUID NOT NULL,
    name TEXT NOT NULL,
    number BIGINT NOT NULL,
    as_of TIMESTAMP WITH TIME ZONE NOT NULL,
    holds_until DATE,
    CONSTRAINT pk_snapshots PRIMARY KEY (company_id)
);
COMMENT ON COLUMN snapshots.name IS 'of its folder below the company''s';
COMMENT ON COLUMN snapshots.number IS 'the last link of the audit chain that it holds';
COMMENT ON COLUMN snapshots.holds_until IS 'the first day on which a DoC''s validity changes without a write'
"""

_STALE = """
CREATE FUNCTION pcds_stale_snapshots(today date) RETURNS TABLE (company_id uuid, since timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT counters.company_id, (
        SELECT written.at FROM audit_transactions AS written
        WHERE written.company_id = counters.company_id AND written.number = coalesce(held.number, 0) + 1
    )
    FROM company_counters AS counters LEFT JOIN snapshots AS held USING (company_id)
    WHERE counters.links <> coalesce(held.number, 0) OR held.holds_until <= today
$$
"""
_READ = ("snapshots", "company_counters", "audit_transactions")
_SIGNATURE = "pcds_stale_snapshots(date)"


def upgrade() -> None:
    """Make table and function, for the application's role alone."""
    op.get_bind().exec_driver_sql(_TABLE)
    op.execute("ALTER TABLE snapshots ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE snapshots FORCE ROW LEVEL SECURITY")
    own = f"company_id = (SELECT {_COMPANY})"
    op.execute(f"CREATE POLICY company ON snapshots USING ({own}) WITH CHECK ({own})")
    op.execute("GRANT SELECT, INSERT, UPDATE ON snapshots TO pcds_app")
    for table in _READ:
        of_nobody = f"(SELECT {_COMPANY}) IS NULL"
        op.execute(f"CREATE POLICY owner_follows ON {table} FOR SELECT TO CURRENT_ROLE USING ({of_nobody})")
    op.execute(_STALE)
    op.execute(f"REVOKE ALL ON FUNCTION {_SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_SIGNATURE} TO pcds_app")
