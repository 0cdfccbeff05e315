"""Counts the writes that change what figures are made from, so that a sign-in has nothing published anew.

Until now every link of the audit chain did. Counted are the others, so that a link that the release before adds, while
both serve side by side, has figures published; its snapshots are of another form, and are made again within a minute.
"""

from alembic import op

revision = "0019"
down_revision = "0018"

_STALE = """
ALTER TABLE company_counters ADD COLUMN unrelated_links bigint DEFAULT 0 NOT NULL;
COMMENT ON COLUMN company_counters.unrelated_links IS 'links that changed nothing that figures are made from';
ALTER TABLE snapshots ADD COLUMN writes bigint DEFAULT 0 NOT NULL;
COMMENT ON COLUMN snapshots.writes IS 'of them that changed figures';
ALTER TABLE audit_transactions ADD COLUMN of_figures boolean;
COMMENT ON COLUMN audit_transactions.of_figures IS 'whether it changed what figures are made from; null: not known';
ALTER TABLE head_figures ADD COLUMN union_tonnes numeric(20,6);
COMMENT ON COLUMN head_figures.union_tonnes IS 'of what may be sold in the Union; null before it was kept';
DROP FUNCTION pcds_stale_snapshots(date);
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
        LEFT JOIN LATERAL (
            SELECT at FROM audit_transactions AS links
            WHERE links.company_id = counters.company_id AND number > coalesce(held.number, 0)
            AND of_figures IS NOT false
            ORDER BY number LIMIT 1
        ) AS oldest ON true
        LEFT JOIN LATERAL (
            SELECT at FROM audit_transactions AS links
            WHERE links.company_id = counters.company_id AND number > coalesce(held.number, 0)
            AND of_figures IS NOT false
            ORDER BY number DESC LIMIT 1
        ) AS newest ON true
    WHERE counters.links - counters.unrelated_links <> coalesce(held.writes, 0) OR held.holds_until <= today
$$;
REVOKE ALL ON FUNCTION pcds_stale_snapshots FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_stale_snapshots TO pcds_app
"""


def upgrade() -> None:
    """Add the columns and replace the function, in one transaction."""
    op.get_bind().exec_driver_sql(_STALE)
