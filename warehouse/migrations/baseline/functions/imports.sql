CREATE FUNCTION pcds_measures(at timestamptz, stalled_before timestamptz) RETURNS TABLE(measure text, labels jsonb, amount double precision)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    WITH stepped AS (
        SELECT status, created_at, created, updated, unchanged, rejected, CASE
            WHEN status IN ('completed', 'failed') THEN 'ended'
            WHEN claim IS NULL THEN 'waiting'
            WHEN heartbeat_at < stalled_before THEN 'stalled'
            ELSE 'writing' END AS step
        FROM imports
    ), held AS (
        SELECT companies.plan, companies.sandbox_of, plans.sku_limit, counters.skus, counters.links,
            counters.audit_entries
        FROM companies JOIN plans USING (plan) JOIN company_counters AS counters ON counters.company_id = companies.id
    ), stale AS (
        SELECT since FROM pcds_stale_snapshots((at AT TIME ZONE 'UTC')::date) WHERE since IS NOT NULL
    )
    SELECT 'imports', jsonb_build_object('step', step, 'state', status), count(*)::float8
    FROM stepped GROUP BY step, status
    UNION ALL
    SELECT 'import_wait', '{}', coalesce(extract(epoch FROM at - min(created_at)), 0)::float8
    FROM stepped WHERE step IN ('waiting', 'stalled')
    UNION ALL
    SELECT 'import_rows', jsonb_build_object('outcome', outcome), coalesce(sum(rows), 0)::float8
    FROM stepped, LATERAL (VALUES
        ('created', created), ('updated', updated), ('unchanged', unchanged), ('rejected', rejected)
    ) AS counted (outcome, rows)
    GROUP BY outcome
    UNION ALL
    SELECT 'writes', '{}', coalesce(sum(links), 0)::float8 FROM held
    UNION ALL
    SELECT 'audit_entries', '{}', coalesce(sum(audit_entries), 0)::float8 FROM held
    UNION ALL
    SELECT 'skus', '{}', coalesce(sum(skus), 0)::float8 FROM held
    UNION ALL
    SELECT 'companies', jsonb_build_object('plan', plan), count(*)::float8 FROM held WHERE sandbox_of IS NULL
    GROUP BY plan
    UNION ALL
    SELECT 'companies_at_sku_limit', jsonb_build_object('plan', plan, 'share', share),
        count(*) FILTER (WHERE skus >= sku_limit * share::numeric)::float8
    FROM held, unnest(ARRAY['0.8', '1']) AS share WHERE sandbox_of IS NULL GROUP BY plan, share
    UNION ALL
    SELECT 'snapshots_behind', '{}', count(*)::float8 FROM stale
    UNION ALL
    SELECT 'snapshot_lag', '{}', coalesce(extract(epoch FROM at - min(since)), 0)::float8 FROM stale
    UNION ALL
    SELECT 'launches', jsonb_build_object('state', CASE WHEN worker IS NULL THEN 'waiting' ELSE 'taken' END),
        count(*)::float8
    FROM launches WHERE ended_at IS NULL GROUP BY worker IS NULL
$$;
REVOKE ALL ON FUNCTION pcds_measures FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_measures TO pcds_app;

CREATE FUNCTION pcds_open_imports(stalled_before timestamptz, asked_before timestamptz) RETURNS TABLE(id uuid, company_id uuid, slug text, filename text, attempts integer, "position" integer, rows_total integer)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT i.id, i.company_id, c.slug, i.filename, i.attempts, i."position", i.rows_total
    FROM imports i JOIN companies c ON c.id = i.company_id
    WHERE i.status IN ('queued', 'processing') AND i.created_at <= asked_before
        AND (i.claim IS NULL OR i.heartbeat_at < stalled_before)
    ORDER BY i.attempts, i.created_at
$$;
REVOKE ALL ON FUNCTION pcds_open_imports FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_open_imports TO pcds_app;

CREATE FUNCTION pcds_stale_snapshots(today date) RETURNS TABLE(company_id uuid, slug text, "position" bigint, since timestamptz, importing boolean, imported boolean, skus bigint)
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
    ), counters.skus
    FROM company_counters AS counters JOIN companies ON companies.id = counters.company_id
        LEFT JOIN snapshots AS held USING (company_id)
        LEFT JOIN audit_transactions AS oldest
            ON oldest.company_id = counters.company_id AND oldest.number = coalesce(held.number, 0) + 1
    WHERE counters.links <> coalesce(held.number, 0) OR held.holds_until <= today
$$;
REVOKE ALL ON FUNCTION pcds_stale_snapshots FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_stale_snapshots TO pcds_app;
