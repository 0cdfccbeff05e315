-- Numbers for operators, each with labels that name no company. `at` is the service's clock, `stalled_before` the
-- heartbeat before which a run has lost its import. Call it in a session of no company: the owner's policies need that.
CREATE FUNCTION pcds_measures(at timestamptz, stalled_before timestamptz)
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
        SELECT companies.plan, plans.sku_limit, counters.skus, counters.links, counters.audit_entries
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
    SELECT 'companies', jsonb_build_object('plan', plan), count(*)::float8 FROM held GROUP BY plan
    UNION ALL
    SELECT 'companies_at_sku_limit', jsonb_build_object('plan', plan, 'share', share),
        count(*) FILTER (WHERE skus >= sku_limit * share::numeric)::float8
    FROM held, unnest(ARRAY['0.8', '1']) AS share GROUP BY plan, share
    UNION ALL
    SELECT 'snapshots_behind', '{}', count(*)::float8 FROM stale
    UNION ALL
    SELECT 'snapshot_lag', '{}', coalesce(extract(epoch FROM at - min(since)), 0)::float8 FROM stale
    UNION ALL
    SELECT 'launches', jsonb_build_object('state', CASE WHEN worker IS NULL THEN 'waiting' ELSE 'taken' END),
        count(*)::float8
    FROM launches WHERE ended_at IS NULL GROUP BY worker IS NULL
$$;

-- What stays of a removed company: hashes, counts and a certificate; no name, address or value. The owner alone reads it.
CREATE TABLE removed_companies (
    company UUID NOT NULL,
    slug TEXT,
    begun_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    rows JSON NOT NULL,
    links BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    chain_hash BYTEA,
    hashes BYTEA NOT NULL,
    certificate JSON,
    CONSTRAINT pk_removed_companies PRIMARY KEY (company)
);
COMMENT ON COLUMN removed_companies.slug IS 'names its runs in Dagster; null once the removal has ended';
COMMENT ON COLUMN removed_companies.ended_at IS 'null where the removal was cut off and goes on when it is asked again';
COMMENT ON COLUMN removed_companies.rows IS 'how many were removed, by table';
COMMENT ON COLUMN removed_companies.chain_hash IS 'of the last link';
COMMENT ON COLUMN removed_companies.hashes IS 'SHA-256 over the hashes of all links in their order';
CREATE TABLE removed_links (
    company UUID NOT NULL,
    number BIGINT NOT NULL,
    entries INTEGER NOT NULL,
    hash BYTEA NOT NULL,
    CONSTRAINT pk_removed_links PRIMARY KEY (company, number)
);
