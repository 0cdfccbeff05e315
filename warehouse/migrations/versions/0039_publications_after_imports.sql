CREATE FUNCTION pcds_stale_snapshots(today date)
RETURNS TABLE (
    company_id uuid, slug text, "position" bigint, since timestamptz, importing boolean, imported boolean, skus bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT counters.company_id, companies.slug, counters.links, oldest.at, EXISTS (
        SELECT FROM imports
        WHERE imports.company_id = counters.company_id AND imports.status IN ('queued', 'processing')
    ), EXISTS (
        SELECT FROM imports
        WHERE imports.company_id = counters.company_id AND imports.started_at IS NOT NULL
        AND imports.finished_at >= oldest.at
    ), counters.skus
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
        LEFT JOIN audit_transactions AS oldest
            ON oldest.company_id = counters.company_id AND oldest.number = coalesce(held.number, 0) + 1
    WHERE counters.links <> coalesce(held.number, 0) OR held.holds_until <= today
$$;
