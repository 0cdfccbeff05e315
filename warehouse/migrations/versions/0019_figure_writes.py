"""Counts the writes that change what figures are made from, so that a sign-in has nothing published anew.

Until now every link of the audit chain did. Counted are the others, so that a link that the release before adds, while
both serve side by side, has figures published; its snapshots are of another form, and are made again within a minute.
Head figures keep the tonnes of what may be sold in the Union, of which declarations of conformity are asked.
"""

from alembic import op

revision = "0019"
down_revision = "0018"

_COUNTED = """
ALTER TABLE company_counters ADD COLUMN IF NOT EXISTS unrelated_links bigint DEFAULT 0 NOT NULL;
COMMENT ON COLUMN company_counters.unrelated_links IS 'links that changed nothing that figures are made from'
"""
_MARKED = """
ALTER TABLE audit_transactions ADD COLUMN IF NOT EXISTS of_figures boolean;
COMMENT ON COLUMN audit_transactions.of_figures IS 'whether it changed what figures are made from; null: not known'
"""
_PUBLISHED = """
ALTER TABLE snapshots ADD COLUMN IF NOT EXISTS writes bigint DEFAULT 0 NOT NULL;
COMMENT ON COLUMN snapshots.writes IS 'of them that changed figures'
"""
_OF_THE_UNION = """
ALTER TABLE head_figures ADD COLUMN IF NOT EXISTS union_tonnes numeric(20,6);
COMMENT ON COLUMN head_figures.union_tonnes IS 'of what may be sold in the Union; null before it was kept'
"""
_STALE = """
CREATE OR REPLACE FUNCTION pcds_stale_snapshots(today date) RETURNS TABLE(
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
$$
"""


def upgrade() -> None:
    """Lock a table of requests for an instant, and no two at once: with a request's they could form a deadlock."""
    with op.get_context().autocommit_block():
        for statement in (_COUNTED, _MARKED, _PUBLISHED, _OF_THE_UNION):
            op.get_bind().exec_driver_sql(statement)
    op.get_bind().exec_driver_sql(_STALE)
