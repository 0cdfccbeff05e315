ALTER TABLE companies ADD sandbox_of UUID, ADD left_at TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN companies.sandbox_of IS 'the company whose test keys reach this one; null for a company of its own';
COMMENT ON COLUMN companies.left_at IS 'when a reset took its keys to a new sandbox; it is erased after that';
CREATE UNIQUE INDEX uq_companies_sandbox_of ON companies (sandbox_of) WHERE left_at IS NULL;

-- The sandbox of a company, for a session of no company.
CREATE FUNCTION pcds_sandbox_of(wanted uuid) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT id FROM companies WHERE sandbox_of = wanted AND left_at IS NULL
$$;

-- As in 0040, but sandboxes count for no plan. Numbers for operators, each with labels that name no company. `at` is the service's clock, `stalled_before` the
-- heartbeat before which a run has lost its import. Call it in a session of no company: the owner's policies need that.
CREATE OR REPLACE FUNCTION pcds_measures(at timestamptz, stalled_before timestamptz)
RETURNS TABLE (measure text, labels jsonb, amount double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
