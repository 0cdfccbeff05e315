CREATE FUNCTION pcds_open_exports(stalled_before timestamptz, asked_before timestamptz) RETURNS TABLE(company_id uuid, slug text, work text, skus integer)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT exports.company_id, companies.slug,
        max(exports.id::text) || '/' || count(*) || '/' || sum(exports.attempts)
            || '/' || coalesce(extract(epoch FROM max(exports.heartbeat_at)), 0), max(exports.skus_total)
    FROM exports JOIN companies ON companies.id = exports.company_id
    WHERE exports.status IN ('queued', 'processing')
        AND CASE WHEN exports.claim IS NULL THEN exports.created_at <= asked_before
            ELSE exports.heartbeat_at < stalled_before END
    GROUP BY exports.company_id, companies.slug
$$;
REVOKE ALL ON FUNCTION pcds_open_exports FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pcds_open_exports TO pcds_app;
