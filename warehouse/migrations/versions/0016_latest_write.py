"""Says of a company with unpublished writes when the last of them was made, beside the first."""

from alembic import op

revision = "0016"
down_revision = "0015"

_STALE = """
DROP FUNCTION IF EXISTS pcds_stale_snapshots(date);
CREATE FUNCTION pcds_stale_snapshots(today date) RETURNS TABLE(
    company_id uuid, slug text, "position" bigint, since timestamptz, importing boolean, imported boolean, skus bigint,
    latest timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT counters.company_id, companies.slug, counters.links, oldest.at, EXISTS (
        SELECT FROM imports
        WHERE imports.company_id = counters.company_id AND imports.status IN ('queued', 'processing')
    ), EXISTS (
        SELECT FROM imports
        WHERE imports.company_id = counters.company_id AND imports.started_at IS NOT NULL
        AND imports.finished_at >= oldest.at
    ), counters.skus, newest.at
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
        LEFT JOIN audit_transactions AS oldest
            ON oldest.company_id = counters.company_id AND oldest.number = coalesce(held.number, 0) + 1
        LEFT JOIN audit_transactions AS newest
            ON newest.company_id = counters.company_id AND newest.number = counters.links
    WHERE counters.links <> coalesce(held.number, 0) OR held.holds_until <= today
$$;
REVOKE ALL ON FUNCTION pcds_stale_snapshots FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_stale_snapshots TO pcds_app
"""


def upgrade() -> None:
    """Replace the function in one transaction: who calls it meanwhile gets one or the other."""
    op.get_bind().exec_driver_sql(_STALE)
